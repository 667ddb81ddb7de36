"""Text of generated CUDA: compound statements, types, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft.backends.emit import text
from weft.ir.ops import Shape

_TYPES = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "float32": "float", "float64": "double",
}  # fmt: skip
WORD = 8
_KEYWORDS = frozenset({
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "class", "compl", "const", "const_cast",
    "constexpr", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast",
    "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
    "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid",
    "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while",
    "xor", "xor_eq",
})  # fmt: skip

_OF_NUMBERS = frozenset({"greatest", "infinity", "least", "not_a_number"})  # see numbers.cuh


def c_type(dtype: np.dtype[Any], shape: Shape = ()) -> str:
    """Return the C++ type of a value."""
    name = _TYPES[dtype.name]
    if not shape:
        return name
    rows, columns = shape if len(shape) == 2 else (1, shape[0])
    return f"Vec<{name}, {rows}, {columns}, feature_lanes>"


def stored_type(dtype: np.dtype[Any]) -> str:
    """Return the C++ type of an array's elements: truth values are bytes."""
    return "u8" if dtype.kind == "b" else c_type(dtype)


def size_of(shape: Shape) -> int:
    """Return the number of features."""
    return int(np.prod(shape)) if shape else 1


WARP = 32  # threads


def of_schedule(lanes: int) -> int:
    """Return how a schedule calls groups of a width: 0 is a block, beyond a warp.

    Examples
    --------
    >>> of_schedule(32), of_schedule(64)
    (32, 0)
    """
    return 0 if lanes > WARP else lanes


def items_of(shape: Shape, lanes: int) -> int:
    """Return how many items of a value each lane of a group has."""
    return size_of(shape[:-1]) * columns_of(shape[-1], lanes) if shape else 1


def columns_of(columns: int, lanes: int) -> int:
    """Return how many columns each lane of a group has (see `packed` in features.cuh)."""
    if columns == 1:
        return 1  # the same in every lane
    pack = 1
    if columns % 4 == 0 and columns > 2 * lanes:
        pack = 4
    elif columns % 2 == 0 and columns > lanes:
        pack = 2
    return -(-columns // (pack * lanes)) * pack


def bytes_of_type(kind: str, lanes: int = 1) -> int:
    """Return the most bytes that a member of a C++ type takes in a struct, in each lane."""
    found = re.fullmatch(r"Vec<(\w+), (\d+), (\d+), feature_lanes>", kind)
    name, rows, columns = found.groups() if found else (kind, "1", "1")
    (dtype,) = [known for known, called in _TYPES.items() if called == name]
    count = items_of((int(rows), int(columns)), lanes)
    return -(-np.dtype(dtype).itemsize * count // WORD) * WORD


def identifier(name: str) -> str:
    """Return a name that C++ takes for the name of a field or scalar.

    A member must not hide the constants that it may be initialised with either.
    """
    spelt = text.ascii_name(name)
    return f"{spelt}_" if spelt in _KEYWORDS | _OF_NUMBERS else spelt


class Emitter(text.Emitter):
    """Collects lines of C++ at the present indentation."""

    def fresh(self, prefix: str = "t") -> str:
        """Return a name that was not used before."""
        name = super().fresh(prefix)
        return self.fresh(prefix) if name in _TYPES.values() else name  # u32 is taken

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        """Append a compound statement in braces; lines inside belong to it."""
        self.line(f"{head} {{" if head else "{")
        with self.indented():
            yield
        self.line(end)


class Arguments(text.Arguments):
    """The arguments of a kernel, which are the members of its `Args a`."""

    prefix = "a."
