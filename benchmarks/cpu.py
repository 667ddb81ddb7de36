"""Measure weft beside its peers on a CPU: ``python benchmarks/cpu.py``.

The peers are SciPy, python-graphblas, NetworKit and igraph. Every contestant holds the same graph
in its own form, and contestants are called in alternation (`benchmarks.protocol`). First and last
results are checked (`benchmarks.checks`); a wrong one makes the command exit with status 1.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import graph_names as known_graphs
from benchmarks import graphs, peers, protocol, report
from benchmarks.checks import CHECKS, ITERATIONS, Reference

FULL_GRAPHS = "kron18,road1000"
QUICK_GRAPHS = "kron12,road120"
# Width when the output is not a terminal, so that a table row stays on one line.
PLAIN_WIDTH = 140

Contestants = dict[str, type[peers.Peer] | None]

NOTES = f"""\
Medians of {{runs}} alternating runs after one warm-up; spread is (max - min) / median.
Not timed: generating the graph, converting it into each library's form, reading results back.
Timed for weft: all that one call does on a built graph. SSSP: weft gives parents too, the others \
distances only.
PageRank runs {ITERATIONS} iterations everywhere. peer / weft (of medians, and of minima) above 1 \
means that weft is faster.
Noisy: a spread above {report.NOISY_SPREAD:.0%} at either of the two; run again on a quiet \
machine."""


def main(  # noqa: PLR0913
    *,
    graph_names: Annotated[
        str, typer.Option("--graphs", help=f"{known_graphs.EXPECTED}, separated by commas.")
    ] = FULL_GRAPHS,
    files: Annotated[
        list[Path] | None, typer.Option("--file", help="A file with a graph; may be repeated.")
    ] = None,
    task_names: Annotated[
        str, typer.Option("--tasks", help="Tasks, separated by commas.")
    ] = ",".join(peers.TASKS),
    peer_names: Annotated[
        str, typer.Option("--peers", help="Contestants, weft among them, separated by commas.")
    ] = ",".join(peers.MODULES),
    runs: Annotated[int, typer.Option(min=1, help="Timed runs of each contestant.")] = 7,
    threads: Annotated[int, typer.Option(min=1, help="Threads, for those that use them.")] = 2,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write all times and checks to this file.")
    ] = None,
    quick: Annotated[bool, typer.Option(help=f"Small graphs: {QUICK_GRAPHS}.")] = False,
) -> None:
    """Measure weft beside its peers on a CPU, and check every result."""
    if quick and graph_names == FULL_GRAPHS:
        graph_names = QUICK_GRAPHS
    if files:
        graph_names = ",".join(map(str, files)) if graph_names == FULL_GRAPHS else graph_names
    chosen_graphs = _chosen(graph_names, None, "--graphs")
    chosen_tasks = _chosen(task_names, peers.TASKS, "--tasks")
    chosen_peers = _chosen(peer_names, tuple(peers.MODULES), "--peers")
    os.environ["WEFT_NUM_THREADS"] = str(threads)

    console = Console()
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    machine = report.machine()
    contestants = {name: peers.load(name) for name in chosen_peers}
    _print_head(console, machine, contestants, threads)
    rows: list[report.Row] = []
    memory: dict[str, Any] = {}
    for name in chosen_graphs:
        found, memory[name] = measure_graph(name, chosen_tasks, contestants, runs, threads)
        rows += found
        _print_graph(console, name, found, memory[name])
    console.print("\n" + NOTES.format(runs=runs), highlight=False)
    if json_path is not None:
        measured = {
            "date": date.today().isoformat(),
            "machine": machine,
            "threads": threads,
            "versions": {name: kind.version for name, kind in contestants.items() if kind},
            "absent": [name for name, kind in contestants.items() if kind is None],
            "memory": memory,
            "rows": report.as_json(rows),
        }
        json_path.write_text(json.dumps(measured, indent=1) + "\n")
    if any(row.fault is not None for row in rows):
        raise typer.Exit(1)


def measure_graph(
    name: str,
    tasks: list[str],
    contestants: Contestants,
    runs: int,
    threads: int,
) -> tuple[list[report.Row], dict[str, Any]]:
    """Run all tasks on one graph; return rows and the memory weft's graph holds afterwards."""
    workload = graphs.make(name)
    loaded = [kind(workload, threads) for kind in contestants.values() if kind is not None]
    reference = Reference(workload.matrix, workload.source)
    rows = [row for task in tasks for row in run_task(task, loaded, reference, runs, name)]
    report.compare(rows)
    graph_bytes = workload.graph.memory_bytes
    return rows, {
        "vertices": workload.num_vertices,
        "arcs": workload.num_arcs,
        "weft_bytes": graph_bytes,
        "weft_bytes_per_arc": graph_bytes / max(workload.num_arcs, 1),
    }


def run_task(
    task: str, loaded: list[peers.Peer], reference: Reference, runs: int, graph_name: str
) -> list[report.Row]:
    """Time and check one task for every contestant that supports it."""
    calls = {peer.name: call for peer in loaded if (call := peer.call(task)) is not None}
    readers = {peer.name: peer for peer in loaded}
    rows = []
    for name, outcome in protocol.alternate(calls, runs).items():
        row = report.Row(graph_name, task, name, outcome.times_ms)
        if outcome.error is not None:
            row.fault = f"{type(outcome.error).__name__}: {outcome.error}"
        else:
            row.median_ms = outcome.median_ms
            row.min_ms = outcome.min_ms
            row.spread = outcome.spread
            faults = (
                CHECKS[task](reference, readers[name].read(task, result))
                for result in outcome.results
            )
            row.fault = next(filter(None, faults), None)
        rows.append(row)
    return rows


def _chosen(text: str, known: tuple[str, ...] | None, option: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if known is None:
            try:
                known_graphs.parse(name)
            except ValueError as error:
                raise typer.BadParameter(str(error), param_hint=option) from None
        elif name not in known:
            raise typer.BadParameter(
                f"{name!r} is not known. Expected some of {', '.join(known)}.", param_hint=option
            )
    if not names:
        raise typer.BadParameter("names nothing. Expected at least one name.", param_hint=option)
    return names


def _print_head(
    console: Console,
    machine: dict[str, Any],
    contestants: Contestants,
    threads: int,
) -> None:
    console.print(
        f"{date.today().isoformat()}, {machine['cpu']}, {machine['cores']} cores, {threads} "
        f"threads, {machine['system']}, Python {machine['python']}, load average "
        f"{machine['load_average']}",
        highlight=False,
    )
    for name, kind in contestants.items():
        console.print(f"  {name}: {'absent' if kind is None else kind.version}", highlight=False)


def _print_graph(
    console: Console, name: str, rows: list[report.Row], memory: dict[str, Any]
) -> None:
    console.print()
    console.print(report.table(name, rows))
    console.print(
        f"{memory['vertices']:,} vertices, {memory['arcs']:,} arcs; weft's graph holds "
        f"{memory['weft_bytes'] / 1e6:.1f} MB, {memory['weft_bytes_per_arc']:.1f} bytes per arc",
        highlight=False,
    )


if __name__ == "__main__":
    typer.run(main)
