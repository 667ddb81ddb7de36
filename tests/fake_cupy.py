"""A stand-in for CuPy on machines without a GPU: NumPy's results behind CuPy's restrictions.

Its arrays are not NumPy's, turn into NumPy's only when asked (`asnumpy`, `get`, `item`), refuse to
meet NumPy's arrays in an operation, cannot be made read-only and cannot be looped over. The module
has the functions that weft uses, with the limits that CuPy's have: `repeat` takes no array,
`bincount` no empty one, `argsort` and `sort` no kind but "stable", ufuncs have no `reduceat`.
Reductions that CuPy compiles when they are first asked for, which takes seconds, are refused.

Its memory is metered as CuPy's is: every new array asks the present allocator (`using_allocator`)
for its bytes, and gives them back when the last view of it is gone. Functions that need room for
themselves ask for it too, as far as it grows with the array: CuPy's masks are scanned into int32,
its sorts by Thrust copy keys and values, its `bincount` by CUB gives every block all counts.
"""

from __future__ import annotations

import sys
import types
import weakref
from contextlib import contextmanager

import numpy as np

CUPY = types.ModuleType("cupy")
UNIT = 512  # bytes; what is allocated is a multiple
COUNTED = 384 * 16  # keys that a block of CUB's histogram counts


class OutOfMemoryError(MemoryError):
    def __init__(self, size, total):
        super().__init__(
            f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes)."
        )


