"""Every format with its best schedule: ``python benchmarks/formats.py``.

PageRank, BFS, components and SSSP on a Kronecker graph, a road network and a graph with planted
communities. Of every format: bytes per arc beside csr's, the time to build it beside the time to
build csr from shuffled edges, and the best time of each task with the schedule that gave it.
Formats that are made for an order of vertices run in it, and so does csr once more. Kernels are
compiled side by side. ``--device emulated --tiny`` tries it without a GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import defaults, gpu_graphs, gpu_report
from benchmarks.gpu_graphs import Workload, synchronize

BUDGET_SECONDS = 240.0
GRAPHS = ("kron21", "road4900", "planted21")
TINY = ("kron8", "road24", "planted9")
TASKS = ("pagerank", "bfs", "components", "sssp")
SCHEDULES = ("vertex", "row", "edge", "merge")
PATIENT = {"runs": 4, "warm_up": 60.0, "lost": 60.0, "near": 60.0}  # slow ones are wanted, too


@dataclass
class Row:
    """What was found of one format on one graph."""

    graph: str
    format: str
    order: str
    bytes_per_arc: float = math.nan
    build_ms: float = math.nan
    facts: dict[str, float] = field(default_factory=dict)
    refused: str = ""
    times: dict[str, dict[str, float]] = field(default_factory=dict)  # task -> schedule -> ms
    troubles: list[str] = field(default_factory=list)

    def best(self, task: str) -> tuple[float, str]:
        """Return the best time of a task and its schedule."""
        found = [(ms, schedule) for schedule, ms in self.times.get(task, {}).items()]
        return min(found, default=(math.nan, ""))


def formats_of(order: str) -> list[str]:
    """Return the formats that are run in an order."""
    from weft.formats import formats

    return [name for name, known in formats().items() if known.order == order or name == "csr"]


def describe(row: Row, topology: Any) -> None:
    """Build a format for the in-arcs, twice, and note what it takes."""
    from weft.errors import ConfigError
    from weft.formats import choose

    rows = topology.in_
    chosen = choose(row.format)
    for _ in range(2):
        began = time.perf_counter()
        try:
            with topology.device.current():
                layout = chosen.make(rows.offsets, rows.targets, topology.xp, True)
                _wait(topology)
        except ConfigError as error:
            row.refused = str(error)
            return
        row.build_ms = (time.perf_counter() - began) * 1e3
    row.bytes_per_arc = layout.nbytes / max(1, topology.num_arcs)
    row.facts = dict(layout.facts)


def csr_build_ms(topology: Any) -> float:
    """Return the time to build csr from the same arcs in random order."""
    from weft.topology import Topology

    xp = topology.xp
    with topology.device.current():
        order = xp.argsort(xp.random.random(topology.num_arcs))
        src, dst = (ends[order] for ends in topology.endpoints())
        del order
        for _ in range(2):
            _wait(topology)
            began = time.perf_counter()
            Topology.from_arcs(src, dst, topology.num_vertices)
            _wait(topology)
    return (time.perf_counter() - began) * 1e3


def _wait(topology: Any) -> None:
    if topology.device.kind == "cuda":
        topology.xp.cuda.get_current_stream().synchronize()


def measure(workload: Workload, rows: list[Row], task: str, schedules: list[str]) -> None:
    """Time a task under all formats that a graph can have, in its order."""
    import weft
    from weft.tuning.measuring import Bench, Patience

    bench = Bench(
        defaults.caller(task, workload),
        workload.graph.topology.device,
        same=defaults.same,
        patience=Patience(**PATIENT),
    )
    direction = "pull" if task == "pagerank" else "auto"
    waiting = [
        (row, schedule, weft.Config(format=row.format, schedule=schedule, direction=direction))
        for row in rows
        if not row.refused
        for schedule in schedules
    ]
    try:
        bench.start()
        for _, _, config in waiting:
            bench.begin(config)
        while waiting:
            at = next((k for k, item in enumerate(waiting) if bench.is_ready(item[2])), 0)
            row, schedule, config = waiting.pop(at)
            trial = bench.measure(config)
            if trial.is_timed:
                row.times.setdefault(task, {})[schedule] = trial.ms
            elif trial.status != "refused":
                row.troubles.append(f"{task}, {schedule}: {trial.status}: {trial.reason}")
    finally:
        bench.close()


def compare(name: str, device: str, tasks: list[str], schedules: list[str]) -> list[Row]:
    """Return a row for every format on a graph."""
    workload = gpu_graphs.make(name, device)
    plain = workload.graph
    found: list[Row] = []
    for order in ("", "community"):
        began = time.perf_counter()
        graph = plain if not order else plain.reorder(order)
        synchronize(graph)
        if order:
            seconds = time.perf_counter() - began
            print(f"{name}: {order} order in {seconds * 1e3:.4g} ms", flush=True)
        topology = graph.topology if not order else graph._arranged()
        rows = [Row(name, text, order or "none") for text in formats_of(order)]
        for row in rows:
            describe(row, topology)
        workload.graph = graph
        for task in tasks:
            measure(workload, rows, task, schedules)
            print(f"{name}: {task} in the order {order or 'none'} done", flush=True)
        found += rows
    print(f"{name}: csr from shuffled edges in {csr_build_ms(plain.topology):.4g} ms", flush=True)
    return found


def report(rows: list[Row], tasks: list[str]) -> None:
    """Print a table for each graph, and what csr under `row` and tigr take beside cr2."""
    head = ["format", "order", "B/arc", "build ms", *tasks]
    for graph in dict.fromkeys(row.graph for row in rows):
        cells = []
        for row in (r for r in rows if r.graph == graph):
            times = [f"{ms:.3g} {how}" if how else "-" for ms, how in map(row.best, tasks)]
            size = [f"{row.bytes_per_arc:.2f}", f"{row.build_ms:.3g}"]
            if row.refused:
                size, times = ["-", "-"], ["refused"] + ["-"] * (len(tasks) - 1)
            cells.append([row.format, row.order, *size, *times])
        print(gpu_report.table(head, cells, f"{graph}: ms and schedule"))
    for task in tasks:
        print(f"{task}: {ratios_text(rows, task)}")
    for row in rows:
        for trouble in row.troubles:
            print(f"{row.format} on {row.graph}: {trouble}")


def ratios_text(rows: list[Row], task: str) -> str:
    """Return how much longer others take than cr2, as geometric means over the graphs."""
    parts = {"csr under row": [], "tigr": [], "cr2_bare": []}  # type: dict[str, list[float]]
    for graph in dict.fromkeys(row.graph for row in rows):
        by = {(row.format, row.order): row for row in rows if row.graph == graph}
        cr2, csr = by.get(("cr2", "community")), by.get(("csr", "none"))
        if cr2 is None or math.isnan(cr2.best(task)[0]):
            continue
        others = {
            "csr under row": csr.times.get(task, {}).get("row") if csr is not None else None,
            "tigr": by["tigr", "none"].best(task)[0] if ("tigr", "none") in by else None,
            "cr2_bare": by["cr2_bare", "community"].best(task)[0]
            if ("cr2_bare", "community") in by
            else None,
        }
        for other, ms in others.items():
            if ms is not None and not math.isnan(ms):
                parts[other].append(ms / cr2.best(task)[0])
    means = {k: math.exp(sum(map(math.log, v)) / len(v)) for k, v in parts.items() if v}
    return ", ".join(f"{k} {mean:.2f} times cr2" for k, mean in means.items()) or "nothing timed"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Every format with its best schedule.")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="between commas")
    parser.add_argument("--tasks", default=",".join(TASKS), help="between commas")
    parser.add_argument("--schedules", default=",".join(SCHEDULES), help="between commas")
    parser.add_argument("--tiny", action="store_true", help="small graphs")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds in all")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    os.environ["WEFT_TUNINGS"] = "off"
    tasks, schedules = options.tasks.split(","), options.schedules.split(",")
    if unknown := [task for task in tasks if task not in TASKS]:
        parser.error(f"tasks {unknown} are not known. Expected {', '.join(TASKS)}.")
    began, rows = time.perf_counter(), list[Row]()
    for graph in TINY if options.tiny else options.graphs.split(","):
        if time.perf_counter() - began > options.budget:
            print(f"{graph}: no time left")
            continue
        rows += compare(graph, options.device, tasks, schedules)
        if options.json is not None:
            options.json.write_text(json.dumps([vars(row) for row in rows], indent=1) + "\n")
    report(rows, tasks)
    return int(any(row.troubles for row in rows))


if __name__ == "__main__":
    sys.exit(main())
