"""Measure learning on graphs: ``python benchmarks/learning.py``.

Label propagation (LP), alternating least squares (ALS), belief propagation (BP), manifold ranking
(MMR), multimodal learning (MML) and the plain sparse product (SUM) on four kinds of generated
graphs. The sections, in the order in which they are measured:

- *k = 4* and *widths* (k from 1 to 128): one iteration of weft, feature-aware ("weft") and
  feature-blind (``Config(lanes=1)``), beside the same update in CuPy with cuSPARSE and in PyTorch.
- *to a tolerance*: whole runs, aware or blind, that send full values or, where that pays, only
  differences (``Config(change_driven="auto")``).
- *table 7.2* (measured only if asked for by ``--sections``): whole runs of all five on six graphs,
  these four, ``er`` and ``rgg``, aware of features or blind, driven by changes or full.
- *factors*: whole runs of ALS until no factor moves by more than 2e-2, alternating or solving for
  all vertices together, by full sweeps or driven by changes. Results are errors of ratings.
- *folding*: LP and BP folded, in steps, and by hand-written folded kernels; with the memory held.
- *modes* of other frameworks as configurations, whole runs of all five: push driven by changes,
  feature by feature and in steps; push over Tigr's split vertices (driven by changes too, but for
  LP, which has a form that pushes from all); pull over all. Each ratio to weft of LP is shown
  beside the one that the Onyx thesis reports for the framework of that mode.

The time of an iteration is the difference between a long and a short run, divided by the difference
in supersteps; every result is compared with a rival's. Whole runs end when no value moves by more
than 1e-4 in an iteration; their results may differ by what the allowed iterations could still move.
Bytes are those that an update must touch: neighbour, weight and features of each arc, features of
each vertex twice. Belief propagation uses logarithms where a product of messages would underflow or
overflow float32.

Rows are printed as they are measured; none is started after ``--budget`` seconds. ``--json`` and
``--plot`` write files; ``--draw`` plots rows that earlier runs wrote. Without a GPU,
``--device cpu --scale 8`` runs the same logic with SciPy as the rival.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("WEFT_TUNINGS", "off")  # use the engine's defaults

import numpy as np

import weft
from benchmarks import graph_names
from benchmarks import learning_report as reporting
from benchmarks import learning_rivals as rivals
from benchmarks.ahead import Ahead
from benchmarks.gpu_timing import Clock
from benchmarks.learning_hand import ByHand
from benchmarks.learning_report import TABLE, Report, Row
from benchmarks.learning_tasks import GRAPHS, MORE, TASKS, Task, make_graph

SHORT = 2  # iterations of the shorter of two runs that are compared
LONG, LONGEST = 12, 192  # of the longer one; more where the difference would be lost in noise
SLOW_MS, FEW = 60.0, 5  # a short run from here on is compared with one of few iterations
WIDTHS = (16, 128, 32, 8, 64, 2, 1)
NARROWER = 2  # the graph of the widths has 2**this times fewer vertices
DRIVEN = ("LP", "MMR", "MML", "BP")  # whose sums can be kept up by differences
TOLERANCE, MOST = 1e-4, 200
FACTOR_TOLERANCE, FACTOR_WIDTHS = 1e-2, (4, 16)  # of whole runs of ALS
# Belief propagation needs two states, and what solves ends at 64.
WIDTHS_OF = {"ALS": (16, 32, 8, 64, 2), "BP": (16, 128, 32, 8, 64, 2)}
TELLING = 2  # widths that all tasks are measured with before others come
# Scale of the graphs on which programs are found ahead: rows are of the same kind as in large ones.
SMALLEST, SMALL = 12, {"social": 16}
AHEAD = 14  # groups whose programs are compiled before theirs is the turn
SECOND = ("MMR", "BP")  # tasks of which a call runs two programs
# Frameworks that the thesis compares with, as configurations, and the speed-up that it reports.
ALL_FIVE = ("LP", "MMR", "MML", "BP", "ALS")
SCALED = (*GRAPHS, *MORE)
MODES = {
    "push, changes": (51.2, {"direction": "push", "change_driven": True}),
    "push over tigr": (17.0, {"direction": "push", "format": "tigr"}),
    "pull over all": (6.8, {"direction": "pull"}),
}

Call = Callable[[int], Any]


@dataclass(frozen=True)
class Group:
    """Related measurements of one task on one graph."""

    section: str
    graph: str
    task: str
    k: int
    narrower: int = 0


@dataclass
class Bench:
    """The device, options and graphs that all measurements share."""

    device: str
    scale: int
    left: Callable[[], float]
    clock: Clock
    with_torch: bool
    with_blind: bool
    report: Report
    driver: Any = None  # for hand-written kernels
    graphs: dict[Any, Any] = field(default_factory=dict)

    def graph(self, name: str, narrower: int) -> Any:
        """Return a graph; the last two are cached."""
        key = name, max(self.scale - narrower, 4) if name in SCALED else 0
        if key not in self.graphs:
            while len(self.graphs) > 1:
                del self.graphs[next(iter(self.graphs))]
            self.free_memory()
            self.graphs[key] = make_graph(*key, self.device)
            shown = f"{name}{key[1]}" if key[1] else graph_names.short(name)
            print(f"{shown}: {self.graphs[key]}", flush=True)
        return self.graphs[key]

    def free_memory(self) -> None:
        """Free the memory that libraries cache."""
        gc.collect()
        if self.clock.cupy is not None:
            self.clock.cupy.get_default_memory_pool().free_all_blocks()
            if "torch" in sys.modules:
                sys.modules["torch"].cuda.empty_cache()


def table(graphs: list[str], tasks: list[str]) -> list[Group]:
    """Return the groups of the thesis' table, graph by graph."""
    return [
        Group(TABLE, g, task, 4, NARROWER) for g in graphs for task in ALL_FIVE if task in tasks
    ]


