"""Cached traces: a function is traced again only if what it reads may have changed.

A trace depends on the functions, the signature of the state, and on whatever the functions read
from outside: global names, variables of enclosing functions, default values, attributes. A trace is
cached together with a record of all of these if they are of kinds whose changes can be noticed:
numbers, strings, library functions, and other such functions with their attributes. It is used
again as long as the same objects are in the same places. Functions that read anything else, or
that change what they read, are traced every time.
"""

from __future__ import annotations

import builtins
import dis
import sys
import threading
import types
from itertools import product
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from weft.ir.ops import Program, Signature
from weft.ir.trace.monoids import Monoid, UserMonoid
from weft.ir.trace.steps import (
    NO_ROLES,
    EdgeFunction,
    Fold,
    Roles,
    VertexFunction,
    trace_program,
)
from weft.ir.types import VertexIdType
from weft.storage.memory import Cache

MOST_KEPT = 256
DEEPEST = 6  # depth of nested functions to inspect, since references may be cyclic
MOST_CODES = 1024
LIBRARIES = ("weft", "numpy", "math", "cmath", "operator", "builtins")
# Names that may give different values, have effects, or read attributes by computed names.
FICKLE = frozenset({
    "random", "default_rng", "time", "next", "open", "input", "print", "eval", "exec", "globals",
    "vars", "locals", "getattr", "hasattr", "dir", "attrgetter", "methodcaller", "breakpoint",
    "compile", "fromfile", "loadtxt", "genfromtxt", "memmap",
})  # fmt: skip
# By exact type: objects of a derived class may have attributes that change.
_PLAIN = frozenset({
    type(None), bool, int, float, complex, str, bytes, type(...), VertexIdType, Monoid,
})  # fmt: skip
_OPAQUE = (types.BuiltinFunctionType, np.ufunc, type(np.where))  # functions not written in Python
_TOLD_BY_VALUE = frozenset({type(None), bool, int, str})
_MISSING = object()


class _Fickle(Exception):
    """Raised if something that a function reads may change in place."""


class _Reads:
    """The external values that functions read, to check whether they are unchanged."""

    def __init__(self) -> None:
        self.globals: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.functions: list[tuple[Any, Any, Any]] = []
        self.made: list[tuple[Any, int]] = []  # of weft.edge, weft.vertex and weft.fold
        self.bare: list[Any] = []  # functions without attributes
        self.attributes: list[tuple[Any, tuple[str, ...], tuple[Any, ...]]] = []
        self._seen: set[int] = set()
        self._libraries: list[Any] = []  # modules and classes
        self._names: dict[str, None] = {}  # of attributes that are read of some object

    def unchanged(self) -> bool:
        """Whether all recorded values are the same objects as before."""
        for names, name, value in self.globals:
            if names.get(name, _MISSING) is not value:
                return False
        try:
            for cell, value in self.cells:
                if cell.cell_contents is not value:
                    return False
        except ValueError:  # it is empty by now
            return False
        for function, code, defaults in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        for made, edits in self.made:
            if made.edits != edits:
                return False
        for function in self.bare:
            if function.__dict__:
                return False
        for thing, keys, values in self.attributes:
            held = thing.__dict__
            if len(held) != len(keys):
                return False
            if not (all(map(is_, held, keys)) and all(map(is_, held.values(), values))):
                return False
        return True

    def note_all(self, values: tuple[Any, ...]) -> None:
        """Record everything that functions read; raise if something may change unnoticed."""
        for value in values:
            self.note(value)
        # Any attribute name may be read from any module or class, and new entries may add to both.
        known: set[tuple[int, str]] = set()
        while len(known) < len(self._libraries) * len(self._names):
            for library, name in [*product(self._libraries, self._names)]:
                if (id(library), name) not in known:
                    known.add((id(library), name))
                    self._note_in_library(library, name)

    def note(self, value: Any) -> None:
        """Record a value that a function reads; raise if it may change unnoticed."""
        if id(value) in self._seen or type(value) in _PLAIN or _is_plain_of_numpy(value):
            return
        self._seen.add(id(value))
        if type(value) in (tuple, frozenset):
            for part in value:
                self.note(part)
        elif isinstance(value, types.ModuleType | type):
            name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
            if not _is_of_library(name):
                raise _Fickle
            if value is not builtins:
                self._libraries.append(value)
        elif isinstance(value, _OPAQUE):
            self._note_opaque(value)
        elif isinstance(value, types.FunctionType):
            self._note_function(value)
        elif isinstance(value, EdgeFunction | VertexFunction | Fold):
            self.made.append((value, value.edits))
            for part in vars(value).values():
                self.note(part)
        elif isinstance(value, UserMonoid):
            self._note_attributes(value)
        else:
            raise _Fickle

    def _note_in_library(self, library: Any, name: str) -> None:
        if library is sys.modules["weft"] and name in library.__all__:
            getattr(library, name)  # imported when first used
        value = vars(library).get(name, _MISSING)
        if value is not _MISSING:
            self.globals.append((vars(library), name, value))
            self.note(value)

    def _note_opaque(self, value: Any) -> None:
        """Record a function that is not written in Python, or that NumPy dispatches."""
        if value.__name__ in FICKLE:
            raise _Fickle
        if isinstance(value, types.BuiltinFunctionType):
            self.note(value.__self__)  # the module, or the object of a method, which may change
        elif getattr(np, value.__name__, None) is not value:
            raise _Fickle  # made of a function of Python

    def _note_attributes(self, value: Any) -> None:
        held = vars(value)
        if held:
            self.attributes.append((value, tuple(held), tuple(held.values())))
        else:
            self.bare.append(value)
        for part in held.values():
            self.note(part)

    def _note_function(self, function: types.FunctionType) -> None:
        self.functions.append((function, function.__code__, function.__defaults__))
        self._note_attributes(function)
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
        if _is_of_library(str(names.get("__name__"))):
            if function.__name__ in FICKLE:
                raise _Fickle
            return  # other reads of library functions are internal
        used = _names_in(function.__code__)
        if used.fickle:
            raise _Fickle
        self._names.update(dict.fromkeys(used.attributes))
        for name in used.globals:
            value = names.get(name, _MISSING)
            self.globals.append((names, name, value))
            if value is _MISSING:
                value = vars(builtins).get(name, _MISSING)
                self.globals.append((vars(builtins), name, value))
            if value is not _MISSING:
                self.note(value)


