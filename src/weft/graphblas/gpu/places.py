"""Operations on vectors that are in the memory of a device, place by place."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import numpy as np

from weft.arrays.device import move, open_device, to_host
from weft.backends.device_functions import (
    BLOCK,
    Kernels,
    c_type,
    function_text,
    load,
    stored_type,
)
from weft.errors import TraceError, WeftError
from weft.graphblas.compiled.functions import cast_traced, combination, multiplication, unary
from weft.graphblas.options import current
from weft.graphblas.settings import config
from weft.graphblas.storage.cast import cast

Array = Any
HEADER = "places.cuh"
NAMES = ("combine_places", "write_places", "sum_places")
X_FULL, Y_FULL, Y_ONE, UNITES = 1, 2, 4, 8
MASKED, MASK_FULL, BY_STRUCTURE, COMPLEMENTED, REPLACES = 16, 32, 64, 128, 256
# A vector with one value in more places than that is not moved to a device by itself.
SPARSE = 16
# Threads of a reduction: each of them hands one sum to the host.
SUMS = 16 * BLOCK


class DeviceVector:
    """The values of a vector on a device, by place, never changed.

    Attributes
    ----------
    device : str
        The device.
    dense : array
        A value for each place; it has no meaning where none is there.
    there : array or None
        Which places have a value; None: all.
    count : int or array
        How many do, or an array of one element on the device.
    """

    __slots__ = ("count", "dense", "device", "there", "xp")

    def __init__(self, device: str, dense: Array, there: Array, count: Any) -> None:
        self.device, self.xp = device, open_device(device).xp
        self.dense, self.there, self.count = dense, there, count

    @property
    def size(self) -> int:
        """The number of places."""
        return int(self.dense.size)

    def known_count(self) -> int:
        """Return how many places have a value; the device is waited for once."""
        if not isinstance(self.count, int):
            self.count = int(self.count[0])
        if self.count == self.size:
            self.there = None
        return self.count

    def map(self) -> tuple[Array, bool]:
        """Return the map, or some array in its place, and whether all places have a value."""
        if self.there is None:
            return self.dense.view(np.uint8), True
        return self.there, False


def is_away(*stores: Any) -> bool:
    """Return whether an operation on vectors should run on the current device.

    It should if the device alone has an operand, or if all are large and not too sparse.
    """
    device = current["device"]
    if device == "cpu" or current["kernel"] == "numpy":
        return False
    away = [each.resident.device for each in stores if each.is_away]
    if away:
        return all(each == device for each in away)
    return all(config["small"] <= each.size <= SPARSE * each.nvals for each in stores)


def vector_of(store: Any) -> DeviceVector:
    """Return the entries of a vector store on the current device; they are copied there once."""
    device = current["device"]
    found: DeviceVector | None = store.resident
    if found is None or found.device != device:
        place = open_device(device)
        there = store.present
        found = DeviceVector(
            device,
            move(np.ascontiguousarray(store.dense), place),
            None if there is None else move(np.ascontiguousarray(there), place),
            store.nvals,
        )
        store.resident = found
    return found


@functools.cache
def kernels(device: str, both: Any, lone: tuple[Any, Any], types: tuple[np.dtype, ...]) -> Kernels:
    """Return the kernels for functions of two values and of values that stand alone.

    `types` are those of the left, of the right, of the result and of a mask.
    """
    x, y, z = types[:3]
    lines = ["namespace weft {"]
    for name, dtype in zip("XYZM", types, strict=True):
        lines.append(f"using {name} = {c_type(dtype)};")
        lines.append(f"using {name}Stored = {stored_type(dtype)};")
    lines += [
        function_text("both", both, (x, y), z),
        function_text("left_alone", lone[0], (x,), z),
        function_text("right_alone", lone[1], (y,), z),
        "}  // namespace weft",
    ]
    source = "\n".join(
        ('#include "sweep.cuh"', '#include "numbers.cuh"', *lines, f'#include "{HEADER}"\n')
    )
    text = (resources.files(__package__) / HEADER).read_text(encoding="utf-8")
    return load(device, source, NAMES, {HEADER: text})


@functools.cache
def _converts(to: np.dtype) -> Any:
    return lambda x: cast_traced(x, to)


@functools.cache
def _combines(op: Any) -> Any:
    """Return a typed binary operator as a traced function; a TraceError if it has none."""
    found = multiplication(op)
    if found is None:
        raise TraceError(f"{op!r} cannot be traced.")
    return found


@functools.cache
def _applies(op: Any) -> Any:
    """Return a typed unary operator as a function of two values, of which it ignores one."""
    found = unary(op)
    if found is None:
        raise TraceError(f"{op!r} cannot be traced.")
    return lambda x, y: found(x)


def _second(x: Any, y: Any) -> Any:
    return y


def _new(like: DeviceVector, np_type: np.dtype) -> tuple[Array, Array, Array]:
    """Return arrays for the values, the map and the count of a result."""
    xp, size = like.xp, like.size
    return xp.empty(size, np_type), xp.empty(size, np.bool_), xp.zeros(1, np.int64)


def _combined(
    x: DeviceVector, y: Any, op: Any, functions: tuple[Any, tuple[Any, Any]], flags: int
) -> Any:
    from weft.graphblas.storage.vector import VectorStore

    one = not isinstance(y, DeviceVector)
    right = y if one else y.dense
    types = x.dense.dtype, right.dtype, op.return_type.np_type, np.dtype(np.bool_)
    run = kernels(x.device, *functions, tuple(map(np.dtype, types)))
    out, there, count = _new(x, op.return_type.np_type)
    x_map, full = x.map()
    y_map, y_full = (x_map, True) if one else y.map()
    flags |= (X_FULL if full else 0) | (Y_ONE if one else Y_FULL if y_full else 0)
    run.launch(
        "combine_places",
        (x.dense, x_map, right, y_map, out, there, count, x.size, flags),
        -(-x.size // BLOCK),
    )
    return VectorStore.on_device(DeviceVector(x.device, out, there, count))


def attempt(compute: Any, *args: Any) -> Any:
    """Return a result, or None where an operator cannot be traced."""
    try:
        return compute(*args)
    except WeftError:
        return None


def combine(
    left: Any, right: Any, op: Any, union: bool, defaults: tuple[Any, Any] | None = None
) -> Any:
    """Return the union or the intersection of two vectors; defaults stand for lone operands."""
    to = op.return_type.np_type
    if defaults is None:
        functions = _combines(op), (_converts(to), _converts(to))
    else:
        functions = (
            _combines(op),
            _with_defaults(op, *(each.item() for each in _typed(op, defaults))),
        )
    return _combined(vector_of(left), vector_of(right), op, functions, UNITES if union else 0)


def _typed(op: Any, defaults: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return defaults in the types of an operator."""
    x, y = (np.asarray(each).reshape(1) for each in defaults)
    return cast(x, op.type.np_type)[0], cast(y, op.type2.np_type)[0]


