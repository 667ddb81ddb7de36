"""Measure tasks on one graph in a process of its own and report line by line.

A GPU fault (an illegal address, a hang) makes a process unusable, so every graph gets its own.
`python benchmarks/gpu_worker.py '{"graph": ..., "tasks": [...], ...}'` prints events as lines of
JSON behind a mark; `benchmarks/gpu.py` reads them.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gpu_graphs, gpu_startup
from benchmarks.gpu_tasks import RUNS, TASKS, measure
from benchmarks.gpu_timing import Clock

MARK = "@@ "
SPOILED = 3  # exit status: go on in another process


class OutOfTimeError(Exception):
    """A task exceeded its time limit."""


def tell(kind: str, **facts: Any) -> None:
    print(MARK + json.dumps({"event": kind, **facts}), flush=True)


def main(order: dict[str, Any]) -> int:
    device, name = order["device"], order["graph"]
    signal.signal(signal.SIGALRM, _ring)
    if name == gpu_startup.NAME:
        tell("begin", task=name)
        tell("startup", **gpu_startup.measure(device, order["limit"]))
        return 0
    tell("begin", task="generate")
    began = time.perf_counter()
    workload = gpu_graphs.make(name, device)
    tell(
        "graph",
        graph=name,
        vertices=workload.arcs.n,
        arcs=workload.arcs.m,
        largest_degree=int(workload.arcs.degree.max()),
        source=workload.source,
        components=workload.components,
        generate_seconds=workload.seconds,
        prepare_seconds=time.perf_counter() - began - workload.seconds,
        graph_bytes=int(workload.graph.memory_bytes),
    )
    clock = Clock(device)
    for task in order["tasks"]:
        tell("begin", task=task)
        signal.setitimer(signal.ITIMER_REAL, order["limit"])
        try:
            runs, config = order.get("runs", RUNS), order.get("config")
            row = measure(workload, TASKS[task], clock, order["limit"], runs, config)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        tell("row", row=row.as_json())
        if row.fault is not None and _spoils(row.fault):
            return SPOILED
    return 0


def _ring(*_: object) -> None:
    raise OutOfTimeError("the time limit of the task has passed")


def _spoils(fault: str) -> bool:
    """Return whether this process can no longer use the GPU."""
    return any(word in fault for word in ("CUDA", "cuda", "illegal", "launch failure"))


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
