"""Programs for the ablations: BFS without its optimisations, and PageRank that can push."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gpu_checks import DAMPING, ITERATIONS

__all__ = ["ITERATIONS", "bfs_steps", "edge_pagerank"]


def bfs_steps(bench: Any) -> dict[str, Callable[[], Any]]:
    """Return BFS after each optimisation of GraphBLAST's table, added one by one.

    Without a mask every target takes messages and the smaller level wins; with it only
    unvisited vertices take part. Early exit is a pass that can be left out; with operand reuse a
    pull tests the levels in place of a bitmap. The last row is `weft.bfs` with its defaults.
    """
    import weft

    g, source = bench.workload.graph, bench.workload.source
    # Adding a column of zeros reads the edge's value without changing the result.
    zeros = g.topology.xp.zeros(g.num_edges, np.int32)

    @weft.edge(into="level", reduce=weft.min)
    def valued(u: Any, v: Any, e: Any) -> Any:
        return u.level + 1 + e.zero

    @weft.edge(into="level", reduce=weft.min)
    def structural(u: Any, v: Any, e: Any) -> Any:
        return u.level + 1

    @weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
    def masked(u: Any, v: Any, e: Any) -> Any:
        return u.level + 1

    def search(
        function: Any, direction: str, off: tuple[str, ...] = (), frontier_in: str | None = None
    ) -> Callable[[], Any]:
        config = weft.Config(
            direction=direction, passes_off=frozenset(off), frontier_in=frontier_in
        )
        start = -1 if function is masked else UNREACHED

        def call() -> Any:
            if function is valued and "zero" not in g.edge:
                g.edge["zero"] = zeros
            state = g.state(level=weft.full(start, np.int32))
            state.level[source] = 0
            g.iterate(function, state, [source], config=config)
            return g.topology.xp.where(state.level == UNREACHED, -1, state.level)

        return call

    return {
        "baseline: push, values read": search(valued, "push"),
        "+ structure only": search(structural, "push"),
        "+ change of direction": search(structural, "auto"),
        "+ masking": search(masked, "auto", ("early_exit", "operand_reuse")),
        "+ early exit": search(masked, "auto", ("operand_reuse",)),
        "+ operand reuse": search(masked, "auto", frontier_in="state"),
        "weft.bfs": lambda: bench.call("bfs"),
    }


UNREACHED = 2**30


def edge_pagerank(g: Any) -> Callable[[Any], Any]:
    """Return PageRank as messages along edges, which a configuration can push or pull."""
    import weft

    n = g.num_vertices

    @weft.edge(into="arrived", reduce=weft.sum)
    def send_share(u: Any, v: Any, e: Any) -> Any:
        return u.share

    @weft.vertex(on="all", wake="all")
    def settle(v: Any, dangling: Any) -> None:
        rank = DAMPING * (v.arrived + dangling / n) + (1 - DAMPING) / n
        weft.reduce("dangling", weft.where(v.out_degree == 0, rank, 0.0), weft.sum)
        v.rank = rank
        v.share = rank / weft.maximum(v.out_degree, 1)
        v.arrived = 0.0

    def call(config: Any) -> Any:
        xp = g.topology.xp
        degree = g.out_degree
        state = g.state(
            rank=weft.full(1 / n),
            share=1 / (n * xp.maximum(degree, 1).astype(np.float64)),
            arrived=weft.full(0.0),
            dangling=weft.scalar(float((degree == 0).sum()) / n),
        )
        g.iterate([send_share, settle], state, max_iter=ITERATIONS, config=config)
        return state.rank

    return call
