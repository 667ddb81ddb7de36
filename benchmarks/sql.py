"""Graph algorithms in DuckDB: CPU time and memory of supersteps, beside the CPU backend.

    python benchmarks/sql.py --graph kron16x16

Times are CPU milliseconds of the process. PageRank: an iteration, as the difference of 6 and of 1.
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


@weft.vertex
def rank(v: Any, base: Any, damping: Any) -> None:
    """One iteration of PageRank."""
    v.rank = base + damping * v.gather(lambda u, e: u.rank / u.out_degree, weft.sum)


def iterations(g: weft.Graph, count: int) -> None:
    """Run iterations of PageRank."""
    n = g.num_vertices
    state = g.state(rank=weft.full(1 / n), base=weft.scalar(0.15 / n), damping=weft.scalar(0.85))
    g.iterate(rank, state, max_iter=count)


def cpu_ms(run: Callable[[], Any]) -> float:
    """Return the CPU time of a call in milliseconds."""
    began = time.process_time()
    run()
    return (time.process_time() - began) * 1e3


def iteration_ms(g: weft.Graph) -> float:
    """Return the CPU time of an iteration of PageRank."""
    iterations(g, 1)
    return (cpu_ms(lambda: iterations(g, 6)) - cpu_ms(lambda: iterations(g, 1))) / 5


def search_ms(g: weft.Graph) -> float:
    """Return the CPU time of a breadth-first search from the vertex of largest degree."""
    source = int(g.out_degree.argmax())
    weft.bfs(g, source)
    return cpu_ms(lambda: weft.bfs(g, source))


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
    print("| CPU ms | DuckDB | CPU backend |")
    print("|---|--:|--:|")
    own = iteration_ms(here)
    for plan in ("dense", "blocks"):
        engine.plan = plan
        print(f"| PageRank iteration, {plan} | {iteration_ms(there):.0f} | {own:.1f} |")
    engine.plan, own = "auto", search_ms(here)
    print(f"| BFS | {search_ms(there):.0f} | {own:.1f} |")
    line = weft.generators.path(100)
    small, own = search_ms(line.to(con)) / 100, search_ms(line) / 100
    print(f"| superstep of one vertex | {small:.1f} | {own:.2f} |")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"resident at most: {most:.0f} MB")


if __name__ == "__main__":
    main()
