"""Data types: the eleven real built-in ones of GraphBLAS, and how two of them unify."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from weft.graphblas.exceptions import NotImplementedException

# Complex types and user-defined ones are left out.
_supports_complex = False


class DataType:
    """A data type of values.

    Attributes
    ----------
    name : str
        Its name, such as ``"INT64"``.
    np_type : numpy.dtype
        The NumPy type of stored values.
    c_type : str
        The type's name in C.
    """

    __slots__ = ("__weakref__", "c_type", "name", "np_type")
    _is_udt = False
    _is_anonymous = False

    def __init__(self, name: str, np_type: DTypeLike, c_type: str) -> None:
        self.name = name
        self.np_type = np.dtype(np_type)
        self.c_type = c_type

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if type(other) is DataType:
            return self is other
        try:
            return self is lookup_dtype(other)
        except ValueError:
            raise TypeError(
                f"Cannot compare {self.name} with {other!r}: not a data type."
            ) from None

    def __hash__(self) -> int:
        return hash(self.name)

    def __lt__(self, other: Any) -> bool:
        try:
            theirs = lookup_dtype(other).np_type
        except ValueError:
            raise TypeError(f"Cannot order {self.name} and {other!r}: not a data type.") from None
        mine = self.np_type
        return (mine.kind, mine.itemsize, mine.name) < (theirs.kind, theirs.itemsize, theirs.name)

    def __reduce__(self) -> Any:
        return lookup_dtype, (self.name,)


BOOL = DataType("BOOL", np.bool_, "_Bool")
INT8 = DataType("INT8", np.int8, "int8_t")
UINT8 = DataType("UINT8", np.uint8, "uint8_t")
INT16 = DataType("INT16", np.int16, "int16_t")
UINT16 = DataType("UINT16", np.uint16, "uint16_t")
INT32 = DataType("INT32", np.int32, "int32_t")
UINT32 = DataType("UINT32", np.uint32, "uint32_t")
INT64 = DataType("INT64", np.int64, "int64_t")
UINT64 = DataType("UINT64", np.uint64, "uint64_t")
FP32 = DataType("FP32", np.float32, "float")
FP64 = DataType("FP64", np.float64, "double")

SIGNED = (INT8, INT16, INT32, INT64)
UNSIGNED = (UINT8, UINT16, UINT32, UINT64)
FLOATS = (FP32, FP64)
INTEGERS = (INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64)
NUMBERS = (*INTEGERS, *FLOATS)
ALL = (BOOL, *NUMBERS)

_registry: dict[Any, DataType] = {}
for _each in ALL:
    for _key in (
        _each.name,
        _each.name.lower(),
        _each.c_type,
        _each.c_type.upper(),
        _each.np_type,
        _each.np_type.type,
        _each.np_type.name,
    ):
        _registry[_key] = _each
# "float" is Python's (and NumPy's) double, not the float of C.
_registry.update({bool: BOOL, int: INT64, float: FP64, "bool": BOOL, "int": INT64, "float": FP64})


def lookup_dtype(key: Any, value: Any = None) -> DataType:
    """Return the data type that a name, a NumPy type, a Python type or a data type stands for.

    Examples
    --------
    >>> from weft.graphblas import dtypes
    >>> dtypes.lookup_dtype("int32"), dtypes.lookup_dtype(float)
    (INT32, FP64)
    """
    if type(key) is DataType:
        return key
    try:
        return _registry[key]
    except (KeyError, TypeError):
        pass
    if key is None:
        raise TypeError("Bad dtype: None. Give a data type, its name, or a NumPy or Python type.")
    if value is not None and hasattr(value, "dtype") and value.dtype in _registry:
        return _registry[value.dtype]
    try:
        np_type = np.dtype(key)
    except TypeError:
        np_type = None
    if np_type in _registry and np_type is not None:
        return _registry[np_type]
    of_values = np_type is not None and (np_type.kind in "cV" or np_type.subdtype is not None)
    if of_values or isinstance(key, dict) or (isinstance(key, str) and key.endswith("]")):
        raise NotImplementedException(
            f"Values of type {np_type or key} are not supported: only booleans, integers and real "
            "floats."
        )
    raise ValueError(f"Unknown dtype: {key!r} of type {type(key).__name__}.")


@cache
def _promoted(type1: DataType, type2: DataType) -> DataType:
    return _registry[np.promote_types(type1.np_type, type2.np_type)]


def unify(
    type1: DataType,
    type2: DataType,
    *,
    is_left_scalar: bool = False,
    is_right_scalar: bool = False,
) -> DataType:
    """Return the smallest data type that holds the values of both, as NumPy promotes them.

    Examples
    --------
    >>> from weft.graphblas import dtypes
    >>> dtypes.unify(dtypes.INT8, dtypes.UINT16)
    INT32
    """
    return type1 if type1 is type2 else _promoted(type1, type2)


def register_new(name: str, dtype: Any) -> DataType:
    """Refuse: user-defined data types are not supported."""
    raise NotImplementedException(
        f"Cannot register the data type {name!r}: user-defined types are not supported."
    )


def register_anonymous(dtype: Any, name: str | None = None) -> DataType:
    """Return the built-in data type of `dtype`; refuse types of the user's own."""
    found = lookup_dtype(dtype)
    if name is not None and name != found.name:
        raise ValueError(f"{found.name} is a builtin data type and cannot be renamed to {name!r}.")
    return found


def __dir__() -> list[str]:
    """Return the names of python-graphblas's module; reading `ss` explains why it is missing."""
    return [*globals(), "ss"]


def __getattr__(name: str) -> Any:
    from weft.graphblas.left_out import refuse

    refuse("weft.graphblas.dtypes", name)
