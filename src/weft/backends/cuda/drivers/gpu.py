"""A GPU as a driver: NVRTC and launches through cuda.core, arrays by CuPy."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.arrays.device import address
from weft.backends.cuda.drivers.base import (
    Geometry,
    Limits,
    Multiprocessor,
    Packed,
    Resources,
    open_places,
)
from weft.backends.limits import TimeLimit
from weft.errors import DeviceError
from weft.storage.cache_dir import cache_dir
from weft.storage.sealed import read_sealed, write_sealed

SPIN_S = 0.002  # how long to look again and again before sleeping between two looks
LOOKS = 16  # at a kernel's last word, between two looks at the clock
TO_DEVICE, WITHIN_DEVICE = 1, 3  # cudaMemcpyHostToDevice, cudaMemcpyDeviceToDevice
NOT_READY = 600  # cudaErrorNotReady
NAP_S = 0.00005
UNASKED_SHARED_BYTES = 48 * 1024
RESERVED_SHARED_BYTES = 1024  # of each block, for the system
NO_PREFERENCE = -1  # of a division of memory into shared memory and L1
PORTABLE_CLUSTER = 8  # blocks of a cluster that every device with clusters allows
LARGE_CLUSTER = 16  # and that some of them allow if they are asked for it
CACHE_FORMAT = 1
SPLITTING_NVRTC = (13, 0)  # the least version that was seen to compile kernels side by side


def compile_options(architecture: str) -> dict[str, Any]:
    """Return the options of NVRTC: no contraction into fused multiply-adds, exact division."""
    return {
        "arch": architecture,
        "std": "c++17",
        "fma": False,
        "device_as_default_execution_space": False,
        "ftz": False,
        "prec_div": True,
        "prec_sqrt": True,
    }


def nvrtc_version() -> tuple[int, int]:
    """Return the version of the run-time compiler."""
    from cuda.bindings import nvrtc

    _, major, minor = nvrtc.nvrtcVersion()
    return int(major), int(minor)


def compile_cubin(
    source: str, kernels: Sequence[str], headers: Mapping[str, str], architecture: str
) -> bytes:
    """Compile CUDA C++ to machine code; needs no GPU."""
    from cuda.core import Program, ProgramOptions

    text = inline_headers(source, headers)
    options = compile_options(architecture)
    if len(kernels) > 1 and nvrtc_version() >= SPLITTING_NVRTC:
        options["split_compile"] = 0  # a thread for each kernel, if there are as many processors
    program = Program(text, "c++", ProgramOptions(**options))
    try:
        compiled = program.compile("cubin")
    except Exception as error:
        raise DeviceError(f"generated CUDA does not compile for {architecture}: {error}") from error
    return bytes(compiled.code)


def cubin_path(source: str, headers: Mapping[str, str], architecture: str) -> Path:
    """Return the path in the cache of a source's machine code."""
    parts = [source, sorted(headers.items()), compile_options(architecture), nvrtc_version(),
             CACHE_FORMAT]  # fmt: skip
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    return cache_dir("cubin") / f"{digest}.cubin"


def fill_cache(
    source: str, kernels: Sequence[str], headers: Mapping[str, str], architecture: str
) -> None:
    """Compile the machine code of a source into the cache, unless it is there."""
    path = cubin_path(source, headers, architecture)
    if read_sealed(path) is None:
        _write(path, compile_cubin(source, kernels, headers, architecture))


def inline_headers(source: str, headers: Mapping[str, str]) -> str:
    """Return the source with its included headers put in place, each once."""
    done: set[str] = set()

    def expand(text: str) -> str:
        lines = []
        for line in text.splitlines():
            if line.startswith('#include "'):
                name = line.split('"')[1]
                if name not in done:
                    done.add(name)
                    if name in headers:
                        lines.append(expand(headers[name]))
            else:
                lines.append(line)
        return "\n".join(lines)

    return expand(source) + "\n"


