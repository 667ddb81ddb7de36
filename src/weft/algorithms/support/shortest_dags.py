"""Shortest paths from one source after another, counted forward and summed up backward.

Method: an arc u -> v is *tight* if dist(u) + w(u, v) = dist(v). The tight arcs of a source form an
acyclic graph, in which a vertex is settled once all its predecessors are; its paths are then added
up. Backward, each vertex owes to the paths beyond it, with σ the number of shortest paths:

    share(v) = 1 / σ(v) + Σ share(w),    owed(v) = σ(v) · Σ share(w)    over tight arcs v -> w.

Numbers of paths are kept as fractions and exponents, as in `scaled_paths`: none is too large.
O(m) work beside the search for distances, supersteps as the most arcs of a tight path.

U. Brandes: On variants of shortest-path betweenness centrality and their generic computation
(Social Networks 30, 2008).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from weft.algorithms.support.scaled_paths import BIAS, FRACTION_BITS, power_of_two
from weft.algorithms.support.simple import simple
from weft.algorithms.support.weights import check_weights
from weft.arrays.reduce import count_true
from weft.config import Config
from weft.engine.state import State, full, scalar
from weft.errors import GraphError
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]


class Steps(NamedTuple):
    """The functions of the sweeps, for lengths from weights or of 1."""

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
        return fn.cast(e.weight, np.float64) if weighted else 1.0

    @edge(into="dist", reduce=monoids.min, priority=lambda v: v.dist)
    def relax(u: Any, v: Any, e: Any) -> Any:
        return u.dist + length(e)

    @vertex
    def prepare(v: Any) -> None:
        """Count the tight arcs that v waits for."""
        v.need = v.gather(
            lambda u, e: send(
                fn.cast(1, np.int32), when=(u.dist < np.inf) & (u.dist + length(e) == v.dist)
            ),
            monoids.sum,
        )
        v.preds = fn.maximum(v.need, 1)

    @edge(
        into=("need", "power"), reduce=(monoids.sum, monoids.max),
        active=lambda v, old: v.need == 0,
    )  # fmt: skip
    def settle(u: Any, v: Any, e: Any) -> Any:
        """Count u out of what v waits for; find the largest exponent among its predecessors."""
        return send((fn.cast(-1, np.int32), u.power), when=u.dist + length(e) == v.dist)

    @vertex(wake="changed")
    def count(v: Any) -> None:
        """Add up the shortest paths that lead to v."""
        paths = v.gather(
            lambda u, e: send(
                u.fraction * power_of_two(u.power - v.power), when=u.dist + length(e) == v.dist
            ),
            monoids.sum,
        )
        exponent = (fn.bitcast(paths, np.int64) >> FRACTION_BITS) - BIAS
        v.fraction = paths * power_of_two(-exponent)
        v.power = v.power + exponent
        v.changed = True

    @vertex
    def owe(v: Any, amount: Any) -> None:
        """Gather the shares beyond v."""
        beyond = v.gather(
            lambda u, e: send(
                u.share * power_of_two(v.power - u.power), when=v.dist + length(e) == u.dist
            ),
            monoids.sum,
            direction="out",
        )
        v.share = 1 / v.fraction + beyond
        v.total = v.total + fn.where(v.dist > 0, amount * v.fraction * beyond, 0)

    @vertex
    def pass_loads(v: Any) -> None:
        """Gather what is beyond v, of which each vertex passes equal parts to its predecessors."""
        beyond = v.gather(
            lambda u, e: send(u.share, when=v.dist + length(e) == u.dist),
            monoids.sum,
            direction="out",
        )
        v.share = (1 + beyond) / fn.cast(v.preds, np.float64)
        v.total = v.total + fn.where(v.dist > 0, beyond, 0)

    @edge
    def flow(u: Any, v: Any, e: Any) -> bool:
        """Add the paths that run along the arc."""
        tight = (u.dist < np.inf) & (u.dist + length(e) == v.dist)
        part = u.fraction * power_of_two(u.power - v.power) * v.share
        e.flow = e.flow + fn.where(tight, part, 0)
        return False

    return Steps(relax, prepare, [settle, count], owe, pass_loads, flow)


class Sweeps:
    """The sweeps over a graph that has each pair of vertices once, with its least weight."""

    def __init__(self, g: Graph, weighted: bool, config: Config | None) -> None:
        self.weighted = check_weights(g, weighted, "shortest paths to be counted")
        self.g = _lightest(g) if self.weighted else simple(g, directed=True, both=True)
        self.steps, self.config = steps(self.weighted), config
        zeros = full(0.0)
        self.state: State = self.g.state(
            dist=full(np.inf), need=full(0, np.int32), preds=full(1, np.int32),
            power=full(0), fraction=zeros, share=zeros, total=zeros, amount=scalar(1.0),
        )  # fmt: skip
        self.flows = self.g.edge_state(flow=full(0.0))

    def search(self, source: int) -> list[Any]:
        """Count the shortest paths from a source; return the vertices in the order settled."""
        g, state, config = self.g, self.state, self.config
        state.dist, state.power = full(np.inf).but(source, 0.0), full(0)
        state.fraction = full(0.0).but(source, 1.0)
        g.iterate(self.steps.relax, state, [source], config=config)
        g.run(self.steps.prepare, state, config=config)
        trail = g.iterate(self.steps.forward, state, [source], trail=True, config=config).trail
        settled = 1 + count_true((state.need == 0) & (state.dist > 0) & (state.dist < np.inf))
        if settled < count_true(state.dist < np.inf):
            raise GraphError(
                f"some weights are too small beside distances from vertex {source}: adding them "
                "changes nothing, so that shortest paths run in cycles. Expected weights of "
                "similar sizes."
            )
        return list(trail)

    def add_owed(self, source: int, amount: float = 1.0) -> None:
        """Add to `total` an amount for each path from a source through a vertex, in parts."""
        trail = self.search(source)
        self.state.amount = amount
        self.g.replay(self.steps.owe, self.state, trail, config=self.config)

    def add_flow(self, source: int) -> None:
        """Add to `flows` the paths from a source along every arc, in parts."""
        self.add_owed(source)
        self.g.run(self.steps.flow, self.state, edge_state=self.flows, config=self.config)

    def add_loads(self, source: int) -> None:
        """Add to `total` what passes a vertex if all send one unit back to the source."""
        trail = self.search(source)
        self.g.replay(self.steps.pass_loads, self.state, trail, config=self.config)


def _lightest(g: Graph) -> Graph:
    """Return the graph with the lightest of parallel edges and no self-loops."""
    src, dst = g.topology.edge_endpoints()
    weight = g.edge.storage("weight")
    low, _ = g.edge.extent("weight")
    if not low > 0:
        raise GraphError(
            f"the least weight is {low}. Expected weights above 0: edges of length 0 may form "
            "cycles, and then there are endlessly many shortest paths."
        )
    return Graph.from_edges(
        src, dst, weight.astype(np.float64), num_vertices=g.num_vertices, directed=g.directed,
        duplicates="min", self_loops="drop", index_dtype=g.topology.index_dtype,
        device=g.topology.device,
    )  # fmt: skip
