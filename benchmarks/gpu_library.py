"""Measure the library on a GPU: ``python benchmarks/gpu_library.py --graphs kron21,road4900``.

Each graph is generated on the device. A time is the least wall time of a few whole calls, results
on the device. Results are judged with CuPy, not with weft: colours and sets by every arc, forests
by their number of edges and components, communities by modularity, walks by the arcs they take.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft
from benchmarks import gpu_graphs, graph_names
from benchmarks.gpu_graphs import Workload

PAIRS, WALKS, STEPS, MANY = 1_000_000, 1_000_000, 80, 64


def _ends(work: Workload) -> tuple[Any, Any]:
    return work.graph.topology.endpoints()


def _random_pairs(work: Workload) -> Any:
    xp = work.graph.topology.xp
    return xp.random.default_rng(1).integers(0, work.arcs.n, (PAIRS, 2))


def _directed(work: Workload) -> Any:
    """Return the graph with its arcs as directed edges, made once."""
    if work.name not in _as_directed:
        topology = work.graph.topology
        _as_directed.clear()
        _as_directed[work.name] = weft.Graph.from_edges(
            *_ends(work), num_vertices=work.arcs.n, index_dtype=topology.index_dtype,
            device=topology.device,
        )  # fmt: skip
    return _as_directed[work.name]


_as_directed: dict[str, Any] = {}


def _many_sources(work: Workload) -> Any:
    """Return up to 64 vertices that have neighbours, spread over the graph."""
    u, xp = _ends(work)[0], work.graph.topology.xp
    return xp.unique(u[:: max(1, u.size // MANY)])[:MANY].tolist()


def judge_components(work: Workload, labels: Any) -> str:
    """Every arc of an undirected graph joins vertices of one component."""
    u, v = _ends(work)
    assert bool((labels[u] == labels[v]).all())
    return f"{len(work.graph.topology.xp.unique(labels))} components, {work.components} expected"


def judge_forest(work: Workload, forest: Any) -> str:
    """A spanning forest has as many edges as vertices less components."""
    assert int(forest.edge.size) == work.arcs.n - work.components
    return f"{int(forest.edge.size)} edges"


def judge_set(work: Workload, chosen: Any) -> str:
    """No two members are neighbours, and whoever is none has one."""
    xp, (u, v) = work.graph.topology.xp, _ends(work)
    assert not bool((chosen[u] & chosen[v]).any())
    near = xp.zeros(work.arcs.n, bool)
    near[v[chosen[u]]] = True
    assert bool((near | chosen).all())
    return f"{int(chosen.sum())} members"


def judge_colors(work: Workload, colors: Any) -> str:
    """Neighbours differ."""
    u, v = _ends(work)
    assert not bool((colors[u] == colors[v]).any())
    return f"{int(colors.max()) + 1} colours"


def judge_communities(work: Workload, labels: Any) -> str:
    """The modularity, by its definition."""
    xp, (u, v) = work.graph.topology.xp, _ends(work)
    weight = work.arcs.weight.astype(xp.float64)
    total = float(weight.sum())
    inside = float(weight[labels[u] == labels[v]].sum())
    strength = xp.bincount(labels[u], weight, work.arcs.n)
    modularity = inside / total - float((strength**2).sum()) / total**2
    return f"modularity {modularity:.4f}, {len(xp.unique(labels))} communities"


def judge_walks(work: Workload, walks: Any) -> str:
    """Each step of the first walks follows an arc."""
    xp, (u, v) = work.graph.topology.xp, _ends(work)
    few = walks[:1000]
    known = u.astype(xp.int64) * work.arcs.n + v
    asked = few[:, :-1].astype(xp.int64) * work.arcs.n + few[:, 1:]
    asked = asked[(few[:, :-1] >= 0) & (few[:, 1:] >= 0)]
    places = xp.searchsorted(known, asked)
    assert bool((known[xp.minimum(places, known.size - 1)] == asked).all())
    return f"{walks.shape[0]} walks of {walks.shape[1]}"


def shape_of(work: Workload, result: Any) -> str:
    """Nothing is judged beyond the shape."""
    return f"{result.shape}, sum {float(result.sum()):.6g}"


TASKS: dict[str, tuple[Callable[[Workload], Any], Callable[[Workload, Any], str]]] = {
    "scc": (lambda w: weft.strongly_connected_components(w.graph), judge_components),
    "scc directed": (lambda w: weft.strongly_connected_components(_directed(w)), judge_components),
    "forest": (lambda w: weft.minimum_spanning_forest(w.graph), judge_forest),
    "independent set": (lambda w: weft.maximal_independent_set(w.graph), judge_set),
    "color": (lambda w: weft.color(w.graph), judge_colors),
    "labels": (lambda w: weft.label_propagation(w.graph), judge_communities),
    "labels to the end": (lambda w: weft.label_propagation(w.graph, None), judge_communities),
    "louvain": (lambda w: weft.louvain(w.graph), judge_communities),
    "leiden": (lambda w: weft.leiden(w.graph), judge_communities),
    "betweenness": (lambda w: weft.betweenness(w.graph, w.sources), shape_of),
    "betweenness of one": (lambda w: weft.betweenness(w.graph, w.sources[:1]), shape_of),
    "bfs of 64": (lambda w: weft.multi_source_bfs(w.graph, _many_sources(w)), shape_of),
    "truss": (lambda w: weft.truss_number(w.graph), shape_of),
    "jaccard": (lambda w: weft.jaccard(w.graph, _random_pairs(w)), shape_of),
    "walks": (
        lambda w: weft.random_walks(w.graph, w.graph.topology.xp.arange(WALKS) % w.arcs.n, STEPS),
        judge_walks,
    ),
}


def measure(work: Workload, name: str, seconds: float) -> list[str]:
    """Return a row of the table: task, milliseconds, first call, what was found."""
    call, judge = TASKS[name]

    def timed() -> tuple[float, Any]:
        began = time.perf_counter()
        result = call(work)
        gpu_graphs.synchronize(work.graph)
        return 1e3 * (time.perf_counter() - began), result

    try:
        first, result = timed()
        times, began = [], time.perf_counter()
        while len(times) < 5 and time.perf_counter() - began < seconds:
            times.append(timed()[0])
        found = judge(work, result)
    except Exception as error:
        return [work.name, name, "", "", f"{type(error).__name__}: {str(error)[:90]}"]
    best = f"{min(times):.4g}" if times else ""
    return [work.name, name, best, f"{first:.4g}", found]


def profile(work: Workload, name: str, lines: int) -> None:
    """Print where the host waits in one more call, by the time spent below each function.

    Set CUDA_LAUNCH_BLOCKING=1, so that it waits for each operation where it is begun.
    """
    profiler = cProfile.Profile()
    with profiler:
        TASKS[name][0](work)
        gpu_graphs.synchronize(work.graph)
    pstats.Stats(profiler).sort_stats("cumulative").print_stats(lines)


def main() -> None:
    """Measure tasks on graphs."""
    parser = argparse.ArgumentParser(description=__doc__)
    graph_names.add_graphs(parser, ("kron21", "road4900"))
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each task")
    parser.add_argument("--profile", type=int, default=0, help="lines of a profile of each task")
    options = parser.parse_args()
    for graph in graph_names.chosen(options):
        work = gpu_graphs.make(graph, options.device)
        for task in options.tasks.split(","):
            print("| " + " | ".join(measure(work, task, options.seconds)) + " |", flush=True)
            if options.profile:
                profile(work, task, options.profile)


if __name__ == "__main__":
    main()
