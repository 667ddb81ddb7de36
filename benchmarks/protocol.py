"""Time contestants in alternation.

Clock, caches and other load drift, so libraries measured one after the other are not comparable.
Here each round runs every contestant once, so drift affects all of them, and each round starts with
another contestant, so none always follows the same one. One warm-up call per contestant comes first
(compilation, lazily built structures, page faults). A short pause between calls lets worker threads
of the last contestant stop spinning on the cores that the next one needs.
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
    """A contestant's times, first and last result, or its error."""

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
        """Return (slowest - fastest) / median."""
        return (max(self.times_ms) - min(self.times_ms)) / self.median_ms


def alternate(
    calls: Mapping[str, Callable[[], Any]],
    runs: int = 7,
    *,
    pause_s: float = PAUSE_S,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Outcome]:
    """Run each of `calls` once to warm up, then `runs` times in alternation.

    A call that raises drops out; its `Outcome` holds the error and no times.
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
