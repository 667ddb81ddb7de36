"""Operations on vectors that are in the memory of a device, place by place."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from weft.arrays.device import move, to_host
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
from weft.graphblas.gpu.entries import place_of
from weft.graphblas.gpu.headers import text_of
from weft.graphblas.options import current
from weft.graphblas.settings import config
from weft.graphblas.storage.cast import cast, is_iso

Array = Any
HEADER = "places.cuh"
NAMES = ("combine_places", "bind_places", "write_places", "sum_places")
X_FULL, Y_FULL, UNITES = 1, 2, 8
MASKED, MASK_FULL, BY_STRUCTURE, COMPLEMENTED, REPLACES = 16, 32, 64, 128, 256
OUT_FULL, X_NONE = 512, 1024
# A vector with one value in more places than that is not moved to a device by itself.
SPARSE = 16
# Threads of a reduction: each of them hands one sum to the host.
SUMS = 16 * BLOCK
WORD_BYTES = 4
BOOL = np.dtype(np.bool_)


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
        How many do, or an array on the device that begins with that number.
    """

    __slots__ = ("count", "dense", "device", "there", "xp")

    def __init__(self, device: str, dense: Array, there: Array, count: Any) -> None:
        self.device, self.xp = device, place_of(device).xp
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
            return self.dense, True
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
        found = store.resident = _moved(store, device)
    return found


def _moved(store: Any, device: str) -> DeviceVector:
    """Copy no more than the values that are there; places are filled on the device."""
    place, np_type = place_of(device), store.np_type
    xp, size, nvals = place.xp, store.size, store.nvals
    if nvals == size:
        dense = np.asarray(store.dense)
        if is_iso(dense) and size > 1:
            return DeviceVector(device, xp.full(size, dense[0], np_type), None, size)
        return DeviceVector(device, move(np.ascontiguousarray(dense), place), None, size)
    if store.is_dense and nvals * 2 > size:
        values, there = (np.ascontiguousarray(each) for each in (store.dense, store.present))
        return DeviceVector(device, move(values, place), move(there, place), nvals)
    dense, there = xp.empty(size, np_type), xp.zeros(size, np.bool_)
    if nvals:
        at = move(np.ascontiguousarray(store.indices), place)
        dense[at] = move(np.ascontiguousarray(store.values), place)
        there[at] = True
    return DeviceVector(device, dense, there, nvals)


