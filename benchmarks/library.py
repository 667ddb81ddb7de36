"""Times of the library beside NetworKit, igraph and SciPy, on a CPU or weft's alone on a GPU.

`python benchmarks/library.py kron18` and `python benchmarks/library.py kron21 --device cuda`; with
`--processor` on one core and for processor rather than wall time, which a busy machine disturbs
less. Every system gets the same graph in its own form, built before; calls are interleaved
and the fastest of a few counts. Results of weft are checked with NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path[0] = str(Path(__file__).parents[1])  # not this folder: it has a networkx.py

from benchmarks import graph_names  # noqa: E402
from benchmarks.graphs import make  # noqa: E402
from weft.arrays.device import to_host  # noqa: E402


@dataclass(frozen=True)
class Task:
    """What is computed: by weft, by others, and how the result of weft is judged."""

    weft: Callable[[Any], Any]
    judge: Callable[[Any, Any], str]
    rivals: dict[str, Callable[[Any], Any]] = field(default_factory=dict)


class Forms:
    """The graph as each system holds it."""

    def __init__(self, name: str, device: str) -> None:
        workload = make(name)
        self.matrix, self.host = workload.matrix, workload.graph
        self.weft = workload.graph.to(device)
        src, dst, _ = self.host.to_edges()
        self.src, self.dst = src, dst
        rng = np.random.default_rng(1)
        self.pairs = rng.integers(0, self.host.num_vertices, (1_000_000, 2))
        self.starts = rng.integers(0, self.host.num_vertices, 1_000_000)

    def networkit(self) -> Any:
        """Return the graph of NetworKit, built once."""
        if not hasattr(self, "_networkit"):
            import networkit

            networkit.setNumberOfThreads(len(os.sched_getaffinity(0)))
            arcs = self.matrix.tocoo()
            upper = arcs.row < arcs.col
            ends = arcs.row[upper].astype(np.uint64), arcs.col[upper].astype(np.uint64)
            self._networkit = networkit.GraphFromCoo(
                (arcs.data[upper], ends), n=self.matrix.shape[0], weighted=True
            )
        return self._networkit

    def igraph(self) -> Any:
        """Return the graph of igraph, built once."""
        if not hasattr(self, "_igraph"):
            import igraph

            weight = self.host.to_edges().weight
            self._igraph = igraph.Graph(
                n=self.host.num_vertices, edges=np.stack([self.src, self.dst], axis=1).tolist()
            )
            self._igraph.es["weight"] = weight.tolist()
        return self._igraph

    def directed(self) -> Any:
        """Return the graph with every edge in one direction only, by random bits."""
        if not hasattr(self, "_directed"):
            import weft

            turned = np.random.default_rng(2).random(self.src.size) < 0.5
            src = np.where(turned, self.src, self.dst)
            dst = np.where(turned, self.dst, self.src)
            n = self.host.num_vertices
            self._directed = weft.Graph.from_edges(src, dst, num_vertices=n)
            self._directed_weft = self._directed.to(str(self.weft.device))
            self._directed_matrix = self._directed.to_scipy()
        return self._directed

    def bipartite(self) -> Any:
        """Return the graph between two copies of the vertices, along the directed edges."""
        if not hasattr(self, "_bipartite"):
            import weft

            src, dst, _ = self.directed().to_edges()
            n = self.host.num_vertices
            held = weft.Graph.from_edges(src, dst + n, num_vertices=2 * n, directed=False)
            self._bipartite = held.to(str(self.weft.device))
        return self._bipartite

    def hubs(self) -> tuple[int, int]:
        """Return the two vertices with most neighbours."""
        first, second = np.argsort(self.host.out_degree)[-2:].tolist()
        return first, second

    def directed_weft(self) -> Any:
        """Return the directed graph on the device."""
        self.directed()
        return self._directed_weft

    def directed_matrix(self) -> Any:
        """Return the directed graph as SciPy holds it."""
        self.directed()
        return self._directed_matrix


def _weft(name: str, **options: Any) -> Callable[[Forms], Any]:
    def call(forms: Forms) -> Any:
        import weft

        return getattr(weft, name)(forms.weft, **options)

    return call


def _strong(forms: Forms) -> Any:
    import weft

    return weft.strongly_connected_components(forms.directed_weft())


def _scipy_strong(forms: Forms) -> Any:
    from scipy.sparse.csgraph import connected_components

    return connected_components(forms.directed_matrix(), directed=True, connection="strong")


def _judge_strong(forms: Forms, found: Any) -> str:
    count, _ = _scipy_strong(forms)
    mine = np.unique(to_host(found)).size
    return f"{mine} components" if mine == count else f"WRONG: {mine} components, not {count}"


def _scipy_forest(forms: Forms) -> Any:
    from scipy.sparse.csgraph import minimum_spanning_tree

    return minimum_spanning_tree(forms.matrix)


def _judge_forest(forms: Forms, found: Any) -> str:
    want = _scipy_forest(forms).sum()
    right = abs(found.weight - want) <= 1e-6 * want
    return f"weight {found.weight:.0f}" if right else f"WRONG: {found.weight}, not {want}"


def _judge_set(forms: Forms, found: Any) -> str:
    inside = to_host(found)
    clash = (inside[forms.src] & inside[forms.dst]).any()
    covered = inside.copy()
    covered[forms.src[inside[forms.dst]]] = True
    covered[forms.dst[inside[forms.src]]] = True
    right = not clash and covered.all()
    return f"{int(inside.sum())} vertices" if right else "WRONG"


def _judge_colors(forms: Forms, found: Any) -> str:
    color = to_host(found)
    right = (color >= 0).all() and (color[forms.src] != color[forms.dst]).all()
    return f"{int(color.max()) + 1} colours" if right else "WRONG"


def _judge_communities(forms: Forms, found: Any) -> str:
    import weft

    label = to_host(found)
    kept = label[forms.src] == label[forms.dst]
    inside = weft.Graph.from_edges(
        forms.src[kept], forms.dst[kept], num_vertices=label.size, directed=False
    )
    parts = np.unique(weft.connected_components(inside)).size
    quality = weft.modularity(forms.host, label)
    return f"{np.unique(label).size} communities, {parts} connected parts, Q {quality:.4f}"


def _jaccard(forms: Forms) -> Any:
    import weft

    return weft.jaccard(forms.weft, forms.pairs)


def _judge_jaccard(forms: Forms, found: Any) -> str:
    rows, found = forms.matrix, to_host(found)
    for k in range(200):
        a, b = (set(rows.indices[rows.indptr[v] : rows.indptr[v + 1]]) for v in forms.pairs[k])
        want = len(a & b) / max(len(a | b), 1)
        if abs(found[k] - want) > 1e-12:
            return f"WRONG at {k}"
    return f"mean {found.mean():.6f}"


def _walks(forms: Forms) -> Any:
    import weft

    return weft.random_walks(forms.weft, forms.starts, 80)


def _judge_walks(forms: Forms, found: Any) -> str:
    part = to_host(found[:2000])
    ends = part[:, :-1].ravel(), part[:, 1:].ravel()
    going = ends[1] >= 0
    arcs = np.asarray(forms.matrix[ends[0][going], ends[1][going]]).ravel()
    return f"{int(going.sum())} steps looked at" if (arcs > 0).all() else "WRONG"


def _networkit(module: str, name: str, *options: Any) -> Callable[[Forms], Any]:
    def call(forms: Forms) -> Any:
        import importlib

        made = getattr(importlib.import_module(f"networkit.{module}"), name)
        return made(forms.networkit(), *options).run()

    return call


def _igraph(name: str, **options: Any) -> Callable[[Forms], Any]:
    return lambda forms: getattr(forms.igraph(), name)(**options)


def _sum_of(forms: Forms, found: Any) -> str:
    return f"sum {float(to_host(found).sum()):.6g}"


def _over_64_vertices(name: str) -> Callable[[Forms], Any]:
    return lambda forms: getattr(forms.igraph(), name)(vertices=range(64))


def _networkit_strong(forms: Forms) -> Any:
    import networkit

    if not hasattr(forms, "_networkit_directed"):
        arcs = forms.directed_matrix().tocoo()
        forms._networkit_directed = networkit.GraphFromCoo(
            (arcs.row.astype(np.uint64), arcs.col.astype(np.uint64)),
            n=arcs.shape[0],
            directed=True,
        )
    return networkit.components.StronglyConnectedComponents(forms._networkit_directed).run()


def _luby(forms: Forms) -> Any:
    import networkit

    return networkit.independentset.Luby().run(forms.networkit())


def _networkit_pairs(forms: Forms) -> Any:
    import networkit

    index = networkit.linkprediction.JaccardIndex(forms.networkit())
    return index.runOn([(int(a), int(b)) for a, b in forms.pairs[:20_000]])


def _few_pairs(forms: Forms) -> Any:
    import weft

    return weft.jaccard(forms.weft, forms.pairs[:20_000])


def _edge_scores(forms: Forms) -> Any:
    import networkit

    graph = forms.networkit()
    graph.indexEdges()
    return networkit.sparsification.TriangleEdgeScore(graph).run()


def _flow(forms: Forms) -> Any:
    import weft

    return weft.maximum_flow(forms.weft, *forms.hubs())


def _scipy_flow(forms: Forms) -> Any:
    from scipy.sparse.csgraph import maximum_flow

    if not hasattr(forms, "_capacities"):
        forms._capacities = forms.matrix.astype(np.int32)
    return maximum_flow(forms._capacities, *forms.hubs())


def _igraph_flow(forms: Forms) -> Any:
    return forms.igraph().maxflow_value(*forms.hubs(), capacity="weight")


def _judge_flow(forms: Forms, found: Any) -> str:
    want = _scipy_flow(forms).flow_value
    return f"flow {found.value:.0f}" if found.value == want else f"WRONG: {found.value}, {want}"


def _matching(forms: Forms) -> Any:
    import weft

    return weft.bipartite_matching(forms.bipartite())


def _scipy_matching(forms: Forms) -> Any:
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return maximum_bipartite_matching(forms.directed_matrix())


def _judge_matching(forms: Forms, found: Any) -> str:
    pairs, want = int((found >= 0).sum()) // 2, int((_scipy_matching(forms) >= 0).sum())
    return f"{pairs} pairs" if pairs == want else f"WRONG: {pairs} pairs, not {want}"


TASKS = {
    "scc": Task(_strong, _judge_strong, {"scipy": _scipy_strong, "networkit": _networkit_strong}),
    "msf": Task(
        _weft("minimum_spanning_forest"),
        _judge_forest,
        {
            "scipy": _scipy_forest,
            "networkit": _networkit("graph", "KruskalMSF"),
            "igraph": _igraph("spanning_tree", weights="weight"),
        },
    ),
    "mis": Task(
        _weft("maximal_independent_set"),
        _judge_set,
        {"networkit": _luby},
    ),
    "color": Task(_weft("color"), _judge_colors, {"igraph": _igraph("vertex_coloring_greedy")}),
    "louvain": Task(
        _weft("louvain", weighted=False),
        _judge_communities,
        {
            "networkit": _networkit("community", "PLM"),
            "igraph": _igraph("community_multilevel"),
        },
    ),
    "leiden": Task(
        _weft("leiden", weighted=False),
        _judge_communities,
        {
            "networkit": _networkit("community", "ParallelLeiden"),
            "igraph": _igraph("community_leiden", objective_function="modularity"),
        },
    ),
    "label_propagation": Task(
        _weft("label_propagation"),
        _judge_communities,
        {"networkit": _networkit("community", "PLP")},
    ),
    "label_propagation_to_the_end": Task(
        _weft("label_propagation", iterations=None),
        _judge_communities,
        {"networkit": _networkit("community", "PLP")},
    ),
    "asynchronous_label_propagation": Task(
        _weft("label_propagation", iterations=None, method="asynchronous"),
        _judge_communities,
        {
            "networkit": _networkit("community", "PLP"),
            "igraph": _igraph("community_label_propagation"),
        },
    ),
    "betweenness16": Task(
        _weft("betweenness", sources=16),
        _sum_of,
        {"networkit": _networkit("centrality", "EstimateBetweenness", 16, False, True)},
    ),
    "weighted_betweenness16": Task(_weft("betweenness", sources=16, weighted=True), _sum_of),
    "edge_betweenness16": Task(_weft("edge_betweenness", sources=16), _sum_of),
    "triangles": Task(_weft("triangles"), _sum_of),
    "edge_triangles": Task(_weft("edge_triangles"), _sum_of, {"networkit": _edge_scores}),
    "list_triangles": Task(
        _weft("list_triangles"),
        lambda forms, found: f"{len(found)} triangles",
        {"igraph": _igraph("list_triangles")},
    ),
    "clustering": Task(
        _weft("clustering"),
        _sum_of,
        {
            "networkit": _networkit("centrality", "LocalClusteringCoefficient", True),
            "igraph": _igraph("transitivity_local_undirected", mode="zero"),
        },
    ),
    "truss_number": Task(
        _weft("truss_number"), lambda forms, found: f"largest truss {int(found.max())}"
    ),
    "onion_layers": Task(
        _weft("onion_layers"),
        lambda forms, found: f"{int(found.max())} layers",
        {"igraph": _igraph("coreness")},
    ),
    "maximum_flow": Task(_flow, _judge_flow, {"scipy": _scipy_flow, "igraph": _igraph_flow}),
    "bipartite_matching": Task(_matching, _judge_matching, {"scipy": _scipy_matching}),
    "eigenvector": Task(
        _weft("eigenvector"),
        _sum_of,
        {"networkit": _networkit("centrality", "EigenvectorCentrality", 1e-6)},
    ),
    "katz": Task(
        _weft("katz", alpha=1e-4),
        _sum_of,
        {"networkit": _networkit("centrality", "KatzCentrality", 1e-4, 1.0, 1e-6)},
    ),
    "hits": Task(_weft("hits"), lambda forms, found: "", {"igraph": _igraph("hub_score")}),
    "bridges": Task(
        _weft("bridges"),
        lambda forms, found: f"{found.size} bridges",
        {"igraph": _igraph("bridges")},
    ),
    "biconnected": Task(
        _weft("biconnected_components"),
        lambda forms, found: f"{int(found.articulation.sum())} articulation points",
        {
            "networkit": _networkit("components", "BiconnectedComponents"),
            "igraph": _igraph("biconnected_components"),
        },
    ),
    "diameter": Task(
        _weft("diameter"),
        lambda forms, found: f"diameter {found}",
    ),
    "closeness64": Task(
        _weft("closeness", sources=64), _sum_of, {"igraph": _over_64_vertices("closeness")}
    ),
    "matching": Task(
        _weft("maximal_matching", weighted=True),
        lambda forms, found: f"{int((found >= 0).sum()) // 2} pairs",
        {"networkit": _networkit("matching", "SuitorMatcher")},
    ),
    "jaccard_20k": Task(_few_pairs, _sum_of, {"networkit": _networkit_pairs}),
    "jaccard": Task(_jaccard, _judge_jaccard),
    "walks": Task(_walks, _judge_walks),
}


def timed(
    call: Callable[[Forms], Any], forms: Forms, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Return the milliseconds of one call until its result is there, and the result."""
    began = clock()
    result = call(forms)
    if str(forms.weft.device).startswith("cuda"):
        import cupy

        cupy.cuda.get_current_stream().synchronize()
    return (clock() - began) * 1e3, result


