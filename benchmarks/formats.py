"""Time every format under its best schedule: ``python benchmarks/formats.py``.

PageRank, BFS, components and SSSP on a Kronecker graph, a road network and a graph with planted
communities. The report shows, for every format, bytes per arc, build time beside that of csr from
shuffled edges, the best time of each task with its schedule, and the times of push-only and
pull-only runs under that schedule; then the promises of CR² line by line. Formats made for a vertex
order run in it, and csr runs in it too.

Graphs share ``--budget`` equally. Kernels compile in parallel while others are timed. In each round
every format tries one more schedule, likely ones first ("own": the default); then the best of all
formats run again in turn; push-only and pull-only runs come last. A schedule is stopped when it
takes three times as long as the best of its format, and dropped when it has lost with several
formats of the same kind. A format is dropped when its first schedules all take more than ten times
as long as the default. ``--device emulated --tiny`` runs without a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import ablation_programs, defaults, formats_report, gpu_graphs, graph_names
from benchmarks.formats_report import Row
from benchmarks.gpu_graphs import Workload, synchronize
from benchmarks.racing import as_ready, compilers
from weft.graph.execution import arrangement

BUDGET_SECONDS = 240.0
GRAPHS = ("kron21", "road4900", "planted20")
TINY = ("kron8", "road24", "planted9")
TASKS = ("pagerank", "bfs", "components", "sssp")
OWN = "own"  # no schedule given: the format's or the engine's choice
# Likely ones first; where rows are short, others are.
SCHEDULES = (OWN, "vertex", "twc", "warp", "row", "strict", "edge", "merge", "weaver")
SHORT_ROWS = (OWN, "vertex", "warp", "row", "twc", "edge", "strict", "merge", "weaver")
PROMISED = {("csr", "row"), ("coo", "edge"), ("block_coo", "edge")}  # compared with by name
FIRST = ("csr", "cr2", "tigr", "cr2_bare", "coo", "block_coo")  # what the promises are about
SIDES = ("push", "pull")
RUNS = 15  # of short calls, whose times vary with other work on the host
ENOUGH_MS = 50.0  # of runs of one candidate
CONFIRM_SECONDS = 1.5  # for the best of all formats in turn, for each task
CONFIRM_ROUNDS = 10
LOST = 3.0  # times the best of a format: slower schedules are stopped
SLOW = 10.0  # times the default or the best of a format: the longest wait
FIRST_ROUNDS = 2  # of schedules, compiled for all tasks before the others
STRIKES = 3  # lost schedules per format, or formats lost by a schedule
ROW_SECONDS = 4.0  # for all schedules of a format and a task
SIDES_SHARE = 0.2  # of the time for a graph


@dataclass(frozen=True)
class Case:
    """A format, task, schedule and direction to time."""

    row: Row
    task: str
    schedule: str
    direction: str

    @property
    def has_short_rows(self) -> bool:
        """Whether the format names the schedule that suits its rows."""
        from weft.formats import formats

        return bool(formats()[self.row.format].schedule)

    @property
    def round(self) -> int:
        """The round it runs in; formats that promises concern come early."""
        if (self.row.format, self.schedule) in PROMISED:
            return 1
        known = SHORT_ROWS if self.has_short_rows else SCHEDULES
        return known.index(self.schedule) if self.schedule in known else len(known)

    @property
    def rank(self) -> tuple[int, int, int]:
        """The order of cases: by round, then task, important formats first."""
        name = self.row.format
        place = FIRST.index(name) if name in FIRST else len(FIRST)
        return self.round, TASKS.index(self.task), place

    @property
    def config(self) -> Any:
        import weft

        schedule = None if self.schedule == OWN else self.schedule
        return weft.Config(format=self.row.format, schedule=schedule, direction=self.direction)


def formats_of(order: str) -> list[str]:
    """Return the formats that run in a vertex order."""
    from weft.formats import formats

    return [name for name, known in formats().items() if known.order == order or name == "csr"]


def describe(row: Row, topology: Any) -> None:
    """Build a format for the in-arcs twice and record size and time."""
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
    from weft.topology.topology import Topology

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
    """Return a function that runs a task; PageRank gathers, or sends messages to push."""
    if task == "pagerank" and sides:
        return ablation_programs.edge_pagerank(workload.graph)
    return defaults.caller(task, workload)


@dataclass
class Contest:
    """The measurements on one graph, with a bench per task and vertex order.

    Attributes
    ----------
    workload
        The graph; its `graph` is the one that a bench uses.
    ahead
        The background compiler of all benches.
    benches, usual_ms
        Benches by task, order and whether the direction is fixed; times of the defaults by
        task and order.
    """

    workload: Workload
    ahead: Any
    benches: dict[Any, Any] = field(default_factory=dict)
    usual_ms: dict[Any, float] = field(default_factory=dict)
    spent: dict[tuple[str, str], float] = field(default_factory=dict)  # by format and task
    strikes: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def prepare(self, graph: Any, task: str, cases: list[Case], sides: bool = False) -> None:
        """Create the bench of some cases and start compiling for the first rounds."""
        from weft.tuning.compiling import Compilations
        from weft.tuning.measuring import Bench, Patience

        if not cases:
            return
        order = cases[0].row.order
        if sides and task != "pagerank":  # the same call in a fixed direction
            self.benches[task, order, sides] = self.benches[task, order, False]
            return
        self.workload.graph = graph
        patience = Patience(RUNS, warm_up=LOST, lost=LOST, near=1.2, enough_ms=ENOUGH_MS)
        bench = Bench(
            caller(task, self.workload, sides), graph.topology.device,
            same=defaults.same, patience=patience, compilations=Compilations(self.ahead),
        )  # fmt: skip
        self.benches[task, order, sides] = bench
        usual_ms = bench.start().ms
        self.usual_ms.setdefault((task, order), usual_ms)
        for case in sorted(cases, key=lambda case: case.rank):
            if case.round < FIRST_ROUNDS:
                bench.compilations.begin(case.config)

    def time(self, cases: list[Case], deadline: float, sides: bool = False) -> int:
        """Time cases in order while time remains; return how many were left out."""

        def bench_of(case: Case) -> Any:
            return self.benches[case.task, case.row.order, sides]

        left = sorted(cases, key=lambda case: case.rank)
        for case in left:
            bench_of(case).compilations.begin(case.config)

        def is_ready(case: Case) -> bool:
            return bench_of(case).compilations.is_ready(case.config)

        for case in as_ready(left, is_ready, deadline):
            if sides or not self._is_hopeless(case):
                began = time.perf_counter()
                self._race(case, bench_of(case), sides)
                key = (case.row.key, case.task)
                self.spent[key] = self.spent.get(key, 0.0) + time.perf_counter() - began
        return len(left)

    def confirm(self, rows: list[Row], task: str) -> None:
        """Run the best of each format again in turn, to even out changes of clocks and host."""
        best = [(row, row.best(task)[1]) for row in rows if row.best(task)[1]]
        began = time.perf_counter()
        for turn in range(CONFIRM_ROUNDS):
            for row, schedule in best:
                case = Case(row, task, schedule, usual_direction(task))
                # Of graphs in another order the latest is kept: the first run makes it again.
                runs = 2 if turn == 0 else 1
                (*_, ms) = self.benches[task, row.order, False].confirm(case.config, runs)
                row.note(task, schedule, min(ms, row.times[task][schedule]))
                if time.perf_counter() - began > CONFIRM_SECONDS:
                    return

    def _is_hopeless(self, case: Case) -> bool:
        row, task, schedule = case.row, case.task, case.schedule
        if (row.format, schedule) in PROMISED:
            return False
        if not row.best(task)[1]:
            return self.strikes[task, row.key] >= STRIKES
        kind = str(case.has_short_rows)
        lost = self.strikes[task, schedule, kind] >= STRIKES
        return lost or self.spent.get((row.key, task), 0.0) > ROW_SECONDS

    def _race(self, case: Case, bench: Any, sides: bool) -> None:
        row, task, schedule = case.row, case.task, case.schedule
        best_ms = row.best(task)[0]
        promised = (row.format, schedule) in PROMISED
        usual_ms = best_ms if sides else self.usual_ms[task, row.order]
        slowest_ms = SLOW * min(best_ms, usual_ms)
        # The bench stops at so many times its best: every format has a best of its own.
        bench.best_ms = slowest_ms / LOST if sides or promised else min(best_ms, slowest_ms / LOST)
        trial = bench.measure(case.config)
        side = case.direction if sides else ""
        if trial.is_timed:
            row.note(task, schedule, trial.ms, side)
        elif trial.status == "stopped":
            row.stopped(task, schedule, trial.ms, side)
        elif trial.status in ("wrong", "failed"):
            row.troubles.append(f"{task}, {schedule}: {trial.status}: {trial.reason}")
        slow = trial.status == "stopped" or (trial.is_timed and trial.ms > LOST * best_ms)
        if slow and not side:
            self.strikes[task, row.key] += 1
            self.strikes[task, schedule, str(case.has_short_rows)] += 1


def usual_direction(task: str) -> str:
    """Return the default direction: `weft.pagerank` pulls, other tasks may switch."""
    return "pull" if task == "pagerank" else "auto"


def describe_all(
    workload: Workload, options: argparse.Namespace
) -> tuple[list[Row], list[tuple[Any, list[Row]]]]:
    """Return a row per format on a graph, and the rows to run with their graphs."""
    name, plain = workload.name, workload.graph
    csr_ms = csr_build_ms(plain.topology)
    print(f"{name}: csr from shuffled edges in {csr_ms:.4g} ms", flush=True)
    found, groups = [], []
    for order in ("", "community"):
        began = time.perf_counter()
        graph = plain if not order else plain.reorder(order)
        synchronize(graph)
        if order:
            seconds = time.perf_counter() - began
            print(f"{name}: {order} order in {seconds * 1e3:.4g} ms", flush=True)
        topology = graph.topology if not order else arrangement(graph)
        rows = [
            Row(name, text, order or "none", csr_build_ms=csr_ms)
            for text in formats_of(order)
            if text in options.formats
        ]
        for row in rows:
            describe(row, topology)
            print(row.described(), flush=True)
        found += rows
        groups.append((graph, [row for row in rows if not row.refused]))
    return found, groups


def compare(name: str, options: argparse.Namespace, deadline: float) -> list[Row]:
    """Return a row for every format on a graph."""
    began = time.perf_counter()
    workload = gpu_graphs.make(name, options.device)
    print(f"\n{name}: {workload.arcs.n:,} vertices, {workload.arcs.m:,} arcs", flush=True)
    found, groups = describe_all(workload, options)
    print(f"{name}: ready after {time.perf_counter() - began:.1f} s", flush=True)
    with compilers(workload.graph.topology.device) as ahead:
        contest = Contest(workload, ahead)
        ways: list[Case] = []
        for task in options.tasks:
            for graph, rows in groups:
                cases = [
                    Case(row, task, schedule, usual_direction(task))
                    for row in rows
                    for schedule in options.schedules
                ]
                contest.prepare(graph, task, cases)
                ways += cases
        missed = contest.time(ways, deadline - SIDES_SHARE * max(0.0, deadline - began))
        print(f"{name}: {missed} of {len(ways)} not reached", flush=True)
        for task in options.tasks:
            contest.confirm([row for _, rows in groups for row in rows], task)
        sides: list[Case] = []
        for task in options.tasks:
            for graph, rows in groups:
                for row in rows:
                    print(row.times_text(task), flush=True)
                cases = [
                    Case(row, task, row.best(task)[1], side)
                    for row in rows
                    for side in SIDES
                    if row.best(task)[1] and side != usual_direction(task)
                ]
                if time.perf_counter() < deadline:
                    contest.prepare(graph, task, cases, sides=True)
                    sides += cases
        missed = contest.time(sides, deadline, sides=True)
        print(f"{name}: {missed} of {len(sides)} in one direction not reached", flush=True)
    for row in found:
        for task in options.tasks:
            if usual_direction(task) != "auto" and row.best(task)[1]:
                row.note(task, "", row.best(task)[0], usual_direction(task))
    return found


def parse(arguments: list[str] | None) -> argparse.Namespace:
    from weft.formats import formats
    from weft.schedules import schedules

    parser = argparse.ArgumentParser(description="Every format with its best schedule.")
    graph_names.add_graphs(parser, GRAPHS, {"tiny": TINY})
    parser.add_argument("--tasks", default=",".join(TASKS), help="between commas")
    parser.add_argument("--schedules", default=",".join(SCHEDULES), help="between commas")
    parser.add_argument("--formats", default=",".join(formats()), help="between commas")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds in all")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    options.graphs = graph_names.chosen(options)
    ways = (OWN, *schedules())
    for name, known in (("tasks", TASKS), ("schedules", ways), ("formats", formats())):
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