def plan(graphs: list[str], tasks: list[str], widths: list[int]) -> list[Group]:
    """Return all groups, the most informative first."""
    first = graphs[0]
    fast = [task for task in ("LP", "SUM", "MMR") if task in tasks]
    slow = [task for task in ("MML", "BP", "ALS") if task in tasks]

    def wide(chosen: list[int], tasks: list[str]) -> list[Group]:
        return [
            Group("widths", first, task, k, NARROWER)
            for k in chosen for task in tasks if k in WIDTHS_OF.get(task, widths)
        ]  # fmt: skip

    soon = [task for task in (*fast, *slow) if task != "ALS"]  # ALS takes longest to compile
    groups = [Group("k = 4", first, task, 4) for task in soon]
    groups += wide(widths[:TELLING], fast)
    groups += [
        Group("folding", graph, task, 4)
        for graph in graphs if graph in (first, "road")
        for task in ("LP", "BP") if task in tasks
    ]  # fmt: skip
    groups += [Group("modes", first, task, 4, NARROWER) for task in ALL_FIVE if task in tasks]
    groups += [Group("k = 4", graph, task, 4) for graph in graphs[1:] for task in soon]
    groups += [Group("k = 4", graph, "ALS", 4) for graph in graphs[::-1] if "ALS" in tasks]
    groups += [
        Group("factors", graph, "ALS", k, NARROWER)
        for k in FACTOR_WIDTHS for graph in graphs if "ALS" in tasks
    ]  # fmt: skip
    groups += wide(widths[:TELLING], slow)
    return groups + wide(widths[TELLING:], slow) + wide(widths[TELLING:], fast)


# -- what a group measures


def iterations(group: Group, task: Task, bench: Bench) -> dict[str, Call]:
    """Return the calls timed per iteration, by name; the first is weft with its defaults."""
    if group.section in ("modes", "factors", TABLE):
        return {}
    calls: dict[str, Call] = {"weft": lambda i: task.weft(i, None)}
    if group.section == "folding":
        steps = weft.Config(fold=False)
        calls["weft in steps"] = lambda i: task.unfolded(i, steps)
        if bench.driver is not None:
            calls["by hand"] = _made(lambda: ByHand(task, bench.driver))
        return calls
    blind = weft.Config(lanes=1)
    if task.k > 1 and bench.with_blind:
        calls["weft blind"] = lambda i: task.weft(i, blind)
    calls["SciPy" if task.xp is np else "CuPy"] = _made(lambda: task.rival("arrays"))
    if bench.with_torch and (group.section == "k = 4" or task.k in (16, 128)):
        calls["PyTorch"] = _made(lambda: task.rival("tensors"))
    return calls


