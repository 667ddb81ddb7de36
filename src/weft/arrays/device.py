"""Devices: names, array modules, availability and memory.

A device is `"cpu"`, `"cuda"` (the first GPU), `"cuda:1"`, `"emulated"` (the generated CUDA executed
by a host emulation on NumPy arrays, for debugging and for tests without a GPU) or `"reference"`
(the interpreter, which defines the meaning of programs). Only this module moves arrays between
devices.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weft.errors import (
    ConfigError,
    DeviceError,
    DeviceMemoryError,
    GraphError,
    listed,
    nearest,
    shortened,
)

KINDS: Final = ("cpu", "cuda", "emulated", "reference")

OLDEST_DRIVER: Final = 12000  # CUDA 12.0, as reported by cuDriverGetVersion
OLDEST_CAPABILITY: Final = (7, 5)  # Turing
ACCESS: Final = 16  # widest memory access of a kernel, in bytes
DRIVER_PAGE: Final = "https://www.nvidia.com/drivers"


@dataclass(frozen=True, slots=True)
class Device:
    """The device that holds and runs a graph.

    Parameters
    ----------
    kind : {"cpu", "cuda", "emulated", "reference", "blocks"}
    index : int
        The number of the GPU, from 0.
    streams : bool
        Whether arcs come to it block by block from elsewhere, and it holds the vertex state alone.

    Attributes
    ----------
    on_host : bool
        Whether its arrays are NumPy arrays.
    """

    kind: str
    index: int = 0
    streams: bool = field(default=False, repr=False)
    on_host: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "on_host", self.kind != "cuda")

    def __str__(self) -> str:
        return self.kind if self.index == 0 else f"{self.kind}:{self.index}"

    @property
    def in_tables(self) -> bool:
        """Whether it is a connection to a database, whose tables hold the arcs."""
        return self.kind == "relational"

    @property
    def takes_blocks(self) -> bool:
        """Whether it can hold the state of a graph whose arcs come to it block by block."""
        return self.kind in ("cuda", "emulated")

    @property
    def xp(self) -> Any:
        """The array module of this device: NumPy or CuPy."""
        return _cupy() if self.kind == "cuda" else np

    @property
    def model(self) -> str:
        """The model name of a GPU, or the kind of a host device and the processor's model."""
        return gpu_facts(self.index).name if self.kind == "cuda" else f"{self.kind} {_processor()}"

    def synchronize(self) -> None:
        """Wait until everything started on this device has finished."""
        if self.kind == "cuda":
            _cupy().cuda.runtime.deviceSynchronize()

    def current(
        self, hints: Callable[[], Sequence[str]] | None = None
    ) -> AbstractContextManager[None]:
        """Return a context that makes this the current device and reports memory errors clearly.

        All public functions that compute with arrays use it. `hints` returns choices that need less
        memory, for the message. Memory allocated inside the block is freed before the error is
        raised.

        Raises
        ------
        DeviceMemoryError
            Instead of CuPy's error.
        """
        return Current(self, hints) if self.kind == "cuda" else _NOTHING

    def _memory_error(
        self, error: MemoryError, hints: Callable[[], Sequence[str]] | None
    ) -> MemoryError:
        """Translate an error about this device's memory; return any other error unchanged."""
        choices = hints() if hints else ()
        needed: int | None
        if isinstance(error, DeviceMemoryError):  # already translated by an inner block
            if not choices:
                return error
            needed, free = error.needed_bytes, error.free_bytes
        elif _of_device(error):
            needed, free = _requested_bytes(error), free_bytes(self)
        else:
            return error
        total = int(_cupy().cuda.runtime.memGetInfo()[1])
        return out_of_memory(self, needed, free or 0, total, choices)


_NOTHING: Final = nullcontext()


