"""The four algorithms of the thesis as plain programs: one step a superstep, no refinements."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine.state import full, scalar
from weft.ir.trace import functions as wf
from weft.ir.trace import monoids
from weft.program import edge, vertex


@edge(into="level", reduce=monoids.any, accept=lambda v: v.level < 0)
def discover(u: Any, v: Any, e: Any) -> Any:
    """BFS: a level more than the neighbour's, once."""
    return u.level + 1


@edge(into="dist", reduce=monoids.min)
def relax(u: Any, v: Any, e: Any) -> Any:
    """SSSP, Bellman and Ford: the shortest of all ways over a neighbour."""
    return u.dist + wf.cast(e.weight, np.float32)


@edge(into="label", reduce=monoids.min)
def spread(u: Any, v: Any, e: Any) -> Any:
    """CC: the smallest label of all neighbours."""
    return u.label


@vertex
def refresh(v: Any, base: Any, damping: Any) -> None:
    """PR: ranks gathered as shares that their senders computed."""
    v.rank = base + damping * v.gather(lambda u, e: u.share, monoids.sum)
    v.share = v.rank / wf.maximum(v.out_degree, 1)


def bfs(g: Any, source: int = 0) -> Any:
    """Return levels; -1 where there is no path."""
    state = g.state(level=full(-1, np.int32))
    state.level[source] = 0
    g.iterate(discover, state, g.frontier([source]))
    return state.level


def sssp(g: Any, source: int = 0) -> Any:
    """Return distances; infinite where there is no path."""
    state = g.state(dist=full(np.inf, np.float32))
    state.dist[source] = 0
    g.iterate(relax, state, g.frontier([source]))
    return state.dist


def connected_components(g: Any) -> Any:
    """Return the smallest vertex of each component."""
    state = g.state(label=lambda v: v.id)
    g.iterate(spread, state)
    return state.label


def pagerank(g: Any, rounds: int = 3) -> Any:
    """Return the ranks after some rounds."""
    n = max(1, g.num_vertices)
    state = g.state(
        rank=full(1 / n, np.float32), share=full(0.0, np.float32),
        base=scalar(np.float32(0.15 / n)), damping=scalar(np.float32(0.85)),
    )  # fmt: skip
    state.share[:] = state.rank / np.maximum(np.asarray(g.out_degree), 1)
    g.iterate(refresh, state, max_iter=rounds)
    return state.rank
