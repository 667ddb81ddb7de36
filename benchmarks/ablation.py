"""The papers' own experiments, repeated with weft: ``python benchmarks/ablation.py``.

| experiment | what is varied                                                     | published by |
|------------|--------------------------------------------------------------------|--------------|
| bfs        | BFS, one optimisation after the other                              | GraphBLAST   |
| compaction | how frontiers are put together, and the size of bins               | SIMD-X       |
| fusion     | one kernel per phase, per direction, or for all                    | SIMD-X       |
| schedules  | PageRank under every schedule × {csr, coo} × direction             | GRAssembler  |
| queues     | queues by degree class, the frontier told by the state             | weft         |

Every experiment runs on every graph in a process of its own, within its share of ``--budget``.
Results are compared with a first one that was checked by certificate. ``--device emulated --tiny``
runs the same without a GPU.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import ablation_programs as programs
from benchmarks import gpu_graphs, gpu_report
from benchmarks.ablation_bench import Bench, Measured
from benchmarks.gpu_lines import Lines, SilentError

BUDGET_SECONDS = 480.0
ROW_SECONDS = 20.0
GENERATE_SECONDS = 60.0
MARK = "@@ "
FUSES = ("none", "direction", "all")
COMPACTIONS = ("online", "ballot", "jit", "batch", "atomic")
BINS = (1, 4, 16, 64, 256)
SCHEDULES = ("vertex", "edge", "warp", "block", "twc", "twce", "strict", "merge", "row")
FORMATS = ("csr", "coo")
# GTEPS on kron21 after each optimisation (Yang, Buluç, Owens: GraphBLAST, 2022, table 8).
GRAPHBLAST = (0.87, 1.41, 1.53, 3.9, 15.8, 42.4)
# jit over ballot, as SIMD-X (Liu, Huang 2019) has it.
SIMDX_JIT = {"bfs": 16.0, "cores": 26.0, "sssp": 4.5}

Emit = Callable[[str, Measured], None]


def run_bfs(bench: Bench, emit: Emit) -> None:
    for number, (name, call) in enumerate(programs.bfs_steps(bench).items()):
        published = GRAPHBLAST[number] if number < len(GRAPHBLAST) else None
        emit(name, bench.measure("level", call, published=published))


def run_compaction(bench: Bench, emit: Emit) -> None:
    for task in ("bfs", "cores", "sssp"):
        for compaction in COMPACTIONS:
            emit(f"{task} {compaction}", bench.task(task, compaction=compaction))
        for compaction in ("online", "jit"):
            for size in BINS:
                options = {"compaction": compaction, "bin_size": size}
                emit(f"{task} {compaction}, bins of {size}", bench.task(task, **options))


def run_fusion(bench: Bench, emit: Emit) -> None:
    for task in ("bfs", "sssp", "pagerank", "components", "cores"):
        for fuse in FUSES:
            emit(f"{task} {fuse}", bench.task(task, fuse=fuse))


def run_schedules(bench: Bench, emit: Emit) -> None:
    import weft

    emit("weft.pagerank as it chooses", bench.task("pagerank"))
    messages = programs.edge_pagerank(bench.workload.graph)
    for schedule in SCHEDULES:
        for format_ in FORMATS:
            for direction in ("pull", "push"):
                config = weft.Config(schedule=schedule, format=format_, direction=direction)
                call = functools.partial(messages, config)
                emit(f"{schedule} {format_} {direction}", bench.measure("rank", call))


def run_queues(bench: Bench, emit: Emit) -> None:
    by_class: dict[str, Any] = {"schedule": {"push": "twc"}}
    for task in ("bfs", "sssp"):
        emit(f"{task} as it chooses", bench.task(task))
        emit(f"{task} twc, queues by class", bench.task(task, **by_class))
        sorted_ = {**by_class, "passes_off": "degree_classes"}
        emit(f"{task} twc, queues sorted", bench.task(task, **sorted_))
    for kind in ("bitmap", "state", "reverse_queue"):
        emit(f"bfs pulls by {kind}", bench.task("bfs", frontier_in={"pull": kind}))


EXPERIMENTS = {
    "bfs": (run_bfs, ("kron21",)),
    "compaction": (run_compaction, ("kron21", "road4900")),
    "fusion": (run_fusion, ("kron21", "road4900")),
    "schedules": (run_schedules, ("kron21", "road4900")),
    "queues": (run_queues, ("kron21", "road4900")),
}


def run_here(options: argparse.Namespace) -> int:
    """In a process of its own: one experiment on one graph."""
    bench = Bench(options.graph, options.device, options.budget, options.row_limit)
    print(f"{options.graph}: {bench.workload.arcs.m:,} arcs", flush=True)

    def emit(name: str, measured: Measured) -> None:
        print(MARK + json.dumps({"name": name, **measured.as_json()}), flush=True)

    EXPERIMENTS[options.run][0](bench, emit)
    return 0


def run_apart(
    experiment: str, graph: str, budget: float, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Start that process and collect its rows."""
    arguments = ["--run", experiment, "--graph", graph, "--device", options.device]
    arguments += ["--budget", str(budget), "--row-limit", str(options.row_limit)]
    lines = Lines(Path(__file__), *arguments)
    rows: list[dict[str, Any]] = []
    try:
        while (line := lines.next(GENERATE_SECONDS + 2 * options.row_limit)) is not None:
            if line.startswith(MARK):
                rows.append({"graph": graph, **json.loads(line[len(MARK) :])})
                line = _line(rows[-1])
            print(f"  {line}", flush=True)
    except SilentError:
        lines.kill()
        print(f"  {experiment} on {graph} did not answer in time", flush=True)
    return rows


def _line(row: dict[str, Any]) -> str:
    what = row["fault"] or f"{row['ms']:.3f} ms"
    return f"{row['name']}: {what}"


