"""Devices by name, the array module of each, and what stands between a user and a GPU.

A device is `"cpu"`, `"cuda"` (the first GPU), `"cuda:1"`, `"emulated"` (the generated CUDA executed
by a host emulation on NumPy arrays, for debugging and for tests without a GPU) or `"reference"`
(the interpreter, which defines what a program means). This is the one module that moves arrays
between devices.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weft.errors import ConfigError, DeviceError, DeviceMemoryError, listed, nearest

KINDS: Final = ("cpu", "cuda", "emulated", "reference")

OLDEST_DRIVER: Final = 12000  # CUDA 12.0, as cuDriverGetVersion numbers it
OLDEST_CAPABILITY: Final = (7, 5)  # Turing
ACCESS: Final = 16  # bytes that one access of a kernel moves at most
DRIVER_PAGE: Final = "https://www.nvidia.com/drivers"


@dataclass(frozen=True, slots=True)
class Device:
    """Where a graph lives and runs.

    Parameters
    ----------
    kind : {"cpu", "cuda", "emulated", "reference"}
    index : int
        The number of the GPU, from 0.
    """

    kind: str
    index: int = 0

    def __str__(self) -> str:
        return self.kind if self.index == 0 else f"{self.kind}:{self.index}"

    @property
    def on_host(self) -> bool:
        """Whether the arrays are NumPy's."""
        return self.kind != "cuda"

    @property
    def xp(self) -> Any:
        """The module that makes arrays of this device: NumPy or CuPy."""
        return _cupy() if self.kind == "cuda" else np

    def current(self, lighter: Callable[[], Sequence[str]] | None = None) -> Current:
        """Make this the device that new arrays are made on; say it well when memory runs out.

        Whatever public computes with arrays stands in one of these. `lighter` tells the choices
        that would have needed less. What was allocated inside is given back before the error is
        raised.

        Raises
        ------
        DeviceMemoryError
            In place of CuPy's error.
        """
        return Current(self, lighter)

    def _told(self, error: MemoryError, lighter: Callable[[], Sequence[str]] | None) -> MemoryError:
        """Return the error about this device's memory that an error stands for, or itself."""
        choices = lighter() if lighter else ()
        needed: int | None
        if isinstance(error, DeviceMemoryError):  # told further inside
            if not choices:
                return error
            needed, free = error.needed_bytes, error.free_bytes
        elif _of_device(error):
            needed, free = _asked_bytes(error), free_bytes(self)
        else:
            return error
        total = int(_cupy().cuda.runtime.memGetInfo()[1])
        return out_of_memory(self, needed, free or 0, total, choices)


class Current:
    """A block in which a device is the present one, made by `Device.current`.

    Blocks stand within blocks, several to a call: one that finds the device set costs a look.
    """

    __slots__ = ("_device", "_lighter", "_switched")

    def __init__(self, device: Device, lighter: Callable[[], Sequence[str]] | None) -> None:
        self._device, self._lighter = device, lighter
        self._switched: Any = None

    def __enter__(self) -> None:
        if self._device.kind == "cuda":
            cuda = (sys.modules.get("cupy") or _cupy()).cuda
            if cuda.runtime.getDevice() != self._device.index:
                self._switched = cuda.Device(self._device.index)
                self._switched.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self._device.kind != "cuda":
            return
        told: MemoryError | None = None
        if isinstance(error, MemoryError):
            told = self._device._told(error, self._lighter)
            # Frames that have ended hold arrays as long as the error is looked at.
            traceback.clear_frames(error.__traceback__)
            _cupy().get_default_memory_pool().free_all_blocks()
        if self._switched is not None:
            self._switched.__exit__(kind, error, trace)
        if told is not None and told is not error:
            raise told from error


CPU: Final = Device("cpu")
EMULATED: Final = Device("emulated")


