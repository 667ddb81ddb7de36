"""Compare the defaults with a published list of configurations: ``python benchmarks/defaults.py``.

Every task runs with the defaults and under each configuration of ``defaults_list.py``, on a
Kronecker graph and a road network. The report shows the default, the best of the list, and their
ratio. A configuration that takes more than four times the best so far is stopped. Kernels compile
in parallel while others run, and tasks share the time equally. ``--device emulated --tiny`` runs
without a GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gpu_checks, gpu_graphs, gpu_report, graph_names
from benchmarks.defaults_list import CONFIGURATIONS
from benchmarks.gpu_graphs import Workload
from benchmarks.racing import as_ready, compilers
from weft.arrays.reduce import equal_arrays

BUDGET_SECONDS = 200.0
GRAPHS = ("kron18", "road1500")
AIM = 1.5  # times the best
CONFIRM_RUNS = 5
SHOWN = 6  # of the fastest configurations
RANK_TOLERANCE = 1e-9


@dataclass
class Row:
    """The measurements of one task on one graph."""

    graph: str
    task: str
    default_ms: float = math.nan
    best_ms: float = math.inf
    best: dict[str, Any] = field(default_factory=dict)
    listed: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)  # a lower bound where the run was stopped

    @property
    def fastest(self) -> str:
        """Return the fastest configurations and their milliseconds."""
        ranked = sorted(self.times.items(), key=lambda item: item[1])[:SHOWN]
        return "; ".join(f"{text}: {ms:.3g}" for text, ms in ranked if ms < math.inf)

    @property
    def ratio(self) -> float:
        """Return the default's time over the best of the list, the default included."""
        return self.default_ms / min(self.best_ms, self.default_ms)


def caller(task: str, workload: Workload) -> Callable[[Any], Any]:
    """Return a function that runs a task under a configuration."""
    import weft

    g, source = workload.graph, workload.source

    def pagerank(config: Any) -> Any:
        options = {"tol": 0, "max_iter": gpu_checks.ITERATIONS, "on_unconverged": "return"}
        return weft.pagerank(g, config=config, **options)

    return {
        "bfs": lambda config: weft.bfs(g, source, config=config).level,
        "sssp": lambda config: weft.sssp(g, source, config=config).dist,
        "pagerank": pagerank,
        "components": lambda config: weft.connected_components(g, config=config),
        "triangles": lambda config: weft.triangle_count(g, config=config),
        "cores": lambda config: weft.core_number(g, config=config),
    }[task]


def same(result: Any, right: Any) -> bool:
    """Return whether a result agrees with the default's."""
    if isinstance(right, int):
        return int(result) == right
    if right.dtype.kind == "f":
        return float(abs(result - right).sum()) <= RANK_TOLERANCE
    return equal_arrays(result, right)


def prepare(task: str, workload: Workload, ahead: Any) -> tuple[Any, Row]:
    """Run a task's default and start compiling for its list; return a bench and a row."""
    import weft
    from weft.tuning.compiling import Compilations
    from weft.tuning.measuring import Bench

    device = workload.graph.topology.device
    bench = Bench(caller(task, workload), device, same=same, compilations=Compilations(ahead))
    row = Row(workload.name, task, bench.start().ms, listed=len(CONFIGURATIONS[task]))
    for options in CONFIGURATIONS[task]:
        bench.compilations.begin(weft.Config(**options))
    return bench, row


def measure(bench: Any, row: Row, deadline: float) -> None:
    """Run a task under the configurations of its list, as far as time allows."""
    import weft

    left = [weft.Config(**options) for options in CONFIGURATIONS[row.task]]
    counts: Counter[str] = Counter()
    best = None
    for config in as_ready(left, bench.compilations.is_ready, deadline):
        trial = bench.measure(config)
        counts[trial.status] += 1
        row.times[_text(config.given())] = trial.ms
        if trial.status in ("wrong", "failed"):
            row.troubles.append(f"{_text(config.given())}: {trial.status}: {trial.reason}")
        if trial.is_timed and (best is None or trial.ms < best.ms):
            best = trial
    if left:
        counts["no time"] = len(left)
    row.outcomes = dict(counts)
    if best is not None:
        # Time both again in turn, because the device's clock may have changed.
        pairs = [
            (bench.confirm(weft.Config())[0], bench.confirm(best.config)[0])
            for _ in range(CONFIRM_RUNS)
        ]
        row.default_ms = min([row.default_ms, *(default for default, _ in pairs)])
        row.best_ms = min([best.ms, *(other for _, other in pairs)])
        row.best = best.config.given()


def _text(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items()) or "default"


def report(rows: list[Row]) -> None:
    """Print a line per task and graph, and the mean."""
    cells = []
    for row in sorted(rows, key=lambda row: -row.ratio):
        outcomes = ", ".join(f"{count} {name}" for name, count in row.outcomes.items())
        cells.append(
            [row.graph, row.task, f"{row.default_ms:.3g}", f"{row.best_ms:.3g}",
             f"{row.ratio:.2f}", _text(row.best), outcomes]
        )  # fmt: skip
    head = ["graph", "task", "default ms", "best ms", "ratio", "best configuration", "trials"]
    print(gpu_report.table(head, cells, "The default against the best of a list"))
    ratios = [row.ratio for row in rows]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        over = sum(ratio > AIM for ratio in ratios)
        print(f"geometric mean {mean:.3f}, worst {max(ratios):.2f}, {over} above {AIM}")
    for row in rows:
        for trouble in row.troubles:
            print(f"{row.task} on {row.graph}: {trouble}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The defaults against a list of configurations.")
    graph_names.add_graphs(parser, GRAPHS, {"tiny": ("kron8", "road24")})
    parser.add_argument("--tasks", default=",".join(CONFIGURATIONS), help="between commas")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds in all")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    os.environ["WEFT_TUNINGS"] = "off"  # ignore tuning results on this machine
    tasks = options.tasks.split(",")
    if unknown := [task for task in tasks if task not in CONFIGURATIONS]:
        parser.error(f"tasks {unknown} are not known. Expected {', '.join(CONFIGURATIONS)}.")
    graphs = graph_names.chosen(options)
    began = time.perf_counter()
    rows: list[Row] = []
    left = len(graphs) * len(tasks)
    for graph in graphs:
        workload = gpu_graphs.make(graph, options.device)
        print(f"{graph}: {workload.arcs.m:,} arcs", flush=True)
        with compilers(workload.graph.topology.device) as ahead:
            for bench, row in [prepare(task, workload, ahead) for task in tasks]:
                now = time.perf_counter()
                measure(bench, row, now + (began + options.budget - now) / left)
                left -= 1
                rows.append(row)
                print(
                    f"[{time.perf_counter() - began:6.1f} s] {row.task} on {graph}: default "
                    f"{row.default_ms:.3g} ms, best {row.best_ms:.3g} ms by {_text(row.best)}; "
                    f"{row.outcomes}\n           {row.fastest}",
                    flush=True,
                )
                if options.json is not None:
                    found = [{**vars(row), "ratio": row.ratio} for row in rows]
                    options.json.write_text(json.dumps(found, indent=1, default=str) + "\n")
        del workload
    report(rows)
    return int(any(row.troubles for row in rows))


if __name__ == "__main__":
    sys.exit(main())
