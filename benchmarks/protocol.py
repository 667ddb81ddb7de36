"""The timing protocol: every contestant in turn, round after round.

Two libraries measured one after the other are measured on two machines: clock, caches and
neighbours have changed in between. Here each round runs every contestant once, so that drift hits
all alike, and each round starts with another contestant, so that nobody always follows the same
one. One warm-up call per contestant comes first (compilation, lazily built structures, page
faults). Between two calls the protocol waits a moment: worker threads of the last contestant may
still be spinning on the cores that the next one needs.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

PAUSE_S = 0.01


@dataclass
class Outcome:
    """What one contestant did: its times, its first and its last result, or how it failed."""

    times_ms: list[float] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    error: Exception | None = None

    @property
    def median_ms(self) -> float:
        return statistics.median(self.times_ms)

    @property
    def min_ms(self) -> float:
        return min(self.times_ms)

    @property
    def spread(self) -> float:
        """(slowest - fastest) / median."""
        return (max(self.times_ms) - min(self.times_ms)) / self.median_ms


def alternate(
    calls: Mapping[str, Callable[[], Any]],
    runs: int = 7,
    *,
    pause_s: float = PAUSE_S,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Outcome]:
    """Run each of `calls` once to warm up, then `runs` times in alternation.

    A call that raises is left out from then on; its `Outcome` holds the error and no times.
    """
    outcomes = {name: Outcome() for name in calls}
    for name, call in calls.items():
        _run_once(call, outcomes[name], clock, timed=False)
    names = list(calls)
    collects = gc.isenabled()
    gc.disable()
    try:
        for turn in range(runs):
            first = turn % len(names) if names else 0
            for name in names[first:] + names[:first]:
                if outcomes[name].error is None:
                    time.sleep(pause_s)
                    _run_once(calls[name], outcomes[name], clock, timed=True)
            gc.collect()
    finally:
        if collects:
            gc.enable()
    return outcomes


def _run_once(
    call: Callable[[], Any], outcome: Outcome, clock: Callable[[], float], *, timed: bool
) -> None:
    try:
        start = clock()
        result = call()
        stop = clock()
    except Exception as error:
        outcome.error = error
        outcome.times_ms.clear()
        outcome.results.clear()
        return
    outcome.results[1:] = [result]
    if timed:
        outcome.times_ms.append((stop - start) * 1e3)
