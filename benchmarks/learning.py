"""Learning on graphs: ``python benchmarks/learning.py``.

Label propagation (LP), alternating least squares (ALS), belief propagation (BP), manifold ranking
(MMR) and multimodal learning (MML) on four kinds of generated graphs, with k = 4 and with other
widths on the first: the time of one iteration of weft, feature-aware and feature-blind
(``Config(lanes=1)``), folded and step by step, beside the same update in CuPy with cuSPARSE and in
PyTorch; and the time to reach a tolerance, with all of it passed on or the differences alone
(``Config(change_driven=True)``). The time of an iteration is that of a long run less that of a
short one, divided by the difference of their lengths; every result is compared with the rivals'.
Bytes are those that an update must touch: neighbour, weight and features of each arc, features of
each vertex twice.

Prints a table, then one line of JSON. Stops asking for more when ``--budget`` seconds have passed.
Without a GPU, ``--device cpu --scale 8`` runs the same logic with SciPy as the rival.
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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("WEFT_TUNINGS", "off")  # the engine's own choices

import numpy as np

import weft
from benchmarks import learning_rivals as rivals
from benchmarks.gpu_timing import Clock
from weft.learning import beliefs

PEAK = 4.2e12  # bytes per second of the GPU's memory
SHORT, LONG = 2, 12  # iterations of the two runs that are compared
TASKS = ("LP", "BP", "MMR", "MML", "ALS")
GRAPHS = ("kron", "citation", "road", "social")
WIDTHS = (1, 2, 8, 16, 32, 64, 128)
ALPHA, RIDGE, MODES = 0.8, 0.1, 3
DRIVEN = ("LP", "MMR", "MML")  # whose sums can be kept up by differences
ENDING = "to 1e-4"  # rows that hold the time of a whole run
TOLERANCE, MOST = 1e-4, 200


@dataclass
class Row:
    """One measurement."""

    graph: str
    task: str
    k: int
    variant: str
    ms: float | None = None  # of one iteration
    gbytes_per_s: float | None = None
    agrees: bool | None = None
    error: str | None = None


@dataclass
class Report:
    """All measurements, and what there was no time for."""

    device: str
    rows: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def make_graph(name: str, scale: int, device: str) -> Any:
    """Return a graph with weights, float32."""
    make = weft.generators
    if name == "kron":
        g = make.rmat(scale, 16, device=device, seed=1)
    elif name == "citation":  # sparse, skewed
        g = make.rmat(scale, 4, device=device, seed=2)
    elif name == "road":
        g = make.road(int(2 ** (scale / 2)), seed=1).to(device)
    else:  # communities of friends
        g = make.planted(2**scale, max(2 ** (scale - 10), 8), 24, seed=3, device=device)
    g = weft.Graph.from_edges(*g.to_edges()[:2], num_vertices=g.num_vertices, directed=False,
                              duplicates="first", self_loops="drop", device=device)  # fmt: skip
    draw = np.random.default_rng(0).random(g.num_edges, np.float32) + np.float32(0.5)
    g.edge["weight"] = draw
    return g


def bipartite(g: Any) -> Any:
    """Return the graph of ratings: an edge (u, v) becomes one from user u to item v."""
    n = g.num_vertices
    src, dst, weight = g.to_edges()
    return weft.Graph.from_edges(
        src, dst + n, weight, num_vertices=2 * n, directed=False, device=g.device
    )


class Task:
    """One algorithm on one graph with k features: weft's variants, and the rivals."""

    def __init__(self, name: str, g: Any, k: int) -> None:
        self.name, self.k = name, k
        self.g = bipartite(g) if name == "ALS" else g
        self.data = rivals.Data(self.g, k)
        self.xp = self.data.xp
        rng = np.random.default_rng(5)
        if name == "MMR":
            self.g.edge["near"] = rng.random((self.g.num_edges, k), np.float32) + np.float32(0.5)
        if name == "MML":
            by = rng.random((self.g.num_edges, MODES), np.float32)
            self.g.edge["by"] = by / np.float32(2 * int(self.g.in_degree.max()))
        if name == "ALS":
            self.users = self.xp.arange(self.data.n) < g.num_vertices
        self.psi = np.full((k, k), 0.5) + 0.5 * np.eye(k)
        self.mixture = [0.3, 0.3, 0.2]

    def weft(self, iterations: int, config: Any, tol: float = 0.0) -> Any:
        """Run weft's algorithm for a number of iterations, or to a tolerance."""
        learning, g, x = weft.learning, self.g, self.data.x
        options = {"max_iter": iterations, "tol": tol, "config": config}
        if self.name == "LP":
            return learning.label_propagation_features(
                g, x, ALPHA, on_unconverged="return", **options
            )
        if self.name == "MMR":
            return learning.manifold_ranking(
                g, x, ALPHA, weight="near", on_unconverged="return", **options
            )
        if self.name == "MML":
            return learning.multimodal(
                g, x, self.mixture, weight="by", on_unconverged="return", **options
            )
        if self.name == "BP":
            return learning.belief_propagation(g, x, self.psi, **options).beliefs
        found = learning.als(
            g, self.k, RIDGE, iterations, users=self.users, start=x, track=False, dtype=np.float32,
            config=config,
        )  # fmt: skip
        return found.factors

    def stepwise(self, iterations: int, config: Any) -> Any:
        """Run belief propagation with a barrier between messages and beliefs."""
        g, k = self.g, self.k
        prior = rivals.normalized(self.data.x)
        state = g.state(
            prior=prior, belief=prior, product=weft.full(1, np.float32, k),
            potential=weft.parameter(self.psi, np.float32), error=weft.scalar(np.inf),
        )  # fmt: skip
        messages = g.edge_state(message=weft.full(1, np.float32, k))
        parts = list(beliefs.passing(None, False, "sum", 0.0, False).parts)
        g.iterate(parts, state, edge_state=messages, max_iter=iterations, direction="pull",
                  config=config)  # fmt: skip
        return state.belief

    def rival(self, library: str) -> Callable[[int], Any]:
        """Return the same update in another library."""
        arrays = library == "arrays"
        first = () if arrays else (__import__("torch"),)
        d, name = self.data, self.name
        make = getattr(rivals, f"{name.lower()}_{library}")
        if name == "LP":
            return make(*first, d, ALPHA)
        if name == "MMR":
            return make(*first, d, ALPHA, self.g.edge.in_slots("near", "in"))
        if name == "MML":
            return make(*first, d, self.mixture, self.g.edge.in_slots("by", "in"))
        if name == "ALS":
            return make(*first, d, self.users, RIDGE)
        return make(*first, d, self.psi, self.g.topology.reverse_arcs())

    def bytes_per_iteration(self) -> float:
        """Return the bytes that an update must touch."""
        arcs, n, k = self.data.src.size, self.data.n, self.k
        per_arc = {"LP": 4 + 4 * k, "MMR": 4 * k + 4 * k, "MML": 4 * MODES + 4 * k,
                   "ALS": 4 + 4 * k, "BP": 4 + 4 * k + 2 * 4 * k}[self.name]  # fmt: skip
        return float(arcs * (4 + per_arc) + n * (8 + 2 * 4 * k))


