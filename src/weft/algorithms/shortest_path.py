"""One shortest path between two vertices, with or without an estimate of the remaining distance.

Method: two searches meet. One follows the edges from the source, the other runs against them from
the target, and the one with the smaller frontier advances. Without weights they stop at the first
level on which they meet; with weights, when no vertex in either frontier can lie on a shorter path:

    least distance in front of the source's + least in front of the target's search >= best.

A* orders one search by distance + estimate instead: vertices wait until their sum is within a
window above the least one, and the search ends when no sum is below the distance of the target.
O(m) at most without weights, usually far less.

I. Pohl: Bi-directional search (Machine Intelligence 6, 1971).
P. Hart, N. Nilsson, B. Raphael: A formal basis for the heuristic determination of minimum cost
paths (IEEE Trans. Systems Science and Cybernetics 4, 1968).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

import numpy as np

import weft
from weft.algorithms.bfs import NO_LEVEL, NO_PARENT, discover
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.sssp import sssp
from weft.algorithms.support.sources import check_source
from weft.arrays.device import as_array, move, to_host
from weft.arrays.distinct import distinct
from weft.arrays.reduce import any_true
from weft.errors import GraphError

Array = np.ndarray[Any, Any]

BATCH: Final = 8  # supersteps of a weighted search between checks
NEEDS = Needs(
    BOTH, Fields(lambda i, w: 2 * (8 + i), lambda i, w: 16, lambda i, w: 8 + 2 * i + 12, own=24),
    weighted=True,
)  # fmt: skip


class Path(NamedTuple):
    """The vertices of a path, and its length; empty and inf if there is no path."""

    vertex: Array
    length: float


@weft.edge(into=("dist", "parent"), reduce=weft.argmin, priority=lambda v: v.dist)
def relax(u: Any, v: Any, e: Any) -> Any:
    """Reach v through u if that is shorter."""
    return u.dist + weft.cast(e.weight, np.float64), u.id


@weft.edge(into=("dist", "parent"), reduce=weft.argmin)
def relax_now(u: Any, v: Any, e: Any) -> Any:
    """Reach v through u if that is shorter, for any distance of u."""
    return u.dist + weft.cast(e.weight, np.float64), u.id


class _Side:
    """One of the two searches."""

    def __init__(
        self, g: weft.Graph, source: int, weighted: bool, config: weft.Config | None
    ) -> None:
        self.g, self.config, self.weighted = g, config, weighted
        parent = NO_PARENT.but(source, source)
        if weighted:
            self.state = g.state(dist=weft.full(np.inf).but(source, 0.0), parent=parent)
        else:
            self.state = g.state(level=NO_LEVEL.but(source, 0), parent=parent)
        self.frontier: Any = g.frontier([source])

    def advance(self) -> None:
        """Advance by a level, or by some supersteps of a weighted search."""
        if self.weighted:
            run = self.g.iterate(
                relax, self.state, self.frontier, max_iter=BATCH, config=self.config
            )
            self.frontier = run.frontier
        else:
            self.frontier = self.g.run(discover, self.state, self.frontier, config=self.config)

    def least(self) -> float:
        """Return the least distance in the frontier; inf if it is empty."""
        if not len(self.frontier):
            return float("inf")
        return float(self.state.dist[self.frontier.members].min())

    def walk(self, v: int) -> list[int]:
        """Return the vertices from v back to the start of the search."""
        parent, path = to_host(self.state.parent), [v]
        while parent[path[-1]] != path[-1]:
            path.append(int(parent[path[-1]]))
        return path


@algorithm(
    group="traversal",
    summary="a shortest path between two vertices",
    weights="used",
    per="result",
    reference="I. Pohl: Bi-directional search (1971)",
    needs=NEEDS,
)
def shortest_path(
    g: weft.Graph,
    source: Hashable,
    target: Hashable,
    *,
    weighted: bool = True,
    config: weft.Config | None = None,
) -> Path:
    """Return a shortest path from one vertex to another.

    Parameters
    ----------
    g
        A graph whose edges can be followed in both directions (``keep="both"``).
    source, target
        The ends of the path, by their labels if the graph has labels.
    weighted
        Whether weights are lengths; otherwise, and in unweighted graphs, every edge has length 1.
    config
        How to run it.

    Returns
    -------
    Path
        ``vertex``: the vertices from the source to the target; ``length``: the sum of the weights.
        No vertices and inf if there is no path.

    Raises
    ------
    GraphError
        If a vertex does not exist, a weight is NaN, or a negative cycle can be reached.

    Examples
    --------
    >>> import weft
    >>> path = weft.shortest_path(weft.generators.grid(3, 3), 0, 5)
    >>> path.vertex.size, path.length
    (4, 3.0)
    """
    first, last = check_source(g, source), check_source(g, target, "target")
    if weighted and g.weighted and g.num_edges:
        low, _ = g.edge.extent("weight")
        if not low >= 0:  # sssp handles negative weights, and rejects NaN
            return _path_in_tree(g, first, last, config)
        return _meeting(g, first, last, True, config)
    return _meeting(g, first, last, False, config)


def _meeting(
    g: weft.Graph, source: int, target: int, weighted: bool, config: weft.Config | None
) -> Path:
    """Search from both ends until the best path is known."""
    ahead = _Side(g, source, weighted, config)
    back = _Side(g.reverse() if g.directed else g, target, weighted, config)
    while True:
        found, length = _best(ahead, back)
        if found is not None and (not weighted or ahead.least() + back.least() >= length):
            vertices = ahead.walk(found)[::-1] + back.walk(found)[1:]
            return Path(np.array(vertices, g.topology.index_dtype), length)
        if not len(ahead.frontier) or not len(back.frontier):
            if found is None:
                return Path(np.empty(0, g.topology.index_dtype), float("inf"))
            side = ahead if len(ahead.frontier) else back
        else:
            side = ahead if len(ahead.frontier) <= len(back.frontier) else back
        side.advance()


def _best(ahead: _Side, back: _Side) -> tuple[int | None, float]:
    """Return the vertex of the shortest path found so far, and the length of that path."""
    xp = ahead.g.topology.xp
    if ahead.weighted:
        total = ahead.state.dist + back.state.dist
    else:
        one, other = ahead.state.level, back.state.level
        total = xp.where((one >= 0) & (other >= 0), one + other, np.inf)
    found = int(total.argmin())
    length = float(total[found])
    return (found, length) if length < np.inf else (None, length)


def _path_in_tree(g: weft.Graph, source: int, target: int, config: weft.Config | None) -> Path:
    """Return the path in the tree of all shortest paths."""
    start = source if g.labels is None else g.label_of(source)
    dist, parent = map(to_host, sssp(g, start, config=config))
    if parent[target] < 0:
        return Path(np.empty(0, parent.dtype), float("inf"))
    path = [target]
    while path[-1] != source:
        path.append(int(parent[path[-1]]))
    return Path(np.array(path[::-1], parent.dtype), float(dist[target]))


@algorithm(
    group="traversal",
    summary="a shortest path, searched in the direction of an estimate",
    weights="used",
    per="result",
    reference=(
        "P. Hart, N. Nilsson, B. Raphael: A formal basis for the heuristic determination of "
        "minimum cost paths (1968)"
    ),
    needs=NEEDS,
)
def astar(
    g: weft.Graph,
    source: Hashable,
    target: Hashable,
    estimate: Any,
    *,
    config: weft.Config | None = None,
) -> Path:
    """Return a shortest path, given an estimate of the distance from each vertex to the target.

    Parameters
    ----------
    g
        A graph with weights of at least 0; 1 each without weights.
    source, target
        The ends of the path, by their labels if the graph has labels.
    estimate
        A lower bound of each vertex's distance to the target, such as the straight-line distance.
    config
        How to run it.

    Returns
    -------
    Path
        ``vertex``: the vertices from the source to the target; ``length``: the sum of the weights.
        No vertices and inf if there is no path.

    Raises
    ------
    GraphError
        If a vertex does not exist, or weights or estimates are negative or NaN.

    Examples
    --------
    >>> import weft
    >>> weft.astar(weft.generators.path(4), 0, 2, [2, 1, 0, 1])
    Path(vertex=array([0, 1, 2], dtype=int32), length=2.0)
    """
    first, last = check_source(g, source), check_source(g, target, "target")
    guess = move(as_array(estimate), g.topology.device)
    if guess.shape != (g.num_vertices,) or not float(guess.min()) >= 0:
        raise GraphError(
            f"estimate has the shape {guess.shape}. Expected one number from 0 on for each of the "
            f"{g.num_vertices} vertices."
        )
    if g.weighted and g.num_edges and not g.edge.extent("weight")[0] >= 0:
        raise GraphError("some weights are negative or NaN. Expected weights from 0 on for A*.")
    state = g.state(dist=weft.full(np.inf).but(first, 0.0), parent=NO_PARENT.but(first, first))
    _search_towards(g, state, first, last, guess.astype(np.float64), config)
    length = float(state.dist[last])
    if length == np.inf:
        return Path(np.empty(0, g.topology.index_dtype), length)
    parent, path = to_host(state.parent), [last]
    while path[-1] != first:
        path.append(int(parent[path[-1]]))
    return Path(np.array(path[::-1], parent.dtype), length)


def _search_towards(
    g: weft.Graph,
    state: weft.State,
    source: int,
    target: int,
    estimate: Array,
    config: weft.Config | None,
) -> None:
    """Relax the edges of vertices whose distance + estimate is small, until the target is final."""
    xp = g.topology.xp
    width = float(g.edge.storage("weight").mean()) if g.weighted and g.num_edges else 1.0
    waiting, limit = xp.array([source]), -np.inf
    while waiting.size:
        total = state.dist[waiting] + estimate[waiting]
        waiting, total = (part[total < state.dist[target]] for part in (waiting, total))
        if not waiting.size:
            return
        due = total <= limit
        if not any_true(due):
            limit = float(total.min()) + width
            due = total <= limit
        moved = g.run(relax_now, state, waiting[due], config=config).members
        waiting = distinct(xp.concatenate((waiting[~due], moved.astype(waiting.dtype))))
