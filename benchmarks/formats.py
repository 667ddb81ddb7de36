"""Every format with its best schedule: ``python benchmarks/formats.py``.

PageRank, BFS, components and SSSP on a Kronecker graph, a road network and a graph with planted
communities. Of every format: bytes per arc, the time to build it beside the time to build csr from
shuffled edges, the best time of each task with the schedule that gave it, and with that schedule
the times of runs that only push and only pull. Then what CR² promises, line by line. Formats that
are made for an order of vertices run in it, and so does csr once more.

Each graph has an equal share of ``--budget``. Everything is printed as it is found, what the
promises are about first; kernels are compiled side by side, and a schedule is given up when it
takes three times as long as the best of its format. ``--device emulated --tiny`` tries it without a
GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import ablation_programs, defaults, formats_report, gpu_graphs
from benchmarks.formats_report import Row
from benchmarks.gpu_graphs import Workload, synchronize

BUDGET_SECONDS = 240.0
GRAPHS = ("kron21", "road4900", "planted20")
TINY = ("kron8", "road24", "planted9")
TASKS = ("pagerank", "bfs", "components", "sssp")
SCHEDULES = ("row", "warp", "vertex", "edge", "twc", "merge", "strict")
FIRST = ("csr", "cr2", "tigr", "cr2_bare", "coo", "block_coo")  # what the promises are about
SIDES = ("push", "pull")
RUNS = 3
LOST = 3.0  # times the best of a format: what takes longer is given up
FIRST_LIMIT = 60.0  # times the default: how long the first schedule of a format may take
SIDE_LIMIT = 10.0  # times the best of a format: how long it may take to push or pull alone
ROW_SECONDS = 8.0  # for all schedules of a format and a task


@dataclass(frozen=True)
class Case:
    """One thing to time."""

    row: Row
    task: str
    schedule: str
    direction: str

    @property
    def rank(self) -> tuple[int, int]:
        """Important formats first, round after round of schedules."""
        name = self.row.format
        return SCHEDULES.index(self.schedule), FIRST.index(name) if name in FIRST else len(FIRST)

    @property
    def config(self) -> Any:
        import weft

        return weft.Config(format=self.row.format, schedule=self.schedule, direction=self.direction)


def formats_of(order: str) -> list[str]:
    """Return the formats that are run in an order."""
    from weft.formats import formats

    return [name for name, known in formats().items() if known.order == order or name == "csr"]


def describe(row: Row, topology: Any) -> None:
    """Build a format for the in-arcs, twice, and note what it takes."""
    from weft.errors import ConfigError
    from weft.formats import choose

    rows, chosen = topology.in_, choose(row.format)
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


def caller(task: str, workload: Workload, sides: bool) -> Callable[[Any], Any]:
    """Return what runs a task; PageRank gathers, and is told by messages where it is to push."""
    if task == "pagerank" and sides:
        return ablation_programs.edge_pagerank(workload.graph)
    return defaults.caller(task, workload)


def measure(
    workload: Workload, task: str, cases: list[Case], deadline: float, sides: bool = False
) -> int:
    """Time the cases of a task, as far as there is time; returns how many were left out."""
    from weft.tuning.measuring import Bench, Patience

    if not cases or time.perf_counter() > deadline:
        return len(cases)
    patience = Patience(runs=RUNS, warm_up=LOST, lost=LOST, near=LOST)
    device = workload.graph.topology.device
    run = caller(task, workload, sides)
    bench = Bench(run, device, same=defaults.same, patience=patience)
    left = sorted(cases, key=lambda case: case.rank)
    spent: dict[str, float] = {}
    try:
        usual_ms = bench.start().ms
        for case in left:
            bench.begin(case.config)
        while left and time.perf_counter() < deadline:
            ready = next((case for case in left if bench.is_ready(case.config)), None)
            if ready is None:
                time.sleep(0.002)
                continue
            left.remove(ready)
            row, began = ready.row, time.perf_counter()
            held = float("inf") if sides else row.best(task)[0]
            if held < float("inf") and spent.get(row.key, 0.0) > ROW_SECONDS:
                continue
            # Every format has a best of its own.
            bench.best_ms = min(held, FIRST_LIMIT / LOST * usual_ms)
            if sides:
                bench.best_ms = SIDE_LIMIT / LOST * row.best(task)[0]
            trial = bench.measure(ready.config)
            spent[row.key] = spent.get(row.key, 0.0) + time.perf_counter() - began
            side = ready.direction if sides else ""
            if trial.is_timed:
                row.note(task, ready.schedule, trial.ms, side)
            elif trial.status == "stopped" and sides:
                row.note(task, ready.schedule, trial.ms, side, ">")
            elif trial.status in ("wrong", "failed"):
                row.troubles.append(f"{task}, {ready.schedule}: {trial.status}: {trial.reason}")
    finally:
        bench.close()
    return len(left)


def usual_direction(task: str) -> str:
    """PageRank of weft's own pulls; the others may turn."""
    return "pull" if task == "pagerank" else "auto"


