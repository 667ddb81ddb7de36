"""Time calls on a device with CUDA events and the wall clock."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# Kernels of programs; others only prepare a run, such as those that write initial values.
OF_PROGRAMS = ("run_all", "run_push", "run_pull", "run_wide", "run_anew", "run_few",
               "run_one", "run_turn")  # fmt: skip

# On an idle H200 the first dozens of searches of 0.3 ms take 0.35 to 0.45.
WARM_SECONDS = 0.1


@dataclass
class Times:
    """Times of several calls in milliseconds."""

    device_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)

    @property
    def median_ms(self) -> float:
        return statistics.median(self.device_ms)

    @property
    def median_wall_ms(self) -> float:
        return statistics.median(self.wall_ms)

    @property
    def mean_ms(self) -> float:
        return statistics.fmean(self.device_ms)

    @property
    def worst_ms(self) -> float:
        return max(self.device_ms)


class Clock:
    """A timer for one device; without a GPU, the wall clock replaces events."""

    def __init__(self, device: str) -> None:
        self.cupy: Any = None
        if device.startswith("cuda"):
            import cupy

            self.cupy = cupy

    def time(self, call: Callable[[], Any], times: Times) -> Any:
        """Call once, record the times and return the result."""
        if self.cupy is None:
            began = time.perf_counter()
            result = call()
            times.wall_ms.append((time.perf_counter() - began) * 1e3)
            times.device_ms.append(times.wall_ms[-1])
            return result
        start, stop = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        self.cupy.cuda.get_current_stream().synchronize()
        began = time.perf_counter()
        start.record()
        result = call()
        stop.record()
        stop.synchronize()
        times.wall_ms.append((time.perf_counter() - began) * 1e3)
        times.device_ms.append(float(self.cupy.cuda.get_elapsed_time(start, stop)))
        return result

    def warm_up(self, call: Callable[[], Any]) -> None:
        """Call repeatedly until an idle device has raised its clock."""
        began = time.perf_counter()
        while True:
            call()
            if self.cupy is not None:
                self.cupy.cuda.get_current_stream().synchronize()
            if time.perf_counter() - began > WARM_SECONDS:
                return

    def repeat(self, call: Callable[[], Any], runs: int, seconds: float) -> tuple[Times, Any]:
        """Time up to `runs` calls, fewer if they would take longer than `seconds`."""
        times, result = Times(), None
        began = time.perf_counter()
        collects = gc.isenabled()
        gc.disable()
        try:
            for _ in range(runs):
                result = None  # frees its memory for the next call
                result = self.time(call, times)
                if time.perf_counter() - began > seconds:
                    break
        finally:
            if collects:
                gc.enable()
        return times, result

    def forget_memory(self) -> None:
        """Free unused memory, so that a later `held_bytes` shows what was needed."""
        gc.collect()
        if self.cupy is not None:
            self.cupy.get_default_memory_pool().free_all_blocks()

    def most_bytes(self, call: Callable[[], Any]) -> int:
        """Return the most bytes a call holds through CuPy beyond those held before it.

        The pool's size does not show this: it may serve a call from gaps that others left.
        """
        held, most = 0, 0

        class Meter(self.cupy.cuda.MemoryHook):  # type: ignore[name-defined, misc]
            name = "Meter"

            def malloc_postprocess(self, **facts: Any) -> None:
                nonlocal held, most
                held += facts["mem_size"]
                most = max(most, held)

            def free_postprocess(self, **facts: Any) -> None:
                nonlocal held
                held -= facts["mem_size"]

        with Meter():
            call()
        return most

    def held_bytes(self) -> int | None:
        """Return the bytes that CuPy holds on the device, the most since `forget_memory`."""
        if self.cupy is None:
            return None
        return int(self.cupy.get_default_memory_pool().total_bytes())
