"""Base classes of operators: typed forms, names, parameters, namespaces."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, ClassVar

import numpy as np

from weft.graphblas import dtypes
from weft.graphblas.dtypes import DataType, lookup_dtype
from weft.graphblas.exceptions import UdfParseError
from weft.graphblas.left_out import refuse
from weft.graphblas.storage.cast import cast, is_iso

Array = Any
UNKNOWN_OPCLASS = "UnknownOpClass"


class Namespace(ModuleType):
    """Operators by name, such as ``gb.binary``; a name with dots leads to a nested namespace."""

    def __init__(self, name: str, title: str) -> None:
        super().__init__(f"weft.graphblas.{name}", title)
        self._modname = name
        self._delayed: dict[str, Callable[[], Any]] = {}
        self._deprecated: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        make = self._delayed.get(name)
        if make is None:
            found = self._find(name)
            if found is None:
                refuse(self.__name__, name)
            return found
        try:
            made = make()
        finally:
            self._delayed.pop(name, None)
        setattr(self, name, made)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)

    def _find(self, name: str) -> Any:
        """Return the operator of an unregistered name; None if there is none."""
        return None

    def _names(self) -> list[str]:
        """Return the public names, those made on demand included."""
        return []

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._delayed, *self._names(), "ss"})


class OpPath(Namespace):
    """A nested namespace that the user's operators created."""


def place(module: Namespace, name: str, *, strict: bool = True) -> tuple[Namespace, str]:
    """Return the namespace and the last part of a name with dots; make namespaces on the way."""
    *folders, last = name.split(".")
    for folder in folders:
        inner = getattr(module, folder, None)
        if inner is None:
            inner = OpPath(f"{module._modname}.{folder}", "Operators of the user's own.")
            setattr(module, folder, inner)
        elif not isinstance(inner, Namespace):
            raise AttributeError(
                f"{module._modname}.{folder} is already defined, as an operator. "
                "It cannot hold other names."
            )
        module = inner
    if strict and (last in vars(module) or last in module._delayed):
        raise AttributeError(f"{module._modname}.{last} is already defined.")
    return module, last


class TypedOp:
    """An operator for values of given types."""

    __slots__ = ("__weakref__", "_raw", "name", "parent", "return_type", "type", "type2")
    opclass = "TypedOp"

    def __init__(
        self,
        parent: Any,
        type_: DataType,
        return_type: DataType,
        raw: Callable[..., Any],
        type2: DataType | None = None,
    ) -> None:
        self.parent = parent
        self.name = parent.name
        self.type = type_
        self.type2 = type_ if type2 is None else type2
        self.return_type = return_type
        self._raw = raw

    def __repr__(self) -> str:
        return f"{self.parent._modname}.{self.name}[{self.type.name}]"

    def __reduce__(self) -> Any:
        return _typed, (self.parent, self.type.name)

    @property
    def is_positional(self) -> bool:
        """Whether results depend on where a value stands."""
        return self.parent.is_positional

    @property
    def orig_func(self) -> Any:
        """The Python function behind a user-defined operator."""
        return self.parent.orig_func

    @property
    def _numba_func(self) -> Any:
        return self.parent.orig_func

    def evaluate(self, *arrays: Array) -> Array:
        """Return the results for arrays of values, which have the operator's types."""
        if len(arrays[0]) > 1 and is_iso(arrays[0]) and all(is_iso(each) for each in arrays):
            one = self.evaluate(*(each[:1] for each in arrays))
            return np.broadcast_to(one, (len(arrays[0]),))
        with np.errstate(all="ignore"):
            result = self._raw(*arrays)
        np_type = self.return_type.np_type
        if result.__class__ is np.ndarray and result.dtype == np_type:
            return result
        result = np.asarray(result)
        if result.ndim == 0:
            result = np.broadcast_to(result, (len(arrays[0]),))
        return cast(result, np_type)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.parent._call(self, *args, **kwargs)


def _typed(parent: Any, name: str) -> Any:
    return parent[name]


