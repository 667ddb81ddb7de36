"""Repeat the experiments of GraphBLAST's thesis: ``python benchmarks/graphblas_thesis.py --x 1,2``.

| --x | experiment |
|-----|------------|
| 1   | a product pushed and pulled, with and without a mask, over the values of vector and mask |
| 2   | the steps of breadth-first searches, each pushed and pulled |
| 3   | a breadth-first search with one choice after another |
| 4   | a dense vector, and sparse ones combined by atomics and by a radix sort |
| 5   | SpMM by rows and by equal shares: aspect ratios, 32 matrices, how often the rule is right |
| 6   | BFS, SSSP and PageRank beside the built-in algorithms and GraphBLAST's own times |
| 7   | triangles from one kernel, and from a product that is stored first |
| 10  | breadth-first searches by scale, in edges per second |

Experiments 8 and 9 count products and are tests: ``tests/graphblas/test_explain.py``.

The last table puts the thesis's figures beside ours. ``--device cuda`` runs on a GPU, ``--budget``
is the time of all experiments together: one that takes more than its share is cut off.
``--tiny`` shows that everything runs. Times are milliseconds: medians of a GPU's events, or the
least CPU time of one thread.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import time
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

RUNS, SECONDS, WIDTH, ITERATIONS = 7, 0.3, 64, 10
SHARES = (0.0005, 0.002, 0.01, 0.04, 0.16, 0.64, 1.0)
FAMILIES = ("kron", "rmat", "rgg", "delaunay", "er", "powerlaw", "planted")
# Table 5.2: billions of edges per second of a search, one choice after another.
TABLE_5_2 = (0.87, 1.41, 1.53, 3.9, 15.8, 42.4)
# GraphBLAST's own milliseconds on one H200; PageRank's are those of an iteration.
GRAPHBLAST = {
    "kron21": {"BFS": 0.86, "SSSP": 9.2, "PageRank": 1.43},
    "road4900": {"BFS": 2668.0, "SSSP": 11160.0, "PageRank": 1.4},
}
# How much longer than the others an experiment may take.
WEIGHTS = {"2": 2.0, "5": 3.0, "6": 3.0, "10": 2.0}


class Late(Exception):
    """An experiment has used its share of the time."""


class Bench:
    """Where and how large everything runs, and what was found."""

    def __init__(self, device: str, scale: int, sources: int, graph: str | None = None) -> None:
        self.device, self.scale, self.sources = device, scale, sources
        self.graph_name = graph
        self.name = graph or f"kron{scale}"
        self.clock = Clock(device)
        self.rng = np.random.default_rng(1)
        self.found: list[tuple[str, str, str]] = []

    def graph(self, name: str) -> Any:
        """Return a graph with weights on the device; one as dense as GraphBLAST's on a GPU."""
        on_gpu = self.device == "cuda"
        factors = graph_names.FACTORS if on_gpu else graph_names.ON_A_CPU
        return graph_names.generate(name, self.device, factors=factors)

    def matrix(self, name: str) -> tuple[Any, gb.Matrix]:
        """Return a graph, and its matrix of weights."""
        g = self.graph(name)
        return g, gb.io.from_graph(g)

    def ms(self, call: Callable[[], Any]) -> float:
        """Return the time of a call: the median on a GPU, the least CPU time elsewhere."""
        call()
        if self.device == "cuda":
            return self.clock.repeat(call, RUNS, SECONDS)[0].median_ms
        times = []
        began = time.process_time()
        while len(times) < RUNS and (not times or time.process_time() - began < SECONDS):
            start = time.process_time()
            call()
            times.append((time.process_time() - start) * 1e3)
        return min(times)

    def places(self, size: int, share: float) -> np.ndarray:
        """Return random places in order."""
        return np.sort(self.rng.choice(size, max(1, int(size * share)), replace=False))

    def choices(self, **more: Any) -> Any:
        """Return the options that everything runs with."""
        return gb.options(**{"device": self.device, "kernel": "compiled", **more})

    def beside(self, what: str, thesis: str, ours: str) -> None:
        """Note a figure of the thesis and ours."""
        self.found.append((what, thesis, ours))


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
    scales = sorted({max(4, bench.scale - 5), bench.scale - 2, bench.scale})
    for name in [bench.graph_name] if bench.graph_name else [f"kron{scale}" for scale in scales]:
        rows = variants(bench, name)
        first, last = rows[SHARES[0]], rows[SHARES[-1]]
        growth = [f"{b / a:.3g}" for a, b in zip(first, last, strict=True)]
        wins = [share for share, times in rows.items() if times[0] < times[1]]
        bench.beside(
            f"X1 {name}: growth from {SHARES[0]:.2%} to all places of push, pull, masked push,"
            " masked pull; pushes win up to",
            "push with the vector, pull constant, masked pull with the mask",
            f"{', '.join(growth)}; {max(wins, default=0.0):.2%}",
        )


