"""Semirings: a monoid to add with and a binary operator to multiply with."""

from __future__ import annotations

from typing import Any

from weft.graphblas.dtypes import BOOL, INT64, NUMBERS, SIGNED, UNSIGNED, DataType
from weft.graphblas.operators.base import (
    Namespace,
    Operator,
    Parameterized,
    TypedOp,
    place,
    signatures_match,
)
from weft.graphblas.operators.binary import BinaryOp, ParameterizedBinaryOp, binary
from weft.graphblas.operators.monoid import Monoid, ParameterizedMonoid, monoid
from weft.graphblas.operators.names import op


class SemiringNamespace(Namespace):
    """Semirings; ``min_plus`` and the like are made of monoid and operator when first used."""

    def _find(self, name: str) -> Any:
        pair = split(name)
        if pair is None:
            return None
        made = Semiring._of(name, *pair)
        if not made.types:
            return None
        setattr(self, name, made)
        if name not in vars(op):
            setattr(op, name, made)
        return made

    def _names(self) -> list[str]:
        return [
            f"{add}_{multiply}"
            for add in vars(monoid)
            if isinstance(vars(monoid)[add], Monoid)
            for multiply in COMMON
            if fit(vars(monoid)[add], vars(binary)[multiply])
        ]


COMMON = (
    "cdiv",
    "eq",
    "first",
    "floordiv",
    "ge",
    "gt",
    "iseq",
    "isge",
    "isgt",
    "isle",
    "islt",
    "isne",
    "land",
    "le",
    "lor",
    "lt",
    "lxor",
    "max",
    "min",
    "minus",
    "ne",
    "pair",
    "plus",
    "rdiv",
    "rfloordiv",
    "rminus",
    "rtruediv",
    "second",
    "times",
    "truediv",
    "band",
    "bor",
    "bxnor",
    "bxor",
)
semiring = SemiringNamespace("semiring", "Semirings.")


def fit(add: Any, multiply: Any) -> bool:
    """Return whether there is a type for which a monoid adds what an operator gives."""
    return any(
        found in add.types and not (found is BOOL and multiply.name in NOT_OF_BOOLS)
        for type_, found in multiply.types.items()
        if type_ not in multiply.coercions
    )


def split(name: str) -> tuple[Any, Any] | None:
    """Return the monoid and the operator that a name such as ``min_plus`` is made of."""
    at = name.find("_")
    while at > 0:
        add = vars(monoid).get(name[:at])
        multiply = vars(binary).get(name[at + 1 :])
        if isinstance(add, Monoid) and isinstance(multiply, BinaryOp):
            return add, multiply
        at = name.find("_", at + 1)
    return None


class TypedSemiring(TypedOp):
    """A semiring for one type of input.

    Attributes
    ----------
    monoid, binaryop
        What it adds and multiplies with.
    """

    __slots__ = ("binaryop", "monoid")
    opclass = "Semiring"

    def __init__(self, parent: Any, type_: DataType, add: Any, multiply: Any) -> None:
        super().__init__(parent, type_, add.return_type, multiply._raw)
        self.monoid, self.binaryop = add, multiply

    @property
    def commutes_to(self) -> Any:
        """The semiring with the operands of its multiplication exchanged, or None."""
        other = self.parent.commutes_to
        return None if other is None else other[self.type]

    @property
    def is_commutative(self) -> bool:
        """Whether the operands of the multiplication may be exchanged."""
        return self.parent.is_commutative


class ParameterizedSemiring(Parameterized):
    """A semiring with parameters."""

    _modname = "semiring"

    def __init__(self, name: str, add: Any, multiply: Any, *, anonymous: bool = False) -> None:
        if not isinstance(add, Monoid | ParameterizedMonoid):
            raise TypeError(f"monoid must be of type Monoid; got {type(add).__name__}.")
        if not isinstance(multiply, BinaryOp | ParameterizedBinaryOp):
            raise TypeError(f"binaryop must be of type BinaryOp; got {type(multiply).__name__}.")
        parts = [each for each in (add, multiply) if isinstance(each, Parameterized)]
        if not parts:
            raise TypeError("At least one of monoid and binaryop must be parameterized.")
        if len(parts) == 2 and not signatures_match(parts[0].func, parts[1].func):
            raise ValueError(
                "Signatures of the monoid and of the binary operator differ: "
                "both take the same parameters."
            )
        super().__init__(name, None, Semiring, anonymous=anonymous)
        self.monoid, self.binaryop = add, multiply

    def _make(self, *args: Any, **kwargs: Any) -> Any:
        add, multiply = (
            each(*args, **kwargs) if isinstance(each, Parameterized) else each
            for each in (self.monoid, self.binaryop)
        )
        return Semiring.register_anonymous(add, multiply, self.name)

    @property
    def is_commutative(self) -> bool:
        """Whether the operands of the multiplication may be exchanged."""
        return self.binaryop.is_commutative


