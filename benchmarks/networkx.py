"""Measure NetworkX's functions in NetworkX, in weft and in the other backends that are installed.

    python benchmarks/networkx.py [--edges 100_000] [--clock cpu] [--device cpu] [--only pagerank]
    python benchmarks/networkx.py --chart docs/assets/networkx.svg      # the speed-ups as bars
    python benchmarks/networkx.py --thresholds       # from which size on a first call is faster
    python benchmarks/networkx.py --graph kron20x10 --device cuda --limit 60 --budget 540

The graph is a Kronecker graph with about that many edges as an `nx.Graph` with float weights. Each
function is measured in every backend twice: "first" with the conversion of the graph, and "again"
with the converted graph in NetworkX's cache. Times are the least of three calls (of one call where
NetworkX takes longer than a second); "cpu" counts the seconds of all threads, which other work on
the machine disturbs less than the wall clock, but not those of a GPU. A call of NetworkX that
takes longer than `--limit` is stopped, and its ratios are bounds. No function begins when
`--budget` seconds have passed. `weft-networkx` need not be installed.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path = [place for place in sys.path if Path(place or ".").resolve() != HERE]
sys.path.append(str(HERE.parent))

from tests.networkx_registration import write_distribution  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
sys.path.append(write_distribution(FOLDER.name))

import networkx as nx  # noqa: E402

from benchmarks import graph_names  # noqa: E402
from weft.graph.interop.networkx import collector_paused  # noqa: E402

LONG = 1.0  # seconds from which on a call is measured once


@dataclass(frozen=True)
class Limits:
    """How calls are timed: the clock, seconds for a call of NetworkX, and when to begin no more."""

    clock: Callable[[], float] = time.process_time
    call: float = math.inf
    deadline: float = math.inf


class TooLongError(Exception):
    """A call of NetworkX has reached its limit."""


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
    "louvain_communities": lambda G, s, **b: nx.community.louvain_communities(G, seed=1, **b),
    "dfs_edges": lambda G, s, **b: list(nx.dfs_edges(G, s, **b)),
    "relabel_nodes": lambda G, s, **b: nx.convert_node_labels_to_integers(G, **b),
    "maximal_matching": lambda G, s, **b: nx.maximal_matching(G, **b),
    "average_neighbor_degree": lambda G, s, **b: nx.average_neighbor_degree(G, **b),
    "is_bipartite": lambda G, s, **b: nx.is_bipartite(G, **b),
}


def graph_of(name: str) -> Any:
    """Return the graph of a name (see `benchmarks.graph_names`), without self-loops."""
    g = graph_names.generate(name, weights="float")
    rows = g.to_edges()
    graph = nx.Graph()
    graph.add_nodes_from(range(g.num_vertices))
    ends = zip(rows.src.tolist(), rows.dst.tolist(), rows.weight.tolist(), strict=True)
    with collector_paused():
        graph.add_weighted_edges_from((u, v, w) for u, v, w in ends if u != v)
    return graph


SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
COSTS = {
    "linear": [
        "connected_components", "single_source_shortest_path_length", "bfs_tree", "greedy_color",
        "minimum_spanning_edges", "biconnected_components", "average_neighbor_degree",
        "relabel_nodes",
    ],
    "more": [
        "pagerank", "core_number", "triangles", "clustering", "betweenness_centrality (k=5)",
        "eigenvector_centrality", "louvain_communities",
    ],
}  # fmt: skip


def thresholds(clock: Callable[[], float]) -> Iterator[list[str]]:
    """Yield for each function how much faster a first call is, by the number of edges."""
    graphs = [nx.gnm_random_graph(size // 6, size, seed=1) for size in SIZES]
    for cost, names in COSTS.items():
        for name in names:
            row = [name, cost]
            for graph in graphs:
                call = CALLS[name]
                run_quietly(lambda: call(graph, 0, backend="weft"))  # noqa: B023  compiles
                plain = seconds(lambda: call(graph, 0, backend="networkx"), clock)  # noqa: B023
                first, _ = times(graph, lambda: call(graph, 0, backend="weft"), clock)  # noqa: B023
                row.append(f"{plain / first:.1f}")
            yield row


def draw(rows: list[list[str]], title: str, path: Path) -> None:
    """Draw the speed-ups of weft as bars on a logarithmic axis."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "weft", "svg.fonttype": "none"}
    figure, axes = plt.subplots(figsize=(8, 0.42 * len(rows) + 1.2), layout="constrained")
    figure.patch.set_alpha(0)
    axes.set_facecolor("none")
    for shift, column, colour, label in (
        (-0.2, 2, "#8b9bb0", "first call, with conversion"),
        (0.2, 3, "#3b82f6", "again"),
    ):
        values = [
            float(row[column].partition("(")[2].removeprefix("> ").split()[0]) for row in rows
        ]
        places = [i + shift for i in range(len(rows))]
        axes.barh(places, values, 0.38, left=0.01, color=colour, label=label)
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(0.1)
    axes.axvline(1, color="#6f7d8f", linewidth=1)
    axes.set_xlabel(f"times as fast as NetworkX ({title})")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    for item in (axes.xaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()):
        item.set_color("#6f7d8f")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


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