def per_iteration(call: Callable[[int], Any], clock: Clock, seconds: float) -> tuple[float, Any]:
    """Return milliseconds of one iteration, and the result of the short run."""
    result = call(SHORT)  # compiles
    times = {}
    for count in (SHORT, LONG):
        measured, _ = clock.repeat(lambda count=count: call(count), 3, seconds)
        times[count] = measured.median_ms
    return max(times[LONG] - times[SHORT], 0.0) / (LONG - SHORT), result


def variants_of(task: Task) -> dict[str, Callable[[int], Any]]:
    """Return what is measured, by name; the first one is weft as it comes."""
    blind = weft.Config(lanes=1)
    found: dict[str, Callable[[int], Any]] = {
        "weft": lambda i: task.weft(i, None),
        "weft blind": lambda i: task.weft(i, blind),
    }
    if task.name == "BP":
        found["weft stepwise"] = lambda i: task.stepwise(i, None)
    return found


def measure(report: Report, name: str, g: Any, task_name: str, k: int, left: Any, on: Any) -> None:
    """Measure all variants of one task, and compare their results."""
    clock, with_torch = on
    free_memory(clock)
    try:
        task = Task(task_name, g, k)
    except Exception as error:
        report.rows.append(Row(name, task_name, k, "setup", error=_told(error)))
        return
    calls = variants_of(task)
    for library in ("arrays", *(("tensors",) if with_torch else ())):
        label = {"arrays": "CuPy" if task.xp is not np else "SciPy", "tensors": "PyTorch"}[library]
        made: dict[str, Any] = {}

        def prepared(i: int, library: str = library, made: dict[str, Any] = made) -> Any:
            if not made:
                made["run"] = task.rival(library)
            return made["run"](i)

        calls[label] = prepared
    results: dict[str, Any] = {}
    for label, call in calls.items():
        row = Row(name, task_name, k, label)
        report.rows.append(row)
        if left() < 5:
            row.error = "no time left"
            continue
        try:
            free_memory(clock)
            row.ms, result = per_iteration(call, clock, min(2.0, left() / 10))
            results[label] = rivals.as_array(result)
            if row.ms > 0:
                row.gbytes_per_s = task.bytes_per_iteration() / row.ms / 1e6
        except Exception as error:  # one that fails must not end the others
            row.error = _told(error)
    _compare(report, name, task_name, k, results)
    if task_name in DRIVEN:
        measure_endings(report, name, task, clock, left)


