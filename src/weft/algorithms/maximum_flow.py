"""Maximum flow and minimum cut.

Method: synchronous push-relabel. Every vertex has a height and an excess of flow. In each round all
vertices with excess push it along residual arcs that lead one step down; those that keep some rise
to one above their lowest residual neighbour. From time to time all heights become the exact
distances to the target in the residual graph, by a breadth-first search backward, in which wide
fronts are looked for by what they may reach; vertices that
cannot reach the target stop. Then the value of the flow is known, and the vertices that still reach
the target are the other side of a minimum cut. What is left is sent back to the source in the same
way. O(n²) rounds at most, far fewer in practice.

A. Goldberg, R. Tarjan: A new approach to the maximum-flow problem (J. ACM 35, 1988).
N. Baumstark, G. Blelloch, J. Shun: Efficient implementation of a synchronous parallel push-relabel
algorithm (ESA 2015).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.carrier import carrier
from weft.algorithms.support.sources import check_source
from weft.algorithms.support.weights import check_weights
from weft.errors import GraphError
from weft.ir.ops import INT64

Array = np.ndarray[Any, Any]

_PULLS = 16  # how many arcs of a front cost as much as those of all that it may reach


class MaximumFlow(NamedTuple):
    """The value of a flow, the flow along every edge, and the source's side of a minimum cut."""

    value: float | int
    flow: Array
    source_side: Array


@weft.vertex(order_free=True)
def push(v: Any) -> bool:
    """Push the excess of v along residual arcs that lead one step down."""

    def send(i: Any, other: Any, left: Any) -> Any:
        slot = weft.neighbor_edge(v.id, i)
        amount = weft.minimum(v.residual.at(slot).load(), left)
        v.residual.at(slot).add(-amount)
        v.residual.at(v.back.at(slot).load()).add(amount)
        v.gained.at(other).add(amount)
        return left - amount

    def visit(i: Any, left: Any) -> Any:
        other = weft.neighbor(v.id, i)
        down = v.height.at(other).load() == v.height - 1
        return i + 1, weft.cond(down, lambda: send(i, other, left), lambda: left)

    degree = weft.degree(v.id)
    _, v.excess = weft.while_loop(lambda i, left: (i < degree) & (left > 0), visit, 0, v.excess)
    return False


@weft.vertex
def rise(v: Any) -> bool:
    """Find the height one above the lowest residual neighbour of v."""

    def visit(i: Any, lowest: Any) -> Any:
        open_ = v.residual.at(weft.neighbor_edge(v.id, i)).load() > 0
        height = v.height.at(weft.neighbor(v.id, i)).load()
        return weft.where(open_, weft.minimum(lowest, height), lowest)

    most = weft.cast(weft.num_vertices(), INT64)
    v.risen = weft.for_range(0, weft.degree(v.id), visit, most) + 1
    return False


@weft.vertex(order_free=True)
def climb(v: Any, blocked: Any) -> bool:
    """Put the vertices with a residual arc to v one step above it, if they have no height yet."""

    def visit(i: Any, seen: Any) -> Any:
        slot, other = weft.neighbor_edge(v.id, i), weft.neighbor(v.id, i)
        open_ = (v.residual.at(v.back.at(slot).load()).load() > 0) & (other != blocked)
        most = weft.cast(weft.num_vertices(), INT64)
        v.found.at(other).min(weft.where(open_, v.height + 1, most))
        return seen + 1

    v.seen = weft.for_range(0, weft.degree(v.id), visit, weft.cast(0, INT64))
    return False


@weft.vertex
def descend(v: Any, blocked: Any, level: Any) -> Any:
    """Find whether a residual arc leads from v to a vertex of a level; the first one is enough."""

    def visit(i: Any, _: Any) -> Any:
        open_ = v.residual.at(weft.neighbor_edge(v.id, i)).load() > 0
        return i + 1, open_ & (v.height.at(weft.neighbor(v.id, i)).load() == level)

    degree = weft.where(v.id == blocked, 0, weft.degree(v.id))
    first = weft.cast(0, INT64), weft.cast(False, np.bool_)
    _, found = weft.while_loop(lambda i, found: (i < degree) & ~found, visit, *first)
    return found


