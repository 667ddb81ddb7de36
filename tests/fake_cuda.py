"""The driver of a GPU on machines without one: what it launches runs in the emulation.

Memory is that of `fake_cupy` and is found by its address, as a GPU finds it: a launch gets the
words that the driver has packed, and nothing else.
"""

from __future__ import annotations

import bisect
import ctypes
import re
import sys
import threading
import types
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np

import fake_cupy
from weft.arrays import device as devices
from weft.arrays import fill as filling
from weft.backends.cuda.drivers.base import Limits
from weft.backends.cuda.drivers.emulated import BLOCKS_AT_ONCE, EmulatedDriver
from weft.backends.cuda.drivers.gpu import GpuDriver
from weft.backends.cuda.emulator.build import Case, Launch
from weft.backends.cuda.host import initial_fields as fills
from weft.backends.cuda.host import options as choices
from weft.backends.cuda.host import reorder_fields as carrying
from weft.backends.cuda.host import run as execute

VALUES = {"i64": np.int64, "u32": np.uint32, "i32": np.int32, "double": np.float64}


class Memory:
    """Arrays by their address; they stay, so that no other takes their place."""

    def __init__(self):
        self.arrays = {}
        self.starts = []

    def note(self, array):
        start = array.ctypes.data
        if start not in self.arrays and array.size and array.flags.c_contiguous:
            self.arrays[start] = array.reshape(-1).view(np.uint8)
            bisect.insort(self.starts, start)

    def start_of(self, address):
        """Return where the array begins that an address lies in."""
        start = self.starts[bisect.bisect_right(self.starts, address) - 1]
        assert start <= address < start + self.arrays[start].size, "a wild pointer"
        return start

    def pieces(self, addresses):
        """Return the memory from each address to the next one in the same array, or to its end."""
        found, held = {}, {}
        for address in addresses:
            held.setdefault(self.start_of(address), set()).add(address)
        for start, inside in held.items():
            array, ordered = self.arrays[start], sorted(inside)
            for first, end in zip(ordered, [*ordered[1:], start + array.size], strict=True):
                found[first] = array[first - start : end - start]
        return found


class Kernel:
    """A kernel of the emulation, called by the words of its arguments."""

    def __init__(self, name, program, parameters, address):
        self.name, self.program, self.parameters = name, program, parameters
        self.address = address

    def divide_memory(self, grid, shared_bytes):
        pass

    def blocks_at_once(self, block, shared_bytes, cluster=1):
        return BLOCKS_AT_ONCE // cluster * cluster

    def resources(self):
        return None


