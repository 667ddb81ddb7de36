"""Which operator is meant: from names, strings, Python functions and types."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType
from typing import Any

from weft.graphblas.dtypes import lookup_dtype, unify
from weft.graphblas.operators.base import (
    UNKNOWN_OPCLASS,
    Namespace,
    Operator,
    Parameterized,
    TypedOp,
)
from weft.graphblas.operators.binary import BinaryOp, binary
from weft.graphblas.operators.indexunary import indexunary
from weft.graphblas.operators.monoid import Monoid, monoid
from weft.graphblas.operators.names import op as op_names
from weft.graphblas.operators.select import select
from weft.graphblas.operators.semiring import Semiring, semiring
from weft.graphblas.operators.unary import UnaryOp, unary

SIGNS: dict[str, dict[str, str]] = {
    "unary": {"-": "ainv", "~": "lnot"},
    "select": {
        "<": "valuelt",
        ">": "valuegt",
        "<=": "valuele",
        ">=": "valuege",
        "!=": "valuene",
        "==": "valueeq",
        "col<=": "colle",
        "col>": "colgt",
        "row<=": "rowle",
        "row>": "rowgt",
        "index<=": "indexle",
        "index>": "indexgt",
    },
    "binary": {
        "<": "lt",
        ">": "gt",
        "<=": "le",
        ">=": "ge",
        "!=": "ne",
        "==": "eq",
        "+": "plus",
        "-": "minus",
        "*": "times",
        "/": "truediv",
        "//": "floordiv",
        "%": "numpy.mod",
        "**": "pow",
        "&": "land",
        "|": "lor",
        "^": "lxor",
    },
    "monoid": {"==": "eq", "+": "plus", "*": "times", "&": "land", "|": "lor", "^": "lxor"},
    "semiring": {},
    "agg": {"+": "sum", "*": "prod", "&": "all", "|": "any"},
}
SIGNS["indexunary"] = SIGNS["select"]
EXAMPLES = {"unary": "abs[int]", "select": "tril", "indexunary": "rowindex", "agg": "sum[int]"}
BUILTINS: dict[Any, Any] = {abs: unary.abs, max: binary.max, min: binary.min}


def from_string(module: Any, string: str) -> Any:
    """Return the operator of a namespace that a string such as ``"+[int]"`` names."""
    kind = module._modname
    example = EXAMPLES.get(kind, "+[int]")
    text = string.lower().strip()
    base, *rest = text.split("[")
    if len(rest) > 1:
        raise ValueError(f"Bad {kind} string {string!r}: too many '['. Write {example!r}.")
    if rest and not rest[0].endswith("]"):
        raise ValueError(
            f"Bad {kind} string {string!r}: the type does not end with ']'. Write {example!r}."
        )
    if "]" in base:
        raise ValueError(
            f"Bad {kind} string {string!r}: ']' not matched by '['. Write {example!r}."
        )
    found: Any = module
    for part in SIGNS[kind].get(base, base).split("."):
        found = getattr(found, part, None)
    if found is None or found is module or isinstance(found, Namespace):
        found = getattr(getattr(module, "numpy", None), base, None) if base else None
    if found is None:
        found = next(
            (of for name, of in vars(module).items() if base and name.lower() == base), None
        )
    if not isinstance(found, Operator | Parameterized) and not hasattr(found, "opclass"):
        raise ValueError(f"Unknown {kind} string: {string!r}. An example is {example!r}.")
    return found[lookup_dtype(rest[0][:-1])] if rest else found


def unary_from_string(string: str) -> Any:
    """Return the unary operator that a string names."""
    return from_string(unary, string)


def binary_from_string(string: str) -> Any:
    """Return the binary operator that a string names."""
    return from_string(binary, string)


def monoid_from_string(string: str) -> Any:
    """Return the monoid that a string names."""
    return from_string(monoid, string)


def indexunary_from_string(string: str) -> Any:
    """Return the index-unary operator that a string names."""
    return from_string(indexunary, string)


def select_from_string(string: str) -> Any:
    """Return the select operator that a string names."""
    return from_string(select, string)


def aggregator_from_string(string: str) -> Any:
    """Return the aggregator that a string names."""
    from weft.graphblas.operators.agg import agg

    return from_string(agg, string)


def semiring_from_string(string: str) -> Any:
    """Return the semiring that a string such as ``"min.+"`` or ``"min_plus"`` names."""
    parts = string.split(".")
    if len(parts) == 1:
        try:
            return from_string(semiring, string)
        except ValueError:
            pass
    if len(parts) != 2:
        raise ValueError(
            f"Bad semiring string: {string!r}. Put one period between monoid and operator, "
            "as in 'min.+[int]'."
        )
    return get_semiring(monoid_from_string(parts[0]), binary_from_string(parts[1]))


PARSERS = {
    "unary": unary_from_string,
    "binary": binary_from_string,
    "monoid": monoid_from_string,
    "semiring": semiring_from_string,
    "indexunary": indexunary_from_string,
    "select": select_from_string,
    "agg": aggregator_from_string,
}


def op_from_string(string: str) -> Any:
    """Return the operator of any kind that a string names; unary ones come first."""
    for parse in PARSERS.values():
        try:
            return parse(string)
        except Exception:
            continue
    raise ValueError(f"Unknown op string: {string!r}. An example is 'abs[int]'.")


def find_opclass(op: Any) -> tuple[Any, str]:
    """Return an operator and the name of its kind; default parameters are filled in."""
    if isinstance(op, Operator | TypedOp):
        return op, op.opclass
    if isinstance(op, Parameterized):
        made = op()
        return made, made.opclass
    if hasattr(op, "opclass"):
        return op, op.opclass
    return BUILTINS.get(op, op) if isinstance(op, BuiltinFunctionType) else op, (
        BUILTINS[op].opclass
        if isinstance(op, BuiltinFunctionType) and op in BUILTINS
        else UNKNOWN_OPCLASS
    )


def get_typed_op(
    op: Any,
    dtype: Any,
    dtype2: Any = None,
    *,
    is_left_scalar: bool = False,
    is_right_scalar: bool = False,
    kind: str | None = None,
) -> Any:
    """Return an operator's form for types; `op` may be a name, a sign or a function."""
    if isinstance(op, TypedOp):
        return op
    if isinstance(op, Operator):
        return op[dtype if dtype2 is None or dtype2 is dtype else unify(dtype, dtype2)]
    if isinstance(op, Parameterized):
        return get_typed_op(op(), dtype, dtype2, kind=kind)
    if hasattr(op, "opclass"):
        return op.typed(dtype)
    if isinstance(op, str):
        return get_typed_op(_parsed(op, kind), dtype, dtype2, kind=kind)
    if isinstance(op, BuiltinFunctionType) and op in BUILTINS:
        return get_typed_op(BUILTINS[op], dtype, dtype2, kind=kind)
    if isinstance(op, FunctionType) and kind is not None:
        if kind == "unary":
            return get_typed_op(UnaryOp.register_anonymous(op), dtype, dtype2)
        if kind.startswith("binary"):
            return get_typed_op(BinaryOp.register_anonymous(op), dtype, dtype2)
    raise TypeError(f"Unable to get typed operator from object of type {type(op).__name__}.")


