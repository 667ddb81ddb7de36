"""Repeat the experiments of GraphBLAST's thesis: ``python benchmarks/graphblas_thesis.py --x 1,2``.

| --x | experiment |
|-----|------------|
| 1   | a product pushed and pulled, with and without a mask, over the values of vector and mask |
| 2   | the steps of breadth-first searches, each pushed and pulled |
| 3   | a breadth-first search with one choice after another |
| 4   | a dense vector, and sparse ones combined by atomics and by a radix sort |
| 5   | SpMM by rows and by equal shares: aspect ratios, 32 matrices, how often the rule is right |
| 6   | BFS, SSSP, PageRank and triangles beside the built-in algorithms |
| 10  | breadth-first searches by scale, in edges per second |

``--device cuda`` runs them on a GPU, ``--tiny`` shows that everything runs. Times are medians in
milliseconds: of a GPU's events, or of the wall clock.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft
import weft.graphblas as gb
from benchmarks import graph_names
from benchmarks.gpu_timing import Clock
from weft.graphblas import algorithms

RUNS, SECONDS, WIDTH = 7, 0.5, 64
SHARES = (0.0005, 0.002, 0.01, 0.04, 0.16, 0.64, 1.0)
FAMILIES = ("kron", "rmat", "rgg", "delaunay", "er", "powerlaw", "planted")


class Bench:
    """Where and how large everything runs."""

    def __init__(self, device: str, scale: int, sources: int, graph: str | None = None) -> None:
        self.device, self.scale, self.sources = device, scale, sources
        self.name = graph or f"kron{scale}"
        self.clock = Clock(device)
        self.rng = np.random.default_rng(1)

    def graph(self, name: str) -> Any:
        """Return a graph with weights on the device."""
        return graph_names.generate(name, self.device, factors=graph_names.ON_A_CPU)

    def matrix(self, name: str) -> tuple[Any, gb.Matrix]:
        """Return a graph, and its matrix of float32 weights."""
        g = self.graph(name)
        return g, gb.io.from_graph(g)

    def ms(self, call: Callable[[], Any]) -> float:
        """Return the median time of a call."""
        call()
        times, _ = self.clock.repeat(call, RUNS, SECONDS)
        return times.median_ms

    def places(self, size: int, share: float) -> np.ndarray:
        """Return random places in order."""
        return np.sort(self.rng.choice(size, max(1, int(size * share)), replace=False))

    def choices(self, **more: Any) -> Any:
        """Return the options that everything runs with."""
        return gb.options(**{"device": self.device, "kernel": "compiled", **more})


def show(*cells: Any) -> None:
    """Print a row of a table."""
    text = (f"{each:.4g}" if isinstance(each, float) else str(each) for each in cells)
    print("| " + " | ".join(text) + " |", flush=True)


def head(*cells: str) -> None:
    """Print the head of a table."""
    print()
    show(*cells)
    show(*("---" for _ in cells))


def x1(bench: Bench) -> None:
    """Time four variants of a product over the values of the vector, and of the mask."""
    _, A = bench.matrix(bench.name)
    size = A.nrows
    head(f"X1, {bench.name}", "push", "pull", "push, mask", "pull, mask")
    for share in SHARES:
        places = bench.places(size, share)
        v = gb.Vector.from_coo(places, 1.0, size=size)
        m = gb.Vector.from_coo(bench.places(size, share), True, size=size)
        times = []
        for mask in (None, m.S):
            for direction in ("push", "pull"):
                with bench.choices(direction=direction):
                    times.append(
                        bench.ms(
                            lambda v=v, mask=mask: gb.semiring.min_plus(v @ A).new(mask=mask).wait()
                        )
                    )
        show(f"{share:.2%} of places", times[0], times[1], times[2], times[3])


def steps(A: gb.Matrix, source: int) -> Iterator[tuple[Any, Any]]:
    """Yield the frontier and what was visited before every step of a search."""
    visited = gb.Vector(bool, A.nrows)
    visited[source] = True
    frontier = visited.dup()
    while frontier.nvals:
        yield frontier, visited
        frontier = gb.semiring.any_pair(frontier @ A).new(bool, mask=~visited.S)
        visited = gb.binary.lor(visited | frontier).new()


def x2(bench: Bench) -> None:
    """Time every step of searches in both directions."""
    _, A = bench.matrix(bench.name)
    found: dict[int, list[tuple[float, float]]] = {}
    degrees = A.reduce_rowwise(gb.agg.count).new().to_coo()[0]
    for source in bench.rng.choice(degrees, bench.sources):
        with bench.choices():
            levels = list(steps(A, int(source)))
        for number, (frontier, visited) in enumerate(levels):
            pair = []
            for direction in ("push", "pull"):
                with bench.choices(direction=direction):
                    call = lambda f=frontier, v=visited: (  # noqa: E731
                        gb.semiring.any_pair(f @ A).new(bool, mask=~v.S).wait()
                    )
                    times, _ = bench.clock.repeat(call, 1, 0.0)
                    pair.append(times.median_ms)
            found.setdefault(number, []).append((pair[0], pair[1]))
    head(f"X2, {bench.name}, {bench.sources} sources", "searches", "push", "pull")
    for number, pairs in found.items():
        push, pull = (statistics.median(side) for side in zip(*pairs, strict=True))
        show(f"step {number + 1}", len(pairs), push, pull)


def search(A: gb.Matrix, source: int, semiring: Any) -> int:
    """Return how many places a search reaches, with whatever choices hold."""
    visited = gb.Vector(bool, A.nrows)
    visited[source] = True
    frontier = gb.Vector(A.dtype, A.nrows)
    frontier[source] = 1
    while frontier.nvals:
        frontier = semiring(frontier @ A).new(mask=~visited.S)
        visited(frontier.S) << True
    return int(visited.nvals)


def x3(bench: Bench) -> None:
    """Time a search with one choice after another."""
    _, A = bench.matrix(bench.name)
    source = int(np.argmax(A.reduce_rowwise(gb.agg.count).new().to_dense(0)))
    plus, any_ = gb.semiring.plus_times, gb.semiring.any_pair
    head(f"X3, {bench.name}", "ms", "x")
    before = 0.0
    for name, semiring, chosen in (
        ("push, values, mask after", plus, {"direction": "push", "mask": "after"}),
        ("structure only", gb.semiring.plus_pair, {"direction": "push", "mask": "after"}),
        ("change of direction", gb.semiring.plus_pair, {"mask": "after"}),
        ("mask before", gb.semiring.plus_pair, {}),
        ("early exit", any_, {}),
    ):
        with bench.choices(**chosen):
            took = bench.ms(lambda semiring=semiring: search(A, source, semiring))
        show(name, took, before / took if before else 1.0)
        before = took


def x4(bench: Bench) -> None:
    """Time a dense vector, and sparse ones in both ways of combining."""
    _, A = bench.matrix(bench.name)
    size = A.nrows
    head(f"X4, {bench.name}", "pull, dense", "push, atomics", "push, radix sort")
    for share in SHARES:
        v = gb.Vector.from_coo(bench.places(size, share), 1.0, size=size)
        full = gb.Vector.from_scalar(1.0, size)
        times = []
        for vector, chosen in (
            (full, {"direction": "pull"}),
            (v, {"direction": "push", "combine": "atomic"}),
            (v, {"direction": "push", "combine": "radix"}),
        ):
            with bench.choices(**chosen):
                times.append(bench.ms(lambda x=vector: gb.semiring.plus_times(x @ A).new().wait()))
        show(f"{share:.2%} of places", *times)


def spmm(bench: Bench, A: gb.Matrix) -> tuple[float, float]:
    """Return the times of a product with a dense matrix by rows, and by equal shares."""
    dense = gb.Matrix.from_dense(bench.rng.random((A.ncols, WIDTH)).astype(np.float32))
    times = []
    for kernel in ("row", "merge"):
        with bench.choices(kernel=kernel):
            times.append(bench.ms(lambda: gb.semiring.plus_times(A @ dense).new().wait()))
    return times[0], times[1]


def x5(bench: Bench) -> None:
    """Time products with dense matrices: aspect ratios, many matrices, the rule."""
    total = 1 << (bench.scale + 4)
    head(f"X5, {total:,} values", "row length", "row", "merge", "row / merge")
    length = 2
    while length <= total // 4:
        rows, ncols = total // length, max(4, 2 * length)
        cols = np.sort(bench.rng.integers(0, ncols, (rows, length)), axis=1)
        keys = np.unique(np.arange(rows).repeat(length) * ncols + cols.ravel())
        values = np.ones(len(keys), np.float32)
        A = gb.Matrix.from_coo(keys // ncols, keys % ncols, values, nrows=rows, ncols=ncols)
        row, merge = spmm(bench, A)
        show(f"{rows:,} x {ncols:,}", A.nvals / rows, row, merge, row / merge)
        length *= 4
    names = [f"{family}{s}" for s in range(bench.scale - 3, bench.scale + 1) for family in FAMILIES]
    names += [f"road{1 << (bench.scale // 2 + i)}" for i in range(-2, 2)]
    head("X5", "mean row", "row", "merge", "rule", "right")
    right, gains = 0, []
    for name in names:
        A = bench.matrix(name)[1].dup(np.float32)
        row, merge = spmm(bench, A)
        mean = A.nvals / A.nrows
        chosen, other = (merge, row) if mean < gb.config["merge_below"] else (row, merge)
        right += chosen <= other
        gains.append(row / chosen)
        show(name, mean, row, merge, "merge" if chosen is merge else "row", chosen <= other)
    gain = statistics.geometric_mean(gains) - 1
    share = f"{right} of {len(names)} ({right / len(names):.1%}; in the thesis 95.9 %)"
    print(f"\nThe rule is right for {share}, and {gain:.1%} faster than rows alone (23.5 %).")


def x6(bench: Bench) -> None:
    """Time algorithms in the notation beside the built-in ones."""
    head("X6, X7", "algorithm", "weft.graphblas", "weft", "ratio")
    for name in (bench.name, f"road{1 << (bench.scale // 2 + 1)}"):
        g, A = bench.matrix(name)
        source = int(np.argmax(A.reduce_rowwise(gb.agg.count).new().to_dense(0)))
        L = gb.select.tril(A, -1).new()
        with bench.choices():
            for label, mine, theirs in pairs(g, A, L, source):
                times = [bench.ms(lambda call=call: waited(call())) for call in (mine, theirs)]
                show(name, label, *times, times[0] / times[1])


def pairs(g: Any, A: gb.Matrix, L: gb.Matrix, source: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield algorithms by name: in the notation, and what they stand beside."""
    yield "BFS", lambda: algorithms.bfs_levels(A, source), lambda: weft.bfs(g, source)
    yield "SSSP", lambda: algorithms.sssp(A, source), lambda: weft.sssp(g, source)
    yield "PageRank", lambda: algorithms.pagerank(A), lambda: weft.pagerank(g)
    yield "TC", lambda: fused(L), lambda: weft.triangle_count(g)
    yield "TC, stored", lambda: stored(L), lambda: fused(L)


