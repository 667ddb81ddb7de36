"""Measure NetworkX's functions in NetworkX, in weft and in the other backends that are installed.

    python benchmarks/networkx.py [--edges 100_000] [--clock cpu] [--device cpu] [--only pagerank]

The graph is a Kronecker graph with about that many edges as an `nx.Graph` with float weights. Each
function is measured in every backend twice: "first" with the conversion of the graph, and "again"
with the converted graph in NetworkX's cache. Times are the least of three calls (of one call where
NetworkX takes longer than a second); "cpu" counts the seconds of all threads, which other work on
the machine disturbs less than the wall clock. `weft-networkx` need not be installed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path = [place for place in sys.path if Path(place or ".").resolve() != HERE]
sys.path.append(str(HERE.parent))

from tests.networkx_registration import write_distribution  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
sys.path.append(write_distribution(FOLDER.name))

import networkx as nx  # noqa: E402

import weft  # noqa: E402

LONG = 1.0  # seconds from which on a call is measured once

CALLS: dict[str, Callable[..., Any]] = {
    "pagerank": lambda G, s, **b: nx.pagerank(G, **b),
    "connected_components": lambda G, s, **b: list(nx.connected_components(G, **b)),
    "single_source_shortest_path_length": lambda G, s, **b: nx.single_source_shortest_path_length(
        G, s, **b
    ),
    "single_source_dijkstra_path_length": lambda G, s, **b: nx.single_source_dijkstra_path_length(
        G, s, **b
    ),
    "bfs_tree": lambda G, s, **b: nx.bfs_tree(G, s, **b),
    "core_number": lambda G, s, **b: nx.core_number(G, **b),
    "triangles": lambda G, s, **b: nx.triangles(G, **b),
    "clustering": lambda G, s, **b: nx.clustering(G, **b),
    "betweenness_centrality (k=5)": lambda G, s, **b: nx.betweenness_centrality(
        G, k=5, seed=1, **b
    ),
    "eigenvector_centrality": lambda G, s, **b: nx.eigenvector_centrality(G, **b),
    "greedy_color": lambda G, s, **b: nx.greedy_color(G, **b),
    "minimum_spanning_edges": lambda G, s, **b: list(nx.minimum_spanning_edges(G, **b)),
    "biconnected_components": lambda G, s, **b: list(nx.biconnected_components(G, **b)),
    "maximal_matching": lambda G, s, **b: nx.maximal_matching(G, **b),
    "average_neighbor_degree": lambda G, s, **b: nx.average_neighbor_degree(G, **b),
    "is_bipartite": lambda G, s, **b: nx.is_bipartite(G, **b),
}


def graph_of(edges: int) -> Any:
    """Return a Kronecker graph with about that many edges, without self-loops."""
    scale = max(4, (edges // 8).bit_length())
    g = weft.generators.kron(scale, 8, seed=1, weights="float")
    rows = g.to_edges()
    graph = nx.Graph()
    graph.add_nodes_from(range(g.num_vertices))
    ends = zip(rows.src.tolist(), rows.dst.tolist(), rows.weight.tolist(), strict=True)
    graph.add_weighted_edges_from((u, v, w) for u, v, w in ends if u != v)
    return graph


def seconds(call: Callable[[], Any], clock: Callable[[], float], runs: int = 3) -> float:
    """Return the least time of some calls; of one if that is long."""
    best = float("inf")
    for _ in range(runs):
        start = clock()
        call()
        best = min(best, clock() - start)
        if best > LONG:
            break
    return best


def measured(graph: Any, names: list[str], clock: Callable[[], float]) -> Iterator[list[str]]:
    """Yield one row of the table per function."""
    source = max(graph, key=graph.degree)
    peers = [name for name in nx.utils.backends.backends if name != "weft"]
    small = nx.gnm_random_graph(60, 120, seed=1)
    for name in names:
        call = CALLS[name]
        for backend in ("weft", *peers):
            run_quietly(lambda: call(small, 0, backend=backend))  # noqa: B023  compiles
        plain = seconds(lambda: call(graph, source, backend="networkx"), clock)  # noqa: B023
        row = [name, f"{plain:.3f}"]
        for backend in ("weft", *peers):
            row += cells(graph, lambda: call(graph, source, backend=backend), plain, clock)  # noqa: B023
        yield row


def cells(
    graph: Any, call: Callable[[], Any], plain: float, clock: Callable[[], float]
) -> list[str]:
    """Return the times with and without conversion, and how much faster each is."""

    def first() -> None:
        graph.__networkx_cache__.clear()
        call()

    if run_quietly(call) is not None:
        return ["–", "–"]
    again, converting = seconds(call, clock), seconds(first, clock)
    return [f"{t:.4f} ({plain / t:.1f} ×)" for t in (converting, again)]


def run_quietly(call: Callable[[], Any]) -> Exception | None:
    """Return the exception of a call that a backend cannot serve."""
    try:
        call()
    except Exception as error:
        return error
    return None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=100_000)
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="names, separated by commas")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    nx.config.warnings_to_ignore.add("cache")
    nx.config.backends.weft.device = options.device
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    graph = graph_of(options.edges)
    peers = [name for name in nx.utils.backends.backends if name != "weft"]
    print(f"{graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges; {options.clock} s\n")
    head = ["function", "networkx"]
    for backend in ("weft", *peers):
        head += [f"{backend}, first", f"{backend}, again"]
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    names = [name.strip() for name in options.only.split(",") if name] or list(CALLS)
    for row in measured(graph, names, clock):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