class GpuKernel:
    """A kernel on a GPU."""

    def __init__(self, name: str, handle: Any, multiprocessors: int, shared_bytes: int) -> None:
        self.name = name
        self.handle = handle
        self.address = int(handle.handle)
        self._multiprocessors = multiprocessors
        self._shared_bytes = shared_bytes  # of a multiprocessor
        self._occupancy: dict[tuple[int, int, int], int] = {}
        self._divided: tuple[int, int] | None = None  # what its memory is divided for

    def resources(self) -> Resources:
        """Return registers, spills and static shared memory."""
        attributes = self.handle.attributes
        return Resources(
            int(attributes.num_regs),
            int(attributes.local_size_bytes),
            int(attributes.shared_size_bytes),
        )

    def blocks_at_once(self, block: int, shared_bytes: int, cluster: int = 1) -> int:
        """Return how many blocks the device holds at once, in whole clusters."""
        key = (block, shared_bytes, cluster)
        if key not in self._occupancy:
            self._divided = None
            self._set("CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT", NO_PREFERENCE)
            self._ask_for_shared(shared_bytes)
            occupancy = self.handle.occupancy
            if cluster > PORTABLE_CLUSTER:
                self._set("CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)
            if cluster > 1:
                from cuda.core import LaunchConfig

                config = LaunchConfig(grid=1, cluster=cluster, block=block, shmem_size=shared_bytes)
                self._occupancy[key] = _clusters(occupancy, config) * cluster
            else:
                per = int(occupancy.max_active_blocks_per_multiprocessor(block, shared_bytes))
                self._occupancy[key] = per * self._multiprocessors
        return self._occupancy[key]

    def divide_memory(self, grid: int, shared_bytes: int) -> None:
        """Reserve the shared memory that the next launch needs, and leave the rest to L1.

        The division belongs to the kernel, not to the launch: it is set again when it changes.
        """
        blocks = -(-grid // self._multiprocessors)
        if self._divided == (blocks, shared_bytes):
            return
        self._ask_for_shared(shared_bytes)
        static = int(self.handle.attributes.shared_size_bytes)
        needed = blocks * (shared_bytes + static + RESERVED_SHARED_BYTES)
        percent = min(100, -(-100 * needed // self._shared_bytes))
        self._set("CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT", percent)
        self._divided = (blocks, shared_bytes)

    def _ask_for_shared(self, shared_bytes: int) -> None:
        """Allow blocks with more shared memory than every device offers unasked."""
        if shared_bytes > UNASKED_SHARED_BYTES:
            self._set("CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", shared_bytes)

    def _set(self, attribute: str, value: int) -> None:
        from cuda.bindings import driver

        kind = getattr(driver.CUfunction_attribute, attribute)
        (error, device) = driver.cuCtxGetDevice()
        (error,) = driver.cuKernelSetAttribute(kind, value, driver.CUkernel(self.address), device)
        if error != driver.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"{attribute} of {self.name!r} could not be {value}: {error.name}.")


def _clusters(occupancy: Any, config: Any) -> int:
    from cuda.core import LEGACY_DEFAULT_STREAM

    return int(occupancy.max_active_clusters(config, stream=LEGACY_DEFAULT_STREAM))


class GpuModule:
    """Machine code that is loaded."""

    def __init__(self, code: bytes, multiprocessors: int, shared_bytes: int) -> None:
        from cuda.core import ObjectCode

        self._object = ObjectCode.from_cubin(code)
        self._multiprocessors = multiprocessors
        self._shared_bytes = shared_bytes
        self._kernels: dict[str, GpuKernel] = {}

    def kernel(self, name: str) -> GpuKernel:
        """Return a kernel by name."""
        if name not in self._kernels:
            handle = self._object.get_kernel(name)
            self._kernels[name] = GpuKernel(name, handle, self._multiprocessors, self._shared_bytes)
        return self._kernels[name]


class GpuDriver:
    """Runs kernels on one GPU, in its default stream."""

    def __init__(self, index: int) -> None:
        import cupy
        from cuda.bindings import driver
        from cuda.core import Device

        self.xp = cupy
        self.counted: dict[str, int] = {}  # a GPU counts nothing by itself
        self.device = Device(index)
        self.device.set_current()
        cupy.cuda.Device(index).use()
        properties = self.device.properties
        major, minor = self.device.compute_capability
        self._shared_bytes = int(properties.max_shared_memory_per_multiprocessor)
        self.limits = Limits(
            str(self.device.name),
            int(properties.multiprocessor_count),
            int(properties.max_shared_memory_per_block_optin),
            PORTABLE_CLUSTER if major >= 9 else 1,
            f"sm_{major}{minor}",
            Multiprocessor(
                int(properties.max_registers_per_multiprocessor),
                int(properties.max_shared_memory_per_multiprocessor),
                int(properties.reserved_shared_memory_per_block),
                int(properties.max_blocks_per_multiprocessor),
                int(properties.max_threads_per_multiprocessor),
            ),
            LARGE_CLUSTER if major >= 9 else 0,
        )
        self.stream = _Stream(cupy)
        self._own = threading.local()  # what each thread has: an event to wait for
        self._launch = driver.cuLaunchKernelEx
        self._success = driver.CUresult.CUDA_SUCCESS

    def compile(self, source: str, kernels: Sequence[str], headers: Mapping[str, str]) -> GpuModule:
        """Compile a source, or load it from the cache."""
        path = cubin_path(source, headers, self.limits.architecture)
        kept = read_sealed(path)
        with contextlib.suppress(Exception):  # the driver may refuse what another one took
            if kept is not None:
                return self._load(kept, kernels)
        code = compile_cubin(source, kernels, headers, self.limits.architecture)
        _write(path, code)
        return self._load(code, kernels)

    def compiler(self) -> Any:
        """Return a compiler that fills the cache from other processes, for several threads."""
        from weft.backends.cuda.drivers.elsewhere import Elsewhere

        return Elsewhere(self.limits.architecture)

    def _load(self, code: bytes, kernels: Sequence[str]) -> GpuModule:
        """Load machine code with all its kernels: only then it is known to be sound."""
        module = GpuModule(code, self.limits.multiprocessors, self._shared_bytes)
        for name in kernels:
            module.kernel(name)
        return module

    def pack(self, arguments: Sequence[Any]) -> Packed:
        """Return arguments as words."""
        words = _Words([0 if argument is None else _word(argument) for argument in arguments])
        return Packed(words, tuple(arguments), open_places(arguments))

    def launch(
        self, kernel: Any, geometry: Geometry, arguments: Packed | Sequence[Any],
        given: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        """Start a kernel.

        The arguments are packed here, into one word each: cuda.core's own way of taking them one
        by one costs more than the launch.
        """
        if not hasattr(self._own, "has_context"):
            self.xp.cuda.runtime.free(0)  # gives a thread that is new to CUDA that of its device
            self._own.has_context = True
        kernel.divide_memory(geometry.grid, geometry.shared_bytes)
        if isinstance(arguments, Packed):
            words: _Words = arguments.ready
            words.set(arguments.open, [a if type(a) is int else _word(a) for a in given])
        else:
            words = _Words([_word(argument) for argument in arguments])
        stream = self.xp.cuda.get_current_stream().ptr
        config = _launch_config(geometry, stream)
        (error,) = self._launch(config, kernel.address, words.places_address, 0)
        if error != self._success:
            raise DeviceError(f"{kernel.name!r} could not be launched: {error.name}.")

    def upload(self, target: Any, source: Any) -> None:
        """Copy an array of the host or the device to the start of one of the device."""
        module = np if isinstance(source, np.ndarray) else self.xp
        if source.dtype != target.dtype or not source.flags.c_contiguous:
            source = module.ascontiguousarray(source, target.dtype)
        # Not by CuPy, which would launch a kernel of its own.
        kind = TO_DEVICE if module is np else WITHIN_DEVICE
        cuda = self.xp.cuda
        stream = cuda.get_current_stream().ptr
        cuda.runtime.memcpyAsync(target.data.ptr, address(source), source.nbytes, kind, stream)

    def uploader(self, target: Any, source: Any) -> Callable[[int], None]:
        """Return a function that copies the first bytes of pinned memory to a device array."""
        cuda = self.xp.cuda
        copy, stream = cuda.runtime.memcpyAsync, cuda.get_current_stream
        to, from_ = int(target.data.ptr), address(source)
        return lambda nbytes: copy(to, from_, nbytes, TO_DEVICE, stream().ptr)

    def shared_array(self, size: int, dtype: Any) -> tuple[Any, Any]:
        """Return pinned memory as a NumPy array, and its address for kernels."""
        kind = np.dtype(dtype)
        memory = self.xp.cuda.alloc_pinned_memory(max(1, size) * kind.itemsize)
        array = np.frombuffer(memory, kind, size)
        array[:] = 0
        return array, _Pinned(memory)

    def wait(self, stop: Any, limit: TimeLimit | None = None, ended: Any = None) -> None:
        """Wait for the stream; signals are handled meanwhile, and a limit is looked at.

        An event is signalled some microseconds after the kernel's last write. A kernel that reports
        its own completion is trusted; any other, long or broken, is still waited for by an event.
        An interrupted wait continues until the kernel has stopped; a second interrupt ends it at
        once.
        """
        began = time.perf_counter()
        try:
            if ended is not None:
                look = ended.item
                while time.perf_counter() - began < SPIN_S:
                    for _ in range(LOOKS):
                        if look():
                            return
                    if limit is not None:
                        limit.check()
            self._wait_for_event(began, limit)
        except DeviceError:  # nothing runs any more
            raise
        except BaseException:
            stop[0] = 1
            self._wait_for_event(began, None)
            raise

    def _wait_for_event(self, began: float, limit: TimeLimit | None) -> None:
        event = getattr(self._own, "event", None)
        if event is None:
            event = self._own.event = self.xp.cuda.Event(disable_timing=True)
        event.record()
        query = self.xp.cuda.runtime.eventQuery
        while status := query(event.ptr):
            if status != NOT_READY:
                raise self._died(status)
            if limit is not None:
                limit.check()
            if time.perf_counter() - began > SPIN_S:
                time.sleep(NAP_S)

    def _died(self, status: int) -> DeviceError:
        cause = self.xp.cuda.runtime.CUDARuntimeError(status)
        return DeviceError(
            f"the GPU gave up a kernel ({cause}), and with it all that this process has on the "
            f"GPU. Start the process again; Config(fuse='none') or another format or schedule may "
            f"get by. Unless a kernel of another library did it, this is a fault of weft: please "
            f"report it with the program and the graph."
        )

    def free_bytes(self) -> int:
        """Return the memory that is free on the device or in CuPy's pool."""
        free, _ = self.xp.cuda.runtime.memGetInfo()
        return int(free) + int(self.xp.get_default_memory_pool().free_bytes())


class _Stream:
    """CuPy's present stream for cuda.core."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self._cupy.cuda.get_current_stream().ptr)


class _Pinned:
    """The address of pinned memory, which it keeps alive."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.address = int(memory.ptr)


class _Words:
    """Arguments as words, and where each of them lies, as a launch takes them.

    A launch has copied them when it returns; two threads must not use the same words.
    """

    def __init__(self, words: Sequence[int]) -> None:
        self._words = np.array(words, np.uint64)
        self._memory = self._words.data
        self._places = address(self._words) + 8 * np.arange(len(words), dtype=np.uint64)
        self.places_address = address(self._places)

    def set(self, places: Sequence[int], words: Sequence[int]) -> None:
        """Write words to some places."""
        if len(places) == self._words.size:
            _all_words(len(places)).pack_into(self._memory, 0, *words)
            return
        held = self._words
        for place, word in zip(places, words, strict=True):
            held[place] = word


@functools.cache
def _all_words(count: int) -> struct.Struct:
    return struct.Struct(f"={count}Q")


@functools.lru_cache(maxsize=64)
def _launch_config(geometry: Geometry, stream: int) -> Any:
    """Return the configuration of a launch."""
    from cuda.bindings import driver

    grid, block, shared_bytes, cluster, cooperative = geometry
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = block, 1, 1
    config.sharedMemBytes = shared_bytes
    config.hStream = stream
    config.attrs = _attributes(cluster, cooperative)
    config.numAttrs = len(config.attrs)
    return config


@functools.cache
def _attributes(cluster: int, cooperative: bool) -> list[Any]:
    """Return the attributes of a launch."""
    from cuda.bindings import driver

    found = []
    if cluster > 1:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        dimension = attribute.value.clusterDim
        dimension.x, dimension.y, dimension.z = cluster, 1, 1
        found.append(attribute)
    if cooperative:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attribute.value.cooperative = 1
        found.append(attribute)
    return found


def _word(argument: Any) -> int:
    """Return an argument as the word that its bytes begin."""
    if type(argument) is int:
        return argument
    if isinstance(argument, np.generic):
        return int.from_bytes(argument.tobytes(), "little")
    if isinstance(argument, _Pinned):
        return argument.address
    return int(argument.data.ptr)


def _write(path: Path, code: bytes) -> None:
    """Write machine code to the cache; a full disk only means compiling again."""
    with contextlib.suppress(OSError):
        write_sealed(path, code)