def parse_device(name: str | Device) -> Device:
    """Return the device of a name; does not look whether it can be used.

    Raises
    ------
    ConfigError
        For a name that no device has.

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
    hint = "" if name == "gpu" else nearest(str(name), KINDS)  # that would be the CPU
    raise ConfigError(
        f"device={name!r} is not known. Expected one of {listed(KINDS)}.{hint} The first GPU is "
        "'cuda', others are 'cuda:1', 'cuda:2', ..."
    )


def open_device(name: str | Device) -> Device:
    """Return a device that can be used; a `Device` was opened before and is returned as it is.

    Raises
    ------
    ConfigError
        For a name that no device has.
    DeviceError
        If the device cannot be used here; says why, and what to install.
    """
    if isinstance(name, Device):
        return name
    device = parse_device(name)
    if device.kind == "cuda":
        trouble = cuda_problem(device.index)
        if trouble is not None:
            raise DeviceError(f"device={str(device)!r} is not available: {trouble}")
    return device


def array_module(device: str | Device) -> Any:
    """Return the module of a device's arrays: `numpy`, or `cupy` for CUDA."""
    return np if parse_device(device).on_host else _cupy()


# -- arrays -----------------------------------------------------------------------------------


def is_device_array(value: object) -> bool:
    """Whether a value is an array of CuPy; does not import CuPy."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(value, cupy.ndarray)


def module_of(array: object) -> Any:
    """Return the module that an array belongs to; NumPy for everything but CuPy's arrays."""
    return sys.modules["cupy"] if is_device_array(array) else np


def device_of(*values: Any) -> Device:
    """Return the device that values lie on: that of the first CuPy array among them, or the CPU."""
    for value in values:
        if is_device_array(value):
            return Device("cuda", int(value.device.id))
    return CPU


def lies_on(array: Any, device: Device) -> bool:
    """Whether an array is one of a device; those of all hosts are the same."""
    if is_device_array(array):
        return device.kind == "cuda" and int(array.device.id) == device.index
    return device.kind != "cuda"


def aligned(array: Any) -> Any:
    """Return an array that nobody writes, whose vectors lie where one access can take them."""
    if array.ndim == 1:
        return array
    start = array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr
    return array.copy() if start % ACCESS else array


def move(array: Any, device: Device) -> Any:
    """Return an array (or anything array-like) as an array of a device; itself if it is there."""
    if device.on_host:
        return to_host(array)
    with device.current():
        return device.xp.asarray(array)


def to_host(array: Any) -> NDArray[Any]:
    """Return an array (or anything array-like) as a NumPy array; itself if it is one."""
    if is_device_array(array):
        return module_of(array).asnumpy(array)
    return np.asarray(array)


def as_array(value: Any) -> Any:
    """Return a value as an array without moving it: CuPy's arrays stay, the rest is NumPy's."""
    return value if is_device_array(value) else np.asarray(value)


def read_only(array: Any) -> Any:
    """Return a view that cannot be written to; CuPy has none, so there it is a plain view."""
    view = array.view()
    if isinstance(view, np.ndarray):
        view.flags.writeable = False
    return view


# -- what CUDA needs --------------------------------------------------------------------------


def cuda_problem(index: int = 0) -> str | None:
    """Return why a GPU cannot be used and what to do about it, or None if it can."""
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
            f"CuPy cannot reach the GPU ({type(error).__name__}: {error}). Expected a CuPy that "
            f"fits the driver; reinstall it with: {install_command(version)}"
        )