def endings(group: Group, task: Task) -> dict[str, Call]:
    """Return whole runs to a tolerance, by name; their argument limits the iterations."""
    if group.section == "modes":
        usual = weft.Config(change_driven="auto" if task.name != "ALS" else True)
        found: dict[str, Call] = {"weft": lambda i: _to_rest(task, i, usual)}
        for name, (_, choices) in MODES.items():
            # Feature by feature, and in steps that meet in memory.
            config = weft.Config(lanes=1, fold=False, **choices)
            if task.name == "LP" and not config.change_driven:
                found[name] = lambda i, config=config: task.unfolded(i, config, TOLERANCE)
                continue
            if config.direction == "push":
                config = replace(config, change_driven=True)
            found[name] = lambda i, config=config: _to_rest(task, i, config)
        return found
    if group.section == TABLE:
        found = {}
        for name, (lanes, driven) in reporting.WAYS.items():
            config = weft.Config(lanes=lanes, change_driven=driven)
            found[name] = lambda i, config=config: _to_rest(task, i, config)
        return found
    if group.section == "factors":
        return {
            f"weft{'' if alternate else ' together'}{' changes' if config else ''}": (
                lambda i, alternate=alternate, config=config: task.factors_at_rest(
                    i, FACTOR_TOLERANCE, alternate=alternate, config=config
                )
            )
            for alternate in (True, False)
            for config in (None, weft.Config(change_driven=True))
        }
    if group.section == "k = 4" and task.name == "SUM":  # one product, as a user would call it
        arrays = _made(lambda: rivals.sum_arrays(task.data, 1.0))
        return {
            "weft": lambda i: task.one_call(),
            "SciPy" if task.xp is np else "CuPy": lambda i: arrays(1),
        }
    if group.section != "k = 4" or task.name not in DRIVEN:
        return {}
    found = {}
    for lanes in (None, 1) if group.graph == GRAPHS[0] else (None,):
        for driven in (False, "auto"):
            name = f"weft{' blind' if lanes else ''}{' changes' if driven else ''}"
            config = weft.Config(lanes=lanes, change_driven=driven)
            found[name] = lambda i, config=config: task.weft(i, config, TOLERANCE)
    return found


def _to_rest(task: Task, iterations: int, config: weft.Config) -> Any:
    """Run a task until nothing moves by more than the tolerance; of ALS return the error."""
    if task.name == "ALS":
        return task.factors_at_rest(iterations, FACTOR_TOLERANCE, alternate=True, config=config)
    return task.weft(iterations, config, TOLERANCE)


def _made(make: Callable[[], Call]) -> Call:
    """Return a call that prepares its data on first use."""
    kept: list[Call] = []

    def call(count: int) -> Any:
        if not kept:
            kept.append(make())
        return kept[0](count)

    return call


# -- measuring


def per_iteration(call: Call, clock: Clock, seconds: float, turns: int) -> tuple[float, Any]:
    """Return milliseconds of one iteration, and the result of the short run.

    `turns` is the number of supersteps per iteration.
    """
    result = call(SHORT)  # compiles
    measured, _ = clock.repeat(lambda: call(SHORT), 3, seconds)
    short, count = measured.median_ms, LONG
    if short > SLOW_MS:
        count = FEW
    while True:
        measured, _ = clock.repeat(lambda count=count: call(count), 3, seconds)
        gained = measured.median_ms - short
        if gained > 2 * short or short > SLOW_MS or count >= LONGEST:
            break
        count *= 2
    made = supersteps(call, count) - supersteps(call, SHORT) or turns * (count - SHORT)
    return max(gained, 0.0) * turns / made, result


def supersteps(call: Call, count: int) -> int:
    """Return the supersteps of a call of weft, which may converge early; 0 for rivals."""
    with weft.profile() as profile:
        call(count)
    return len({(record.call, record.step) for record in profile.records})


def whole_run(call: Call, clock: Clock, seconds: float, _: int) -> tuple[float, Any]:
    """Return milliseconds of a run to the tolerance, and its result."""
    result = call(MOST)
    measured, _ = clock.repeat(lambda: call(MOST), 3, seconds)
    return measured.median_ms, result