def measure_endings(report: Report, name: str, task: Task, clock: Clock, left: Any) -> None:
    """Measure whole runs to a tolerance: aware of features or not, driven by changes or not."""
    results = {}
    for lanes in (None, 1):
        for driven in (False, True):
            label = f"{ENDING}{' blind' if lanes else ''}{' changes' if driven else ''}"
            row = Row(name, task.name, task.k, label)
            report.rows.append(row)
            config = weft.Config(lanes=lanes, change_driven=driven)
            if left() < 5:
                row.error = "no time left"
                continue
            try:
                found = task.weft(MOST, config, TOLERANCE)
                results[label] = rivals.as_array(found)
                times, _ = clock.repeat(
                    lambda config=config: task.weft(MOST, config, TOLERANCE), 3, left() / 20
                )
                row.ms = times.median_ms
            except Exception as error:
                row.error = _told(error)
    first = results.get(ENDING)
    for row in report.rows:
        if (row.graph, row.task, row.k) == (name, task.name, task.k) and row.variant in results:
            same = first is not None and np.allclose(results[row.variant], first, atol=1e-2)
            row.agrees = bool(same)


def free_memory(clock: Clock) -> None:
    """Give memory back that libraries keep for themselves."""
    gc.collect()
    if clock.cupy is not None:
        clock.cupy.get_default_memory_pool().free_all_blocks()
    if "torch" in sys.modules and clock.cupy is not None:
        sys.modules["torch"].cuda.empty_cache()


def _told(error: Exception) -> str:
    return (
        f"{type(error).__name__}: {str(error).splitlines()[0][:120]}" if str(error) else repr(error)
    )


def _compare(report: Report, name: str, task: str, k: int, results: dict[str, Any]) -> None:
    """Say of every result whether it is near to that of a rival."""
    libraries = [label for label in results if not label.startswith("weft")]
    if not libraries:
        return
    want = results[libraries[0]]
    for row in report.rows:
        if (row.graph, row.task, row.k) == (name, task, k) and row.variant in results:
            got = results[row.variant]
            row.agrees = bool(np.allclose(got, want, rtol=2e-2, atol=2e-3))


