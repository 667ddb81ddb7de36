"""Graph algorithms in DuckDB: CPU time and memory of supersteps, beside the CPU backend.

    python benchmarks/sql.py --graph kron16x16

Times are milliseconds, the least of several: CPU time of the process, and wall time, which tells
something on a machine without other work only. PageRank: an iteration, from the difference of runs.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft
from benchmarks import graph_names
from weft.backends.relational.connections import engine_of

ROUNDS, COUNTED = 3, 5  # measurements; iterations by which two runs differ


@weft.vertex
def rank(v: Any, base: Any, damping: Any) -> None:
    """One iteration of PageRank."""
    v.rank = base + damping * v.gather(lambda u, e: u.rank / u.out_degree, weft.sum)


def iterations(g: weft.Graph, count: int) -> None:
    """Run iterations of PageRank."""
    n = g.num_vertices
    state = g.state(rank=weft.full(1 / n), base=weft.scalar(0.15 / n), damping=weft.scalar(0.85))
    g.iterate(rank, state, max_iter=count)


def cost(run: Callable[[], Any]) -> tuple[float, float]:
    """Return the CPU time and the wall time of a call in milliseconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3


def least(cost_of: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """Return the least CPU time and the least wall time of several measurements."""
    cpu, wall = zip(*(cost_of() for _ in range(ROUNDS)), strict=True)
    return min(cpu), min(wall)


def iteration_ms(g: weft.Graph) -> tuple[float, float]:
    """Return the CPU and the wall time of an iteration of PageRank."""
    iterations(g, 1)

    def difference() -> tuple[float, float]:
        short, long = (cost(lambda k=k: iterations(g, k)) for k in (1, 1 + COUNTED))
        return (long[0] - short[0]) / COUNTED, (long[1] - short[1]) / COUNTED

    return least(difference)


def search_ms(g: weft.Graph) -> tuple[float, float]:
    """Return the same of a breadth-first search from the vertex of largest degree."""
    source = int(g.out_degree.argmax())
    weft.bfs(g, source)
    return least(lambda: cost(lambda: weft.bfs(g, source)))


def row(name: str, theirs: tuple[float, float], ours: tuple[float, float], parts: int = 1) -> str:
    """Return a line of the table; each of several parts is shown."""
    cells = (theirs[0] / parts, theirs[1] / parts, ours[0] / parts)
    return f"| {name} | {cells[0]:.1f} | {cells[1]:.1f} | {cells[2]:.2f} |"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    graph_names.add_graph(parser, "kron16x16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="", help="limit of DuckDB, such as 500MB")
    options = parser.parse_args()
    con = duckdb.connect()
    con.execute(f"SET threads = {options.threads}")
    if options.memory:
        con.execute("SET memory_limit = ?", [options.memory])
    here = graph_names.generate(options.graph, weights=None)
    there = here.to(con)
    engine = engine_of(there.topology.device)
    shown = graph_names.short(options.graph)
    print(f"{shown}: {here.num_vertices} vertices, {here.topology.num_arcs} arcs")
    print("| ms | DuckDB, CPU | DuckDB, wall | CPU backend, CPU |")
    print("|---|--:|--:|--:|")
    own = iteration_ms(here)
    for plan in ("dense", "blocks"):
        engine.plan = plan
        print(row(f"PageRank iteration, {plan}", iteration_ms(there), own), flush=True)
    engine.plan = "auto"
    print(row("BFS", search_ms(there), search_ms(here)), flush=True)
    line = weft.generators.path(100)
    small = search_ms(line.to(con)), search_ms(line)
    print(row("superstep of one vertex", *small, parts=100))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"resident at most: {most:.0f} MB")


if __name__ == "__main__":
    main()