def measure(group: Group, bench: Bench) -> None:
    """Measure all variants of one task, compare their results, and print them."""
    report, clock = bench.report, bench.clock
    began = time.perf_counter()
    try:
        task = Task(group.task, bench.graph(group.graph, group.narrower), group.k)
    except Exception as error:
        report.rows.append(Row(*_head(group), "setup", error=error_text(error)))
        return
    if time.perf_counter() - began > 1:
        print(f"{group.graph} {group.task}: made in {time.perf_counter() - began:.1f} s")
    for unit, calls, time_of in (
        ("iteration", iterations(group, task, bench), per_iteration),
        ("run", endings(group, task), whole_run),
    ):
        results: dict[str, Any] = {}
        rows = [Row(*_head(group), name, unit=unit) for name in calls]
        for row, call in zip(rows, calls.values(), strict=True):
            if bench.left() < 5:
                row.error = "no time left"
                continue
            bench.free_memory()
            try:
                began = time.perf_counter()
                turns = 2 if group.task == "ALS" else 1
                row.ms, result = time_of(call, clock, min(1.0, bench.left() / 10), turns)
                results[row.variant] = rivals.as_array(result)
                if row.ms > 0 and unit == "iteration":
                    row.gbytes_per_s = task.bytes_per_iteration() / row.ms / 1e6
                if group.section == "folding":
                    row.held_mb = _held_mb(call, task, bench)
                row.seconds = time.perf_counter() - began
            except Exception as error:  # one failure must not end the other measurements
                row.error = error_text(error)
        _compare(rows, results, loose=unit == "run" and group.task != "SUM")
        report.rows += rows
        for row in rows:
            print(reporting.line(row, report), flush=True)


def _head(group: Group) -> tuple[str, str, str, int]:
    return group.section, group.graph, group.task, group.k


def _held_mb(call: Call, task: Task, bench: Bench) -> float | None:
    """Return the most memory that a run adds in MB: state, scratch, temporaries."""
    if bench.clock.cupy is None:
        return None
    from weft.backends.cuda.host import workspace

    topology = task.g.topology
    while workspace.held_bytes(topology):
        workspace.take(topology, bench.driver)
    bench.free_memory()
    return bench.clock.most_bytes(lambda: call(SHORT)) / 1e6


def _compare(rows: list[Row], results: dict[str, Any], *, loose: bool) -> None:
    """Record whether each result is close to a rival's, or to the first one."""
    others = [name for name in results if not name.startswith("weft")]
    if not results:
        return
    want = results[(others or list(results))[0]]
    for row in rows:
        if row.variant in results:
            far = {"rtol": 0, "atol": MOST * TOLERANCE}
            bounds = far if loose else {"rtol": 2e-2, "atol": 2e-3}
            row.agrees = bool(np.allclose(results[row.variant], want, **bounds))


def known_graph(name: str) -> str:
    """Return a name that stands for a graph: one of the four, or any other."""
    return name if name in SCALED else graph_names.checked(name)


def error_text(error: Exception) -> str:
    first = str(error).splitlines()[0][:120] if str(error) else repr(error)
    return f"{type(error).__name__}: {first}"