def table(report: Report) -> str:
    """Return the rows as text, with the speed of weft over each."""
    lines = [f"{'graph':9} {'task':5} {'k':>4} {'variant':22} {'ms/iter':>9} {'GB/s':>8} "
             f"{'of peak':>8} {'weft is':>8}  agrees"]  # fmt: skip
    base: dict[tuple[str, str, int], float] = {
        (r.graph, r.task, r.k): r.ms for r in report.rows if r.variant == "weft" and r.ms
    }
    for r in report.rows:
        head = f"{r.graph:9} {r.task:5} {r.k:4} {r.variant:22} "
        if r.ms is None:
            lines.append(head + f"-- {r.error}")
            continue
        own = base.get((r.graph, r.task, r.k))
        if r.variant.startswith(ENDING):  # a whole run: compared with the plain one
            own = next((x.ms for x in report.rows if x.variant == ENDING
                        and (x.graph, x.task, x.k) == (r.graph, r.task, r.k)), None)  # fmt: skip
        ratio = f"{r.ms / own:7.2f}x" if own else "      --"
        speed = (
            f"{r.gbytes_per_s:8.0f} {1e9 * r.gbytes_per_s / PEAK:8.1%}" if r.gbytes_per_s else ""
        )
        lines.append(head + f"{r.ms:9.3f} {speed:17} {ratio}  {r.agrees}")
    return "\n".join(lines)


def means(report: Report) -> dict[str, float]:
    """Return the geometric mean of the speed of weft over each other variant."""
    found: dict[str, list[float]] = {}
    base = {(r.graph, r.task, r.k): r.ms for r in report.rows if r.variant == "weft" and r.ms}
    for r in report.rows:
        own = base.get((r.graph, r.task, r.k))
        if r.variant != "weft" and not r.variant.startswith(ENDING) and r.ms and own:
            found.setdefault(r.variant, []).append(np.log(r.ms / own))
    return {variant: float(np.exp(np.mean(logs))) for variant, logs in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=int, default=20, help="2**scale vertices")
    parser.add_argument("--budget", type=float, default=240.0, help="seconds")
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS), choices=GRAPHS)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=TASKS)
    parser.add_argument("--widths", nargs="*", type=int, default=list(WIDTHS))
    parser.add_argument("--no-torch", action="store_true")
    args = parser.parse_args()
    began = time.perf_counter()

    def left() -> float:
        return args.budget - (time.perf_counter() - began)

    with_torch = False
    if not args.no_torch:
        try:
            import torch

            with_torch = args.device == "cpu" or torch.cuda.is_available()
        except ImportError:
            print("PyTorch is not here: it is left out.")
    report = Report(args.device)
    on = (Clock(args.device), with_torch)
    wanted = [(name, task, 4) for name in args.graphs for task in args.tasks]
    sweeps = [(args.graphs[0], task, k) for k in args.widths for task in args.tasks]
    wanted += [w for w in sweeps if not (w[1] == "ALS" and w[2] > 64)]
    graphs: dict[str, Any] = {}
    for name, task, k in wanted:
        if left() < 10:
            report.skipped.append(f"{name} {task} k={k}")
            continue
        if name not in graphs:
            graphs.clear()
            graphs[name] = make_graph(name, args.scale, args.device)
            print(f"[{time.perf_counter() - began:6.1f} s] {name}: {graphs[name]}", flush=True)
        measure(report, name, graphs[name], task, k, left, on)
        print(f"[{time.perf_counter() - began:6.1f} s] {name} {task} k={k}", flush=True)
    print(table(report))
    print("weft is faster, geometric mean:", {k: round(v, 2) for k, v in means(report).items()})
    if report.skipped:
        print("no time for:", ", ".join(report.skipped))
    print(json.dumps(asdict(report)))
    return 1 if any(r.agrees is False for r in report.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