def _is_of_library(module: str) -> bool:
    return module.partition(".")[0] in LIBRARIES


def _is_plain_of_numpy(value: Any) -> bool:
    """Whether this is a number or a dtype of NumPy that cannot change."""
    if isinstance(value, np.dtype):
        return value.fields is None and value.metadata is None
    return isinstance(value, np.number | np.bool_) and type(value).__module__ == "numpy"


def _contents(cell: Any) -> Any:
    """Return the value of an enclosing function's variable, if it has one."""
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


class _Names(NamedTuple):
    """The names that some code and the functions in it read."""

    code: types.CodeType  # kept alive, since names are looked up by its identity
    globals: tuple[str, ...]
    attributes: tuple[str, ...]  # and all others
    fickle: bool  # whether it imports, or uses a name whose value may differ each time


_names: dict[int, _Names] = {}


def _names_in(code: types.CodeType) -> _Names:
    found = _names.get(id(code))
    if found is None:
        found = _sorted_names(code)
        if len(_names) >= MOST_CODES:
            _names.clear()
        _names[id(code)] = found
    return found


def _sorted_names(code: types.CodeType) -> _Names:
    found: dict[str, None] = {}
    attributes = dict.fromkeys(code.co_names)
    imports = False
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found[instruction.argval] = None
        imports |= instruction.opname.startswith("IMPORT")
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            inner = _sorted_names(part)
            found |= dict.fromkeys(inner.globals)
            attributes |= dict.fromkeys(inner.attributes)
            imports |= inner.fickle
    special = any(name.startswith("__") and name.endswith("__") for name in attributes)
    fickle = imports or special or not FICKLE.isdisjoint(attributes)
    return _Names(code, tuple(found), tuple(attributes), fickle)


_lock = threading.Lock()
# Traces with what they read, and the objects whose identities form the keys, kept alive. The first
# is keyed by the contents of functions, the second by their identities.
_kept: Cache[Any, tuple[_Reads, Program, Any]] = Cache("traces", MOST_KEPT)
_same: Cache[Any, tuple[_Reads, Program, Any]] = Cache("traces by object", MOST_KEPT)


def kept_trace(functions: Any, signature: Signature, mode: str, roles: Roles = NO_ROLES) -> Program:
    """Return what `trace_program` returns; callers must not change it: it is shared."""
    many = tuple(functions) if isinstance(functions, list) else functions
    if isinstance(roles.refill, list):
        roles = roles._replace(refill=tuple(roles.refill))
    held = (many, signature, tuple(roles))
    same = (_objects(many), id(signature), mode, _objects(held[2]))
    kept = _same.get(same)
    if kept is not None and kept[0].unchanged():
        return kept[1]
    key = (_identity(many), id(signature), mode, _identity(held[2]))
    kept = _kept.get(key)
    if kept is None or not kept[0].unchanged():
        reads = _reads_of(many, *roles)
        program = trace_program(functions, signature, mode, roles)
        # If it is not cached, nothing is kept alive: the values that functions read may be large.
        if reads is None or not reads.unchanged():
            return program
        program.findings["reads"] = reads
        kept = (reads, program, held)
    with _lock:
        _kept[key] = kept
        if kept[2] is held:
            _same[same] = kept
    return kept[1]


def _objects(value: Any) -> Any:
    """Return the identities or values of objects; equal ones are traced alike."""
    if type(value) is tuple:
        return tuple([part if type(part) in _TOLD_BY_VALUE else id(part) for part in value])
    return id(value)


def _identity(value: Any, depth: int = 0) -> Any:
    """Return a key that is equal for values that are traced alike.

    Functions recreated in every call, from the same code over the same values, have one key. Other
    objects are keyed by identity: the cached trace keeps them alive, so their ids are not reused.
    """
    kind = type(value)
    if kind in _TOLD_BY_VALUE:
        return kind, value
    if kind is tuple:
        return tuple([_identity(part, depth) for part in value])
    if kind is float:
        return kind, value.hex()  # 0.0 and -0.0 are equal, but not the same
    if depth < DEEPEST:
        if kind is types.FunctionType and not value.__dict__ and not value.__kwdefaults__:
            defaults, cells = value.__defaults__, value.__closure__
            return (
                id(value.__code__), id(value.__globals__), value.__name__,
                defaults and _identity(defaults, depth + 1),
                cells and tuple([_identity(_contents(cell), depth + 1) for cell in cells]),
            )  # fmt: skip
        if kind in (EdgeFunction, VertexFunction, Fold):
            held = vars(value)
            return kind, tuple(held), tuple([_identity(p, depth + 1) for p in held.values()])
    return id(value)


def _reads_of(*values: Any) -> _Reads | None:
    """Return what functions read; None if that may change unnoticed."""
    reads = _Reads()
    try:
        reads.note_all(values)
    except _Fickle:
        return None
    return reads
