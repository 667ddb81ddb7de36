"""Text of generated CUDA: indented lines, types, and the arguments that the code asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

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


def bytes_of_type(text: str, lanes: int = 1) -> int:
    """Return the most bytes that a member of a C++ type takes in a struct, in each lane."""
    found = re.fullmatch(r"Vec<(\w+), (\d+), (\d+), feature_lanes>", text)
    name, rows, columns = found.groups() if found else (text, "1", "1")
    (dtype,) = [known for known, called in _TYPES.items() if called == name]
    count = items_of((int(rows), int(columns)), lanes)
    return -(-np.dtype(dtype).itemsize * count // WORD) * WORD


def identifier(name: str) -> str:
    """Return a name that C++ takes for the name of a field or scalar."""
    text = _ascii(name)
    return f"{text}_" if text in _KEYWORDS else text


def _ascii(name: str) -> str:
    text = re.sub(r"\W", "_", name)
    return "".join(c if c.isascii() else f"_{ord(c):x}_" for c in text)


class Emitter:
    """Collects lines of source at the present indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0
        self._names = 0

    def line(self, text: str) -> None:
        """Append one line."""
        self.lines.append("    " * self._depth + text)

    def fresh(self, prefix: str = "t") -> str:
        """Return a name that was not used before."""
        self._names += 1
        name = f"{prefix}{self._names}"
        return self.fresh(prefix) if name in _TYPES.values() else name  # u32 is taken

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        """Append a compound statement in braces; lines inside belong to it."""
        self.line(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line(end)

    def text(self) -> str:
        """Return the source."""
        return "\n".join(self.lines) + "\n"


class Arguments:
    """The members of a kernel's `Args a`: each is named on first use and bound when it is called.

    A binding is a tuple whose first part says what it is, e.g. ("field", "rank").
    """

    renumbered = False  # vertices lie in another order than the user's: ids are looked up

    def __init__(self) -> None:
        self.bindings: dict[str, tuple[Any, ...]] = {}

    def use(self, *binding: Any) -> str:
        """Return the member that holds what the binding describes."""
        kind, *rest = binding
        parts = [_SHORT.get(kind, kind), *(part for part in rest if part is not None)]
        name = "_".join(_part(part) for part in parts if part != "")
        if binding[0] == "far":
            name = "far_a" if binding[1] == 0 else "far_b"
        known = self.bindings.setdefault(name, binding)
        if known != binding:
            # Two names may look alike once they are identifiers.
            alike = [other for other, b in self.bindings.items() if b == binding]
            name = alike[0] if alike else f"{name}_{len(self.bindings)}"
            self.bindings[name] = binding
        return f"a.{name}"


_SHORT = {"field": "f", "next": "new", "column": "col", "constant": "c", "scalar": "s"}


def _part(part: Any) -> str:
    if isinstance(part, np.dtype):
        return str(part.name)
    return _ascii(str(part))