def limited(call: Callable[[], Any], limits: Limits) -> float | None:
    """Return the least time of a call of NetworkX; None if it reached the limit."""
    if limits.call == math.inf:
        return seconds(call, limits.clock)

    def stop(*_: Any) -> None:
        raise TooLongError

    alarm, timer = signal.SIGALRM, signal.ITIMER_REAL
    if limits.clock is time.process_time:
        alarm, timer = signal.SIGPROF, signal.ITIMER_PROF
    before = signal.signal(alarm, stop)
    signal.setitimer(timer, limits.call)
    try:
        once = seconds(call, limits.clock, 1)
    except TooLongError:
        return None
    finally:
        signal.setitimer(timer, 0)
        signal.signal(alarm, before)
    return once if once > LONG else min(once, seconds(call, limits.clock))


def measured(graph: Any, names: list[str], limits: Limits) -> Iterator[list[str]]:
    """Yield one row of the table per function."""
    source = max(graph, key=graph.degree)
    peers = [name for name in nx.utils.backends.backends if name != "weft"]
    small = nx.gnm_random_graph(60, 120, seed=1)
    for name in names:
        if time.perf_counter() > limits.deadline:
            return
        call = CALLS[name]
        for backend in ("weft", *peers):
            run_quietly(lambda: call(small, 0, backend=backend))  # noqa: B023  compiles
        plain = limited(lambda: call(graph, source, backend="networkx"), limits)  # noqa: B023
        row = [name, f"> {limits.call:.0f}" if plain is None else f"{plain:.3f}"]
        for backend in ("weft", *peers):
            run = lambda: call(graph, source, backend=backend)  # noqa: B023, E731
            row += cells(graph, run, plain, limits)
        yield row


def cells(graph: Any, call: Callable[[], Any], plain: float | None, limits: Limits) -> list[str]:
    """Return the times with and without conversion, and how much faster each is."""

    if run_quietly(call) is not None:
        return ["–", "–"]
    bound = "> " if plain is None else ""
    known = limits.call if plain is None else plain
    return [
        f"{t:.4f} ({bound}{known / max(t, 1e-6):.1f} ×)" for t in times(graph, call, limits.clock)
    ]


def times(graph: Any, call: Callable[[], Any], clock: Callable[[], float]) -> tuple[float, float]:
    """Return the time of a call that converts the graph, and of one that finds it converted."""

    def first() -> None:
        graph.__networkx_cache__.clear()
        call()

    again = seconds(call, clock)
    return seconds(first, clock), again


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
    parser.add_argument("--edges", type=int, default=100_000, help="about, of a Kronecker graph")
    graph_names.add_graph(parser)
    parser.add_argument("--clock", choices=["cpu", "wall"], help="by default wall for a GPU")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds for NetworkX's call")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds for the table")
    parser.add_argument("--chart", type=Path, help="where to draw the speed-ups: .svg or .png")
    parser.add_argument("--thresholds", action="store_true", help="measure small graphs instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    nx.config.warnings_to_ignore.add("cache")
    nx.config.backends.weft.device = options.device
    kind = options.clock or ("cpu" if options.device == "cpu" else "wall")
    clock = time.process_time if kind == "cpu" else time.perf_counter
    if options.thresholds:
        print_table(["function", "cost", *map("{:,}".format, SIZES)], thresholds(clock))
        return
    began = time.perf_counter()
    scale = max(4, round(math.log2(options.edges / 8)))
    graph = graph_of(options.graph or f"kron{scale}x8")
    peers = [name for name in nx.utils.backends.backends if name != "weft"]
    title = f"{graph.number_of_nodes():,} nodes, {graph.number_of_edges():,} edges"
    print(f"{title}; {kind} s, weft on {options.device}\n")
    head = ["function", "networkx"]
    for backend in ("weft", *peers):
        head += [f"{backend}, first", f"{backend}, again"]
    names = [name.strip() for name in options.only.split(",") if name] or list(CALLS)
    limits = Limits(clock, options.limit, began + options.budget)
    rows = print_table(head, measured(graph, names, limits))
    if options.chart:
        draw([row for row in rows if row[2] != "–"], title, options.chart)


def print_table(head: list[str], rows: Iterator[list[str]]) -> list[list[str]]:
    """Print a table row by row; return the rows."""
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    found = []
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
        found.append(row)
    return found


if __name__ == "__main__":
    main()
