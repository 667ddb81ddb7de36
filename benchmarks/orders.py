"""Compare the orders of vertices: ``python -m benchmarks.orders --graphs kron16,rgg16,planted14``.

For every order: processor time to make it, the gap cost (the mean of log2(1 + |place u - place v|)
over all arcs: about the bits that a gap-encoded arc takes) and processor time of PageRank (20
iterations, float64, the best of several runs) over the graph in that order. Orders are computed,
not read from disk. Vertices are numbered at random first, as generators number them otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import graph_names

GRAPHS = ("kron16", "rgg16", "planted14")
TINY = ("kron8", "rgg8", "planted8")
ITERATIONS = 20
RUNS = 9
HEAD = ("order", "made in s", "gap cost", "PageRank ms")


def gap_cost(g: Any, order: Any) -> float:
    """Return the mean over all arcs of log2(1 + the distance of their ends in an order)."""
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    out = g.topology.out
    rows = np.repeat(np.arange(g.num_vertices), np.diff(out.offsets))
    if not rows.size:
        return 0.0
    return float(np.log2(1 + np.abs(place[rows] - place[out.targets])).mean())


def processor_ms(call: Callable[[], Any], runs: int) -> float:
    """Return the least processor time of some calls after a first one."""
    call()
    found = []
    for _ in range(runs):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return 1e3 * min(found)


def compare(name: str, runs: int) -> list[tuple[str, float, float, float]]:
    """Return the row of every order on a graph."""
    import weft
    from weft.config import ORDERS
    from weft.topology.orders import order_of

    generated = graph_names.generate(name, factors=graph_names.ON_A_CPU)
    mixed = np.random.default_rng(1).permutation(generated.num_vertices)
    src, dst = generated.to_edges()[:2]
    g = weft.Graph.from_edges(
        mixed[src], mixed[dst], num_vertices=generated.num_vertices, directed=False
    )
    order_of(weft.generators.path(4).topology, "llp")  # what is compiled, is compiled by now
    order_of(weft.generators.path(4).topology, "gorder")
    order_of(weft.generators.path(4).topology, "community")
    found = []
    for order in ORDERS:
        began = time.process_time()
        permutation = order_of(g.topology, order)
        seconds = time.process_time() - began
        there = g.reorder(permutation)
        ms = processor_ms(
            lambda there=there: weft.pagerank(
                there, tol=0, max_iter=ITERATIONS, on_unconverged="return",
                config=weft.Config(threads=1),
            ),
            runs,
        )  # fmt: skip
        found.append((order, seconds, gap_cost(g, np.asarray(permutation)), ms))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print a table for each graph."""
    parser = argparse.ArgumentParser(description="Orders of vertices, compared.")
    graph_names.add_graphs(parser, GRAPHS, {"tiny": TINY})
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of PageRank")
    options = parser.parse_args(arguments)
    for name in graph_names.chosen(options):
        print(f"\n{name}\n| {' | '.join(HEAD)} |\n|---|--:|--:|--:|")
        for order, seconds, gap, ms in compare(name, options.runs):
            print(f"| {order} | {seconds:.3g} | {gap:.2f} | {ms:.3g} |", flush=True)
    return 0


if __name__ == "__main__":
    os.environ["WEFT_CACHE_LIMIT"] = "0"  # orders are not read from disk
    sys.exit(main())
