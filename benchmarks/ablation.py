"""Repeat published experiments with weft: ``python benchmarks/ablation.py``.

| experiment | what is varied                                                     | published by |
|------------|--------------------------------------------------------------------|--------------|
| bfs        | BFS, one optimisation after the other                              | GraphBLAST   |
| compaction | how frontiers are compacted, and the size of bins                  | SIMD-X       |
| fusion     | one kernel per phase, per direction, or for all                    | SIMD-X       |
| schedules  | PageRank under every schedule × {csr, coo} × direction             | GRAssembler  |
| combine    | messages combined in registers or by target, or by atomics         | SIMD-X       |
| filters    | which filter assembled the frontier of each superstep              | SIMD-X       |
| queues     | queues by degree class, the frontier read from the state           | weft         |

Every graph runs in its own process with a share of ``--budget``; its kernels compile in parallel
while the first rows run. Core numbers stand beside k-cores with k = 16 and 32, as SIMD-X has them,
and belief propagation, where all vertices send. `filters` prints a strip for each task, a letter
for each superstep, and writes the strips as SVG beside ``--json``; the bin sizes of `compaction`
are the overflow thresholds of a thread's bin. The first experiment and the bin sizes use kron21
only. Every result is compared with one that a certificate proved. ``--device emulated --tiny``
runs without a GPU.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import ablation_programs as programs
from benchmarks import gpu_graphs, gpu_report, graph_names, strips
from benchmarks.ablation_bench import KINDS, NO_TIME, Bench
from benchmarks.ahead import Ahead
from benchmarks.gpu_lines import Lines, SilentError

BUDGET_SECONDS = 480.0
ROW_SECONDS = 20.0
GENERATE_SECONDS = 60.0
GRAPHS = ("kron21", "road4900")
MARK = "@@ "
FUSES = ("none", "direction", "all")
COMPACTIONS = ("online", "ballot", "jit", "batch", "atomic")
BINS = (1, 4, 16, 64, 256)
SCHEDULES = ("vertex", "edge", "warp", "block", "twc", "twce", "strict", "merge", "row", "weaver")
FORMATS = ("csr", "coo")
# GTEPS on kron21 after each optimisation (Yang, Buluç, Owens: GraphBLAST, 2022, table 8).
GRAPHBLAST = (0.87, 1.41, 1.53, 3.9, 15.8, 42.4)
# Speed of jit over ballot in SIMD-X (Liu, Huang 2019).
SIMDX_JIT = {"bfs": 16.0, "cores": 26.0, "sssp": 4.5}
JIT_TASKS = ("bfs", "cores", "k_core16", "k_core32", "sssp")
FUSED_TASKS = ("bfs", "sssp", "pagerank", "components", "cores", "k_core16", "k_core32", "bp")
COMBINED_TASKS = ("bfs", "sssp", "pagerank", "k_core16", "k_core32", "bp")
# How messages meet: in the registers of who pulls, kept by arc, or by atomics.
COMBINES: dict[str, dict[str, Any]] = {
    "pull, in registers": {"direction": "pull"},
    "push, by target": {"direction": "push", "combine": "by_target"},
    "push, by atomics": {"direction": "push", "combine": "atomic"},
}


class Row(NamedTuple):
    """A row of a table: the call to time and the kind of its answer."""

    experiment: str
    name: str
    kind: str
    call: Callable[[], Any]
    published: float | None = None


def bfs_rows(bench: Bench) -> Iterator[Row]:
    for number, (name, call) in enumerate(programs.bfs_steps(bench).items()):
        published = GRAPHBLAST[number] if number < len(GRAPHBLAST) else None
        yield Row("bfs", name, "level", call, published)


def compaction_rows(bench: Bench) -> Iterator[Row]:
    for task in JIT_TASKS:
        for compaction in COMPACTIONS:
            yield _task(bench, "compaction", task, compaction, compaction=compaction)


def bin_rows(bench: Bench) -> Iterator[Row]:
    for task in SIMDX_JIT:
        for compaction in ("online", "jit"):
            for size in BINS:
                name = f"{compaction}, bins of {size}"
                options = {"compaction": compaction, "bin_size": size}
                yield _task(bench, "compaction", task, name, **options)


def fusion_rows(bench: Bench) -> Iterator[Row]:
    for task in FUSED_TASKS:
        for fuse in FUSES:
            yield _task(bench, "fusion", task, fuse, fuse=fuse)


def combine_rows(bench: Bench) -> Iterator[Row]:
    import weft

    messages = programs.edge_pagerank(bench.workload.graph)
    for task in COMBINED_TASKS:
        for name, options in COMBINES.items():
            if task == "pagerank":  # a gather is never pushed
                call = functools.partial(messages, weft.Config(**options))
                yield Row("combine", f"{task} {name}", "rank", call)
            else:
                yield _task(bench, "combine", task, name, **options)


def filter_rows(bench: Bench) -> Iterator[Row]:
    for task in JIT_TASKS:
        yield _task(bench, "filters", task, "jit", compaction="jit")


def schedule_rows(bench: Bench) -> Iterator[Row]:
    import weft

    yield _task(bench, "schedules", "pagerank", "as it chooses")
    messages = programs.edge_pagerank(bench.workload.graph)
    for schedule in SCHEDULES:
        for format_ in FORMATS:
            for direction in ("pull", "push"):
                config = weft.Config(schedule=schedule, format=format_, direction=direction)
                call = functools.partial(messages, config)
                yield Row("schedules", f"{schedule} {format_} {direction}", "rank", call)


def queue_rows(bench: Bench) -> Iterator[Row]:
    by_class: dict[str, Any] = {"schedule": {"push": "twc"}}
    sorted_ = {**by_class, "passes_off": "degree_classes"}
    for task in ("bfs", "sssp"):
        yield _task(bench, "queues", task, "as it chooses")
        yield _task(bench, "queues", task, "twc, queues by class", **by_class)
        yield _task(bench, "queues", task, "twc, queues sorted", **sorted_)
    for kind in ("bitmap", "state", "reverse_queue"):
        yield _task(bench, "queues", "bfs", f"pulls by {kind}", frontier_in={"pull": kind})


def _task(bench: Bench, experiment: str, task: str, how: str, **options: Any) -> Row:
    call = functools.partial(bench.call, task, **options)
    return Row(experiment, f"{task} {how}", KINDS[task], call)


# In the order of a graph's rows; bins on graphs with a degree that varies.
EXPERIMENTS: dict[str, list[Callable[[Bench], Iterator[Row]]]] = {
    "bfs": [bfs_rows],
    "fusion": [fusion_rows],
    "compaction": [compaction_rows, bin_rows],
    "combine": [combine_rows],
    "filters": [filter_rows],
    "schedules": [schedule_rows],
    "queues": [queue_rows],
}
ON_KRON_ALONE = (bfs_rows, bin_rows)


def run_here(options: argparse.Namespace) -> int:
    """Run the experiments on one graph; called in a worker process."""
    bench = Bench(options.graph, options.device, options.budget, options.row_limit)
    print(f"{options.graph}: {bench.workload.arcs.m:,} arcs", flush=True)
    road = options.graph.startswith("road")
    makers = [maker for name in options.experiments.split(",") for maker in EXPERIMENTS[name]]
    rows = [row for m in makers if not (road and m in ON_KRON_ALONE) for row in m(bench)]
    ahead = Ahead(options.device)
    ahead.begin(row.call for row in rows)
    try:
        for row in rows:
            measured = bench.measure(row.kind, row.call, published=row.published)
            found_row = {"experiment": row.experiment, "name": row.name, **measured.as_json()}
            if row.experiment == "filters" and measured.fault is None:
                task, _, compaction = row.name.partition(" ")
                found_row["strip"] = strips.strip(bench.filters(task, compaction=compaction))
            print(MARK + json.dumps(found_row), flush=True)
    finally:
        ahead.close()
    return 0


def run_apart(graph: str, budget: float, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Start a worker process for one graph and collect its rows."""
    arguments = ["--graph", graph, "--device", options.device]
    arguments += ["--experiments", options.experiments]
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
        print(f"  {graph} did not answer in time", flush=True)
    return rows