class Current:
    """A block in which a GPU is the current device, made by `Device.current`.

    Blocks are nested, several per call, so one that finds the device already set does no more than
    check it.
    """

    __slots__ = ("_device", "_hints", "_switched")

    def __init__(self, device: Device, hints: Callable[[], Sequence[str]] | None) -> None:
        self._device, self._hints = device, hints
        self._switched: Any = None

    def __enter__(self) -> None:
        cuda = (sys.modules.get("cupy") or _cupy()).cuda
        if cuda.runtime.getDevice() != self._device.index:
            self._switched = cuda.Device(self._device.index)
            self._switched.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        translated: MemoryError | None = None
        if isinstance(error, MemoryError):
            translated = self._device._memory_error(error, self._hints)
            # The frames in the traceback would keep their arrays alive.
            traceback.clear_frames(error.__traceback__)
            _cupy().get_default_memory_pool().free_all_blocks()
        if self._switched is not None:
            self._switched.__exit__(kind, error, trace)
        if translated is not None and translated is not error:
            raise translated from error


CPU: Final = Device("cpu")
BLOCKS: Final = Device("blocks")  # vertex state in host memory, arcs in block files or elsewhere
EMULATED: Final = Device("emulated")


def parse_device(name: str | Device) -> Device:
    """Return the device of that name; does not check whether it is available.

    Raises
    ------
    ConfigError
        If the name is unknown.

    Examples
    --------
    >>> parse_device("cuda:1")
    Device(kind='cuda', index=1)
    >>> str(parse_device("cuda:0"))
    'cuda'
    """
    if isinstance(name, Device):
        return name
    if isinstance(name, str):
        if name in KINDS:
            return Device(name)
        match = re.fullmatch(r"cuda:(\d+)", name)
        if match:
            return Device("cuda", int(match[1]))
    hint = "" if name == "gpu" else nearest(str(name), KINDS)  # "gpu" is most similar to "cpu"
    raise ConfigError(
        f"device={name!r} is not known. Expected one of {listed(KINDS)}.{hint} The first GPU is "
        "'cuda', others are 'cuda:1', 'cuda:2', ..."
    )


def open_device(name: str | Device) -> Device:
    """Return an available device; a `Device` was checked before and is returned unchanged.

    Raises
    ------
    ConfigError
        If the name is unknown.
    DeviceError
        If the device is not available; says why, and what to install.
    """
    if isinstance(name, Device):
        return name
    device = parse_device(name)
    if device.kind == "cuda":
        trouble = cuda_problem(device.index)
        if trouble is not None:
            raise DeviceError(f"device={str(device)!r} is not available: {trouble}")
    return device


# -- arrays -----------------------------------------------------------------------------------


