"""State: the fields, scalars and parameters that programs work on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from weft.arrays.checks import integer_of
from weft.arrays.device import Device, as_array, device_of, is_device_array, move, to_host
from weft.arrays.fill import fill
from weft.backends import backend_of
from weft.engine.initial_values import evaluate_on_device
from weft.engine.values import check_holds
from weft.errors import FieldError, expected, nearest, shortened
from weft.ir import types
from weft.ir.ops import Signature
from weft.ir.reference.evaluate import evaluate_arrays
from weft.ir.trace.builder import Builder, fail
from weft.ir.trace.calls import check_takes
from weft.ir.trace.expr import node
from weft.ir.trace.proxies import Vertex
from weft.report.html import fields_html
from weft.storage.memory import Cache
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]
MOST_FEATURES = 2**31
Places = tuple[tuple[int, Any], ...]  # single items with a different initial value
# Dtypes that were checked to hold a number, by its type, value and declared dtype.
_dtypes: Cache[Any, np.dtype[Any]] = Cache("dtypes of initial values", 256)
_NAMED = (type, np.dtype, types.VertexIdType, type(None), str)


class Full:
    """A field with one initial value everywhere; made by `weft.full`."""

    def __init__(self, value: Any, dtype: Any, shape: tuple[int, ...], places: Places = ()) -> None:
        self.value, self.dtype, self.shape, self.places = value, dtype, shape, places
        # Checked dtype, shape and number by id dtype; shared by all copies made by `but`.
        self._settled: dict[Any, tuple[np.dtype[Any], tuple[int, ...], Any]] = {}

    def but(self, item: Any, value: Any) -> Full:
        """Return a copy with another value at one vertex (in edge state: one arc).

        The vertex is given by its number or, in a graph with labels, a non-integer label.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.path(3)
        >>> g.state(level=weft.full(-1, weft.int32).but(1, 0)).level
        array([-1,  0, -1], dtype=int32)
        """
        other = Full(self.value, self.dtype, self.shape, (*self.places, (item, value)))
        other._settled = self._settled
        return other

    def placed(self, place: Callable[[Any], Any]) -> Full:
        """Return this field with labels as places replaced by the vertices that they name."""
        if all(isinstance(item, int | np.integer) for item, _ in self.places):
            return self
        numbered = ((_number(item, place), value) for item, value in self.places)
        other = Full(self.value, self.dtype, self.shape, tuple(numbered))
        other._settled = self._settled
        return other

    def settled(self, name: str, topology: Topology) -> tuple[np.dtype[Any], tuple[int, ...], Any]:
        """Return the checked dtype, item shape, and value (a number or an array)."""
        found = self._settled.get(topology.index_dtype)
        if found is None:
            value, shape = self.value, self.shape
            plain = (type(value) is int or type(value) is float) and isinstance(self.dtype, _NAMED)
            kind = (type(value), value, self.dtype, topology.index_dtype) if plain else None
            known = _dtypes.get(kind)
            if known is not None and not shape:
                return known, shape, value
            dtype = _dtype(self.dtype, value, name, topology)
            if type(value) is not int and type(value) is not float:
                value = as_array(value)
                shape = shape or value.shape
            if shape:
                _check_shape(name, shape)
            check_holds(dtype, value, f"field {name!r}")
            if type(value) is int or type(value) is float:
                number = value
                if plain:
                    _dtypes[kind] = dtype
            elif value.ndim or is_device_array(value):
                return dtype, shape, value  # not cached: the user may write to the array
            else:
                number = value.item()
            found = self._settled[topology.index_dtype] = dtype, shape, number
        return found


def _number(item: Any, place: Callable[[Any], Any]) -> Any:
    return item if isinstance(item, int | np.integer) else place(item)


class Scalar:
    """A single number of the state; made by `weft.scalar`."""

    def __init__(self, value: Any, dtype: Any) -> None:
        self.value, self.dtype = value, dtype


class Parameter:
    """A vector or matrix that every vertex and edge reads; made by `weft.parameter`."""

    def __init__(self, value: Any, dtype: Any) -> None:
        self.value, self.dtype = value, dtype


def full(value: Any, dtype: Any = None, shape: int | tuple[int, ...] = ()) -> Full:
    """Declare a field with one initial value (or one function of v) everywhere.

    Parameters
    ----------
    value
        A number, an array of the shape of one item, or a function of v.
    dtype
        The dtype of the field; by default int64 for integers, float64 for floats.
    shape
        The shape of one item: ``()``, ``k`` or ``(k, k)``.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.path(3)
    >>> g.state(level=weft.full(-1, weft.int32)).level
    array([-1, -1, -1], dtype=int32)
    >>> g.state(label=weft.full(lambda v: v.id, weft.vertex_id)).label
    array([0, 1, 2], dtype=int32)
    """
    return Full(value, dtype, tuple(shape) if np.iterable(shape) else (shape,))


def scalar(value: Any = 0.0, dtype: Any = None) -> Scalar:
    """Declare a scalar of the state: an input of functions, or the target of `weft.reduce`.

    Parameters
    ----------
    value
        A number, or an array without dimensions. For vectors and matrices, use `weft.parameter`.
    dtype
        The dtype of the scalar; by default that of the value.

    Examples
    --------
    >>> import weft
    >>> @weft.vertex(on="all")
    ... def halve(v, factor):
    ...     v.x = v.x * factor
    ...     weft.reduce("largest", v.x, weft.max)
    >>> g = weft.generators.path(3)
    >>> state = g.state(x=[1.0, 2.0, 8.0], factor=weft.scalar(0.5), largest=weft.scalar(0.0))
    >>> run = g.iterate(halve, state, until=lambda largest: largest < 1)
    >>> run.steps, state.largest.item()
    (4, 0.5)
    """
    return Scalar(value, dtype)


def parameter(value: Any, dtype: Any = None) -> Parameter:
    """Declare a vector or matrix of the state that functions may read but not write.

    A function receives it as an argument of the same name, like a scalar.

    Parameters
    ----------
    value
        An array of shape ``(k,)`` or ``(k, j)``.
    dtype
        The dtype of the parameter; by default that of the array.

    Examples
    --------
    >>> import weft
    >>> @weft.vertex
    ... def mix(v, mixing):
    ...     v.x = v.x @ mixing
    >>> g = weft.generators.path(2)
    >>> state = g.state(x=[[1.0, 2.0], [3.0, 4.0]], mixing=weft.parameter([[0.0, 1.0], [2.0, 0.0]]))
    >>> g.run(mix, state).tolist()
    [0, 1]
    >>> state.x.tolist()
    [[4.0, 1.0], [8.0, 3.0]]
    """
    return Parameter(value, dtype)


class State:
    """Named fields, each an array aligned with the vertices (or arcs), and scalars.

    ``state.level`` is a plain array (CuPy on a GPU); ``state.error`` is a number, always in host
    memory. Made by ``g.state``.

    Examples
    --------
    >>> import weft
    >>> state = weft.generators.path(3).state(level=weft.full(0), error=weft.scalar(1.0))
    >>> state.level = weft.full(-1).but(2, 0)
    >>> state.level, state.error
    (array([-1, -1,  0]), np.float64(1.0))
    """

    def __init__(
        self,
        fields: dict[str, Array],
        scalars: dict[str, Array],
        parameters: dict[str, Array] | None = None,
        *,
        version: Any = None,
        untouched: dict[str, tuple[Any, Places]] | None = None,
    ) -> None:
        vars(self).update(
            fields=fields, scalars=scalars, parameters=parameters or {}, old={},
            _untouched=untouched or {}, _version=version, _known=frozenset(), _signature=None,
            _watch=None, _place=None, _standing=None,
        )  # fmt: skip

    fields: dict[str, Array]
    scalars: dict[str, Array]
    parameters: dict[str, Array]
    old: dict[str, Array]  # present once a program has read v.old
    _untouched: dict[str, tuple[Any, Places]]  # fields that still hold their initial values
    _version: Any  # the graph version that made the state, if any
    _known: frozenset[str]  # see `known_to_be`
    _place: Callable[[Any], Any] | None  # the vertex of a label
    _signature: Any  # cached signature, with the versions it was derived from
    _standing: Any  # calls of operators that may recur, see `weft.operators.standing`
    _watch: Callable[[str], None] | None  # called before the values are used, see `settle`

    def known_to_be(self, *known: str) -> State:
        """Record facts about this edge state that a backend cannot derive, and return it.

        ``"uniform"``: all values of each field are equal. ``"dropped"``: nothing reads the state
        after the next run. Both save permuting it into the order of a run and back, which takes as
        long as several supersteps.
        """
        vars(self)["_known"] = frozenset(known)
        return self

    def settle(self) -> None:
        """Complete deferred work on the values, before a run uses them."""
        if self._watch is not None:
            self._watch("a run uses the state")

    def named_by(self, place: Callable[[Any], Any]) -> State:
        """Accept labels for vertices in assignments to fields, and return the state."""
        vars(self)["_place"] = place
        return self

    def is_of(self, version: Any) -> bool:
        """Whether a given graph version made this state."""
        return self._version is version

    def check_current(self, maker: str) -> None:
        """Raise if the graph has changed since it made this state."""
        if self._version is not None and not self._version.current:
            example = next(iter(self.fields), "field")
            raise FieldError(
                f"the state belongs to version {self._version.number} of the graph, which g.update "
                f"has changed since. Make a new one with g.{maker}(...); to start from old "
                f"values, pass them: g.{maker}({example}=old.{example})."
            )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._watch is not None:
            self._watch(f"state.{name} is read")
        if name in self.fields:
            self._untouched.pop(name, None)  # the caller may write to the array
            return self.fields[name]
        if name in self.scalars:
            return self.scalars[name][0]
        if name in self.parameters:
            return self.parameters[name]
        known = self._names()
        raise FieldError(
            f"the state has no field {name!r}. {expected(known)}.{nearest(name, known)}"
        )

    def _subscripted(self, name: object, value: object = None) -> NoReturn:
        raise FieldError(f"a state has no [{name!r}]: fields are attributes, as in state.level.")

    __getitem__ = __setitem__ = _subscripted

    def __setattr__(self, name: str, value: Any) -> None:
        if self._watch is not None:
            self._watch(f"state.{name} is assigned")
        if name in self.scalars:
            held = self.scalars[name]
            if np.ndim(value):
                raise FieldError(f"scalar {name!r} is one number, but got shape {np.shape(value)}.")
            check_holds(held.dtype, value, f"scalar {name!r}")
            held[0] = value
        elif name in self.fields or name in self.parameters:
            field = self.fields[name] if name in self.fields else self.parameters[name]
            self._untouched.pop(name, None)
            places: Places = ()
            if isinstance(value, Full):
                if callable(value.value):
                    raise FieldError(
                        f"field {name!r} cannot be assigned a function of v. Expected a number or "
                        "an array; only g.state(...) accepts functions."
                    )
                value = value if self._place is None else value.placed(self._place)
                value, places = value.value, value.places
                _check_places(name, places, len(field), field.dtype, field.shape[1:])
            new = as_array(value)
            if new.shape not in ((), field.shape[1:], field.shape):
                raise FieldError(
                    f"field {name!r} has shape {field.shape}, but got {new.shape}. Expected "
                    "one value per row, or one value for all rows."
                )
            if new.ndim and not np.can_cast(new.dtype, field.dtype, casting="same_kind"):
                raise FieldError(f"field {name!r} is {field.dtype}, but got values of {new.dtype}.")
            check_holds(field.dtype, new, f"field {name!r}")
            device = device_of(field)
            with device.current():
                _write(field, new, places, device)
        else:
            known = self._names()
            raise FieldError(
                f"the state has no field {name!r} to assign. {expected(known)}; declare fields in "
                f"g.state(...).{nearest(name, known)}"
            )

    def __repr__(self) -> str:
        parts = [f"{n}: {a.dtype}{list(a.shape[1:]) or ''}" for n, a in self.fields.items()]
        parts += [f"{n}={a[0]}" for n, a in self.scalars.items()]
        parts += [f"{n}={a.dtype}{list(a.shape)}" for n, a in self.parameters.items()]
        return f"State({', '.join(parts)})"

    def _names(self) -> list[str]:
        return [*self.fields, *self.scalars, *self.parameters]

    def _repr_html_(self) -> str:
        arrays = {**self.fields, **self.parameters}
        return fields_html("State", arrays, {n: a[0] for n, a in self.scalars.items()})


def _write(field: Array, new: Any, places: Places, device: Device) -> None:
    """Write values from any device to a field, and individual values to some places."""
    if not is_device_array(new) and np.ndim(new) == 0:
        fill(field, new.item() if isinstance(new, np.ndarray | np.generic) else new, places)
        return
    field[...] = move(new, device)
    for item, own in places:
        field[item] = own


_RESERVED = frozenset({
    "id", "out_degree", "in_degree", "old", "gather", "gather_by", "changed", "fields",
    "scalars", "parameters",
})  # fmt: skip
_RESERVED_EDGES = _RESERVED | {"rank", "reverse"}


def make_state(
    topology: Topology,
    declared: dict[str, Any],
    columns: Any,
    version: Any,
    arcs: int | None = None,
) -> State:
    """Build the arrays of a state from its declaration: a row per vertex, or per arc of `arcs`."""
    if topology.device.on_host:
        return _made(topology, declared, columns, version, arcs)
    with topology.device.current():
        return _made(topology, declared, columns, version, arcs)


def _made(
    topology: Topology, declared: dict[str, Any], columns: Any, version: Any, arcs: int | None
) -> State:
    edges = arcs is not None
    length = topology.num_vertices if arcs is None else arcs
    fields: dict[str, Array] = {}
    scalars: dict[str, Array] = {}
    parameters: dict[str, Array] = {}
    starts: list[Any] = []  # fields that a GPU fills in one launch
    untouched: dict[str, tuple[Any, Places]] = {}
    for name, what in declared.items():
        if name in (_RESERVED_EDGES if edges else _RESERVED):
            raise FieldError(
                f"{name!r} cannot be the name of a field: it is reserved. Choose another name."
            )
        if not name.isidentifier() or name.startswith("_"):
            raise FieldError(
                f"{name!r} cannot be the name of a field, which functions read as an attribute. "
                "Expected a Python identifier that does not begin with an underscore."
            )
        if isinstance(what, Full) and not callable(what.value):
            empty = topology.empty_arcs if edges else None
            fields[name] = _filled(name, what, topology, length, starts, untouched, empty)
        elif isinstance(what, Scalar):
            if edges:
                raise FieldError(f"{name!r}: scalars belong to g.state, not to edge state.")
            scalars[name] = _scalar(name, what, topology)
        elif isinstance(what, Parameter):
            if edges:
                raise FieldError(f"{name!r}: parameters belong to g.state, not to edge state.")
            parameters[name] = _parameter(name, what, topology)
        else:
            fields[name] = _field(name, what, topology, columns, length, edges)
    if starts:
        backend_of(topology.device).fill(topology.device, starts)
    return State(fields, scalars, parameters, version=version, untouched=untouched)


def _scalar(name: str, what: Scalar, topology: Topology) -> Array:
    value = as_array(what.value)
    if value.ndim:
        raise FieldError(
            f"scalar {name!r} is one number, but got an array of shape {value.shape}. Pass one of "
            f"its elements, or the whole array with weft.parameter."
        )
    dtype = _dtype(what.dtype, what.value, name, topology)
    value = to_host(value)
    check_holds(dtype, value, f"scalar {name!r}")
    return np.array([value], dtype)


def _parameter(name: str, what: Parameter, topology: Topology) -> Array:
    array = as_array(what.value)
    if array.ndim == 0:
        raise FieldError(f"parameter {name!r} is a single number. Use weft.scalar for it.")
    _check_shape(name, array.shape)
    dtype = _dtype(what.dtype, array, name, topology)
    check_holds(dtype, array, f"parameter {name!r}")
    return topology.xp.array(move(array, topology.device), dtype, order="C")


def _dtype(dtype: Any, value: Any, name: str, topology: Topology) -> np.dtype[Any]:
    if dtype is types.vertex_id:
        return topology.index_dtype
    if dtype is None:
        dtype = as_array(value).dtype
        if dtype.kind == "O":
            raise FieldError(
                f"{name!r} starts from {shortened(value)}, which is not a 64-bit number or an "
                f"array of such numbers. Expected integers from -2**63 to 2**64 - 1, floats or "
                f"booleans."
            )
    return types.check_dtype(dtype, f"field {name!r}")


def _filled(
    name: str,
    what: Full,
    topology: Topology,
    length: int,
    starts: list[Any],
    untouched: dict[str, tuple[Any, Places]],
    empty: Any = None,
) -> Array:
    """Return a field with one initial value; a GPU fills it later, together with all `starts`."""
    dtype, shape, value = what.settled(name, topology)
    if what.places:
        _check_places(name, what.places, length, dtype, shape)
    on_host = topology.device.on_host
    empty = empty or (np.empty if on_host else topology.xp.empty)
    result: Array = empty((length, *shape) if shape else length, dtype)
    if type(value) is not int and type(value) is not float:
        _write(result, value, what.places, topology.device)
        return result
    if on_host or not length:
        result.fill(value)
        for item, own in what.places:
            result[item] = own
    else:
        starts.append((result, value, what.places))
    untouched[name] = value, what.places
    return result


def _field(
    name: str, what: Any, topology: Topology, columns: Any, length: int, edges: bool
) -> Array:
    xp = topology.xp
    if isinstance(what, Full):
        kind = None if what.dtype is None else _dtype(what.dtype, 0, name, topology)
        result = _computed(name, what.value, topology, columns, edges, kind)
        _check_places(name, what.places, length, result.dtype, result.shape[1:])
        for item, own in what.places:
            result[item] = own
        return result
    if isinstance(what, np.dtype | type):
        raise FieldError(f"field {name!r} starts from a type. Give a value too: weft.full(0, ...).")
    if callable(what):
        return _computed(name, what, topology, columns, edges, None)
    array = as_array(what)
    _dtype(array.dtype, 0, name, topology)
    if array.ndim == 0:
        return xp.full(length, array.item(), array.dtype)
    if array.shape[0] != length:
        raise FieldError(
            f"field {name!r} has {array.shape[0]} values. Expected one for each of the {length} "
            f"{'arcs' if edges else 'vertices'}, a number (weft.full) or a function of v."
        )
    _check_shape(name, array.shape[1:])
    return xp.array(move(array, topology.device), order="C")  # a copy


def _check_places(
    name: str, places: Places, length: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> None:
    for item, own in places:
        whole = type(item) is int or isinstance(item, np.integer)
        if not whole or not 0 <= item < length:
            raise FieldError(
                f"field {name!r} has no item {item!r} to give a value to. Expected an integer from "
                f"0 to {length - 1}."
            )
        plain = type(own) is int or type(own) is float  # the common case, checked cheaply
        if not plain and as_array(own).ndim and np.shape(own) != shape:
            raise FieldError(
                f"field {name!r} holds values of shape {shape}, but got one of shape "
                f"{np.shape(own)} at {item}. Expected that shape, or a single number."
            )
        check_holds(dtype, own, f"field {name!r}")


def _check_shape(name: str, shape: tuple[int, ...]) -> None:
    sizes = [integer_of(extent) for extent in shape]
    if len(shape) > 2 or not all(size and 1 <= size < MOST_FEATURES for size in sizes):
        raise FieldError(
            f"field {name!r} has shape {shortened(shape)} per item. Expected (), (k,) or (k, k) "
            f"with k >= 1."
        )


def _computed(
    name: str,
    function: Callable[..., Any],
    topology: Topology,
    columns: Any,
    edges: bool,
    dtype: np.dtype[Any] | None,
) -> Array:
    """Evaluate a function of v at every vertex; ids and degrees get the id dtype."""
    if edges:
        raise FieldError(f"edge field {name!r} cannot be a function. Pass a number or an array.")
    n = topology.num_vertices
    kinds = tuple((c, a.dtype, a.shape[1:]) for c, a in columns.items())
    signature = Signature(kinds, (), (), (), topology.index_dtype)
    with Builder(signature, name) as builder:
        check_takes(function, f"the function for field {name!r}", "v")
        returned = function(Vertex("v"))
        if returned is None:
            raise fail(f"the function for field {name!r} returned nothing. Expected a value.")
        value = node(returned)
        if dtype is None:
            dtype = topology.index_dtype if value.weak and value.dtype.kind == "i" else value.dtype
        if value.op == "load" and value.attr[0] == "id":
            return topology.xp.arange(n, dtype=dtype)
        _check_shape(name, value.shape)
        block = builder.blocks[0]
        block.results = (builder.fit(value, dtype, value.shape, f"field {name!r}"),)

    def load(attr: Any) -> Any:
        if attr[0] == "field":
            return columns[attr[2]]
        if attr[0] == "id":
            return topology.xp.arange(n, dtype=np.int64)
        if attr[0] == "out_degree":
            return topology.out_degree.astype(np.int64)
        if attr[0] == "in_degree":
            return topology.in_degree.astype(np.int64)
        if attr[0] == "num_vertices":
            return topology.xp.full(1, n, np.int64)
        raise FieldError(
            f"field {name!r} starts from {attr[0]}, which is not available here. Expected a "
            "function of ids, degrees and vertex columns."
        )

    values = _evaluated(block, load, topology)
    result = topology.xp.empty((n, *value.shape), dtype)
    result[...] = values
    return result


def _evaluated(block: Any, load: Callable[[Any], Any], topology: Topology) -> Any:
    """Evaluate a block for all vertices, on the graph's device if its ops allow that."""
    if topology.device.on_host:
        return evaluate_arrays(block, load)
    values = evaluate_on_device(block, load, topology.xp)
    if values is None:
        values = move(evaluate_arrays(block, lambda attr: to_host(load(attr))), topology.device)
    return values
