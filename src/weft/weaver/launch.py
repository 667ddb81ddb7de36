"""Launches streams on the modelled GPU, one kernel after another."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.backends.cpu.host.lean_numba import compiling
from weft.errors import FaultError
from weft.weaver.caches import Caches, empty_caches
from weft.weaver.faults import Fault, WeaverError
from weft.weaver.machine import Counters, Machine
from weft.weaver.memory import Memory
from weft.weaver.simulate import OUT_OF_RANGE, STUCK, run
from weft.weaver.stream import Kernel, Phase
from weft.weaver.unit_timing import Units, empty_units


class Simulator:
    """A modelled GPU with its memory system; kernels run one after another.

    Parameters
    ----------
    machine
        Its parameters.
    traced
        How many instructions of each kernel are kept in `Counters.trace`.
    """

    def __init__(self, machine: Machine | None = None, traced: int = 0) -> None:
        self.machine = machine or Machine()
        self.traced = traced
        self.caches: Caches = empty_caches(self.machine)
        self.units: Units = empty_units(self.machine)

    def launch(
        self, kernel: Kernel, memory: Memory, eghw: Mapping[int, str] | None = None
    ) -> Counters:
        """Run a kernel on all warps of all cores and return what it took.

        Raises
        ------
        WeaverError
            If the unit met a fault.
        FaultError
            If an index was out of range, or no warp could go on.
        """
        m = self.machine
        bufs = memory.table(kernel.buffers)
        names = [] if eghw is None else [eghw[k] for k in sorted(eghw)]
        layout = np.array([memory.table([n])[0][:3] for n in names] or [[0, 0, 0]], np.int64)
        self.caches = self._next_caches()
        self.units = empty_units(m)
        total = m.cores * m.warps
        regs = np.zeros((total, kernel.registers, m.threads), np.int64)
        shared = np.zeros((m.cores, max(m.shared_words, kernel.shared_words)), np.int64)
        result = Counters()
        reads = np.zeros(max(1, len(kernel.buffers)), np.int64)
        trace = np.zeros((self.traced, 6), np.int64)
        fault = np.zeros(4, np.int64)
        began = time.process_time()
        with contextlib.nullcontext() if run.signatures else compiling():
            cycles = run(
                kernel.code, kernel.constants, m.vector(), (m.cores, m.warps, m.threads), bufs,
                memory.words, memory.words.view(np.float64), regs, regs.view(np.float64), shared,
                self.units, self.caches, layout, result.counts, result.phases, result.stalls,
                result.idle, reads, trace, fault,
            )  # fmt: skip
        result.seconds = time.process_time() - began
        if cycles < 0:
            raise _fault(kernel, fault)
        result.cycles = int(cycles) + m.launch_cycles
        result.phases[Phase.INIT] += m.launch_cycles * m.cores
        result.kernels = 1
        result.reads = {name: int(n) for name, n in zip(kernel.buffers, reads, strict=False)}
        if self.traced:
            result.trace = [trace[: int(fault[3])]]
        return result

    def _next_caches(self) -> Caches:
        """Return the caches with their contents; cycles begin again with each launch."""
        old, fresh = self.caches, empty_caches(self.machine)
        return fresh._replace(
            l1=fresh.l1._replace(tag=old.l1.tag),
            l2=fresh.l2._replace(tag=old.l2.tag),
            dirty2=old.dirty2,
            l3=fresh.l3._replace(tag=old.l3.tag),
        )


def _fault(kernel: Kernel, found: Any) -> FaultError:
    code, warp, buffer = int(found[0]), int(found[1]), int(found[2])
    if code == OUT_OF_RANGE:
        name = kernel.buffers[buffer] if buffer >= 0 else "shared memory"
        return FaultError(
            f"index out of range: {name} in {kernel.name}, warp {warp}. Expected every index of a "
            "program to be valid wherever it runs; guard the value that is not."
        )
    if code == STUCK:
        return FaultError(f"no warp of {kernel.name} can go on: a barrier was not reached by all.")
    return WeaverError(Fault(code), warp)