def waited(found: Any) -> Any:
    """Return a result that is computed."""
    return found.wait() if hasattr(found, "wait") else found


def fused(L: gb.Matrix) -> Any:
    """Return the number of triangles from one kernel."""
    return gb.semiring.plus_pair(L @ L.T).new(mask=L.S).reduce_scalar().new().get(0)


def stored(L: gb.Matrix) -> Any:
    """Return the number of triangles from a product that is stored first."""
    return gb.semiring.plus_pair(L @ L.T).new(mask=L.S).wait().reduce_scalar().new().get(0)


def x10(bench: Bench) -> None:
    """Time searches by scale."""
    head("X10", "vertices", "edges", "ms", "million edges per second")
    for scale in range(max(4, bench.scale - 4), bench.scale + 1):
        g, A = bench.matrix(f"kron{scale}")
        degrees = A.reduce_rowwise(gb.agg.count).new().to_coo()[0]
        times = []
        with bench.choices():
            for source in bench.rng.choice(degrees, bench.sources):
                times.append(
                    bench.ms(lambda A=A, s=int(source): algorithms.bfs_levels(A, s).wait())
                )
        took = statistics.harmonic_mean(times)
        show(
            f"kron{scale}",
            f"{g.num_vertices:,}",
            f"{g.num_edges:,}",
            took,
            g.num_edges / took / 1e3,
        )


EXPERIMENTS = {"1": x1, "2": x2, "3": x3, "4": x4, "5": x5, "6": x6, "10": x10}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--x", default=",".join(EXPERIMENTS), help="numbers between commas")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "emulated"])
    parser.add_argument("--scale", type=int, default=14)
    graph_names.add_graph(parser)
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    scale, sources = (7, 1) if args.tiny else (args.scale, args.sources)
    if args.tiny:
        gb.config.set(small=0)
        globals().update(RUNS=1, SECONDS=0.0, SHARES=(0.04, 1.0), FAMILIES=("kron", "er"))
    bench = Bench(args.device, scale, sources, args.graph)
    for number in args.x.split(","):
        EXPERIMENTS[number.strip()](bench)


if __name__ == "__main__":
    main()
