"""Counts shortest paths from one source after another, and sums over them backward.

Method: an arc u -> v is *tight* if dist(u) + w(u, v) = dist(v). The tight arcs of a source form an
acyclic graph, in which a vertex is settled once all its predecessors are; then its paths are
counted. Backward, each vertex sums its share of the paths beyond it, with σ the number of shortest
paths:

    share(v) = 1 / σ(v) + Σ share(w),    owed(v) = σ(v) · Σ share(w)    over tight arcs v -> w.

Path counts are stored as fractions and exponents, as in `scaled_paths`, so none overflows. O(m)
work in addition to the search for distances; as many supersteps as the longest tight path has arcs.

U. Brandes: On variants of shortest-path betweenness centrality and their generic computation
(Social Networks 30, 2008).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.support.scaled_paths import BIAS, FRACTION_BITS, power_of_two
from weft.algorithms.support.simple import simple
from weft.algorithms.support.weights import check_weights
from weft.arrays.reduce import count_true
from weft.errors import GraphError

Array = np.ndarray[Any, Any]


class Steps(NamedTuple):
    """The functions of the sweeps, for weighted or unit lengths."""

    relax: Any
    prepare: Any
    forward: list[Any]
    owe: Any
    pass_loads: Any
    flow: Any


@functools.cache
def steps(weighted: bool) -> Steps:
    """Return the functions of the sweeps."""

    def length(e: Any) -> Any:
        return weft.cast(e.weight, np.float64) if weighted else 1.0

    @weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
    def relax(u: Any, v: Any, e: Any) -> Any:
        return u.dist + length(e)

    @weft.vertex
    def prepare(v: Any) -> None:
        """Count the tight arcs that v waits for."""
        v.need = v.gather(
            lambda u, e: weft.send(
                weft.cast(1, np.int32), when=(u.dist < np.inf) & (u.dist + length(e) == v.dist)
            ),
            weft.sum,
        )
        v.preds = weft.maximum(v.need, 1)

    @weft.edge(
        into=("need", "power"), reduce=(weft.sum, weft.max),
        active=lambda v, old: v.need == 0,
    )  # fmt: skip
    def settle(u: Any, v: Any, e: Any) -> Any:
        """Remove u from the predecessors that v waits for; find the largest exponent among them."""
        return weft.send((weft.cast(-1, np.int32), u.power), when=u.dist + length(e) == v.dist)

    @weft.vertex(wake="changed")
    def count(v: Any) -> None:
        """Count the shortest paths to v."""
        paths = v.gather(
            lambda u, e: weft.send(
                u.fraction * power_of_two(u.power - v.power), when=u.dist + length(e) == v.dist
            ),
            weft.sum,
        )
        exponent = (weft.bitcast(paths, np.int64) >> FRACTION_BITS) - BIAS
        v.fraction = paths * power_of_two(-exponent)
        v.power = v.power + exponent
        v.changed = True

    @weft.vertex
    def owe(v: Any, amount: Any) -> None:
        """Gather the shares beyond v."""
        beyond = v.gather(
            lambda u, e: weft.send(
                u.share * power_of_two(v.power - u.power), when=v.dist + length(e) == u.dist
            ),
            weft.sum,
            direction="out",
        )
        v.share = 1 / v.fraction + beyond
        v.total = v.total + weft.where(v.dist > 0, amount * v.fraction * beyond, 0)

    @weft.vertex
    def pass_loads(v: Any) -> None:
        """Gather the loads beyond v, which each vertex divides equally among its predecessors."""
        beyond = v.gather(
            lambda u, e: weft.send(u.share, when=v.dist + length(e) == u.dist),
            weft.sum,
            direction="out",
        )
        v.share = (1 + beyond) / weft.cast(v.preds, np.float64)
        v.total = v.total + weft.where(v.dist > 0, beyond, 0)

    @weft.edge
    def flow(u: Any, v: Any, e: Any) -> bool:
        """Add the paths along the arc."""
        tight = (u.dist < np.inf) & (u.dist + length(e) == v.dist)
        part = u.fraction * power_of_two(u.power - v.power) * v.share
        e.flow = e.flow + weft.where(tight, part, 0)
        return False

    return Steps(relax, prepare, [settle, count], owe, pass_loads, flow)


class Sweeps:
    """The sweeps over a graph with one edge per adjacent pair, of the smallest weight."""

    def __init__(self, g: weft.Graph, weighted: bool, config: weft.Config | None) -> None:
        self.weighted = check_weights(g, weighted, "shortest paths to be counted")
        self.g = _lightest(g) if self.weighted else simple(g, directed=True, both=True)
        self.steps, self.config = steps(self.weighted), config
        zeros = weft.full(0.0)
        self.state: weft.State = self.g.state(
            dist=weft.full(np.inf), need=weft.full(0, np.int32), preds=weft.full(1, np.int32),
            power=weft.full(0), fraction=zeros, share=zeros, total=zeros, amount=weft.scalar(1.0),
        )  # fmt: skip
        self.flows = self.g.edge_state(flow=weft.full(0.0))

    def search(self, source: int) -> list[Any]:
        """Count the shortest paths from a source; return the vertices in the order settled."""
        g, state, config = self.g, self.state, self.config
        state.dist, state.power = weft.full(np.inf).but(source, 0.0), weft.full(0)
        state.fraction = weft.full(0.0).but(source, 1.0)
        g.iterate(self.steps.relax, state, [source], config=config)
        g.run(self.steps.prepare, state, config=config)
        trail = g.iterate(self.steps.forward, state, [source], trail=True, config=config).trail
        settled = 1 + count_true((state.need == 0) & (state.dist > 0) & (state.dist < np.inf))
        if settled < count_true(state.dist < np.inf):
            raise GraphError(
                f"some weights are too small relative to distances from vertex {source}: adding "
                "them changes nothing, so that shortest paths run in cycles. Expected weights of "
                "similar sizes."
            )
        return list(trail)

    def add_owed(self, source: int, amount: float = 1.0) -> None:
        """Add to `total` each vertex's share of the paths from a source."""
        trail = self.search(source)
        self.state.amount = amount
        self.g.replay(self.steps.owe, self.state, trail, config=self.config)

    def add_flow(self, source: int) -> None:
        """Add to `flows` each arc's share of the paths from a source."""
        self.add_owed(source)
        self.g.run(self.steps.flow, self.state, edge_state=self.flows, config=self.config)

    def add_loads(self, source: int) -> None:
        """Add to `total` the load of each vertex if all send one unit back to the source."""
        trail = self.search(source)
        self.g.replay(self.steps.pass_loads, self.state, trail, config=self.config)


def _lightest(g: weft.Graph) -> weft.Graph:
    """Return the graph with only the lightest of parallel edges and no self-loops."""
    src, dst = g.topology.edge_endpoints()
    weight = g.edge.storage("weight")
    low, _ = g.edge.extent("weight")
    if not low > 0:
        raise GraphError(
            f"the least weight is {low}. Expected weights above 0: edges of length 0 may form "
            "cycles, and then there are endlessly many shortest paths."
        )
    return weft.Graph.from_edges(
        src, dst, weight.astype(np.float64), num_vertices=g.num_vertices, directed=g.directed,
        duplicates="min", self_loops="drop", index_dtype=g.topology.index_dtype,
        device=g.topology.device,
    )  # fmt: skip