class Operator:
    """An operator by name; ``op[dtype]`` is its form for one type.

    Attributes
    ----------
    name : str
        The name inside its namespace.
    types : dict
        Result types by input types.
    coercions : dict
        Input types that are first cast to another one.
    """

    _modname = "op"
    _initialized = True
    in_op = True
    opclass = "Operator"
    typed_class: ClassVar[type] = TypedOp
    module: ClassVar[Namespace]
    # What calling an operator does; set by weft.graphblas.operators.calls.
    _call: Callable[..., Any]
    register_anonymous: ClassVar[Any]
    _numba_func: Any = None
    # What a positional operator looks at; see weft.graphblas.operators.positional.
    position: Any = None

    def __init__(self, name: str, *, anonymous: bool = False) -> None:
        self.name = name
        self._typed_ops: dict[DataType, Any] = {}
        self.types: dict[DataType, DataType] = {}
        self.coercions: dict[DataType, DataType] = {}
        self._anonymous = anonymous
        self.is_positional = False
        self.orig_func: Any = None

    def __repr__(self) -> str:
        return f"{self._modname}.{self.name}"

    def __getitem__(self, key: Any) -> Any:
        if type(key) is tuple:
            key = dtypes.unify(lookup_dtype(key[0]), lookup_dtype(key[1]))
        found = self._typed_ops.get(key) if type(key) is DataType else None
        if found is None:
            found = self._typed_ops.get(lookup_dtype(key))
        if found is None:
            raise KeyError(
                f"{self.name} does not work with {lookup_dtype(key)}. "
                f"It works with {', '.join(map(str, self.types)) or 'no type'}."
            )
        return found

    def __delitem__(self, key: Any) -> None:
        type_ = lookup_dtype(key)
        del self._typed_ops[type_]
        del self.types[type_]

    def __contains__(self, key: Any) -> bool:
        try:
            self[key]
        except (TypeError, KeyError):
            return False
        return True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self, *args, **kwargs)

    def __reduce__(self) -> Any:
        if self._anonymous:
            return type(self)._restored, (self.name, self.orig_func)
        return _named, (self.module._modname, self.name)

    @classmethod
    def _restored(cls, name: str, func: Any) -> Any:
        return cls.register_anonymous(func, name)

    def add(self, type_: DataType, return_type: DataType, raw: Callable[..., Any]) -> None:
        """Add the form for one type."""
        self._typed_ops[type_] = self.typed_class(self, type_, return_type, raw)
        self.types[type_] = return_type

    def coerce(self, type_: DataType, to: DataType) -> None:
        """Register a cast from one type to another before applying the operator."""
        self._typed_ops[type_] = self._typed_ops[to]
        self.types[type_] = self.types[to]
        self.coercions[type_] = to


def _named(modname: str, name: str) -> Any:
    from weft import graphblas

    found: Any = getattr(graphblas, modname)
    for part in name.split("."):
        found = getattr(found, part)
    return found


class Parameterized:
    """An operator whose function is made by another function, called with parameters."""

    _modname = "op"
    opclass = UNKNOWN_OPCLASS
    is_positional = False

    def __init__(self, name: str, make: Any, kind: Any, *, anonymous: bool = False) -> None:
        self.name = name
        self.func = make
        self.kind = kind
        self._anonymous = anonymous
        self._made: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"{self._modname}.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = (args, tuple(sorted(kwargs.items())))
        if key not in self._made:
            self._made[key] = self._make(*args, **kwargs)
        return self._made[key]

    def _make(self, *args: Any, **kwargs: Any) -> Any:
        made = self.kind.register_anonymous(self.func(*args, **kwargs), self.name)
        made._parameters = (self, args, kwargs)
        return made

    def __reduce__(self) -> Any:
        return _named, (self.kind._modname, self.name)


def check_function(func: Any, what: str) -> None:
    """Raise unless `func` can be called."""
    if not isinstance(func, FunctionType) and not callable(func):
        raise TypeError(f"UDF argument must be a function; got {type(func).__name__} for {what}.")


def signatures_match(first: Any, second: Any) -> bool:
    """Return whether two functions that make operators take the same parameters."""
    return inspect.signature(first) == inspect.signature(second)


def vectorized(func: Any, arity: int) -> Callable[..., Any]:
    """Return a function of arrays that computes what `func` does with single values.

    Most functions work on arrays as they are; one that branches on its arguments is called value
    by value.
    """
    one_by_one = np.frompyfunc(lambda *xs: func(*(x.item() for x in xs)), arity, 1)

    def scalar_form(*arrays: Array) -> Array:
        boxed = [np.array(list(each), dtype=object) for each in arrays]
        for i, each in enumerate(arrays):
            boxed[i] = np.empty(len(each), object)
            boxed[i][:] = [each.dtype.type(x) for x in each]
        made = np.asarray(one_by_one(*boxed))
        return np.array(made.tolist()) if len(made) else np.empty(0)

    def call(*arrays: Array) -> Array:
        try:
            return func(*arrays)
        except (ValueError, TypeError):
            return scalar_form(*arrays)

    return call


def udf_types(func: Any, arity: int) -> Iterator[tuple[DataType, DataType]]:
    """Yield the types that a user's function works with, each with its result type."""
    for type_ in dtypes.ALL:
        sample = np.array([1, 1], type_.np_type)
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(func(*([sample] * arity)))
            found = lookup_dtype(result.dtype)
        except Exception:
            continue
        if result.shape not in {(), (2,)}:
            continue
        if _same_family(found, type_):
            found = type_
        yield type_, found


def _same_family(one: DataType, other: DataType) -> bool:
    kinds = one.np_type.kind, other.np_type.kind
    return kinds == ("f", "f") or (kinds[0] in "iu" and kinds[1] in "iu")


def refuse_unparsable(name: str) -> None:
    """Raise the error for a function that works with no data type."""
    raise UdfParseError(
        f"Unable to parse function using Numba's or NumPy's rules: {name} works with no data "
        "type. It has to return a number or a boolean for numbers or booleans."
    )