class Semiring(Operator):
    """A semiring.

    Attributes
    ----------
    monoid : Monoid
        What it adds with.
    binaryop : BinaryOp
        What it multiplies with.
    """

    _modname = "semiring"
    opclass = "Semiring"
    typed_class = TypedSemiring
    module = semiring
    monoid: Any
    binaryop: Any

    @classmethod
    def _of(cls, name: str, add: Any, multiply: Any) -> Any:
        """Return the semiring of a monoid and an operator, for all types that fit both."""
        made = cls(name)
        made.monoid, made.binaryop = add, multiply
        for type_, found in multiply.types.items():
            if found in add.types and type_ not in multiply.coercions:
                typed = TypedSemiring(made, type_, add[found], multiply[type_])
                made._typed_ops[type_] = typed
                made.types[type_] = typed.return_type
        for type_, to in multiply.coercions.items():
            if to in made.types:
                made.coerce(type_, to)
        if not (add._anonymous or multiply._anonymous):
            _adapt(made, add.name, multiply.name)
        return made

    @property
    def commutes_to(self) -> Any:
        """The semiring with the operands of its multiplication exchanged, or None."""
        other = self.binaryop.commutes_to
        if other is None:
            return None
        if other is self.binaryop:
            return self
        from weft.graphblas.operators.lookup import get_semiring

        return get_semiring(self.monoid, other)

    @property
    def is_commutative(self) -> bool:
        """Whether the operands of the multiplication may be exchanged."""
        return self.binaryop.is_commutative

    @classmethod
    def register_anonymous(cls, add: Any, multiply: Any, name: str | None = None) -> Any:
        """Return a semiring of a monoid and a binary operator, kept under no name."""
        if not isinstance(add, Monoid | ParameterizedMonoid):
            raise TypeError(f"monoid must be a Monoid; got {type(add).__name__}.")
        if not isinstance(multiply, BinaryOp | ParameterizedBinaryOp):
            raise TypeError(f"binaryop must be a BinaryOp; got {type(multiply).__name__}.")
        name = name or f"{add.name}_{multiply.name}".replace(".", "_")
        if isinstance(add, Parameterized) or isinstance(multiply, Parameterized):
            return ParameterizedSemiring(name, add, multiply, anonymous=True)
        made = cls._of(name, add, multiply)
        made._anonymous = True
        return made

    @classmethod
    def register_new(cls, name: str, add: Any, multiply: Any, *, lazy: bool = False) -> Any:
        """Make a semiring and keep it as ``gb.semiring.<name>``."""
        module, last = place(semiring, name)

        def make() -> Any:
            made = cls.register_anonymous(_by_name(monoid, add), _by_name(binary, multiply), name)
            made._anonymous = False
            inner, final = place(op, name, strict=False)
            if final not in vars(inner):
                setattr(inner, final, made)
            return made

        if lazy:
            module._delayed[last] = make
            return None
        made = make()
        setattr(module, last, made)
        return made


def _adapt(made: Any, add: str, multiply: str) -> None:
    """Follow python-graphblas in which types a built-in semiring takes."""
    counts = multiply == "pair" and add in {"plus", "times", "min", "max"}
    if counts or (multiply in NOT_OF_BOOLS and made.types.get(BOOL) is BOOL):
        made._typed_ops.pop(BOOL, None)
        made.types.pop(BOOL, None)
    if counts:
        typed = TypedSemiring(made, BOOL, made.monoid[INT64], made.binaryop[BOOL])
        made._typed_ops[BOOL] = typed
    if add == "eq" and multiply in OF_BOOLS:
        for type_ in NUMBERS:
            made.coerce(type_, BOOL)
    if add in BITWISE and multiply in BITWISE:
        for type_, to in zip(SIGNED, (*UNSIGNED[1:], UNSIGNED[-1]), strict=True):
            made.coerce(type_, to)


# Multiplications that booleans have under another name.
NOT_OF_BOOLS = {
    "cdiv",
    "iseq",
    "isge",
    "isgt",
    "isle",
    "islt",
    "isne",
    "max",
    "min",
    "minus",
    "plus",
    "pow",
    "rdiv",
    "rminus",
    "times",
}
OF_BOOLS = {"first", "land", "lor", "lxor", "pair", "second"}
BITWISE = {"band", "bor", "bxnor", "bxor"}


def _by_name(module: Any, what: Any) -> Any:
    if isinstance(what, str):
        for part in what.split("."):
            module = getattr(module, part)
        return module
    return what


semiring.register_new = Semiring.register_new
semiring.register_anonymous = Semiring.register_anonymous