def _parsed(string: str, kind: str | None) -> Any:
    """Return the operator of a kind that a string names."""
    if kind == "binary|aggregator":
        for parse in (binary_from_string, aggregator_from_string):
            try:
                return parse(string)
            except ValueError:
                continue
        raise ValueError(f"Unknown binary or aggregator string: {string!r}.")
    if kind not in PARSERS:
        raise ValueError(
            f"Unable to get op from string {string!r}: `kind=` has to say of which kind it is."
        )
    return PARSERS[kind](string)


def get_semiring(add: Any, multiply: Any, name: str | None = None) -> Any:
    """Return the semiring of a monoid and a binary operator, registered if both have names.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> gb.semiring.get_semiring(gb.monoid.min, gb.binary.plus)
    semiring.min_plus
    """
    add, kind = find_opclass(add)
    switched = kind == "BinaryOp" and add.monoid is not None
    if switched:
        add = add.monoid
    elif kind != "Monoid":
        raise TypeError(f"Expected a Monoid to add with; got {type(add).__name__}.")
    multiply, kind = find_opclass(multiply)
    if kind == "Monoid":
        if switched:
            raise TypeError(
                "Got a BinaryOp to add with and a Monoid to multiply with: switch the arguments?"
            )
        multiply = multiply.binaryop
    elif kind != "BinaryOp":
        raise TypeError(f"Expected a BinaryOp to multiply with; got {type(multiply).__name__}.")
    add_type = None if isinstance(add, Monoid) else add.type
    multiply_type = None if isinstance(multiply, BinaryOp) else multiply.type
    add = add if add_type is None else add.parent
    multiply = multiply if multiply_type is None else multiply.parent
    made = _registered_semiring(add, multiply, name)
    type_ = multiply_type or add_type
    return made if type_ is None else made[type_]


def _registered_semiring(add: Any, multiply: Any, name: str | None) -> Any:
    if add._anonymous or multiply._anonymous:
        return Semiring.register_anonymous(add, multiply, name)
    own = name or f"{add.name}_{multiply.name}".replace(".", "_")
    found = getattr(semiring, own, None)
    if found is None:
        found = Semiring.register_new(own, add, multiply)
    if found.monoid is not add or found.binaryop is not multiply:
        return Semiring.register_anonymous(add, multiply, name)
    return found


for _module, _parse in (
    (unary, unary_from_string),
    (binary, binary_from_string),
    (monoid, monoid_from_string),
    (semiring, semiring_from_string),
    (indexunary, indexunary_from_string),
    (select, select_from_string),
    (op_names, op_from_string),
):
    _module.from_string = _parse
semiring.get_semiring = get_semiring
