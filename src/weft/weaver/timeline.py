"""Timelines of warps: events that Perfetto opens, and the parts of a Gantt chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.weaver.machine import Counters
from weft.weaver.stream import Phase


def spans(counters: Counters, gap: int = 64) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield (core, warp, begin, end, phase): instructions of a phase that follow each other.

    Instructions of a warp belong to one span while their phase is the same; after a pause of more
    than `gap` cycles a new one begins.
    """
    for rows in counters.trace:
        open_: dict[tuple[int, int], list[int]] = {}
        for core, warp, begin, end, phase, *_ in rows.tolist():
            held = open_.get((core, warp))
            if held is not None and held[2] == phase and begin - held[1] <= gap:
                held[1] = end
                continue
            if held is not None:
                yield core, warp, held[0], held[1], held[2]
            open_[core, warp] = [begin, end, phase]
        for (core, warp), held in open_.items():
            yield core, warp, held[0], held[1], held[2]


def events(runs: dict[str, Counters]) -> dict[str, Any]:
    """Return runs as a trace in the format of Chrome and Perfetto: a process for each core.

    A cycle is a microsecond of the timeline.
    """
    found: list[dict[str, Any]] = []
    for number, (name, counters) in enumerate(runs.items()):
        cores = set()
        for core, warp, begin, end, phase in spans(counters):
            process = number * 1000 + core
            if core not in cores:
                cores.add(core)
                label = {"name": f"{name}, core {core}"}
                found.append({"ph": "M", "pid": process, "name": "process_name", "args": label})
            found.append({
                "ph": "X", "pid": process, "tid": warp, "ts": begin, "dur": end - begin,
                "name": Phase(phase).name.lower(), "cat": "warp",
            })  # fmt: skip
    return {"traceEvents": found, "displayTimeUnit": "ms"}
