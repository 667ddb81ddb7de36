"""Monoids: commutative and associative binary operators with an identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.graphblas.dtypes import ALL, BOOL, NUMBERS, UNSIGNED, DataType, lookup_dtype
from weft.graphblas.exceptions import DomainMismatch
from weft.graphblas.operators.base import (
    Namespace,
    Operator,
    Parameterized,
    TypedOp,
    place,
    signatures_match,
)
from weft.graphblas.operators.binary import BinaryOp, ParameterizedBinaryOp, TypedBinaryOp, binary
from weft.graphblas.operators.unary import share

Array = Any
monoid = Namespace("monoid", "Monoids.")


class TypedMonoid(TypedOp):
    """A monoid for one type.

    Attributes
    ----------
    identity
        The value that changes nothing.
    """

    __slots__ = ("_binaryop", "identity")
    opclass = "Monoid"

    def __init__(self, parent: Any, binaryop: TypedBinaryOp, identity: Any) -> None:
        super().__init__(parent, binaryop.type, binaryop.return_type, binaryop._raw)
        self._binaryop = binaryop
        self.identity = identity

    @property
    def binaryop(self) -> TypedBinaryOp:
        """The binary operator for this type."""
        return self._binaryop

    monoid = property(lambda self: self)
    commutes_to = property(lambda self: self)
    is_commutative = True

    @property
    def is_idempotent(self) -> bool:
        """Whether a value combined with itself stays."""
        return self.parent.is_idempotent

    def segments(self, values: Array, starts: Array) -> Array:
        """Reduce runs of values, none empty; `starts` says where each begins."""
        if len(starts) == len(values):
            return values
        ufunc = UFUNCS.get(self.parent.name) if self.parent.module is monoid else None
        np_type = self.type.np_type
        with np.errstate(all="ignore"):
            if self.parent._anonymous or ufunc is None:
                return self._fold(values, starts)
            if ufunc is first_of_each:
                return values[starts]
            if ufunc in ALTERNATING:
                return _alternating(values, starts, np_type)
            if np_type.kind == "b":
                return ufunc.reduceat(values, starts)
            return ufunc.reduceat(values, starts, dtype=np_type)

    def _fold(self, values: Array, starts: Array) -> Array:
        """Reduce runs by combining neighbours, in a logarithmic number of rounds."""
        lengths = np.diff(np.append(starts, len(values)))
        while len(values) > len(starts):
            begins = np.concatenate(([0], np.cumsum(lengths)[:-1]))
            place = np.arange(len(values)) - np.repeat(begins, lengths)
            left = np.flatnonzero((place % 2 == 0) & (place + 1 < np.repeat(lengths, lengths)))
            combined = self.evaluate(values[left], values[left + 1])
            values = values.copy()
            values[left] = combined
            values = values[place % 2 == 0]
            lengths = (lengths + 1) // 2
        return values


def first_of_each(values: Array, starts: Array) -> Array:
    """Return the first value of every run: what `any` chooses."""
    return values[starts]


UFUNCS: dict[str, Any] = {
    "any": first_of_each,
    "plus": np.add,
    "times": np.multiply,
    "min": np.fmin,
    "max": np.fmax,
    "land": np.logical_and,
    "lor": np.logical_or,
    "lxor": np.logical_xor,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
    "lxnor": np.equal,
    "eq": np.equal,
    "bxnor": np.not_equal,
}
# Monoids whose result depends on how many values there are: "equal" of all pairs in turn.
ALTERNATING = {np.equal, np.not_equal}


def _alternating(values: Array, starts: Array, np_type: np.dtype) -> Array:
    """Reduce runs by "equal": the exclusive or of the values, flipped for each combination."""
    flips = (np.diff(np.append(starts, len(values))) - 1) % 2 == 1
    result = np.bitwise_xor.reduceat(values, starts)
    return np.where(flips, ~result, result).astype(np_type)


class ParameterizedMonoid(Parameterized):
    """A monoid with parameters."""

    _modname = "monoid"

    def __init__(
        self,
        name: str,
        binaryop: Any,
        identity: Any,
        *,
        is_idempotent: bool = False,
        anonymous: bool = False,
    ) -> None:
        if not isinstance(binaryop, ParameterizedBinaryOp):
            raise TypeError(f"binaryop must be parameterized; got {type(binaryop).__name__}.")
        if callable(identity) and not signatures_match(binaryop.func, identity):
            raise ValueError(
                "Signatures of the binary operator and of the identity differ: "
                "both take the same parameters."
            )
        super().__init__(name, binaryop.func, Monoid, anonymous=anonymous)
        self.binaryop, self.identity, self.is_idempotent = binaryop, identity, is_idempotent
        if binaryop.monoid is None:
            binaryop.monoid = self
        # Operators made before this monoid keep having none.
        binaryop._made = {}

    is_commutative = True
    commutes_to = property(lambda self: self)

    def _make(self, *args: Any, **kwargs: Any) -> Any:
        binaryop = self.binaryop(*args, **kwargs)
        if binaryop.monoid is not None:
            return binaryop.monoid
        return self._of(binaryop, args, kwargs)

    def _of(self, binaryop: Any, args: Any, kwargs: Any) -> Any:
        identity = self.identity(*args, **kwargs) if callable(self.identity) else self.identity
        return Monoid.register_anonymous(
            binaryop, identity, self.name, is_idempotent=self.is_idempotent
        )


class Monoid(Operator):
    """A monoid.

    Attributes
    ----------
    binaryop : BinaryOp
        Its operator.
    identities : dict
        Its identity for each type.
    """

    _modname = "monoid"
    opclass = "Monoid"
    typed_class = TypedMonoid
    module = monoid

    def __init__(
        self,
        name: str,
        binaryop: Any = None,
        *,
        is_idempotent: bool = False,
        anonymous: bool = False,
    ) -> None:
        super().__init__(name, anonymous=anonymous)
        self.binaryop = binaryop
        self.is_idempotent = is_idempotent
        if binaryop is not None and binaryop.monoid is None:
            binaryop.monoid = self

    monoid = property(lambda self: self)
    commutes_to = property(lambda self: self)
    is_commutative = True

    @property
    def identities(self) -> dict[DataType, Any]:
        """The identity for each type that is not cast to another one."""
        return {type_: self._typed_ops[type_].identity for type_ in self.types}

    def add_identity(self, type_: DataType, identity: Any) -> None:
        """Add the form for one type, with its identity."""
        typed = self.binaryop[type_]
        self._typed_ops[type_] = TypedMonoid(self, typed, typed.type.np_type.type(identity))
        self.types[type_] = typed.return_type

    @classmethod
    def register_anonymous(
        cls, binaryop: Any, identity: Any, name: str | None = None, *, is_idempotent: bool = False
    ) -> Any:
        """Return a monoid of a binary operator and its identity, kept under no name.

        Parameters
        ----------
        binaryop
            The operator; it has to be associative and commutative.
        identity
            A value for all types, or one for each by type; for an operator with parameters, a
            function that takes them.
        name
            What to call it.
        is_idempotent
            Whether a value combined with itself stays.
        """
        if isinstance(binaryop, ParameterizedBinaryOp):
            return ParameterizedMonoid(
                name or binaryop.name,
                binaryop,
                identity,
                is_idempotent=is_idempotent,
                anonymous=True,
            )
        if not isinstance(binaryop, BinaryOp):
            raise TypeError(f"binaryop must be a BinaryOp; got {type(binaryop).__name__}.")
        made = cls(name or binaryop.name, binaryop, is_idempotent=is_idempotent, anonymous=True)
        if isinstance(identity, dict):
            for key, value in identity.items():
                type_ = lookup_dtype(key)
                if type_ not in binaryop.types or binaryop.types[type_] is not type_:
                    raise DomainMismatch(
                        f"{binaryop!r} does not return {type_} for {type_}; a monoid has to."
                    )
                made.add_identity(type_, value)
            return made
        for type_, found in binaryop.types.items():
            if found is type_ and type_ not in binaryop.coercions:
                made.add_identity(type_, _as_type(identity, type_))
        return made

    @classmethod
    def register_new(
        cls,
        name: str,
        binaryop: Any,
        identity: Any,
        *,
        is_idempotent: bool = False,
        lazy: bool = False,
    ) -> Any:
        """Make a monoid and keep it as ``gb.monoid.<name>``. See `register_anonymous`."""
        module, last = place(monoid, name)

        def make() -> Any:
            of = binaryop
            if isinstance(of, str):
                of = binary
                for part in binaryop.split("."):
                    of = getattr(of, part)
            made = cls.register_anonymous(of, identity, name, is_idempotent=is_idempotent)
            made._anonymous = False
            share(cls, name, made)
            return made

        if lazy:
            from weft.graphblas.operators.names import op

            module._delayed[last] = make
            inner, last = place(op, name, strict=False)
            inner._delayed.setdefault(last, lambda: getattr(module, last))
            return None
        made = make()
        setattr(module, last, made)
        return made


def _as_type(identity: Any, type_: DataType) -> Any:
    """Return an identity as a value of a type; infinities become the limits of integers."""
    if isinstance(identity, float) and type_.np_type.kind in "iu":
        limits = np.iinfo(type_.np_type)
        if identity != identity:
            return 0
        return max(min(identity, limits.max), limits.min)
    if type_.np_type.kind == "u" and identity < 0:
        return np.array(identity).astype(type_.np_type)
    return np.array(identity).astype(type_.np_type) if type_.np_type.kind in "iu" else identity


def builtin(name: str, types: Any, identity: Callable[[DataType], Any], idempotent: bool) -> Monoid:
    """Register a built-in monoid for some types."""
    made = Monoid(name, getattr(binary, name), is_idempotent=idempotent)
    for type_ in types:
        made.add_identity(type_, identity(type_))
    setattr(monoid, name, made)
    return made


def _lowest(type_: DataType) -> Any:
    return -np.inf if type_.np_type.kind == "f" else np.iinfo(type_.np_type).min


def _highest(type_: DataType) -> Any:
    return np.inf if type_.np_type.kind == "f" else np.iinfo(type_.np_type).max


builtin("any", ALL, lambda _: 0, True)
builtin("plus", NUMBERS, lambda _: 0, False)
builtin("eq", [BOOL], lambda _: True, False)
for _name, _identity, _idempotent in (
    ("land", True, True),
    ("lor", False, True),
    ("lxor", False, False),
    ("lxnor", True, False),
):
    _made = builtin(_name, [BOOL], lambda _, value=_identity: value, _idempotent)  # type: ignore[misc]
    for _type in NUMBERS:
        _made.coerce(_type, BOOL)
for _name, _find, _bool in (
    ("min", _highest, "land"),
    ("max", _lowest, "lor"),
    ("times", lambda _: 1, "land"),
):
    _made = builtin(_name, NUMBERS, _find, _name != "times")
    _made._typed_ops[BOOL] = getattr(monoid, _bool)[BOOL]
    _made.types[BOOL] = _made.coercions[BOOL] = BOOL
for _name, _find, _idempotent in (
    ("band", _highest, True),
    ("bor", lambda _: 0, True),
    ("bxor", lambda _: 0, False),
    ("bxnor", _highest, False),
):
    builtin(_name, UNSIGNED, _find, _idempotent)

monoid.register_new = Monoid.register_new
monoid.register_anonymous = Monoid.register_anonymous
