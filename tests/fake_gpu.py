"""The CUDA engine on `fake_cupy`: all that surrounds kernels happens, the kernels do not run.

What a run allocates is then what it allocates on a GPU. Results come from the CPU's engine.
"""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

import fake_cupy
from weft.backends.cuda.drivers.base import Limits, Packed, merged, open_places
from weft.backends.cuda.host import reorder_fields as carrying
from weft.backends.cuda.host import run as engine
from weft.backends.cuda.host.control import AT, LOOP

COMPILE, RUN = engine.compile_program, engine.run_request
BLOCKS = 1056  # of a grid: 8 on each of 132 multiprocessors


class IdleDriver:
    """Takes launches and ends the loop at once, leaving a last frontier of any size and kind."""

    xp = fake_cupy.CUPY
    limits = Limits("idle GPU", 132, 227 * 1024, 8, "sm_90")

    def __init__(self):
        self.counted = {}
        self.last_size, self.last_queued = 0, False

    def compile(self, source, kernels, headers):
        kernel = SimpleNamespace(
            blocks_at_once=lambda block, shared, cluster: BLOCKS, resources=lambda: None
        )
        return SimpleNamespace(kernel=lambda name: kernel)

    def pack(self, arguments):
        return Packed(None, tuple(arguments), open_places(arguments))

    def launch(self, kernel, geometry, arguments, given=()):
        arguments = merged(arguments, given)
        for report in (a for a in arguments if isinstance(a, np.ndarray) and a.size >= len(LOOP)):
            loop = report[: len(LOOP)].view(np.int64)
            ending = {"status": engine.EMPTY, "size": self.last_size, "dense": 0,
                      "queued": self.last_queued, "mapped": not self.last_queued}  # fmt: skip
            loop[[AT[name] for name in ending]] = list(ending.values())

    def upload(self, target, source):
        source = source if isinstance(source, fake_cupy.ndarray) else fake_cupy.ndarray(source)
        target[: source.size] = source

    def uploader(self, target, source):
        return lambda nbytes: None

    def shared_array(self, size, dtype):
        array = np.zeros(size, dtype)
        return array, array

    def wait(self, stop, limit=None, ended=None):
        pass


@contextmanager
def installed(monkeypatch, *, results=True):
    """Let weft find `fake_cupy` and this engine; without results, states stay as they begin."""
    driver = IdleDriver()

    def run(request, form):
        program = copy.deepcopy(request.program)  # since it is rewritten on its way to code
        outcome = RUN(request, COMPILE(request), driver)
        if not results:
            return outcome
        with fake_cupy.using_allocator():  # not what is measured
            return fake_cupy.run_on_host(replace(request, program=program))

    def carry(device, places, pairs):
        for source, target in pairs:
            target[:] = source[places]

    with fake_cupy.installed(monkeypatch, run) as cupy:
        monkeypatch.setattr(carrying, "carry", carry)
        yield SimpleNamespace(cupy=cupy, driver=driver)