def measure(
    name: str, forms: Forms, seconds: float, alone: bool, clock: Callable[[], float]
) -> str:
    """Return a row of the table: times of all systems, and what weft found."""
    task = TASKS[name]
    _, result = timed(task.weft, forms)  # compiles
    told = task.judge(forms, result)
    calls = {"weft": task.weft, **({} if alone else task.rivals)}
    for call in list(calls.values())[1:]:
        call(forms)  # converts the graph, loads the library
    times: dict[str, list[float]] = {system: [] for system in calls}
    began = time.perf_counter()
    for _ in range(7):
        for system, call in calls.items():
            if not times[system] or time.perf_counter() - began < seconds:
                times[system].append(timed(call, forms, clock)[0])
    parts = [f"{system} {min(ms):.1f}" for system, ms in times.items()]
    return f"| {name} | {', '.join(parts)} | {told} |"


def main() -> None:
    """Measure the tasks that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", type=graph_names.checked, default="kron18")
    graph_names.add_file(parser)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seconds", type=float, default=5.0, help="for each task, at most")
    parser.add_argument("--alone", action="store_true", help="leave the others out")
    parser.add_argument("--processor", action="store_true", help="processor time, not wall time")
    given = parser.parse_args()
    clock = time.process_time if given.processor else time.perf_counter
    if given.processor:  # one core, so that no thread spins while it waits for another
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    forms = Forms(given.graph, given.device)
    alone = given.alone or given.device != "cpu"
    for name in given.tasks.split(","):
        try:
            print(measure(name, forms, given.seconds, alone, clock), flush=True)
        except Exception as error:  # one task must not end the others
            print(f"| {name} | failed: {type(error).__name__}: {error} | |", flush=True)


if __name__ == "__main__":
    main()