class Pool:
    """Counts the bytes that are in use."""

    def __init__(self):
        self.used = 0

    def malloc(self, size):
        return Block(self, -(-size // UNIT) * UNIT)

    def used_bytes(self):
        return self.used

    total_bytes = used_bytes

    def free_bytes(self):
        return 1 << 20

    def get_limit(self):
        return 0

    def free_all_blocks(self):
        pass


class Block:
    """Memory for as long as somebody holds it."""

    def __init__(self, pool, nbytes):
        self.pool, self.nbytes = pool, nbytes
        pool.used += nbytes

    def __del__(self):
        self.pool.used -= self.nbytes


POOL = Pool()
_allocators = [POOL.malloc]
_blocks = {}  # of each array that owns its values, by identity


@contextmanager
def using_allocator(allocator=None):
    _allocators.append(allocator or POOL.malloc)
    try:
        yield
    finally:
        _allocators.pop()


def allocated(values):
    """Give an array of NumPy its memory, unless it is a view of one that has it."""
    while isinstance(values.base, np.ndarray):
        values = values.base
    if id(values) not in _blocks:
        _blocks[id(values)] = _allocators[-1](values.nbytes)
        weakref.finalize(values, _blocks.pop, id(values)).atexit = False
    return values


@contextmanager
def room(nbytes):
    """Hold memory that a function needs for itself."""
    block = _allocators[-1](int(nbytes)) if nbytes else None
    try:
        yield
    finally:
        del block


class ndarray:
    __array_ufunc__ = None  # NumPy's functions give up instead of converting
    __hash__ = None

    def __init__(self, values, index=None):
        self._values = np.asarray(values)
        allocated(self._values)
        self.device = types.SimpleNamespace(id=_current[-1] if index is None else index)

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    dtype = property(lambda self: self._values.dtype)
    shape = property(lambda self: self._values.shape)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    nbytes = property(lambda self: self._values.nbytes)
    itemsize = property(lambda self: self._values.itemsize)
    base = property(lambda self: self._values.base)
    data = property(lambda self: types.SimpleNamespace(ptr=self._values.ctypes.data))

    @property
    def flags(self):
        return types.SimpleNamespace(c_contiguous=self._values.flags.c_contiguous)

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        raise TypeError("a loop over an array of a GPU copies its elements one by one")

    def __repr__(self):
        return repr(self._values)

    def __format__(self, spec):
        return format(self._values[()], spec)

    def _single(self):
        READS.append(1)
        return self._values.item()

    def __bool__(self):
        return bool(self._single())

    def __int__(self):
        return int(self._single())

    def __index__(self):
        return self._single().__index__()

    def __float__(self):
        return float(self._single())

    item = _single

    def get(self):
        READS.append(self.size)
        return self._values.copy()

    def tolist(self):
        return self.get().tolist()

    def copy(self):
        return ndarray(self._values.copy())

    def view(self, dtype=None):
        return ndarray(self._values.view() if dtype is None else self._values.view(dtype))

    def astype(self, dtype, copy=True):
        if not copy and self.dtype == np.dtype(dtype):
            return self
        return ndarray(self._values.astype(dtype))

    def fill(self, value):
        self._values.fill(value)

    def sort(self):
        with room(self.nbytes):
            self._values.sort(kind="stable")

    def __getitem__(self, key):
        with room(scanned_bytes(key)):
            return ndarray(self._values[unwrapped(key)])

    def __setitem__(self, key, value):
        with room(scanned_bytes(key)):
            self._values[unwrapped(key)] = unwrapped(value)


def scanned_bytes(key):
    """Bytes that an index asks for: a mask is scanned."""
    return 4 * key.size if isinstance(key, ndarray) and key.dtype == bool else 0


def unwrapped(value):
    if isinstance(value, ndarray):
        return value._values
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, tuple | list):
        return type(value)(unwrapped(part) for part in value)
    return value


def _method(name):
    def method(self, *args, **kwargs):
        return ndarray(getattr(self._values, name)(*map(unwrapped, args), **kwargs))

    return method


def _operator(name):
    def operate(self, other):
        found = getattr(self._values, name)(unwrapped(other))
        return found if found is NotImplemented else ndarray(found)

    return operate


def _in_place(name):
    def operate(self, other):
        getattr(self._values, name)(unwrapped(other))
        return self

    return operate


for _name in ("min", "max", "argmin", "argmax", "mean", "ravel", "reshape"):
    setattr(ndarray, _name, _method(_name))


def _compiled(name):
    def method(self, *args, **kwargs):
        raise AssertionError(f"CuPy would compile {name} for seconds; see weft.arrays.reduce")

    return method


def _sum(self, axis=None, dtype=None, keepdims=False):
    widened = self.dtype in (np.dtype(bool), np.dtype(np.int32), np.dtype(np.uint32))
    if axis is None and (widened or dtype not in (None, self.dtype)):
        _compiled(f"a sum of {self.dtype}")(self)
    return ndarray(self._values.sum(axis=axis, dtype=dtype, keepdims=keepdims))


ndarray.sum, ndarray.any, ndarray.all = _sum, _compiled("any"), _compiled("all")
for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(ndarray, f"__r{_name}__", _operator(f"__r{_name}__"))
    setattr(ndarray, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
for _name in ("neg", "invert", "abs"):
    setattr(
        ndarray,
        f"__{_name}__",
        lambda self, _name=_name: ndarray(getattr(self._values, f"__{_name}__")()),
    )


def _function(name):
    def function(*args, **kwargs):
        out = kwargs.pop("out", None)
        found = getattr(np, name)(*map(unwrapped, args), **kwargs)
        if out is not None:
            out[...] = ndarray(found)
            return out
        if isinstance(found, tuple):
            return tuple(map(ndarray, found))
        return ndarray(found)

    return function


for _name in (
    "arange", "atleast_1d", "concatenate", "cumsum",
    "diff", "empty", "flatnonzero", "fmax", "fmin", "full", "isfinite", "isin", "isnan", "maximum",
    "minimum", "ones", "searchsorted", "stack", "unpackbits", "where", "zeros", "add", "subtract",
    "multiply", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
    "bitwise_and", "bitwise_or", "bitwise_xor", "negative", "absolute", "sqrt", "argmax", "take",
    "clip", "exp2", "floor", "log2",
):  # fmt: skip
    setattr(CUPY, _name, _function(_name))


def _sort(array):
    result = array.copy()
    result.sort()
    return result


def _argsort(array, axis=-1, kind=None):
    assert kind in (None, "stable")
    with room(2 * array.nbytes + 8 * array.size):
        return ndarray(np.argsort(unwrapped(array), axis=axis, kind="stable"))


def _compress(condition, array):
    return array[CUPY.flatnonzero(condition)]


def _unique(array):
    result = _sort(array.ravel())
    first = CUPY.ones(result.size, bool)
    first[1:] = result[1:] != result[:-1]
    return result[first]


def _bincount(x, weights=None, minlength=0):
    if not x.size:
        raise ValueError("zero-size array to reduction operation max which has no identity")
    assert not (unwrapped(x) < 0).any()
    weights = None if weights is None else unwrapped(weights)
    counts = ndarray(np.bincount(unwrapped(x), weights, minlength))
    # Measured on an H200, which runs more blocks at once than any test here has.
    blocks = -(-x.size // COUNTED) if weights is None else 0
    with room(blocks * counts.nbytes):
        return counts


def _strict_arange(arange):
    def strict(*bounds, dtype=None):
        if dtype is not None and np.dtype(dtype).kind == "u" and min(bounds) < 0:
            raise OverflowError(f"{min(bounds)} out of bounds for {np.dtype(dtype)}")
        return arange(*bounds, dtype=dtype)

    return strict


def _add_at(array, indices, values):
    if array.dtype == np.int64:
        raise TypeError("cupy.add.at only supports int32, ..., uint32, uint64 as data type")
    np.add.at(unwrapped(array), unwrapped(indices), unwrapped(values))


def _maximum_at(array, indices, values):
    if array.dtype in (np.int64, np.bool_):
        raise TypeError("scatter_max only supports int32, float32, float64, uint32, uint64")
    np.maximum.at(unwrapped(array), unwrapped(indices), unwrapped(values))


def _bitwise_or_at(array, indices, values):
    if array.dtype in (np.int64, np.bool_):
        raise TypeError("cupy.bitwise_or.at only supports int32, int64, uint32, uint64")
    np.bitwise_or.at(unwrapped(array), unwrapped(indices), unwrapped(values))


def _repeat(array, repeats):
    if isinstance(repeats, ndarray):
        raise ValueError("cupy.ndarray cannot be specified as `repeats` argument.")
    return ndarray(np.repeat(unwrapped(array), repeats))


def _asarray(values, dtype=None):
    if isinstance(values, ndarray) and dtype in (None, values.dtype):
        return values if values.device.id == _current[-1] else values.copy()
    inner = values._values if isinstance(values, ndarray) else values
    return ndarray(np.array(inner, dtype=dtype))


def _array(values, dtype=None, order="C"):
    inner = values._values if isinstance(values, ndarray) else values
    return ndarray(np.array(inner, dtype=dtype, order=order))


_current = [0]
READS = []  # one entry per copy to the host: how many elements


@contextmanager
def _device(index):
    _current.append(index)
    try:
        yield
    finally:
        _current.pop()


GPUS = [
    {"name": b"Fake H200", "major": 9, "minor": 0, "totalGlobalMem": 139 << 30},
    {"name": b"Fake GTX 1080", "major": 6, "minor": 1, "totalGlobalMem": 8 << 30},
]
CUPY.ndarray = ndarray
CUPY.sort, CUPY.argsort, CUPY.bincount, CUPY.repeat = _sort, _argsort, _bincount, _repeat
CUPY.compress, CUPY.unique = _compress, _unique
CUPY.asarray, CUPY.array = _asarray, _array
CUPY.arange = _strict_arange(CUPY.arange)
CUPY.add.at = _add_at
CUPY.maximum.at = _maximum_at
CUPY.bitwise_or.at = _bitwise_or_at
CUPY.asnumpy = lambda array: array.get() if isinstance(array, ndarray) else np.asarray(array)
CUPY.ascontiguousarray = lambda array, dtype=None: (
    array
    if array.flags.c_contiguous and dtype in (None, array.dtype)
    else ndarray(np.ascontiguousarray(array._values, dtype))
)
CUPY.get_default_memory_pool = lambda: POOL
CUPY.__version__ = "14.0.0"
CUPY.cuda = types.SimpleNamespace(
    Device=_device,
    using_allocator=using_allocator,
    memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    runtime=types.SimpleNamespace(
        getDevice=lambda: _current[-1],
        memGetInfo=lambda: (5 << 30, 139 << 30),
        runtimeGetVersion=lambda: 13000,
        getDeviceCount=lambda: len(GPUS),
        getDeviceProperties=lambda index: GPUS[index],
    ),
)


def _set_words(array, first, count, word):
    """Stand in for the fills of CUDA's driver."""
    size = min(array.itemsize, 4)
    array._values.reshape(-1).view(f"u{size}")[first : first + count] = word


def _fill_fields(device, starts):
    """Stand in for the kernel that fills several fields."""
    for array, value, others in starts:
        array._values.fill(value)
        for place, other in others:
            array._values[place] = other


def run_on_host(request):
    """Stand in for the CUDA engine: copy a request to the host, run it there, copy back."""
    from dataclasses import replace

    from weft.arrays.device import CPU, move, to_host
    from weft.backends.cpu.backend import BACKEND

    device = request.topology.device
    moved = {}
    for part in ("fields", "edge_fields"):
        for name, array in getattr(request.data, part).items():
            assert device.on_host or isinstance(array, ndarray), name
            moved[part, name] = np.array(to_host(array))
    frontier = request.start.frontier  # of the device, or of the host as the caller gave it
    data, trail = request.data, request.start.trail
    there = replace(
        request,
        topology=request.topology.to(CPU),
        data=replace(
            data,
            fields={n: moved["fields", n] for n in data.fields},
            edge_fields={n: moved["edge_fields", n] for n in data.edge_fields},
            column=lambda name, order: to_host(data.column(name, order)),
        ),
        start=replace(
            request.start,
            frontier=None if frontier is None else np.sort(to_host(frontier)),
            trail=None if trail is None else [np.sort(to_host(t)) for t in trail],
        ),
    )
    outcome = BACKEND.run(there, BACKEND.compile(there))
    for part in ("fields", "edge_fields"):
        for name, array in getattr(request.data, part).items():
            array[...] = move(moved[part, name], device)
    # A GPU puts members out in no order.
    backwards = None if outcome.frontier is None else outcome.frontier[::-1].copy()
    return replace(
        outcome,
        frontier=None if backwards is None else move(backwards, device),
        trail=[move(part[::-1].copy(), device) for part in outcome.trail],
    )


def undo_to_real(monkeypatch, owner, *names):
    """Record the real attributes: a test that patches a stand-in again then undoes to them."""
    for name in names:
        monkeypatch.setattr(owner, name, getattr(owner, name))


@contextmanager
def installed(monkeypatch, run=None):
    """Let weft find this module as CuPy, a driver for it, and `run_on_host` as the CUDA engine.

    `run(request, form)` stands in for the engine if it is given.
    """
    from weft.arrays import device as devices
    from weft.arrays import fill as filling
    from weft.backends.cuda.host import initial_fields as fills
    from weft.backends.cuda.host import run as engine

    undo_to_real(monkeypatch, devices, "driver_version", "nvrtc_facts", "has_module")
    # Tests patch the engine again: what is undone last must be the engine itself.
    real = engine.compile_program, engine.run_request
    monkeypatch.setattr(engine, "compile_program", lambda request: (None, []))
    monkeypatch.setattr(engine, "run_request", run or (lambda request, form: run_on_host(request)))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cupy", CUPY)
        patch.setattr(devices, "driver_version", lambda: 13000)
        patch.setattr(devices, "nvrtc_facts", lambda: (13000, (75, 80, 90, 100)))
        patch.setattr(filling, "set_words", _set_words)
        patch.setattr(fills, "fill_fields", _fill_fields)
        patch.setattr(devices, "has_module", lambda name: True)
        READS.clear()
        yield CUPY
    monkeypatch.setattr(engine, "compile_program", real[0])
    monkeypatch.setattr(engine, "run_request", real[1])


def on_gpu(array):
    """Whether an array is one of this module."""
    return isinstance(array, ndarray)