class _Network:
    """The residual network: for every edge an arc each way, one of them with its capacity."""

    def __init__(self, g: weft.Graph, source: int, target: int, config: weft.Config | None) -> None:
        self.source, self.target, self.config = source, target, config
        self.xp, self.n = g.topology.xp, g.num_vertices
        self.capacity = _capacities(g)
        xp, (src, dst) = self.xp, g.topology.edge_endpoints()
        self.kept = xp.flatnonzero(src != dst)
        src, dst, capacity = src[self.kept], dst[self.kept], self.capacity[self.kept]
        count = 2 * int(self.kept.size)
        arcs = weft.Graph.from_edges(
            xp.stack((src, dst), axis=1).ravel(), xp.stack((dst, src), axis=1).ravel(),
            xp.arange(count), num_vertices=self.n, keep="out", device=g.topology.device,
        )  # fmt: skip
        number = arcs.edge.in_slots("weight", "out").astype(np.int64)
        self.slot = xp.empty(count, np.int64)
        self.slot[number] = xp.arange(count)
        self.held = carrier(arcs, count)
        self.degree = arcs.out_degree
        zero = weft.full(0, capacity.dtype)
        self.state = self.held.state(
            residual=zero,
            back=weft.full(0),
            excess=zero,
            gained=zero,
            height=weft.full(0),
            risen=weft.full(0),
            found=weft.full(0),
            seen=weft.full(0),
            blocked=weft.scalar(0),
            level=weft.scalar(0),
        )
        self.state.residual[self.slot[::2]] = capacity
        if not g.directed:
            self.state.residual[self.slot[1::2]] = capacity
        self.state.back[:count] = self.slot[number ^ 1]

    def saturate(self) -> None:
        """Fill all arcs that leave the source."""
        state, xp = self.state, self.xp
        rows = self.held.topology.out
        slots = xp.arange(int(rows.offsets[self.source]), int(rows.offsets[self.source + 1]))
        amount = state.residual[slots].copy()
        state.residual[slots] = 0
        xp.add.at(state.residual, state.back[slots], amount)
        xp.add.at(state.excess, rows.targets[slots], amount)

    def drain(self, sink: int, blocked: int) -> Array:
        """Move excess to a sink where that is possible; return which vertices still reach it."""
        state, n, xp = self.state, self.n, self.xp
        work, limit = np.inf, n + self.slot.size
        while True:
            if work > limit:
                self.measure(sink, blocked)
                work = 0
            waits = (state.excess[:n] > 0) & (state.height[:n] < n)
            waits[sink] = waits[blocked] = False
            active = xp.flatnonzero(waits)
            if not active.size:
                if work == 0:
                    return state.height[:n] < n
                work = np.inf
                continue
            self.advance(active)
            work += int(self.degree[active].sum()) + active.size

    def advance(self, active: Array) -> None:
        """Let some vertices push, and those with excess left rise."""
        state, n = self.state, self.n
        self.held.run(push, state, active, config=self.config)
        stuck = active[state.excess[active] > 0]
        self.held.run(rise, state, stuck, config=self.config)
        # What a vertex pushed down to is never above it, so that no height falls.
        state.height[stuck] = self.xp.minimum(state.risen[stuck], n)
        state.excess[:n] += state.gained[:n]
        state.gained[:n] = 0

    def measure(self, sink: int, blocked: int) -> None:
        """Set all heights to the distances to the sink; n where it cannot be reached."""
        state, n, xp = self.state, self.n, self.xp
        state.blocked = blocked
        state.height[:n] = n
        state.height[sink] = 0
        state.found = weft.full(n)
        front, level = xp.array([sink]), 0
        while front.size:
            others = xp.flatnonzero(state.height[:n] == n)
            if _PULLS * self.degree[front].sum() > self.degree[others].sum():
                state.level = level
                front = self.held.run(descend, state, others, config=self.config).members
            else:
                self.held.run(climb, state, front, config=self.config)
                front = others[state.found[others] == level + 1]
            level += 1
            state.height[front] = level


@algorithm(
    group="matching",
    summary="the largest flow between two vertices, and a minimum cut",
    weights="used",
    per="result",
    reference=(
        "N. Baumstark, G. Blelloch, J. Shun: Efficient implementation of a synchronous parallel "
        "push-relabel algorithm (ESA 2015)"
    ),
    needs=Needs(("out",), Fields(own=400), weighted=True),
)
def maximum_flow(
    g: weft.Graph, source: Hashable, target: Hashable, *, config: weft.Config | None = None
) -> MaximumFlow:
    """Return the largest flow from one vertex to another, where weights are capacities.

    Parameters
    ----------
    g
        A graph; an undirected edge can carry its weight in either direction. Without weights every
        edge carries 1.
    source, target
        Two different vertices, by labels if the graph has labels.
    config
        How to run it.

    Returns
    -------
    MaximumFlow
        ``value``; ``flow`` along each edge in the order of `Graph.to_edges`, negative where it runs
        against an undirected edge as listed; ``source_side``: for each vertex whether it lies on
        the side of the source of a minimum cut, whose edges are full and add up to the value.
        Exact for integers.

    Raises
    ------
    GraphError
        If a vertex does not exist, both are the same, or weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], weight=[3, 2, 2, 5])
    >>> found = weft.maximum_flow(g, 0, 3)
    >>> found.value, found.flow.tolist(), found.source_side.tolist()
    (4, [2, 2, 2, 2], [True, True, False, False])
    """
    first, last = check_source(g, source), check_source(g, target, "target")
    if first == last:
        raise GraphError(f"source and target are both {source!r}. Expected two different vertices.")
    network = _Network(g, first, last, config)
    network.saturate()
    state, xp = network.state, g.topology.xp
    reaches = network.drain(last, first)
    value = state.excess[last].item()
    network.drain(first, last)
    flow = xp.zeros(g.num_edges, network.capacity.dtype)
    residual = state.residual[network.slot[::2]]
    flow[network.kept] = network.capacity[network.kept] - residual
    return MaximumFlow(value, flow, ~reaches)


def _capacities(g: weft.Graph) -> Array:
    """Return what each edge can carry, as int64 or float64."""
    if not check_weights(g, True, "capacities"):
        return g.topology.xp.ones(g.num_edges, np.int64)
    weight = g.edge.storage("weight")
    return weight.astype(np.int64 if weight.dtype.kind in "iub" else np.float64)