def compare(name: str, options: argparse.Namespace, deadline: float) -> list[Row]:
    """Return a row for every format on a graph."""
    workload = gpu_graphs.make(name, options.device)
    plain = workload.graph
    arcs = plain.topology.num_arcs
    print(f"\n{name}: {plain.num_vertices:,} vertices, {arcs:,} arcs", flush=True)
    csr_ms = csr_build_ms(plain.topology)
    print(f"{name}: csr from shuffled edges in {csr_ms:.4g} ms", flush=True)
    groups: list[tuple[Any, list[Row]]] = []
    for order in ("", "community"):
        began = time.perf_counter()
        graph = plain if not order else plain.reorder(order)
        synchronize(graph)
        if order:
            seconds = time.perf_counter() - began
            print(f"{name}: {order} order in {seconds * 1e3:.4g} ms", flush=True)
        topology = graph.topology if not order else graph._arranged()
        rows = [
            Row(name, text, order or "none", csr_build_ms=csr_ms)
            for text in formats_of(order)
            if text in options.formats
        ]
        for row in rows:
            describe(row, topology)
            print(row.described(), flush=True)
        groups.append((graph, rows))
    found = [row for _, rows in groups for row in rows]
    for task in options.tasks:
        for graph, rows in groups:
            workload.graph = graph
            able = [row for row in rows if not row.refused]
            ways = [
                Case(row, task, schedule, usual_direction(task))
                for row in able
                for schedule in options.schedules
            ]
            missed = measure(workload, task, ways, deadline)
            sides = [
                Case(row, task, row.best(task)[1], side)
                for row in able
                for side in SIDES
                if row.best(task)[1] and side != usual_direction(task)
            ]
            missed += measure(workload, task, sides, deadline, sides=True)
            for row in able:
                if usual_direction(task) != "auto" and row.best(task)[1]:
                    row.note(task, "", row.best(task)[0], usual_direction(task))
                print(row.told(task), flush=True)
            if missed:
                print(f"{name}: {task}: no time for {missed} more", flush=True)
    return found


def parse(arguments: list[str] | None) -> argparse.Namespace:
    from weft.formats import formats
    from weft.schedules import schedules

    parser = argparse.ArgumentParser(description="Every format with its best schedule.")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="between commas")
    parser.add_argument("--tasks", default=",".join(TASKS), help="between commas")
    parser.add_argument("--schedules", default=",".join(SCHEDULES), help="between commas")
    parser.add_argument("--formats", default=",".join(formats()), help="between commas")
    parser.add_argument("--tiny", action="store_true", help="small graphs")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds in all")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    options.graphs = list(TINY) if options.tiny else options.graphs.split(",")
    for name, known in (("tasks", TASKS), ("schedules", schedules()), ("formats", formats())):
        chosen = getattr(options, name).split(",")
        if unknown := [item for item in chosen if item not in known]:
            parser.error(f"{name} {unknown} are not known. Expected {', '.join(known)}.")
        setattr(options, name, chosen)
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    os.environ["WEFT_TUNINGS"] = "off"
    began, rows = time.perf_counter(), list[Row]()
    for k, graph in enumerate(options.graphs):
        deadline = began + options.budget * (k + 1) / len(options.graphs)
        rows += compare(graph, options, deadline)
        print(f"{graph} done after {time.perf_counter() - began:.1f} s", flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps([vars(row) for row in rows], indent=1) + "\n")
    formats_report.report(rows, options.tasks)
    return int(any(row.troubles for row in rows))


if __name__ == "__main__":
    sys.exit(main())