class Preparing:
    """Compile the programs of later groups, found on small graphs, while others run."""

    def __init__(self, bench: Bench, ahead: Ahead) -> None:
        self.bench, self.ahead = bench, ahead
        self._small: dict[str, Any] = {}
        self._begun: dict[Group, list[Any]] = {}
        self._twice: set[Group] = set()

    def begin(self, group: Group) -> None:
        """Start compiling the first program that each call of a group reaches."""
        if self.ahead.driver is None:
            return
        if group.graph not in self._small:
            scale = SMALL.get(group.graph, SMALLEST)
            self._small[group.graph] = (
                make_graph(group.graph, scale, self.bench.device)
                if group.graph in SCALED
                else self.bench.graph(group.graph, group.narrower)
            )
        task = Task(group.task, self._small[group.graph], group.k)
        calls = [*iterations(group, task, self.bench).items(), *endings(group, task).items()]
        own = [call for name, call in calls if name.startswith("weft") or name in MODES]
        begun = self.ahead.begin([lambda call=call: call(1) for call in own])
        self._begun.setdefault(group, []).extend(begun)

    def look_ahead(self, groups: list[Group]) -> None:
        """Start compiling the second programs of groups whose first ones are ready."""
        for group in groups:
            ready = all(future.done() for future in self._begun.get(group, []))
            if group.task in SECOND and group not in self._twice and ready:
                self._twice.add(group)
                self.begin(group)

    def wait(self, group: Group) -> None:
        """Wait for the programs of a group; a failed one fails again in the measurement."""
        for _ in range(2):
            for future in self._begun.get(group, []):
                future.exception()
            self.look_ahead([group])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=inspect.getdoc(sys.modules[__name__]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=int, default=20, help="2**scale vertices")
    parser.add_argument("--budget", type=float, default=240.0, help="seconds")
    parser.add_argument(
        "--graphs",
        nargs="*",
        default=[],
        type=known_graph,
        help=f"of {', '.join(GRAPHS)} in the scale above, or {graph_names.EXPECTED}; "
        "by default the four",
    )
    parser.add_argument("--file", dest="files", action="append", default=[], metavar="PATH",
                        type=graph_names.existing, help="a file with a graph")  # fmt: skip
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=TASKS)
    parser.add_argument("--widths", nargs="*", type=int, default=list(WIDTHS))
    parser.add_argument("--sections", nargs="*", default=None, help="of those above")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--no-blind", action="store_true", help="it takes seconds where k is large")
    parser.add_argument("--json", metavar="FILE", help="where to write all rows")
    parser.add_argument("--plot", metavar="FILE", help="where to draw them (needs matplotlib)")
    parser.add_argument("--draw", nargs="+", metavar="FILE", help="rows to draw, measuring nothing")
    args = parser.parse_args()
    if args.draw:
        if not args.plot:
            parser.error("--draw needs --plot, the file to draw to")
        reporting.plot(reporting.read(args.draw), args.plot)
        return 0
    began = time.perf_counter()

    def left() -> float:
        return float(args.budget - (time.perf_counter() - began))

    report = Report(args.device)
    bench = Bench(
        args.device, args.scale, left, Clock(args.device), _has_torch(args), not args.no_blind,
        report,
    )  # fmt: skip
    if args.device != "cpu":
        from weft.backends.cuda.drivers import driver_of

        bench.driver = driver_of(args.device, 0)
    names = [*args.graphs, *args.files] or list(GRAPHS)
    groups = plan(names, args.tasks, args.widths)
    if args.sections and TABLE in args.sections:
        groups += table(names if args.graphs or args.files else [*GRAPHS, *MORE], args.tasks)
    groups = [g for g in groups if not args.sections or g.section in args.sections]
    ahead = Ahead(args.device)
    preparing = Preparing(bench, ahead)
    for group in groups[:AHEAD]:
        preparing.begin(group)
    print(f"[{time.perf_counter() - began:5.1f} s] programs found", flush=True)
    section = ""
    for number, group in enumerate(groups):
        if left() < 10:
            report.skipped.append(f"{group.section}: {group.graph} {group.task} k={group.k}")
            continue
        for later in groups[number + AHEAD : number + AHEAD + 1]:
            preparing.begin(later)
        preparing.wait(group)
        preparing.look_ahead(groups[number + 1 : number + AHEAD])
        if group.section != section:
            section = group.section
            print(f"[{time.perf_counter() - began:5.1f} s] {section}\n{reporting.HEAD}", flush=True)
        measure(group, bench)
    ahead.close()
    print(f"[{time.perf_counter() - began:5.1f} s] {reporting.summary(report)}")
    for trouble in dict.fromkeys(ahead.troubles):
        print("not compiled ahead:", trouble)
    if report.skipped:
        print("no time for:", "; ".join(report.skipped))
    if args.json:
        Path(args.json).write_text(json.dumps(asdict(report), indent=1), encoding="utf-8")
    if args.plot:
        reporting.plot(report, args.plot)
    return 1 if any(r.agrees is False for r in report.rows) else 0


def _has_torch(args: Any) -> bool:
    if args.no_torch:
        return False
    try:
        import torch
    except ImportError:
        print("PyTorch is not here: it is left out.")
        return False
    return args.device == "cpu" or bool(torch.cuda.is_available())


if __name__ == "__main__":
    sys.exit(main())