def _device_problem(cupy: Any, index: int, version: int) -> str | None:
    """Return what is wrong with one GPU, given that driver and CuPy are there."""
    runtime = int(cupy.cuda.runtime.runtimeGetVersion())
    if version < runtime // 1000 * 1000:
        return (
            f"CuPy was built for CUDA {_version_text(runtime)}, but the driver supports "
            f"{_version_text(version)} at most. Update the driver from {DRIVER_PAGE}, or install "
            f"the CuPy that fits it: {install_command(version)}"
        )
    count = int(cupy.cuda.runtime.getDeviceCount())
    if index >= count:
        there = f"cuda:0 to cuda:{count - 1}" if count > 1 else "'cuda' alone"
        return (
            f"there is no GPU of number {index}. Expected {there}."
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
    """Return why the run-time compiler cannot serve a GPU and a driver."""
    try:
        compiler, known = nvrtc_facts()
    except Exception as error:
        return (
            f"NVRTC, which compiles for it, cannot be loaded ({type(error).__name__}: {error}). "
            f"Install it with: {install_command(version)}"
        )
    if version < compiler // 1000 * 1000:
        return (
            f"NVRTC is that of CUDA {_version_text(compiler)}, but the driver supports "
            f"{_version_text(version)} at most. Update the driver from {DRIVER_PAGE}, or install "
            f"the NVRTC that fits it: {install_command(version)}"
        )
    major, minor = gpu.capability
    if 10 * major + minor not in known:
        return (
            f"{gpu.name} has compute capability {major}.{minor}, which NVRTC of CUDA "
            f"{_version_text(compiler)} does not know. Install a newer one with: "
            f"{install_command(version).replace('install', 'install --upgrade', 1)}"
        )
    return None


@functools.cache
def nvrtc_facts() -> tuple[int, tuple[int, ...]]:
    """Return the version of the run-time compiler (12040 for 12.4) and what it compiles for."""
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
    """Return how many GPUs CuPy sees."""
    return int(_cupy().cuda.runtime.getDeviceCount())


def gpu_facts(index: int) -> Gpu:
    """Return what is known of a GPU."""
    facts = _cupy().cuda.runtime.getDeviceProperties(index)
    name = facts["name"]
    return Gpu(
        name.decode() if isinstance(name, bytes) else str(name),
        (int(facts["major"]), int(facts["minor"])),
        int(facts["totalGlobalMem"]),
    )


@functools.cache
def driver_version() -> int | None:
    """Return the newest CUDA that the NVIDIA driver supports (12040 for 12.4), or None."""
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
    """Whether a module could be imported; imports at most its parent package."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def install_command(version: int | None) -> str:
    """Return the command that installs what a GPU needs, for a driver of some CUDA version."""
    extra = "cuda13" if version is None or version >= 13000 else "cuda12"
    return f"pip install 'weft[{extra}]'"


def _version_text(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            f"CuPy is not available ({error}). Arrays on a GPU are CuPy's; install it with: "
            f"{install_command(driver_version())}"
        ) from error
    return cupy


# -- memory -----------------------------------------------------------------------------------


def free_bytes(device: Device) -> int | None:
    """Return the memory that is free on a GPU to CuPy, its reserve included; None on a host."""
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
    """Return a number of bytes for reading: 80 B, 1.2 kB, 3.4 GB."""
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
    lighter: Sequence[str] = (),
) -> DeviceMemoryError:
    """Return the error about memory that ran out on a device; `lighter` are choices to change."""
    wanted = "more memory" if needed is None else bytes_text(needed)
    of = "" if total is None else f" of {bytes_text(total)}"
    scattered = ", but in pieces that are too small" if needed and needed <= free else ""
    less = f"Less is needed with {'; or '.join(lighter)}. " if lighter else ""
    return DeviceMemoryError(
        f"Out of memory on {str(device)!r}: {wanted} was needed, {bytes_text(free)}{of} was free"
        f"{scattered}. "
        f"{less}Delete graphs and states that are no longer used, build directed graphs with "
        "keep='out' or keep='in', drop columns that no program reads, or use device='cpu'; "
        "weft.estimate_memory(g, 'bfs') tells beforehand what a run takes.",
        needed_bytes=needed,
        free_bytes=free,
    )


def _of_device(error: MemoryError) -> bool:
    """Whether an error of CuPy is about the memory of a GPU, not of the host.

    CuPy's sorts by Thrust say no more than the name of the exception of C++.
    """
    own = _cupy().cuda.memory.OutOfMemoryError
    return isinstance(error, own) or "std::bad_alloc" in str(error)


def _asked_bytes(error: BaseException) -> int | None:
    """Return how much CuPy asked for when it ran out, from the text of its error."""
    match = re.search(r"allocating ([\d,]+) bytes", str(error))
    return int(match[1].replace(",", "")) if match else None
