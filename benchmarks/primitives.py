"""Measure the primitives below operators and libraries: ``python benchmarks/primitives.py``.

Each is run on an undirected Kronecker graph, and its result checked with SciPy or NumPy:

- *common*: the masked product A .* (A A), by `weft.common` with the weights of both arcs, beside
  SuiteSparse:GraphBLAS;
- *gather by key*: the label of the greatest weight around every vertex, beside one iteration of
  PageRank;
- *emit*: all triangles, each once, beside counting those of every arc, and copying their records;
- *contract*: groups by a random labelling, beside building the graph from its shuffled edges;
- *pairs*: the shared neighbours of random pairs;
- *product*: A A by a gather by key over two hops that emits its entries, beside SuiteSparse;
- *collect*: a push from 0.05 % of the vertices with a sparse result, beside SuiteSparse's `vxm`;
- *union*: two sparse vectors of 2^19 entries of 2^22 with a traced operator, beside SuiteSparse;
- *radix*: pushes from more and more vertices whose messages are sorted, beside atomics.

On a CPU one thread is used and its own time is measured, since machines are seldom idle; the best
of several runs counts. ``--device cuda`` measures the wall time on a GPU, without the rival.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import weft
from benchmarks import graph_names
from weft.arrays.device import to_host

RUNS, SHORT_RUNS, SHORT_SECONDS, ENOUGH_SECONDS = 5, 500, 0.001, 10.0


@weft.edge
def masked(u, v, e):
    """Multiply the rows of both ends of an arc."""
    e.product = weft.common(u, v, lambda w, ea, eb: ea.weight * eb.weight, weft.sum)


@weft.vertex
def vote(v):
    """Take the label of the greatest weight around."""
    votes = v.gather_by(lambda u, e: u.label, lambda u, e: e.weight, weft.sum)
    v.chosen = votes.argmax()[0]


@weft.edge
def triangles(u, v, e):
    """Emit the triangles above an arc of the oriented graph."""
    ids = [weft.cast(x.id, weft.int32) for x in (u, v)]
    weft.common(u, v, lambda w: weft.emit(*ids, weft.cast(w.id, weft.int32)))


@weft.edge
def shared(u, v, e):
    """Count the shared neighbours of a pair or of the ends of an arc."""
    e.count = weft.common(u, v, lambda w: 1, weft.sum)


@weft.vertex
def square(v):
    """Emit a row of the square of the adjacency matrix."""
    row = v.gather_by(
        lambda u, e, w, f: w.id, lambda u, e, w, f: e.weight * f.weight, weft.sum, direction="out"
    )
    row.each(lambda key, value: weft.emit(v.id, key, value))


@weft.edge(into="total", reduce=weft.sum)
def add(u, v, e):
    """Send a value times the weight of the arc."""
    return u.x * e.weight


class Bench:
    """Graphs on a device, and how runs are timed there."""

    def __init__(self, device: str, scale: int, factor: int, named: str | None = None) -> None:
        self.named, self.device, self.on_cpu = named, device, device == "cpu"
        self.config = weft.Config(threads=1) if self.on_cpu else None
        self.scale, self.factor = scale, factor

    def shown(self, scale: int) -> str:
        """Return what a table calls the graph of a scale."""
        return graph_names.short(self.named) if self.named else f"kron{scale}"

    def graph(self, scale: int) -> weft.Graph:
        """Return a graph with float64 weights: of a scale, or the one that was named."""
        name = self.named or f"rmat{scale}x{self.factor}"
        g = graph_names.generate(name, self.device, weights=(1, 8))
        g.edge["weight"] = g.edge["weight"].astype(np.float64)
        return g

    def ms(self, run: Callable[[], Any]) -> float:
        """Return the least time of several runs, after one that compiles.

        Short runs are many; of those that take longer than `ENOUGH_SECONDS` there is one.
        """
        run()
        times: list[float] = []
        clock = time.process_time if self.on_cpu else self._settled
        while len(times) < (RUNS if min(times, default=1.0) > SHORT_SECONDS else SHORT_RUNS):
            began = clock()
            run()
            times.append(clock() - began)
            if sum(times) > ENOUGH_SECONDS:
                break
        return 1000 * min(times)

    def _settled(self) -> float:
        if self.device.startswith("cuda"):
            import cupy

            cupy.cuda.runtime.deviceSynchronize()
        return time.perf_counter()


def matrix_of(g: weft.Graph) -> Any:
    """Return the weights as a SciPy matrix."""
    return g.to_scipy().tocsr()


def rival_matrix(g: weft.Graph) -> Any:
    """Return the weights as a matrix of python-graphblas, on one thread; None without it."""
    try:
        import graphblas as gb
    except ImportError:
        return None
    gb.ss.config["nthreads"] = 1
    return gb.io.from_scipy_sparse(matrix_of(g))


def common(bench: Bench) -> list[str]:
    """Measure the masked product."""
    g = bench.graph(bench.scale)
    found = g.edge_state(product=weft.full(0.0))
    state = g.state()
    ours = bench.ms(lambda: g.run(masked, state, edge_state=found, config=bench.config))
    theirs = "–"
    if bench.on_cpu and (a := rival_matrix(g)) is not None:
        import graphblas as gb

        held = []

        def multiply() -> None:
            held[:] = [gb.semiring.plus_times(a @ a).new(mask=a.S)]

        theirs = f"{bench.ms(multiply):.1f} SuiteSparse"
        total = float(held[0].reduce_scalar(gb.monoid.plus).get(0))
        assert abs(total - float(to_host(found.product).sum())) <= 1e-9 * abs(total)
    return [f"common, {bench.shown(bench.scale)}", f"{ours:.1f}", theirs]


def by_key(bench: Bench) -> list[str]:
    """Measure one vote of all vertices."""
    g = bench.graph(bench.scale)
    labels = np.arange(g.num_vertices) * 7919 % (g.num_vertices // 16)
    state = g.state(label=labels, chosen=weft.full(0))
    ours = bench.ms(lambda: g.run(vote, state, config=bench.config))
    options: Any = {"on_unconverged": "return", "config": bench.config}
    few = bench.ms(lambda: weft.pagerank(g, max_iter=2, tol=0.0, **options))
    many = bench.ms(lambda: weft.pagerank(g, max_iter=12, tol=0.0, **options))
    chosen, rows = np.asarray(to_host(state.chosen)), g.topology.out
    offsets, weight = to_host(rows.offsets), g.edge.in_slots("weight", "out")
    for v in range(0, g.num_vertices, max(1, g.num_vertices // 50)):
        row = slice(int(offsets[v]), int(offsets[v + 1]))
        totals = np.bincount(labels[to_host(rows.targets[row])], to_host(weight[row]), 1)
        assert chosen[v] == (totals.argmax() if totals.any() else -1)
    state.label = np.zeros_like(labels)
    alike = bench.ms(lambda: g.run(vote, state, config=bench.config))
    return [
        f"gather by key, {bench.shown(bench.scale)}", f"{ours:.1f}",
        f"{(many - few) / 10:.1f} PageRank; {alike:.1f} with one label for all",
    ]  # fmt: skip


def emit(bench: Bench, scale: int) -> list[str]:
    """Measure the list of all triangles."""
    g = bench.graph(scale)
    edges = g.to_edges()
    src, dst = (np.asarray(to_host(x)) for x in (edges.src, edges.dst))
    degree = np.asarray(to_host(g.out_degree))
    turned = (degree[src] > degree[dst]) | ((degree[src] == degree[dst]) & (src > dst))
    ends = np.where(turned, dst, src), np.where(turned, src, dst)
    up = weft.Graph.from_edges(*ends, num_vertices=g.num_vertices, keep="out").to(bench.device)
    kept: list[Any] = []

    def run() -> None:
        kept[:] = up.emit(triangles, config=bench.config)

    ours = bench.ms(run)
    assert len(kept[0]) == weft.triangle_count(g)
    copied = bench.ms(lambda: [part.copy() for part in kept])
    state, found = up.state(), up.edge_state(count=weft.full(0))
    counted = bench.ms(lambda: up.run(shared, state, edge_state=found, config=bench.config))
    assert int(found.count.sum()) == len(kept[0])
    return [
        f"emit {len(kept[0]):,} triangles, {bench.shown(scale)}",
        f"{ours:.1f}",
        f"{counted:.1f} counting them by arc, {copied:.2f} copying them",
    ]


def contract(bench: Bench) -> list[str]:
    """Measure a contraction by a random labelling."""
    g = bench.graph(bench.scale)
    count = g.num_vertices // 8
    labels = g.topology.xp.random.RandomState(2).randint(0, count, g.num_vertices)
    edges = g.to_edges()
    order = g.topology.xp.random.RandomState(3).permutation(g.num_edges)
    kept: list[Any] = []

    def run() -> None:
        kept[:] = [g.contract(labels, self_loops="keep")]

    ours = bench.ms(run)
    ends = (edges.src[order], edges.dst[order], edges.weight[order])
    build = bench.ms(lambda: weft.Graph.from_edges(*ends, directed=False))
    total = float(edges.weight.sum())
    assert abs(float(kept[0].edge["weight"].sum()) - total) <= 1e-9 * total
    return [f"contract, {bench.shown(bench.scale)}", f"{ours:.1f}", f"{build:.1f} build"]


def pairs(bench: Bench) -> list[str]:
    """Measure random pairs."""
    g = bench.graph(bench.scale)
    ends = np.random.default_rng(2).integers(0, g.num_vertices, (2, 1_000_000))
    given = g.pairs(*ends)
    found = given.state(count=weft.full(0))
    state = g.state()
    ours = bench.ms(lambda: g.run(shared, state, given, edge_state=found, config=bench.config))
    matrix = matrix_of(g).astype(bool).astype(np.int64)
    some = slice(0, 1000)
    want = matrix[ends[0][some]].multiply(matrix[ends[1][some]]).sum(axis=1)
    assert np.array_equal(np.asarray(want).ravel(), to_host(found.count)[some])
    return [f"10^6 pairs, {bench.shown(bench.scale)}", f"{ours:.1f}", "–"]


def product(bench: Bench, scale: int) -> list[str]:
    """Measure the square of the adjacency matrix."""
    g = bench.graph(scale)
    kept: list[Any] = []

    def run() -> None:
        kept[:] = g.emit(square, config=bench.config)

    ours = bench.ms(run)
    theirs = "–"
    want = matrix_of(g) @ matrix_of(g)
    assert len(kept[0]) == want.nnz
    assert abs(float(to_host(kept[2]).sum()) - want.sum()) <= 1e-9 * want.sum()
    if bench.on_cpu and (a := rival_matrix(g)) is not None:
        import graphblas as gb

        theirs = f"{bench.ms(lambda: gb.semiring.plus_times(a @ a).new()):.1f} SuiteSparse"
    return [f"product of {want.nnz:,} entries, {bench.shown(scale)}", f"{ours:.1f}", theirs]


def collect(bench: Bench) -> list[str]:
    """Measure a push from few vertices that gives a list of vertices and one of values."""
    g = bench.graph(bench.scale)
    n, rng = g.num_vertices, np.random.default_rng(1)
    members = np.sort(rng.choice(n, max(1, n // 2000), replace=False))
    x = rng.random(n)
    state, frontier = g.state(x=x, total=weft.full(0.0)), g.frontier(members)
    config = weft.Config(combine="radix", threads=1) if bench.on_cpu else None
    kept: list[Any] = []

    def run() -> None:
        kept[:] = g.collect(add, state, frontier, config=config)

    ours = bench.ms(run)
    sparse = np.zeros(n)
    sparse[members] = x[members]
    want = matrix_of(g).T @ sparse
    got = np.zeros(n)
    got[to_host(kept[0])] = to_host(kept[1])
    assert np.allclose(got, want, rtol=1e-12)
    theirs = "–"
    if bench.on_cpu and (a := rival_matrix(g)) is not None:
        import graphblas as gb

        vector = gb.Vector.from_coo(members, x[members], size=n)
        theirs = f"{bench.ms(lambda: gb.semiring.plus_times(vector @ a).new()):.3f} SuiteSparse"
    return [f"collect from 0.05 %, {bench.shown(bench.scale)}", f"{ours:.3f}", theirs]


def union(bench: Bench) -> list[str]:
    """Measure the union of two sparse vectors; the scale gives their width, 2^22 for 18."""
    n, xp, rng = 1 << (bench.scale + 4), np, np.random.default_rng(1)
    if bench.device.startswith("cuda"):
        import cupy as xp
    chosen = [np.sort(rng.choice(n, n // 8, replace=False)) for _ in range(2)]
    values = [rng.random(n // 8) for _ in range(2)]
    a, b = ((xp.asarray(k), xp.asarray(x)) for k, x in zip(chosen, values, strict=True))
    kept: list[Any] = []

    def run() -> None:
        kept[:] = weft.unite(a, b, lambda x, y: x + y)

    ours = bench.ms(run)
    want = np.zeros(n)
    for k, x in zip(chosen, values, strict=True):
        want[k] += x
    assert np.array_equal(to_host(kept[0]), np.union1d(*chosen))
    assert np.array_equal(to_host(kept[1]), want[to_host(kept[0])])
    theirs = "–"
    if bench.on_cpu:
        try:
            import graphblas as gb
        except ImportError:
            pass
        else:
            gb.ss.config["nthreads"] = 1
            left, right = (
                gb.Vector.from_coo(k, x, size=n) for k, x in zip(chosen, values, strict=True)
            )
            theirs = f"{bench.ms(lambda: gb.binary.plus(left | right).new()):.3f} SuiteSparse"
    return [f"union of two of {n // 8:,} entries of {n:,}", f"{ours:.3f}", theirs]


def radix(bench: Bench) -> list[list[str]]:
    """Measure pushes from shares of the vertices, their messages sorted and by atomics."""
    g = bench.graph(bench.scale)
    n, rng = g.num_vertices, np.random.default_rng(1)
    state = g.state(x=rng.random(n), total=weft.full(0.0))
    rows = []
    for share in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        chosen = rng.choice(n, max(1, int(n * share)), replace=False)
        frontier, times = g.frontier(np.sort(chosen)), []
        for how in ("radix", "atomic"):
            config = weft.Config(
                combine=how, direction="push", compiled=True, threads=1 if bench.on_cpu else None
            )

            def run(frontier: Any = frontier, config: Any = config) -> None:
                g.run(add, state, frontier, config=config)

            times.append(bench.ms(run))
        name = f"radix from {100 * share:g} %, {bench.shown(bench.scale)}"
        rows.append([name, f"{times[0]:.3f}", f"{times[1]:.3f} atomic"])
    return rows


def main() -> None:
    """Measure what was asked for, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--factor", type=int, default=16)
    graph_names.add_graph(parser)
    names = ("common", "by_key", "emit", "contract", "pairs", "product", "collect", "union",
             "radix")  # fmt: skip
    parser.add_argument("--tasks", nargs="*", choices=names, default=list(names))
    given = parser.parse_args()
    bench = Bench(given.device, given.scale, given.factor, given.graph)
    print(f"| ms, {given.device} | weft | beside |\n|---|--:|--:|")
    for name in given.tasks:
        if name in ("emit", "product"):
            smaller = given.scale - (2 if name == "emit" else 6)
            row = globals()[name](bench, smaller)
        else:
            row = globals()[name](bench)
        for line in row if name == "radix" else [row]:
            print(f"| {' | '.join(line)} |", flush=True)


if __name__ == "__main__":
    main()