def report(found: dict[str, list[dict[str, Any]]]) -> None:
    """Print a table per experiment and graph."""
    for experiment, rows in found.items():
        for graph in dict.fromkeys(row["graph"] for row in rows):
            chosen = [row for row in rows if row["graph"] == graph]
            print()
            print(TABLES[experiment](graph, chosen))


def bfs_table(graph: str, rows: list[dict[str, Any]]) -> str:
    first = _ms(rows[0])
    cells = []
    for row in rows:
        speed = row["arcs"] / row["ms"] / 1e6 if row["ms"] else None
        gained = first / row["ms"] if first and row["ms"] else None
        published = row["published"]
        cells.append(
            [row["name"], _text(row["ms"]), _text(speed), _text(gained), _text(published),
             _text(published and published / GRAPHBLAST[0]), _fault(row)]
        )  # fmt: skip
    head = ["BFS, cumulative", "ms", "GTEPS", "x first", "GraphBLAST", "x first", "result"]
    return gpu_report.table(head, cells, f"{graph}: one optimisation after the other")


def compaction_table(graph: str, rows: list[dict[str, Any]]) -> str:
    times = {row["name"]: _ms(row) for row in rows}
    cells = []
    for row in rows:
        task, _, kind = row["name"].partition(" ")
        ballot = times.get(f"{task} ballot")
        gained = ballot / row["ms"] if ballot and row["ms"] else None
        published = SIMDX_JIT[task] if kind == "jit" else None
        cells.append([task, kind, _text(row["ms"]), _text(gained), _text(published), _fault(row)])
    head = ["task", "compaction", "ms", "x ballot", "SIMD-X", "result"]
    return gpu_report.table(head, cells, f"{graph}: compaction (bins of 64 if not said)")


def fusion_table(graph: str, rows: list[dict[str, Any]]) -> str:
    times = {row["name"]: _ms(row) for row in rows}
    cells = []
    for row in rows:
        task, _, fuse = row["name"].partition(" ")
        none = times.get(f"{task} none")
        gained = none / row["ms"] if none and row["ms"] else None
        cells.append(
            [task, fuse, _text(row["ms"]), _text(gained), str(row["launches"] or ""),
             row["registers"], _fault(row)]
        )  # fmt: skip
    head = ["task", "fuse", "ms", "x none", "launches", "registers (spilled bytes)", "result"]
    note = "SIMD-X: direction-wise 1.43 x none, 1.25 x all"
    return gpu_report.table(head, cells, f"{graph}: fusion ({note})")


def schedules_table(graph: str, rows: list[dict[str, Any]]) -> str:
    ranked = sorted(rows, key=lambda row: row["ms"] or float("inf"))
    best = _ms(ranked[0])
    cells = []
    for row in ranked:
        per = row["ms"] / programs.ITERATIONS if row["ms"] else None
        behind = row["ms"] / best if best and row["ms"] else None
        cells.append([row["name"], _text(per), _text(behind), _fault(row)])
    head = ["schedule format direction", "ms / iteration", "x best", "result"]
    return gpu_report.table(head, cells, f"{graph}: PageRank, best to worst")


def queues_table(graph: str, rows: list[dict[str, Any]]) -> str:
    times = {row["name"]: _ms(row) for row in rows}
    cells = []
    for row in rows:
        task, _, kind = row["name"].partition(" ")
        chosen = times.get(f"{task} as it chooses")
        behind = row["ms"] / chosen if chosen and row["ms"] else None
        cells.append([task, kind, _text(row["ms"]), _text(behind), _fault(row)])
    head = ["task", "frontiers", "ms", "x chosen", "result"]
    return gpu_report.table(head, cells, f"{graph}: what frontiers are made of")


TABLES = {
    "bfs": bfs_table,
    "compaction": compaction_table,
    "fusion": fusion_table,
    "schedules": schedules_table,
    "queues": queues_table,
}


def _ms(row: dict[str, Any]) -> float | None:
    return row["ms"] if row["fault"] is None else None


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _fault(row: dict[str, Any]) -> str:
    return "ok" if row["fault"] is None else row["fault"][:60]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The papers' own experiments, repeated.")
    parser.add_argument("--experiments", default=",".join(EXPERIMENTS), help="between commas")
    parser.add_argument("--graphs", help="instead of those of each experiment, between commas")
    parser.add_argument("--tiny", action="store_true", help="kron8 and road24")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds in all")
    parser.add_argument("--row-limit", type=float, default=ROW_SECONDS, help="seconds per row")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", choices=EXPERIMENTS, help=argparse.SUPPRESS)
    parser.add_argument("--graph", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run is not None:
        return run_here(options)
    names = options.experiments.split(",")
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        parser.error(f"experiments {unknown} are not known. Expected {', '.join(EXPERIMENTS)}.")
    jobs = []
    for name in names:
        graphs = list(EXPERIMENTS[name][1])
        if options.tiny:
            graphs = [gpu_graphs.TINY[0 if g.startswith("kron") else 2] for g in graphs]
        jobs += [(name, graph) for graph in (_names(options.graphs) or graphs)]
    began = time.monotonic()
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for position, (name, graph) in enumerate(jobs):
        left = options.budget - (time.monotonic() - began)
        share = max(10.0, left / (len(jobs) - position))
        print(f"[{time.monotonic() - began:6.1f} s] {name} on {graph}", flush=True)
        found[name] += run_apart(name, graph, share, options)
        if options.json is not None:
            options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    report(found)
    return int(any(row["fault"] for rows in found.values() for row in rows))


def _names(text: str | None) -> list[str]:
    return [name for name in (text or "").split(",") if name]


if __name__ == "__main__":
    sys.exit(main())