class Cuda:
    """What the driver asks of CUDA and of CuPy beside arrays."""

    def __init__(self):
        self.memory, self.kernels = Memory(), []
        self.launches, self.events, self.contexts = [], 0, 0
        self.driver = driver = object.__new__(GpuDriver)
        driver.xp, driver._own, driver._launch, driver._success = (
            fake_cupy.CUPY, threading.local(), self.launch, 0,
        )  # fmt: skip
        driver.limits = Limits("fake GPU", BLOCKS_AT_ONCE, 96 * 1024, 2, "sm_90")
        driver.compile, driver.counted = self.compile, {}

    def compile(self, source, names, headers):
        program = EmulatedDriver().compile(source, names, headers).program
        text, made = source + "".join(headers.values()), {}
        for name in names:
            head = re.search(
                rf"__global__ void (?:WEFT_BOUNDS\(.*?\) )?{name}\((.*?)\)", text, re.S
            )
            listed = head[1]
            if listed.isidentifier():  # a macro
                listed = re.search(rf"#define {listed}\s((?:.*\\\n)*.*)", text)[1]
                listed = " ".join(listed.replace("\\\n", " ").split())
            declared = [p.replace("weft::", "").strip() for p in listed.split(",")]
            parameters = ["*" if "*" in p else p.split()[-2] for p in declared]
            made[name] = Kernel(name, program, parameters, len(self.kernels))
            self.kernels.append(made[name])
        return SimpleNamespace(kernel=made.__getitem__)

    def launch(self, config, address, places_address, extra):
        """Stand in for cuLaunchKernelEx: run to the end, on copies that are copied back."""
        kernel = self.kernels[address]
        places = (ctypes.c_uint64 * len(kernel.parameters)).from_address(places_address)
        words = [ctypes.c_uint64.from_address(place).value for place in places]
        given = list(zip(words, kernel.parameters, strict=True))
        pieces = self.memory.pieces([word for word, kind in given if kind == "*"])
        buffers = {
            str(at): np.append(p, np.zeros(-p.size % 16, np.uint8)) for at, p in pieces.items()
        }
        arguments = [
            str(word) if kind == "*" else np.array([word], np.uint64).view(VALUES[kind])[0]
            for word, kind in given
        ]
        kinds = {attribute.id.name: attribute.value for attribute in config.attrs or ()}
        size = kinds.get("CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION")
        cluster = 1 if size is None else size.clusterDim.x
        launch = Launch(
            kernel.name, tuple(arguments), config.gridDimX, config.blockDimX,
            config.sharedMemBytes, cluster, "CU_LAUNCH_ATTRIBUTE_COOPERATIVE" in kinds,
        )  # fmt: skip
        self.launches.append(launch)
        outcome = kernel.program.run([Case(buffers, [launch])], timeout_s=100)
        assert outcome.report is None, outcome.report.text
        for at, piece in pieces.items():
            if piece.flags.writeable:
                piece[:] = outcome.outputs[0][str(at)][: piece.size]
        return (0,)

    def pinned(self, nbytes):
        array = np.zeros(nbytes, np.uint8).view(PinnedMemory)
        self.memory.note(np.asarray(array))
        return array

    def record(self, *_, **__):
        self.events += 1

    def free(self, address):
        assert address == 0
        self.contexts += 1


class PinnedMemory(np.ndarray):
    ptr = property(lambda self: self.ctypes.data)


@contextmanager
def installed(monkeypatch):
    """Let weft find this driver behind ``cuda``, and its memory behind CuPy's arrays."""
    cuda, inner = Cuda(), fake_cupy.allocated

    def allocated(values):
        base = inner(values)
        cuda.memory.note(base)
        return base

    event = SimpleNamespace(record=cuda.record, ptr=0)
    stream = SimpleNamespace(ptr=0, synchronize=lambda: None)
    offered = {
        "get_current_stream": lambda: stream, "Event": lambda **_: event,
        "alloc_pinned_memory": cuda.pinned,
    }  # fmt: skip
    names = "driver_version", "nvrtc_facts", "has_module"
    fake_cupy.undo_to_real(monkeypatch, devices, *names)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cupy", fake_cupy.CUPY)
        patch.setattr(fake_cupy, "allocated", allocated)
        for name, value in offered.items():
            patch.setattr(fake_cupy.CUPY.cuda, name, value, raising=False)
        runtime = fake_cupy.CUPY.cuda.runtime
        copy = types.MethodType(lambda _, to, source, n, *__: ctypes.memmove(to, source, n), cuda)
        patch.setattr(runtime, "memcpyAsync", copy, raising=False)
        patch.setattr(runtime, "free", cuda.free, raising=False)
        patch.setattr(runtime, "eventQuery", lambda _: 0, raising=False)  # all is done
        patch.setattr(devices, "driver_version", lambda: 13000)
        patch.setattr(devices, "nvrtc_facts", lambda: (13000, (75, 80, 90, 100)))
        patch.setattr(devices, "has_module", lambda name: True)
        patch.setattr(filling, "set_words", fake_cupy._set_words)
        for module in (execute, fills, carrying):
            patch.setattr(module, "driver_of", lambda kind, index=0: cuda.driver)
        patch.setattr(choices, "BLOCK", choices.EMULATED_BLOCK)
        yield cuda
