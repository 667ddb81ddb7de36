"""The k shortest paths between two vertices, without repeated vertices.

Method: Yen's. Every further path leaves one of the earlier ones at some vertex, its spur. For each
vertex of the last path, a search from it avoids the vertices before it and the edges that earlier
paths with the same beginning take; the shortest candidate is the next path. O(k · l) searches for
paths of l vertices, each O(m) at most and ended at the target.

J. Yen: Finding the k shortest loopless paths in a network (Management Science 17, 1971).
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Any, Final

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.shortest_path import Path
from weft.algorithms.support.sources import check_source
from weft.arrays.checks import check_integer
from weft.arrays.device import to_host
from weft.errors import GraphError

Array = np.ndarray[Any, Any]

BATCH: Final = 8  # supersteps between checks of the target
BEHIND: Final = 1  # on the path before the spur
CLOSED: Final = 2  # not to be entered from the spur


@weft.edge(
    into=("dist", "parent"),
    reduce=weft.argmin,
    accept=lambda v: v.state != BEHIND,
    priority=lambda v: v.dist,
)
def relax(u: Any, v: Any, e: Any, spur: Any) -> Any:
    """Reach v through u if that is shorter and leaves the spur by an edge that no path took."""
    allowed = (v.state != CLOSED) | (weft.cast(u.id, np.int64) != spur)
    return weft.send((u.dist + weft.cast(e.weight, np.float64), u.id), when=allowed)


class _Finder:
    """Searches for paths to one target."""

    def __init__(self, g: weft.Graph, target: int, config: weft.Config | None) -> None:
        self.g, self.target, self.config = g, target, config
        self.state = g.state(
            dist=weft.full(np.inf),
            parent=weft.full(-1, weft.vertex_id),
            state=weft.full(0, np.int8),
            spur=weft.scalar(-1),
        )

    def search(
        self, spur: int, behind: list[int], closed: list[int]
    ) -> tuple[list[int], list[float]] | None:
        """Return the shortest path from the spur, and its distances; None if there is none."""
        state, target = self.state, self.target
        state.dist = weft.full(np.inf).but(spur, 0.0)
        state.parent = weft.full(-1).but(spur, spur)
        state.state = 0
        state.spur = spur
        state.state[behind] = BEHIND
        state.state[closed] = CLOSED
        frontier: Any = self.g.frontier([spur])
        while len(frontier):
            frontier = self.g.iterate(
                relax, state, frontier, max_iter=BATCH, config=self.config
            ).frontier
            if len(frontier) and state.dist[frontier.members].min() >= state.dist[target]:
                break
        if float(state.dist[target]) == np.inf:
            return None
        parent, path = to_host(state.parent), [target]
        while path[-1] != spur:
            path.append(int(parent[path[-1]]))
        path.reverse()
        return path, to_host(state.dist[np.array(path)]).tolist()


@algorithm(
    group="traversal",
    summary="the k shortest paths between two vertices",
    weights="used",
    column="paths",
    per="result",
    reference="J. Yen: Finding the k shortest loopless paths in a network (1971)",
    needs=Needs(
        BOTH, Fields(lambda i, w: 9 + i, lambda i, w: 16, lambda i, w: 8 + 2 * i + 12, own=16),
        weighted=True,
    ),
)  # fmt: skip
def k_shortest_paths(
    g: weft.Graph, source: Hashable, target: Hashable, k: int, *, config: weft.Config | None = None
) -> list[Path]:
    """Return the k shortest paths from one vertex to another that visit no vertex twice.

    Parameters
    ----------
    g
        A graph with weights of at least 0; 1 each without weights. Parallel edges count as one.
    source, target
        The ends of the paths, by their labels if the graph has labels.
    k
        The number of paths.
    config
        How to run it.

    Returns
    -------
    list of Path
        The paths, each with ``vertex`` and ``length``, the shortest first; fewer than k if there
        are no more.

    Raises
    ------
    GraphError
        If a vertex does not exist, or weights are negative or NaN.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], weight=[1.0, 2.0, 1.0, 2.0])
    >>> [path.vertex.tolist() for path in weft.k_shortest_paths(g, 0, 3, 3)]
    [[0, 1, 3], [0, 2, 3]]
    """
    first, last = check_source(g, source), check_source(g, target, "target")
    k = check_integer("k", k, 1)
    if g.weighted and g.num_edges and not g.edge.extent("weight")[0] >= 0:
        raise GraphError("some weights are negative or NaN. Expected weights from 0 on.")
    finder = _Finder(g, last, config)
    candidates: list[tuple[float, list[int], list[float]]] = []
    found: list[tuple[float, list[int], list[float]]] = []
    known: set[tuple[int, ...]] = set()
    _add(candidates, known, finder.search(first, [], []), [], 0.0, [])
    while candidates and len(found) < k:
        found.append(heapq.heappop(candidates))
        if len(found) < k:
            _extend(finder, candidates, known, found)
    dtype = g.topology.index_dtype
    return [Path(np.array(path, dtype), length) for length, path, _ in found]


def _extend(finder: _Finder, candidates: list[Any], known: set[Any], found: list[Any]) -> None:
    """Add the paths that leave the last found one at each of its vertices."""
    _, path, dists = found[-1]
    for i, spur in enumerate(path[:-1]):
        root = path[: i + 1]
        closed = sorted({other[i + 1] for _, other, _ in found if other[: i + 1] == root})
        hit = finder.search(spur, root[:-1], closed)
        _add(candidates, known, hit, root[:-1], dists[i], dists[:i])


def _add(
    candidates: list[Any], known: set[Any], hit: Any, root: list[int], before: float,
    dists: list[float],
) -> None:  # fmt: skip
    """Add a candidate: a shared prefix, followed by the path found from the spur."""
    if hit is None:
        return
    path, rest = root + hit[0], dists + [before + d for d in hit[1]]
    if tuple(path) not in known:
        known.add(tuple(path))
        heapq.heappush(candidates, (rest[-1], path, rest))