def stored_words(xp: Any, size: int, np_type: np.dtype) -> tuple[Array, Array]:
    """Return an array for so many values, and the whole words that it begins.

    Kernels change values that are smaller than a word by atomic operations on the word.
    """
    if np_type.itemsize >= WORD_BYTES:
        made = xp.empty(size, np_type)
        return made, made
    words = xp.empty(-(-size * np_type.itemsize // WORD_BYTES), np.uint32)
    return words.view(np_type)[:size], words


class MaskPlaces(NamedTuple):
    """A mask as kernels take it; see mask.cuh."""

    values: Array
    there: Array
    flags: int
    dtype: np.dtype


def mask_places(view: Any, otherwise: DeviceVector) -> MaskPlaces:
    """Return a mask for kernels; without one, arrays that are not looked at stand for it."""
    if view is None:
        return MaskPlaces(otherwise.dense, otherwise.dense, 0, BOOL)
    mask = vector_of(view.store)
    there, full = mask.map()
    flags = MASKED | (MASK_FULL if full else 0) | (COMPLEMENTED if view.complement else 0)
    if view.structure:
        # Values are not looked at, so that their type makes no other kernel.
        return MaskPlaces(there, there, flags | BY_STRUCTURE, BOOL)
    return MaskPlaces(mask.dense, there, flags, np.dtype(mask.dense.dtype))


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
    return load(device, source, NAMES, text_of(HEADER))


@functools.cache
def _converts(to: np.dtype) -> Any:
    return lambda x: cast_traced(x, to)


@functools.cache
def _converts_first(to: np.dtype) -> Any:
    return lambda x, y: cast_traced(x, to)


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


def _new(like: DeviceVector, np_type: np.dtype, full: bool) -> DeviceVector:
    """Return arrays for the values, the map and the count of a result."""
    xp, size = like.xp, like.size
    out = xp.empty(size, np_type)
    if full:
        return DeviceVector(like.device, out, None, size)
    return DeviceVector(like.device, out, xp.empty(size, np.bool_), xp.zeros(1, np.int64))


def _into(made: DeviceVector) -> tuple[Array, Array, Array]:
    """Return a result's arrays for a kernel; with OUT_FULL, the last two are not looked at."""
    if made.there is None:
        return made.dense, made.dense, made.dense
    return made.dense, made.there, made.count


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
    from weft.graphblas.storage.vector import VectorStore

    to = op.return_type.np_type
    both, lone = combined_functions(op, defaults)
    x, y = vector_of(left), vector_of(right)
    run = kernels(x.device, both, lone, (x.dense.dtype, y.dense.dtype, to, BOOL))
    (x_map, x_full), (y_map, y_full) = x.map(), y.map()
    full = (x_full or y_full) if union else (x_full and y_full)
    made = _new(x, to, full)
    flags = (X_FULL if x_full else 0) | (Y_FULL if y_full else 0) | (UNITES if union else 0)
    flags |= OUT_FULL if full else 0
    run.launch(
        "combine_places",
        (x.dense, x_map, y.dense, y_map, *_into(made), x.size, flags),
        -(-x.size // BLOCK),
    )
    return VectorStore.on_device(made)


def combined_functions(op: Any, defaults: tuple[Any, Any] | None) -> tuple[Any, tuple[Any, Any]]:
    """Return the function of two values, and those of a left and of a right one that is alone."""
    if defaults is not None:
        return _combines(op), _with_defaults(op, *(each.item() for each in _typed(op, defaults)))
    to = op.return_type.np_type
    return _combines(op), (_converts(to), _converts(to))


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


def _bound(x: DeviceVector, one: Array, both: Any, to: np.dtype) -> DeviceVector:
    """Return what a function of two values makes of each value and of another one."""
    types = x.dense.dtype, one.dtype, to, BOOL
    run = kernels(x.device, both, (_converts(to), _converts(to)), types)
    x_map, full = x.map()
    made = _new(x, to, full)
    bits = np.frombuffer(one.tobytes().ljust(8, b"\0"), np.int64)[0]
    flags = X_FULL | OUT_FULL if full else 0
    run.launch(
        "bind_places",
        (x.dense, x_map, *_into(made), x.size, bits, flags),
        -(-x.size // BLOCK),
    )
    return made


def apply(store: Any, op: Any) -> Any:
    """Return a vector with a unary operator applied to its values."""
    from weft.graphblas.storage.vector import VectorStore

    x = vector_of(store)
    none = np.zeros(1, x.dense.dtype)
    return VectorStore.on_device(_bound(x, none, _applies(op), op.return_type.np_type))


def apply_bound(store: Any, op: Any, scalar: Array, scalar_is_left: bool) -> Any:
    """Return a vector with a binary operator applied to its values and a scalar."""
    from weft.graphblas.storage.vector import VectorStore

    combines = _flipped(op) if scalar_is_left else _combines(op)
    made = _bound(vector_of(store), scalar, combines, op.return_type.np_type)
    return VectorStore.on_device(made)


@functools.cache
def _flipped(op: Any) -> Any:
    combines = _combines(op)
    return lambda x, y: combines(y, x)


def converted(entries: DeviceVector, to: np.dtype) -> DeviceVector:
    """Return the same values in another type."""
    made = _bound(entries, np.zeros(1, entries.dense.dtype), _converts_first(to), to)
    made.there, made.count = entries.there, entries.count
    return made


def positions(store: Any, offset: int, np_type: np.dtype) -> Any:
    """Return a vector with its places, counted from a number on, as values."""
    from weft.graphblas.storage.vector import VectorStore

    x = vector_of(store)
    dense = x.xp.arange(offset, offset + x.size, dtype=np_type)
    return VectorStore.on_device(DeviceVector(x.device, dense, x.there, x.count))


def write(old: Any, result: Any, plan: Any) -> Any:
    """Return a target after a result was written into it: C<M, replace> = C accum T."""
    from weft.graphblas.storage.vector import VectorStore

    y, to = vector_of(result), plan.np_type
    both = _second if plan.accum is None else _combines(plan.accum)
    empty = not old.is_away and old.nvals == 0
    x = y if empty else vector_of(old)
    named = mask_places(plan.mask, y)
    types = x.dense.dtype, y.dense.dtype, to, named.dtype
    run = kernels(x.device, both, (_converts(to), _converts(to)), tuple(map(np.dtype, types)))
    (x_map, x_full), (y_map, y_full) = x.map(), y.map()
    accumulates = plan.accum is not None
    flags = named.flags | (UNITES if accumulates else 0) | (REPLACES if plan.replace else 0)
    flags |= (X_FULL if x_full else 0) | (Y_FULL if y_full else 0) | (X_NONE if empty else 0)
    full = y_full and plan.mask is None
    if x_full and not empty and not plan.replace:
        full = accumulates or y_full
    made = _new(x, to, full)
    run.launch(
        "write_places",
        (
            x.dense, x_map, y.dense, y_map, named.values, named.there, *_into(made), x.size,
            flags | (OUT_FULL if full else 0),
        ),
        -(-x.size // BLOCK),
    )  # fmt: skip
    return VectorStore.on_device(made)


def reduce(store: Any, op: Any) -> Any:
    """Return the values that threads have summed up, on the host."""
    x = vector_of(store)
    if combination(op) is None:
        raise TraceError(f"{op!r} cannot be traced.")
    to = np.dtype(x.dense.dtype)
    run = kernels(x.device, _adds(op), (_converts(to), _converts(to)), (to, to, to, BOOL))
    threads = min(SUMS, -(-x.size // BLOCK) * BLOCK)
    # Sums and whether there are any, in one copy.
    both = x.xp.empty(threads * (to.itemsize + 1), np.uint8)
    x_map, full = x.map()
    run.launch(
        "sum_places",
        (x.dense, x_map, both, both[threads * to.itemsize :], x.size, X_FULL if full else 0),
        threads // BLOCK,
    )
    found = to_host(both)
    sums, there = found[: threads * to.itemsize].view(to), found[threads * to.itemsize :]
    return sums[there != 0]


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