def variants(bench: Bench, name: str) -> dict[float, list[float]]:
    """Return the times of four variants by the share of places that have values."""
    _, A = bench.matrix(name)
    size = A.nrows
    head(f"X1, {name}", "push", "pull", "push, mask", "pull, mask")
    found = {}
    for share in SHARES:
        v = gb.Vector.from_coo(bench.places(size, share), 1.0, size=size)
        m = gb.Vector.from_coo(bench.places(size, share), True, size=size)
        found[share] = [
            masked_ms(bench, A, v, mask, direction)
            for mask in (None, m.S)
            for direction in ("push", "pull")
        ]
        show(f"{share:.2%} of places", *found[share])
    return found


def masked_ms(bench: Bench, A: gb.Matrix, v: gb.Vector, mask: Any, direction: str) -> float:
    """Return the time of a product in one direction."""
    with bench.choices(direction=direction):
        return bench.ms(lambda: gb.semiring.min_plus(v @ A).new(mask=mask).wait())


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
    searches = 0
    try:
        for source in sources(bench, A):
            with bench.choices():
                levels = list(steps(A, source))
            for number, (frontier, visited) in enumerate(levels):
                pair = [step_ms(bench, A, frontier, visited, d) for d in ("push", "pull")]
                if searches:  # the first one compiles
                    found.setdefault(number, []).append((pair[0], pair[1]))
            searches += 1
    except Late:
        pass
    head(f"X2, {bench.name}, {searches - 1} sources", "searches", "push", "pull")
    pulled = []
    for number, pairs in found.items():
        push, pull = (statistics.median(side) for side in zip(*pairs, strict=True))
        show(f"step {number + 1}", len(pairs), push, pull)
        pulled += [str(number + 1)] if pull < push else []
    bench.beside(
        f"X2 {bench.name}: steps where pulling is faster",
        "those with wide frontiers",
        f"{', '.join(pulled) or 'none'} of {len(found)}",
    )


def sources(bench: Bench, A: gb.Matrix) -> list[int]:
    """Return places that have values, as many as asked for and one to compile with."""
    there = A.reduce_rowwise(gb.agg.count).new().to_coo()[0]
    return [int(each) for each in bench.rng.choice(there, bench.sources + 1)]


def step_ms(bench: Bench, A: gb.Matrix, frontier: Any, visited: Any, direction: str) -> float:
    """Return the time of one step."""
    with bench.choices(direction=direction):
        call = lambda: (  # noqa: E731
            gb.semiring.any_pair(frontier @ A).new(bool, mask=~visited.S).wait()
        )
        if bench.device == "cuda":
            return bench.clock.repeat(call, 1, 0.0)[0].median_ms
        began = time.process_time()
        call()
        return (time.process_time() - began) * 1e3


def search(A: gb.Matrix, source: int, semiring: Any, reuse: int = 0) -> int:
    """Return how many places a search reaches, with whatever choices hold.

    From one place in `reuse` on, what was visited stands in for the frontier: its rows have been
    read before, and a row that both reach ends at the first of them.
    """
    visited = gb.Vector(bool, A.nrows)
    visited[source] = True
    frontier = gb.Vector(A.dtype, A.nrows)
    frontier[source] = 1
    while frontier.nvals:
        operand = visited if frontier.nvals * reuse > A.nrows else frontier
        frontier = semiring(operand @ A).new(mask=~visited.S)
        visited(frontier.S) << True
    return int(visited.nvals)