def is_device_array(value: object) -> bool:
    """Whether a value is a CuPy array; does not import CuPy."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(value, cupy.ndarray)


def module_of(array: object) -> Any:
    """Return the array module of a value: CuPy for CuPy arrays, else NumPy."""
    return sys.modules["cupy"] if is_device_array(array) else np


def device_of(*values: Any) -> Device:
    """Return the device of the first CuPy array among some values, or the CPU."""
    for value in values:
        if is_device_array(value):
            return Device("cuda", int(value.device.id))
    return CPU


def lies_on(array: Any, device: Device) -> bool:
    """Whether an array is in the memory of a device; all host devices share theirs."""
    if is_device_array(array):
        return device.kind == "cuda" and int(array.device.id) == device.index
    return device.kind != "cuda"


def aligned(array: Any) -> Any:
    """Return an array with its vectors aligned for the widest access; do not write to it."""
    if array.ndim == 1:
        return array
    return array.copy() if address(array) % ACCESS else array


def address(array: Any) -> int:
    """Return where the elements of an array begin in the memory of its device."""
    if isinstance(array, np.ndarray):
        return int(array.__array_interface__["data"][0])
    return int(array.data.ptr)


def move(array: Any, device: Device) -> Any:
    """Return an array (or anything array-like) on a device; itself if already there."""
    if device.on_host:
        return to_host(array)
    with device.current():
        return device.xp.asarray(array)


def to_host(array: Any) -> NDArray[Any]:
    """Return an array (or anything array-like) as a NumPy array; itself if it already is one."""
    if type(array) is np.ndarray:
        return array
    if is_device_array(array):
        return module_of(array).asnumpy(array)
    return as_array(array)


def as_array(value: Any) -> Any:
    """Return a value as an array on its own device: CuPy arrays unchanged, all else as NumPy."""
    if is_device_array(value):
        return value
    try:
        return np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise GraphError(
            f"{shortened(value)} does not form an array ({error}). Expected numbers, or rows of "
            "one length."
        ) from None


def read_only(array: Any) -> Any:
    """Return a read-only view; for CuPy, which has none, a plain view."""
    view = array.view()
    if isinstance(view, np.ndarray):
        view.flags.writeable = False
    return view


# -- what CUDA needs --------------------------------------------------------------------------


def cuda_problem(index: int = 0) -> str | None:
    """Return why a GPU is not available and what to do about it, or None if it is."""
    version = driver_version()
    if version is None:
        return (
            "no NVIDIA driver was found (libcuda.so.1 cannot be loaded). Expected a driver for "
            f"CUDA {_version_text(OLDEST_DRIVER)} or newer; install one from {DRIVER_PAGE}, or "
            "use device='cpu'."
        )
    if version < OLDEST_DRIVER:
        return (
            f"the NVIDIA driver supports CUDA {_version_text(version)} at most. Expected "
            f"{_version_text(OLDEST_DRIVER)} or newer; update it from {DRIVER_PAGE}."
        )
    for module, name in (("cupy", "CuPy"), ("cuda.core", "cuda-core")):
        if not has_module(module):
            return f"{name} is not installed. Install it with: {install_command(version)}"
    try:
        return _device_problem(_cupy(), index, version)
    except Exception as error:
        return (
            f"CuPy cannot access the GPU ({type(error).__name__}: {error}). Expected a CuPy that "
            f"matches the driver; reinstall it with: {install_command(version)}"
        )


def _device_problem(cupy: Any, index: int, version: int) -> str | None:
    """Return why a GPU is not usable, given a driver and CuPy, or None."""
    runtime = int(cupy.cuda.runtime.runtimeGetVersion())
    if version < runtime // 1000 * 1000:
        return (
            f"CuPy was built for CUDA {_version_text(runtime)}, but the driver supports "
            f"{_version_text(version)} at most. Update the driver from {DRIVER_PAGE}, or install "
            f"a matching CuPy: {install_command(version)}"
        )
    count = int(cupy.cuda.runtime.getDeviceCount())
    if index >= count:
        known = f"cuda:0 to cuda:{count - 1}" if count > 1 else "'cuda', the only GPU"
        return (
            f"GPU {index} does not exist. Expected {known}."
            if count
            else "the driver sees no GPU. Check nvidia-smi and CUDA_VISIBLE_DEVICES."
        )
    gpu = gpu_facts(index)
    if gpu.capability < OLDEST_CAPABILITY:
        return (
            f"{gpu.name} has compute capability {gpu.capability[0]}.{gpu.capability[1]}. Expected "
            f"{OLDEST_CAPABILITY[0]}.{OLDEST_CAPABILITY[1]} (Turing, 2018) or newer; use another "
            "GPU ('cuda:1', ...) or device='cpu'."
        )
    return _compiler_problem(gpu, version)


def _compiler_problem(gpu: Gpu, version: int) -> str | None:
    """Return why the run-time compiler does not support a GPU and a driver, or None."""
    try:
        compiler, known = nvrtc_facts()
    except Exception as error:
        return (
            f"NVRTC, which compiles the kernels, cannot be loaded ({type(error).__name__}: "
            f"{error}). Install it with: {install_command(version)}"
        )
    if version < compiler // 1000 * 1000:
        return (
            f"NVRTC belongs to CUDA {_version_text(compiler)}, but the driver supports "
            f"{_version_text(version)} at most. Update the driver from {DRIVER_PAGE}, or install "
            f"a matching NVRTC: {install_command(version)}"
        )
    major, minor = gpu.capability
    if 10 * major + minor not in known:
        return (
            f"{gpu.name} has compute capability {major}.{minor}, which NVRTC of CUDA "
            f"{_version_text(compiler)} does not support. Install a newer one with: "
            f"{install_command(version).replace('install', 'install --upgrade', 1)}"
        )
    return None


@functools.cache
def nvrtc_facts() -> tuple[int, tuple[int, ...]]:
    """Return the version of NVRTC (12040 for 12.4) and the architectures that it supports."""
    from cuda.bindings import nvrtc

    _, major, minor = nvrtc.nvrtcVersion()
    _, known = nvrtc.nvrtcGetSupportedArchs()
    return 1000 * int(major) + 10 * int(minor), tuple(map(int, known))


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: name, compute capability, memory in bytes."""

    name: str
    capability: tuple[int, int]
    memory_bytes: int


