"""Time weft.graphblas beside python-graphblas: ``python benchmarks/graphblas.py``.

Both libraries run the same expressions on the same Kronecker graphs, in turn, in one process with
one thread each (set OMP_NUM_THREADS and WEFT_NUM_THREADS for more); a row shows the least of
several CPU times in milliseconds, with more threads of the wall clock. Operations on many values
run in compiled kernels once NumPy has taken as long as compiling does; calls until then are not
timed. ``--device cuda`` times weft alone, with products on the GPU and BFS, PageRank and SSSP
beside the built-in algorithms. ``--tiny`` shows that everything runs.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft
import weft.graphblas as ours
from benchmarks import graph_names
from weft.graphblas import algorithms

Task = tuple[str, Callable[[Any, Any], Any]]
# Rounds of both libraries, and the seconds after which three are enough.
ROUNDS, MOST_S = 15, 8.0
ROUND_S = 0.005
WARM_S = 1.2


def matrices(graph: int | str, lib: Any, seed: int = 1, smaller: int = 0) -> Any:
    """Return the adjacency matrix of a graph with random weights and 2^smaller times fewer rows.

    A scale stands for Kronecker graphs by seed; a name for one graph, with vertices shuffled by
    every seed but the first.
    """
    if isinstance(graph, int):
        g = weft.generators.kron(max(4, graph - smaller), seed=seed)
    else:
        g = graph_names.generate(graph, weights=None, factors=graph_names.ON_A_CPU)
        g = g.subgraph(np.arange(max(1, g.num_vertices >> smaller)))
    src, dst, _ = g.to_edges()
    if isinstance(graph, str) and seed != 1:
        order = np.random.default_rng(seed).permutation(g.num_vertices)
        src, dst = order[src], order[dst]
    keep = src != dst
    src, dst = src[keep], dst[keep]
    rows, cols = np.concatenate([src, dst]), np.concatenate([dst, src])
    keys = np.unique(rows.astype(np.int64) * g.num_vertices + cols)
    rows, cols = np.divmod(keys, g.num_vertices)
    weights = np.random.default_rng(1).random(len(keys)) + 0.5
    size = g.num_vertices
    return lib.Matrix.from_coo(rows, cols, weights, nrows=size, ncols=size)


def tasks() -> Iterator[Task]:
    """Yield the operations by name: functions of a library and its operands."""

    def mxv(name: str) -> Callable[[Any, Any], Any]:
        return lambda lib, x: getattr(lib.semiring, name)(x.A @ x.dense).new()

    for name in ("plus_times", "min_plus", "plus_second", "max_second"):
        yield f"mxv {name}, dense", mxv(name)
    yield "vxm plus_times, dense", lambda lib, x: lib.semiring.plus_times(x.dense @ x.A).new()
    yield "mxv user-defined", lambda lib, x: x.own(x.A @ x.dense).new()
    yield (
        "mxv min_plus, complemented mask",
        lambda lib, x: lib.semiring.min_plus(x.A @ x.dense).new(mask=~x.few.S),
    )
    for share in ("few", "some"):
        yield (
            f"vxm min_plus, {share} values",
            lambda lib, x, share=share: lib.semiring.min_plus(getattr(x, share) @ x.A).new(),
        )
    yield (
        "L @ L.T masked by L, plus_pair",
        lambda lib, x: lib.semiring.plus_pair(x.L @ x.L.T).new(mask=x.L.S),
    )
    yield (
        "L @ L.T masked by L, plus_times",
        lambda lib, x: lib.semiring.plus_times(x.L @ x.L.T).new(mask=x.L.S),
    )
    yield (
        "its sum, plus_pair",
        lambda lib, x: (
            lib.semiring.plus_pair(x.L @ x.L.T).new(mask=x.L.S).reduce_scalar(lib.monoid.plus).new()
        ),
    )
    for name in ("plus_times", "min_plus"):
        yield (
            f"P @ P, {name}",
            lambda lib, x, name=name: getattr(lib.semiring, name)(x.P @ x.P).new(),
        )
        yield (
            f"P @ Q masked by R, {name}",
            lambda lib, x, name=name: getattr(lib.semiring, name)(x.P @ x.Q).new(mask=x.R.S),
        )
        yield (
            f"P @ Q outside of R, {name}",
            lambda lib, x, name=name: getattr(lib.semiring, name)(x.P @ x.Q).new(mask=~x.R.S),
        )
    yield "A | B, plus", lambda lib, x: lib.binary.plus(x.A | x.B).new()
    yield "A & B, times", lambda lib, x: lib.binary.times(x.A & x.B).new()
    yield "u | v, half of the places", lambda lib, x: lib.binary.plus(x.half | x.other).new()
    yield "u & v, half of the places", lambda lib, x: lib.binary.times(x.half & x.other).new()
    yield "reduce to a scalar", lambda lib, x: x.A.reduce_scalar(lib.monoid.plus).new()
    yield "reduce by row", lambda lib, x: x.A.reduce_rowwise(lib.monoid.plus).new()
    yield "select by value", lambda lib, x: x.A.select("<=", 1.0).new()
    yield "apply", lambda lib, x: x.A.apply(lib.unary.exp).new()
    yield from small_tasks()


def small_tasks() -> Iterator[Task]:
    """Yield operations on four values, which cost their calls."""

    def masked(lib: Any, x: Any) -> Any:
        x.w4(~x.m4.S, lib.binary.plus) << lib.semiring.min_plus(x.S4 @ x.v4)
        return x.w4

    def assigned(lib: Any, x: Any) -> Any:
        x.w4[[0, 1]] << 3.0
        return x.w4

    yield "small mxv", lambda lib, x: lib.semiring.min_plus(x.S4 @ x.v4).new()
    yield "small vxm", lambda lib, x: lib.semiring.min_plus(x.v4 @ x.S4).new()
    yield "small mxv, complemented mask, accumulated", masked
    yield "small mxm", lambda lib, x: lib.semiring.plus_times(x.S4 @ x.S4).new()
    yield "small mxm, masked", lambda lib, x: lib.semiring.plus_times(x.S4 @ x.S4).new(mask=x.S4.S)
    yield "small ewise", lambda lib, x: lib.binary.plus(x.v4 | x.v4).new()
    yield "small apply", lambda lib, x: x.v4.apply(lib.unary.ainv).new()
    yield "small select", lambda lib, x: x.v4.select(">", 2.0).new()
    yield "small reduce", lambda lib, x: x.v4.reduce(lib.monoid.plus).new()
    yield "small extract", lambda lib, x: x.S4[[0, 1], [1, 2]].new()
    yield "small assign", assigned


class Operands:
    """The operands of all tasks, for one library."""

    def __init__(self, lib: Any, graph: int | str) -> None:
        self.A = matrices(graph, lib)
        size = self.A.nrows
        rng = np.random.default_rng(2)
        self.dense = lib.Vector.from_dense(rng.random(size))
        for name, share in (("few", 0.0005), ("some", 0.01)):
            places = np.sort(rng.choice(size, max(1, int(size * share)), replace=False))
            setattr(self, name, lib.Vector.from_coo(places, rng.random(len(places)), size=size))
        for name in ("half", "other"):
            places = np.sort(rng.choice(size, size // 2, replace=False))
            setattr(self, name, lib.Vector.from_coo(places, rng.random(len(places)), size=size))
        self.L = self.A.select("tril", -1).new()
        self.B = matrices(graph, lib, seed=5)
        # Products of matrices are far larger than their factors.
        self.P, self.Q, self.R = (matrices(graph, lib, seed, 4) for seed in (1, 6, 7))
        self.S4 = lib.Matrix.from_coo([0, 1, 2, 3], [1, 2, 3, 0], [1.0, 2.0, 3.0, 4.0])
        self.v4 = lib.Vector.from_coo([0, 2], [1.0, 5.0], size=4)
        self.m4 = lib.Vector.from_coo([0, 1], [True, True], size=4)
        self.w4 = lib.Vector(float, 4)
        multiply = lib.binary.register_anonymous(lambda x, y: x + 2.0 * y)
        self.own = lib.semiring.register_anonymous(lib.monoid.min, multiply)
        self.A.T.new().wait()


def now() -> float:
    """Return the time: of the processor with one thread, else of the wall clock."""
    if os.environ.get("WEFT_NUM_THREADS") == "1":
        return time.process_time()
    return time.perf_counter()


def warm_up(task: Callable[[Any, Any], Any], lib: Any, operands: Any) -> None:
    """Call for WARM_S seconds: weft compiles when a kernel has been worth it."""
    begin = now()
    task(lib, operands).wait()
    while now() - begin < WARM_S:
        task(lib, operands).wait()


def round_ms(task: Callable[[Any, Any], Any], lib: Any, operands: Any) -> float:
    """Return the time of a call within a few milliseconds: CPU's mean, the wall clock's least.

    Other programs are part of what a wall clock shows, unless they happen to pause.
    """
    times = []
    begin = now()
    while not times or now() - begin < ROUND_S:
        start = now()
        task(lib, operands).wait()
        times.append(now() - start)
    if os.environ.get("WEFT_NUM_THREADS") == "1":
        return (now() - begin) / len(times) * 1e3
    return min(times) * 1e3


def compare(graph: int | str, shown: str, only: str) -> None:
    """Print a table of both libraries, which take turns round by round."""
    for name in ("OMP_NUM_THREADS", "WEFT_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    warnings.simplefilter("ignore")
    import graphblas as theirs

    threads = os.environ["WEFT_NUM_THREADS"]
    sides = [(theirs, Operands(theirs, graph)), (ours, Operands(ours, graph))]
    clock = "CPU" if threads == "1" else "wall"
    title = f"{shown}, {clock} ms, threads: {threads}"
    print(f"| {title} | python-graphblas | weft.graphblas | ratio |")
    print("|---|---|---|---|")
    for name, task in tasks():
        if not re.search(only, name):
            continue
        for lib, operands in sides:
            warm_up(task, lib, operands)
        found: list[list[float]] = [[], []]
        begin = now()
        for number in range(ROUNDS):
            if number >= 3 and now() - begin > MOST_S:
                break
            for side, (lib, operands) in zip(found, sides, strict=True):
                side.append(round_ms(task, lib, operands))
        first, second = min(found[0]), min(found[1])
        print(f"| {name} | {first:.4g} | {second:.4g} | {first / second:.2f} |", flush=True)


def on_device(graph: int | str, shown: str, device: str) -> None:
    """Print times of products and algorithms with compiled kernels on a device."""
    operands = Operands(ours, graph)
    g = ours.io.to_graph(operands.A).to(device)
    print(f"| {shown}, {device}, wall ms | weft.graphblas | built-in |")
    print("|---|---|---|")
    with ours.options(device=device):
        for name, task in tasks():
            if "mxv" in name and "small" not in name:
                print(f"| {name} | {wall_ms(lambda task=task: task(ours, operands)):.4g} | |")
        rows = (
            ("BFS", lambda: algorithms.bfs_levels(operands.A, 0), lambda: weft.bfs(g, 0)),
            ("SSSP", lambda: algorithms.sssp(operands.A, 0), lambda: weft.sssp(g, 0)),
            ("PageRank", lambda: algorithms.pagerank(operands.A), lambda: weft.pagerank(g)),
        )
        for name, mine, built_in in rows:
            print(f"| {name} | {wall_ms(mine):.4g} | {wall_ms(built_in):.4g} |", flush=True)


def wall_ms(call: Callable[[], Any]) -> float:
    """Return the least wall time of a call, after one that is not timed."""
    call()
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=16)
    graph_names.add_graph(parser)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "emulated"])
    parser.add_argument("--only", default="", help="operations whose names match an expression")
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    graph = args.graph or (6 if args.tiny else args.scale)
    shown = graph_names.short(args.graph) if args.graph else f"kron{graph}"
    if args.tiny:
        globals()["WARM_S"] = 0.0
    if args.device == "cpu":
        compare(graph, shown, args.only)
    else:
        on_device(graph, shown, args.device)


if __name__ == "__main__":
    main()