def x3(bench: Bench) -> None:
    """Time a search with one choice after another."""
    _, A = bench.matrix(bench.name)
    source = int(np.argmax(A.reduce_rowwise(gb.agg.count).new().to_dense(0)))
    plus, any_ = gb.semiring.plus_times, gb.semiring.any_pair
    head(f"X3, {bench.name}", "ms", "billion edges per second", "x first", "thesis, x first")
    rates: list[float] = []
    for (name, semiring, chosen, reuse), thesis in zip(
        (
            ("push, values, mask after", plus, {"direction": "push", "mask": "after"}, 0),
            ("structure only", gb.semiring.plus_pair, {"direction": "push", "mask": "after"}, 0),
            ("change of direction", gb.semiring.plus_pair, {"mask": "after"}, 0),
            ("mask before", gb.semiring.plus_pair, {}, 0),
            ("early exit", any_, {}, 0),
            ("operand reuse", any_, {}, 16),
        ),
        TABLE_5_2,
        strict=True,
    ):
        with bench.choices(**chosen):
            took = bench.ms(lambda s=semiring, r=reuse: search(A, source, s, r))
        rates.append(A.nvals / took / 1e6)
        gain, theirs = rates[-1] / rates[0], thesis / TABLE_5_2[0]
        show(name, took, rates[-1], gain, theirs)
        bench.beside(
            f"X3 {bench.name}: {name}",
            f"{thesis} billion edges/s, {theirs:.3g} x",
            f"{rates[-1]:.3g}, {gain:.3g} x",
        )


def x4(bench: Bench) -> None:
    """Time a dense vector, and sparse ones in both ways of combining."""
    _, A = bench.matrix(bench.name)
    size = A.nrows
    head(f"X4, {bench.name}", "pull, dense", "push, atomics", "push, radix sort")
    full = gb.Vector.from_scalar(1.0, size)
    wins: list[float] = []
    for share in SHARES:
        v = gb.Vector.from_coo(bench.places(size, share), 1.0, size=size)
        times = []
        for vector, chosen in (
            (full, {"direction": "pull"}),
            (v, {"direction": "push", "combine": "atomic"}),
            (v, {"direction": "push", "combine": "radix"}),
        ):
            with bench.choices(**chosen):
                times.append(bench.ms(lambda x=vector: gb.semiring.plus_times(x @ A).new().wait()))
        show(f"{share:.2%} of places", *times)
        wins += [share] if min(times[1:]) < times[0] else []
    bench.beside(
        f"X4 {bench.name}: a sparse vector is faster than a dense one up to",
        "table 4.4",
        f"{max(wins, default=0.0):.2%} of places",
    )


def rival_of(bench: Bench) -> Any:
    """Return cuSPARSE where there is a GPU."""
    if bench.device != "cuda":
        return None
    from benchmarks.graphblas_gpu import CuSparse

    return CuSparse()


def spmm(bench: Bench, A: gb.Matrix, rival: Any) -> tuple[float, float, float]:
    """Return the times of a product with a dense matrix by rows, by equal shares, and cuSPARSE's.

    The last is that of columns, which the thesis compares with; NaN without a GPU.
    """
    dense = gb.Matrix.from_dense(bench.rng.random((A.ncols, WIDTH)).astype(np.float32))
    times = []
    for kernel in ("row", "merge"):
        with bench.choices(kernel=kernel):
            times.append(bench.ms(lambda: gb.semiring.plus_times(A @ dense).new().wait()))
    if rival is None:
        return times[0], times[1], float("nan")
    from weft.graphblas.gpu.entries import resident

    theirs = rival.csr(resident(A._store, bench.device))
    factor = rival.cupy.random.random((A.ncols, WIDTH), dtype=np.float32)
    return times[0], times[1], bench.ms(rival.by_columns(theirs, factor))


