"""Traces that are kept: functions whose trace cannot come out otherwise are not traced again.

A trace depends on the functions, the signature of the state, and on whatever the functions read
from outside: global names, variables of enclosing functions, default values. If all of that is of
kinds that cannot change in place (numbers, strings, library functions, other such functions), a
trace is kept together with a note of what was read, and holds as long as the same objects are
there. Functions that read anything else are traced every time.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.ir.ops import Program, Signature
from weft.ir.trace.monoids import Monoid
from weft.ir.trace.steps import EdgeFunction, Fold, VertexFunction, trace_program
from weft.ir.types import VertexIdType

MOST_KEPT = 256
DEEPEST = 6  # functions within functions that are looked into; those may go round in circles
LIBRARIES = ("weft", "numpy", "math", "cmath", "operator", "builtins")
# Names that give something else each time, or do something that is to be seen each time.
FICKLE = frozenset({
    "random", "default_rng", "time", "next", "open", "input", "print", "eval", "exec", "globals",
    "vars", "locals",
})  # fmt: skip
_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, np.ufunc,
    VertexIdType,
)  # fmt: skip
_TOLD_BY_VALUE = frozenset({type(None), bool, int, str})
_MISSING = object()


class _Fickle(Exception):
    """What a function reads may change without being another object."""


class _Reads:
    """What functions read from outside, and whether all of it is still the same."""

    def __init__(self) -> None:
        self.globals: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.functions: list[tuple[Any, Any, Any]] = []
        self._seen: set[int] = set()

    def unchanged(self) -> bool:
        """Whether the same objects are where they were."""
        for names, name, value in self.globals:
            if names.get(name, _MISSING) is not value:
                return False
        for cell, value in self.cells:
            if _contents(cell) is not value:
                return False
        for function, code, defaults in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        return True

    def note(self, value: Any) -> None:
        """Note a value that a function reads, or raise if it may change in place."""
        if id(value) in self._seen or isinstance(value, _PLAIN):
            return
        if isinstance(value, tuple | frozenset):
            for part in value:
                self.note(part)
        elif isinstance(value, types.ModuleType | type):
            name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
            if name.partition(".")[0] not in LIBRARIES:
                raise _Fickle
        elif isinstance(value, types.BuiltinFunctionType):
            self.note(value.__self__)  # a method's object may change
        elif isinstance(value, types.FunctionType):
            self._seen.add(id(value))
            self._note_function(value)
        elif isinstance(value, EdgeFunction):
            for part in (value.function, value.reduce, value.accept, value.active, value.priority):
                self.note(part)
        elif isinstance(value, VertexFunction):
            self.note(value.function)
            self.note(value.active)
        elif isinstance(value, Fold):
            self.note(value.parts)
        elif isinstance(value, Monoid):
            for part in vars(value).values():
                self.note(part)
        else:
            raise _Fickle

    def _note_function(self, function: types.FunctionType) -> None:
        self.functions.append((function, function.__code__, function.__defaults__))
        self.note(function.__defaults__)
        if function.__kwdefaults__:
            raise _Fickle
        for cell in function.__closure__ or ():
            value = _contents(cell)
            if value is _MISSING:
                raise _Fickle
            self.cells.append((cell, value))
            self.note(value)
        names = function.__globals__
        if str(names.get("__name__")).partition(".")[0] == "weft":
            return  # what weft's own functions read besides is of weft
        for name in _names_in(function.__code__):
            if name in FICKLE:
                raise _Fickle
            value = names.get(name, _MISSING)
            self.globals.append((names, name, value))
            if value is not _MISSING:
                self.note(value)


def _contents(cell: Any) -> Any:
    """Return what a variable of an enclosing function holds, if it holds anything."""
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _names_in(code: types.CodeType) -> Iterator[str]:
    """Give the global names, and names of attributes, of some code and the functions in it."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _names_in(part)


_lock = threading.Lock()
# Traces, what they read, and the objects that keys are made of the identities of, kept alive: by
# what the functions are, and for those that were traced themselves by which objects they are.
_kept: dict[Any, tuple[_Reads, Program, Any]] = {}
_same: dict[Any, tuple[_Reads, Program, Any]] = {}


def kept_trace(functions: Any, signature: Signature, mode: str, **roles: Any) -> Program:
    """Return what `trace_program` returns; nobody may change it, since others may get it too."""
    many = tuple(functions) if isinstance(functions, list) else functions
    refill = roles.get("refill", ())
    roles["refill"] = tuple(refill) if isinstance(refill, list) else refill
    held = (many, signature, tuple(roles.values()))
    same = (_objects(many), id(signature), mode, _objects(held[2]))
    kept = _same.get(same)
    if kept is not None and kept[0].unchanged():
        return kept[1]
    key = (_identity(many), id(signature), mode, _identity(held[2]))
    kept = _kept.get(key)
    if kept is None or not kept[0].unchanged():
        program = trace_program(functions, signature, mode, **roles)
        reads = _reads_of(many, *roles.values())
        if reads is None:  # then nothing is held: what the functions read may be large
            return program
        kept = (reads, program, held)
    with _lock:
        if len(_kept) >= MOST_KEPT or len(_same) >= MOST_KEPT:
            _kept.clear()
            _same.clear()
        _kept[key] = kept
        if kept[2] is held:
            _same[same] = kept
    return kept[1]


def _objects(value: Any) -> Any:
    """Return which objects these are, or their values: the same ones are traced the same way."""
    if type(value) is tuple:
        return tuple([part if type(part) in _TOLD_BY_VALUE else id(part) for part in value])
    return id(value)


def _identity(value: Any, depth: int = 0) -> Any:
    """Return what two values have in common that are traced the same way.

    Functions that are made anew in every call, from the same code over the same values, are one.
    What is not told apart by its value is by its identity: a kept trace holds it, or what it reads
    of it, so that nothing else takes its place in memory.
    """
    kind = type(value)
    if kind in _TOLD_BY_VALUE:
        return kind, value
    if kind is tuple:
        return tuple([_identity(part, depth) for part in value])
    if kind is float:
        return kind, value.hex()  # 0.0 and -0.0 are equal, but not the same
    if depth < DEEPEST:
        if kind is types.FunctionType:
            cells = value.__closure__ or ()
            return (
                id(value.__code__), id(value.__globals__), value.__name__,
                _identity(value.__defaults__, depth + 1),
                tuple([_identity(_contents(cell), depth + 1) for cell in cells]),
            )  # fmt: skip
        if kind in (EdgeFunction, VertexFunction, Fold):
            parts = vars(value).values()  # each of which is of one kind where it is told by value
            return kind, tuple(
                [p if type(p) in _TOLD_BY_VALUE else _identity(p, depth + 1) for p in parts]
            )
    return id(value)


def _reads_of(*values: Any) -> _Reads | None:
    """Return what functions read, or None if that may change in place."""
    reads = _Reads()
    try:
        for value in values:
            reads.note(value)
    except _Fickle:
        return None
    return reads