@functools.cache
def _with_defaults(op: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the functions of a left and of a right operand that stand alone."""
    combines = _combines(op)
    left, right = op.type.np_type.type(x), op.type2.np_type.type(y)
    return (lambda found: combines(found, right)), (lambda found: combines(left, found))


def apply(store: Any, op: Any) -> Any:
    """Return a vector with a unary operator applied to its values."""
    x = vector_of(store)
    to = op.return_type.np_type
    functions = _applies(op), (_converts(to), _converts(to))
    return _combined(x, x.dense[:1], op, functions, 0)


def apply_bound(store: Any, op: Any, scalar: Array, scalar_is_left: bool) -> Any:
    """Return a vector with a binary operator applied to its values and a scalar."""
    x = vector_of(store)
    to = op.return_type.np_type
    combines = _flipped(op) if scalar_is_left else _combines(op)
    y = move(scalar, open_device(x.device))
    return _combined(x, y, op, (combines, (_converts(to), _converts(to))), 0)


@functools.cache
def _flipped(op: Any) -> Any:
    combines = _combines(op)
    return lambda x, y: combines(y, x)


def write(old: Any, result: Any, plan: Any) -> Any:
    """Return a target after a result was written into it: C<M, replace> = C accum T."""
    from weft.graphblas.storage.vector import VectorStore

    y = vector_of(result)
    to = plan.np_type
    x = vector_of(old)
    both = _second if plan.accum is None else _combines(plan.accum)
    flags = 0 if plan.accum is None else UNITES
    mask, (mask_map, mask_full) = x, x.map()
    if plan.mask is not None:
        view = plan.mask
        mask = vector_of(view.store)
        mask_map, mask_full = mask.map()
        flags |= MASKED | (MASK_FULL if mask_full else 0) | (BY_STRUCTURE if view.structure else 0)
        flags |= (COMPLEMENTED if view.complement else 0) | (REPLACES if plan.replace else 0)
    types = x.dense.dtype, y.dense.dtype, to, mask.dense.dtype
    lone = _converts(to), _converts(to)
    run = kernels(x.device, both, lone, tuple(map(np.dtype, types)))
    out, there, count = _new(x, to)
    (x_map, x_full), (y_map, y_full) = x.map(), y.map()
    flags |= (X_FULL if x_full else 0) | (Y_FULL if y_full else 0)
    run.launch(
        "write_places",
        (
            x.dense, x_map, y.dense, y_map, mask.dense, mask_map, out, there, count, x.size, flags,
        ),
        -(-x.size // BLOCK),
    )  # fmt: skip
    return VectorStore.on_device(DeviceVector(x.device, out, there, count))


def reduce(store: Any, op: Any) -> Any:
    """Return the values that threads have summed up, on the host."""
    x = vector_of(store)
    add = combination(op)
    if add is None:
        raise TraceError(f"{op!r} cannot be traced.")
    return _partial_sums(x, op)


def _partial_sums(x: DeviceVector, op: Any) -> Array:
    to = np.dtype(x.dense.dtype)
    run = kernels(x.device, _adds(op), (_converts(to), _converts(to)), (to, to, to, to))
    threads = min(SUMS, -(-x.size // BLOCK) * BLOCK)
    out, there = x.xp.empty(threads, to), x.xp.empty(threads, np.bool_)
    x_map, full = x.map()
    run.launch(
        "sum_places",
        (x.dense, x_map, out, there, x.size, X_FULL if full else 0),
        threads // BLOCK,
    )
    return to_host(out)[to_host(there)]


@functools.cache
def _adds(op: Any) -> Any:
    return combination(op)


def mask_map(view: Any, size: int) -> Array:
    """Return for each of so many places whether a mask admits it, on the device."""
    mask = vector_of(view.store)
    xp = mask.xp
    found = xp.ones(mask.size, np.bool_) if mask.there is None else mask.there
    if not view.structure:
        found = found & (mask.dense != 0)
    if view.complement:
        found = ~found
    return padded(xp, found, size)


def padded(xp: Any, array: Array, size: int) -> Array:
    """Return an array of a device with as many elements as there are vertices."""
    if int(array.size) == size:
        return array
    return xp.concatenate([array, xp.zeros(size - int(array.size), array.dtype)])