def x5(bench: Bench) -> None:
    """Time products with dense matrices: aspect ratios, many matrices, the rule."""
    rival = rival_of(bench)
    total = 1 << (bench.scale + 4)
    head(f"X5, {total:,} values", "row length", "row", "merge", "cuSPARSE", "row / merge")
    length = 2
    while length <= total // 4:
        rows, ncols = total // length, max(4, 2 * length)
        cols = np.sort(bench.rng.integers(0, ncols, (rows, length)), axis=1)
        keys = np.unique(np.arange(rows).repeat(length) * ncols + cols.ravel())
        values = np.ones(len(keys), np.float32)
        A = gb.Matrix.from_coo(keys // ncols, keys % ncols, values, nrows=rows, ncols=ncols)
        row, merge, theirs = spmm(bench, A, rival)
        show(f"{rows:,} x {ncols:,}", A.nvals / rows, row, merge, theirs, row / merge)
        length *= 8
    names = [f"{family}{s}" for s in range(bench.scale - 3, bench.scale + 1) for family in FAMILIES]
    names += [f"road{1 << (bench.scale // 2 + i)}" for i in range(-2, 2)]
    head("X5", "mean row", "row", "merge", "cuSPARSE", "rule", "right")
    found: list[tuple[float, float, float, float]] = []
    try:
        for name in names:
            A = bench.matrix(name)[1].dup(np.float32)
            row, merge, theirs = spmm(bench, A, rival)
            mean = A.nvals / A.nrows
            found.append((mean, row, merge, theirs))
            chosen = chosen_ms(found[-1])
            rule = "merge" if chosen == merge else "row"
            show(name, mean, row, merge, theirs, rule, chosen == min(row, merge))
    except Late:
        pass
    judge_rule(bench, found)


def chosen_ms(times: tuple[float, float, float, float]) -> float:
    """Return the time of the kernel that the mean length of a row chooses."""
    mean, row, merge, _ = times
    return merge if mean < gb.config["merge_below"] else row


def judge_rule(bench: Bench, found: list[tuple[float, float, float, float]]) -> None:
    """Note how often the rule is right, and the gains over cuSPARSE."""
    if not found:
        return
    right = sum(chosen_ms(each) == min(each[1:3]) for each in found) / len(found)
    bench.beside("X5: the rule is right", "95.9 %", f"{right:.1%} of {len(found)} matrices")
    gain = statistics.geometric_mean(each[1] / chosen_ms(each) for each in found)
    bench.beside("X5: the rule over rows alone", "-", f"{gain - 1:+.1%}")
    if bench.device != "cuda":
        return
    below = gb.config["merge_below"]
    for what, thesis, rows in (
        ("long rows, by rows", "+30.8 %", [(m, r) for n, r, _, m in found if n >= below]),
        ("short rows, by equal shares", "+53 %", [(c, s) for n, _, s, c in found if n < below]),
        ("all, by the rule", "+23.5 %", [(each[3], chosen_ms(each)) for each in found]),
    ):
        if rows:
            gain = statistics.geometric_mean(theirs / ours for theirs, ours in rows)
            bench.beside(f"X5: over cuSPARSE, {what}", thesis, f"{gain - 1:+.1%}")


def x6(bench: Bench) -> None:
    """Time algorithms in the notation beside the built-in ones."""
    is_large = bench.device == "cuda"
    head("X6", "algorithm", "weft.graphblas", "weft", "ratio", "GraphBLAST")
    for name in (
        bench.name,
        "road4900" if is_large and bench.scale >= 21 else f"road{1 << (bench.scale // 2 + 1)}",
    ):
        g, A = bench.matrix(name)
        source = int(np.argmax(A.reduce_rowwise(gb.agg.count).new().to_dense(0)))
        with bench.choices():
            for label, mine, built_in in pairs(g, A, source):
                times = [bench.ms(lambda call=call: waited(call())) for call in (mine, built_in)]
                if label == "PageRank":
                    times = [each / ITERATIONS for each in times]
                theirs = GRAPHBLAST.get(name, {}).get(label, "")
                show(name, label, *times, times[0] / times[1], theirs)
                bench.beside(
                    f"X6 {name}: {label}, ms",
                    f"{theirs or '-'} (GraphBLAST, table 7.10)",
                    f"{times[0]:.4g}, weft itself {times[1]:.4g}",
                )


def pairs(g: Any, A: gb.Matrix, source: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield algorithms by name: in the notation, and what they stand beside."""
    rounds = {"tol": 0.0, "max_iter": ITERATIONS}
    yield "BFS", lambda: algorithms.bfs_levels(A, source), lambda: weft.bfs(g, source)
    yield "BFS by masks", lambda: masked_levels(A, source), lambda: weft.bfs(g, source)
    yield (
        "PageRank",
        lambda: algorithms.pagerank(A, **rounds),
        lambda: weft.pagerank(g, **rounds, on_unconverged="return"),
    )
    yield "SSSP", lambda: algorithms.sssp(A, source), lambda: weft.sssp(g, source)


def masked_levels(A: gb.Matrix, source: int) -> gb.Vector:
    """Return levels by a search whose masks leave out what it has visited, with early exit."""
    levels = gb.Vector(int, A.nrows)
    frontier = gb.Vector(bool, A.nrows)
    frontier[source] = True
    depth = 0
    while frontier.nvals:
        levels(frontier.S) << depth
        frontier(~levels.S, gb.replace) << gb.semiring.any_pair[bool](frontier @ A)
        depth += 1
    return levels


def waited(found: Any) -> Any:
    """Return a result that is computed."""
    return found.wait() if hasattr(found, "wait") else found


def x7(bench: Bench) -> None:
    """Time triangles from one kernel, and from a product that is stored first."""
    name = bench.name
    g, A = bench.matrix(name)
    L = gb.select.tril(A, -1).new()
    head("X7", "fused", "stored", "ratio", "weft.triangle_count")
    with bench.choices():
        times = [bench.ms(call) for call in (lambda: fused(L), lambda: stored(L))]
    times.append(bench.ms(lambda: weft.triangle_count(g)))
    show(name, times[0], times[1], times[1] / times[0], times[2])
    bench.beside(f"X7 {name}: stored over fused", "2 x", f"{times[1] / times[0]:.3g} x")


def fused(L: gb.Matrix) -> Any:
    """Return the number of triangles from one kernel."""
    return gb.semiring.plus_pair(L @ L.T).new(mask=L.S).reduce_scalar().new().get(0)


def stored(L: gb.Matrix) -> Any:
    """Return the number of triangles from a product that is stored first."""
    return gb.semiring.plus_pair(L @ L.T).new(mask=L.S).wait().reduce_scalar().new().get(0)


def x10(bench: Bench) -> None:
    """Time searches by scale."""
    head("X10", "vertices", "arcs", "ms", "million arcs per second")
    best = 0.0
    for scale in range(max(4, bench.scale - 5), bench.scale + (5 if bench.device == "cuda" else 1)):
        g, A = bench.matrix(f"kron{scale}x16")
        with bench.choices():
            times = [
                bench.ms(lambda A=A, s=source: algorithms.bfs_levels(A, s).wait())
                for source in sources(bench, A)[: max(2, min(bench.sources, 8))]
            ]
        took = statistics.harmonic_mean(times)
        rate = A.nvals / took / 1e3
        show(f"kron{scale}", f"{g.num_vertices:,}", f"{A.nvals:,}", took, rate)
        if rate > best:
            best = rate
    bench.beside("X10: the most arcs per second of scales up to", "-", f"{best:.4g} million")


EXPERIMENTS = {"1": x1, "2": x2, "3": x3, "4": x4, "5": x5, "6": x6, "7": x7, "10": x10}


def late(*told: Any) -> None:
    """Cut an experiment off: what a timer calls."""
    raise Late


def run(bench: Bench, numbers: list[str], budget: float) -> None:
    """Run experiments one after another, each within its share of what is left."""
    end = time.perf_counter() + budget
    signal.signal(signal.SIGALRM, late)
    for at, number in enumerate(numbers):
        weights = [WEIGHTS.get(each, 1.0) for each in numbers[at:]]
        share = max(1.0, (end - time.perf_counter()) * weights[0] / sum(weights))
        signal.setitimer(signal.ITIMER_REAL, share)
        try:
            EXPERIMENTS[number](bench)
        except Late:
            print(f"\nX{number} was cut off after {share:.0f} s.", flush=True)
        except Exception as error:
            # A library that was cut off may say so in its own words.
            print(f"\nX{number} ended: {type(error).__name__}: {str(error)[:200]}", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            bench.clock.forget_memory()
    head("", "thesis", "ours")
    for row in bench.found:
        show(*row)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--x", default=",".join(EXPERIMENTS), help="numbers between commas")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "emulated"])
    parser.add_argument("--scale", type=int, default=14)
    parser.add_argument("--sources", type=int, default=8, help="searches of experiments 2 and 10")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds for all of them")
    graph_names.add_graph(parser)
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    scale, searches = (7, 1) if args.tiny else (args.scale, args.sources)
    if args.device != "cuda":
        os.environ.setdefault("WEFT_NUM_THREADS", "1")
    if args.tiny:
        gb.config.set(small=0)
        globals().update(
            RUNS=1, SECONDS=0.0, ITERATIONS=1, SHARES=(0.04, 1.0), FAMILIES=("kron", "er")
        )
    numbers = [each.strip() for each in args.x.split(",")]
    run(Bench(args.device, scale, searches, args.graph), numbers, args.budget)


if __name__ == "__main__":
    main()