def _line(row: dict[str, Any]) -> str:
    what = row["fault"] or f"{row['ms']:.3f} ms"
    return f"{row['experiment']}: {row['name']}: {what}"


def report(rows: list[dict[str, Any]]) -> None:
    """Print a table per experiment and graph, and how many rows there was no time for."""
    for experiment, table in TABLES.items():
        for graph in dict.fromkeys(row["graph"] for row in rows):
            chosen = [r for r in rows if (r["graph"], r["experiment"]) == (graph, experiment)]
            timed = [row for row in chosen if row["fault"] != NO_TIME]
            if timed:
                print()
                print(table(graph, timed))
            if len(timed) < len(chosen):
                print(f"{graph}, {experiment}: no time left for {len(chosen) - len(timed)} rows")


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
        published = SIMDX_JIT.get(task) if kind == "jit" else None
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


def combine_table(graph: str, rows: list[dict[str, Any]]) -> str:
    times = {row["name"]: _ms(row) for row in rows}
    cells = []
    for row in rows:
        task, _, how = row["name"].partition(" ")
        atomic = times.get(f"{task} push, by atomics")
        gained = atomic / row["ms"] if atomic and row["ms"] else None
        cells.append([task, how, _text(row["ms"]), _text(gained), _fault(row)])
    head = ["task", "messages meet", "ms", "x atomics", "result"]
    return gpu_report.table(head, cells, f"{graph}: combining against atomics")


def filters_table(graph: str, rows: list[dict[str, Any]]) -> str:
    cells = []
    for row in rows:
        found = row.get("strip", "")
        shares = [str(found.count(letter)) for letter in strips.LETTERS.values()]
        cells.append([row["name"].partition(" ")[0], *shares, strips.short(found), _fault(row)])
    head = ["task", *strips.LETTERS, "supersteps in order", "result"]
    title = f"{graph}: which filter when ({strips.LEGEND})"
    return gpu_report.table(head, cells, title)


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
    "combine": combine_table,
    "filters": filters_table,
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
    tiny = (gpu_graphs.TINY[0], gpu_graphs.TINY[2])
    graph_names.add_graphs(parser, GRAPHS, {"tiny": tiny})
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds in all")
    parser.add_argument("--row-limit", type=float, default=ROW_SECONDS, help="seconds per row")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--graph", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    names = options.experiments.split(",")
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        parser.error(f"experiments {unknown} are not known. Expected {', '.join(EXPERIMENTS)}.")
    if options.graph is not None:
        return run_here(options)
    graphs = graph_names.chosen(options)
    began = time.monotonic()
    rows: list[dict[str, Any]] = []
    for position, graph in enumerate(graphs):
        left = options.budget - (time.monotonic() - began)
        print(f"[{time.monotonic() - began:6.1f} s] {graph}", flush=True)
        rows += run_apart(graph, max(10.0, left / (len(graphs) - position)), options)
        if options.json is not None:
            options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
            drawn = {f"{r['graph']} {r['name']}": r["strip"] for r in rows if r.get("strip")}
            options.json.with_suffix(".svg").write_text(strips.svg(drawn), encoding="utf-8")
    report(rows)
    return int(any(row["fault"] not in (None, NO_TIME) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