def gpu_count() -> int:
    """Return the number of GPUs visible to CuPy."""
    return int(_cupy().cuda.runtime.getDeviceCount())


def gpu_facts(index: int) -> Gpu:
    """Return the name, compute capability and memory of a GPU."""
    facts = _cupy().cuda.runtime.getDeviceProperties(index)
    name = facts["name"]
    return Gpu(
        name.decode() if isinstance(name, bytes) else str(name),
        (int(facts["major"]), int(facts["minor"])),
        int(facts["totalGlobalMem"]),
    )


@functools.cache
def _processor() -> str:
    """Return the model name of the processor, and how many there are."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        model = text.partition("model name")[2].partition("\n")[0].strip(" \t:")
    except OSError:
        model = ""
    return f"{model or platform.processor() or platform.machine()} × {os.cpu_count()}"


@functools.cache
def driver_version() -> int | None:
    """Return the newest CUDA version that the driver supports (12040 for 12.4), or None."""
    for library in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            driver = ctypes.CDLL(library)
        except OSError:
            continue
        version = ctypes.c_int(0)
        if driver.cuDriverGetVersion(ctypes.byref(version)) == 0:
            return version.value
    return None


def has_module(name: str) -> bool:
    """Whether a module is installed; imports at most its parent package."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def install_command(version: int | None) -> str:
    """Return the command that installs GPU support for a driver's CUDA version."""
    extra = "cuda13" if version is None or version >= 13000 else "cuda12"
    return f"pip install 'weft[{extra}]'"


def _version_text(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            f"CuPy, which provides arrays on a GPU, is not available ({error}). Install it with: "
            f"{install_command(driver_version())}"
        ) from error
    return cupy


# -- memory -----------------------------------------------------------------------------------


def free_bytes(device: Device) -> int | None:
    """Return the memory of a GPU available to CuPy, including its pool; None on a host."""
    if device.on_host:
        return None
    cupy = _cupy()
    with cupy.cuda.Device(device.index):
        free = int(cupy.cuda.runtime.memGetInfo()[0])
        pool = cupy.get_default_memory_pool()
        limit = int(pool.get_limit())  # CUPY_GPU_MEMORY_LIMIT; 0 for none
        if limit:
            free = min(free, max(0, limit - int(pool.total_bytes())))
        return free + int(pool.free_bytes())


def bytes_text(count: int) -> str:
    """Format a number of bytes: 80 B, 1.2 kB, 3.4 GB."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def out_of_memory(
    device: Device,
    needed: int | None,
    free: int,
    total: int | None = None,
    hints: Sequence[str] = (),
) -> DeviceMemoryError:
    """Return the error for a device out of memory; `hints` are choices that need less."""
    wanted = "more memory" if needed is None else bytes_text(needed)
    of = "" if total is None else f" of {bytes_text(total)}"
    scattered = ", but fragmented" if needed and needed <= free else ""
    less = f"To use less, choose {'; or '.join(hints)}. " if hints else ""
    return DeviceMemoryError(
        f"Out of memory on {str(device)!r}: {wanted} was needed, {bytes_text(free)}{of} was free"
        f"{scattered}. "
        f"{less}Delete unused graphs and states, build directed graphs with keep='out' or "
        "keep='in', drop columns that no program reads, or use device='cpu'; "
        "weft.estimate_memory(g, 'bfs') estimates the memory of a run in advance.",
        needed_bytes=needed,
        free_bytes=free,
    )


def _of_device(error: MemoryError) -> bool:
    """Whether a CuPy error is about GPU memory rather than host memory.

    CuPy's Thrust sorts report only the name of the C++ exception.
    """
    own = _cupy().cuda.memory.OutOfMemoryError
    return isinstance(error, own) or "std::bad_alloc" in str(error)


def _requested_bytes(error: BaseException) -> int | None:
    """Return the size of CuPy's failed allocation, from the text of its error."""
    match = re.search(r"allocating ([\d,]+) bytes", str(error))
    return int(match[1].replace(",", "")) if match else None
