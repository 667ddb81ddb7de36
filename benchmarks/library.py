"""Times of the library beside NetworKit, igraph and SciPy, on a CPU or weft's alone on a GPU.

`python benchmarks/library.py kron18` and `python benchmarks/library.py kron21 --device cuda`. Every
system gets the same graph in its own form, built before; calls are interleaved and the fastest of a
few counts. Results of weft are checked with NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]

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

            networkit.setNumberOfThreads(2)
            arcs = self.matrix.tocoo()
            upper = arcs.row < arcs.col
            self._networkit = networkit.GraphFromCoo(
                (arcs.data[upper], (arcs.row[upper], arcs.col[upper])),
                n=self.matrix.shape[0], weighted=True,
            )  # fmt: skip
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


TASKS = {
    "scc": Task(_strong, _judge_strong, {"scipy": _scipy_strong}),
    "msf": Task(
        _weft("minimum_spanning_forest"),
        _judge_forest,
        {
            "scipy": _scipy_forest,
            "networkit": _networkit("graph", "KruskalMSF"),
            "igraph": _igraph("spanning_tree", weights="weight"),
        },
    ),
    "mis": Task(_weft("maximal_independent_set"), _judge_set),
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
    "betweenness16": Task(_weft("betweenness", sources=16), _sum_of),
    "triangles": Task(_weft("triangles"), _sum_of),
    "eigenvector": Task(
        _weft("eigenvector"),
        _sum_of,
        {"networkit": _networkit("centrality", "EigenvectorCentrality", 1e-6)},
    ),
    "katz": Task(_weft("katz", alpha=1e-4), _sum_of),
    "bridges": Task(
        _weft("bridges"),
        lambda forms, found: f"{found.size} bridges",
        {"igraph": _igraph("bridges")},
    ),
    "biconnected": Task(
        _weft("biconnected_components"),
        lambda forms, found: f"{int(found.articulation.sum())} articulation points",
        {"networkit": _networkit("components", "BiconnectedComponents")},
    ),
    "diameter": Task(_weft("diameter"), lambda forms, found: f"diameter {found}"),
    "closeness64": Task(_weft("closeness", sources=64), _sum_of),
    "matching": Task(
        _weft("maximal_matching"), lambda forms, found: f"{int((found >= 0).sum()) // 2} pairs"
    ),
    "jaccard": Task(_jaccard, _judge_jaccard),
    "walks": Task(_walks, _judge_walks),
}


def timed(call: Callable[[Forms], Any], forms: Forms) -> tuple[float, Any]:
    """Return the milliseconds of one call until its result is there, and the result."""
    began = time.perf_counter()
    result = call(forms)
    if str(forms.weft.device).startswith("cuda"):
        import cupy

        cupy.cuda.get_current_stream().synchronize()
    return (time.perf_counter() - began) * 1e3, result


def measure(name: str, forms: Forms, seconds: float, alone: bool) -> str:
    """Return a row of the table: times of all systems, and what weft found."""
    task = TASKS[name]
    _, result = timed(task.weft, forms)  # compiles
    told = task.judge(forms, result)
    calls = {"weft": task.weft, **({} if alone else task.rivals)}
    times: dict[str, list[float]] = {system: [] for system in calls}
    began = time.perf_counter()
    for _ in range(7):
        for system, call in calls.items():
            if not times[system] or time.perf_counter() - began < seconds:
                times[system].append(timed(call, forms)[0])
    parts = [f"{system} {min(ms):.1f}" for system, ms in times.items()]
    return f"| {name} | {', '.join(parts)} | {told} |"


def main() -> None:
    """Measure the tasks that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", default="kron18")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seconds", type=float, default=5.0, help="for each task, at most")
    parser.add_argument("--alone", action="store_true", help="leave the others out")
    given = parser.parse_args()
    forms = Forms(given.graph, given.device)
    alone = given.alone or given.device != "cpu"
    for name in given.tasks.split(","):
        try:
            print(measure(name, forms, given.seconds, alone), flush=True)
        except Exception as error:  # one task must not end the others
            print(f"| {name} | failed: {type(error).__name__}: {error} | |", flush=True)


if __name__ == "__main__":
    main()
