"""All pairs of similar vertices, and one-mode projections of bipartite graphs.

Method: the vertices two edges away from a are gathered by key, each with the sum over the common
neighbours in between: pairs without common neighbours are never visited. The measures are those of
`similarity`. At most O(Σ d(w)²) work over all w, which is large for hubs.

D. Liben-Nowell, J. Kleinberg: The link-prediction problem for social networks (JASIST 58, 2007).
T. Zhou et al.: Bipartite network projection and personal recommendation (Physical Review E 76,
2007).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.algorithms.support.sources import check_each
from weft.arrays.checks import check_integer, real_of
from weft.arrays.device import move
from weft.errors import ConfigError, GraphError, shortened, unknown

Array = np.ndarray[Any, Any]

MEASURES = (
    "common_neighbors", "jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation",
)  # fmt: skip
PROJECTIONS = (None, "count", "newman")
NEEDS = Needs(("out",), Fields(own=64), simple=True, degrees=("out",), keys=True)


class SimilarPairs(NamedTuple):
    """Pairs of vertices, the smaller one first, and how similar they are."""

    first: Array
    second: Array
    score: Array


@functools.cache
def telling(measure: str) -> Any:
    """Return the vertex function that emits the pairs of v and larger vertices."""

    def part(u: Any, e: Any, w: Any, f: Any) -> Any:
        degree = weft.cast(u.out_degree, np.float64)
        if measure == "adamic_adar":
            return 1 / weft.log(weft.maximum(degree, 2.0))  # a common neighbour has two or more
        if measure == "resource_allocation":
            return 1 / degree
        if measure == "newman":
            return 1 / weft.maximum(degree - 1, 1.0)
        return weft.cast(1, np.float64)

    @weft.vertex
    def tell(v: Any, threshold: Any) -> None:
        shared = v.gather_by(lambda u, e, w, f: w.id, part, weft.sum, direction="out")

        def judge(other: Any, total: Any) -> None:
            a = weft.cast(v.out_degree, np.float64)
            b = weft.cast(weft.degree(other), np.float64)
            score = total
            if measure == "jaccard":
                score = total / (a + b - total)
            elif measure == "overlap":
                score = total / weft.minimum(a, b)
            elif measure == "cosine":
                score = total / weft.sqrt(a * b)
            weft.emit(
                v.id, weft.cast(other, np.int64), score, when=(other > v.id) & (score >= threshold)
            )

        shared.each(judge)

    return tell


@algorithm(
    group="similarity",
    summary="all pairs of vertices that are similar enough, or the most similar ones",
    directed="ignored",
    per="result",
    reference=(
        "D. Liben-Nowell, J. Kleinberg: The link-prediction problem for social networks (2007)"
    ),
    needs=NEEDS,
)
def similar_pairs(
    g: weft.Graph,
    measure: str = "jaccard",
    threshold: float = 0.0,
    top: int | None = None,
    *,
    config: weft.Config | None = None,
) -> SimilarPairs:
    """Return all pairs of vertices with common neighbours that are similar enough.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    measure
        "common_neighbors", "jaccard", "overlap", "cosine", "adamic_adar" or "resource_allocation";
        see the functions of these names.
    threshold
        The smallest similarity of a pair.
    top
        The number of most similar pairs to return; by default all.
    config
        How to run it.

    Returns
    -------
    SimilarPairs
        ``first``, ``second`` and ``score``: the most similar pair first, then by number.

    Raises
    ------
    ConfigError
        If the measure is not known, or threshold or top is not a number.
    DeviceMemoryError
        If the pairs do not fit into memory. Raise the threshold.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 1, 2, 2], [2, 3, 2, 3, 3, 4], directed=False)
    >>> found = weft.similar_pairs(g, threshold=0.5)
    >>> list(zip(found.first.tolist(), found.second.tolist(), found.score.tolist()))
    [(0, 1, 1.0), (0, 4, 0.5), (1, 4, 0.5)]
    """
    if measure not in MEASURES:
        raise ConfigError(unknown("measure", measure, MEASURES))
    if not real_of(threshold) > -np.inf:
        raise ConfigError(f"threshold={shortened(threshold)} is not possible. Expected a number.")
    most = None if top is None else check_integer("top", top, 0)
    plain, xp = simple(g), g.topology.xp
    state = plain.state(threshold=weft.scalar(float(threshold)))
    first, second, score = plain.emit(telling(measure), state, config=config)
    order = xp.argsort(-score, kind="stable")[:most]
    dtype = g.topology.index_dtype
    return SimilarPairs(first[order].astype(dtype), second[order].astype(dtype), score[order])


@algorithm(
    group="similarity",
    summary="the graph of one side of a bipartite graph, joined over the other side",
    directed="ignored",
    per="result",
    reference="T. Zhou et al.: Bipartite network projection and personal recommendation (2007)",
    needs=NEEDS,
)
def bipartite_projection(
    g: weft.Graph, vertices: Any, weight: str | None = "count", *, config: weft.Config | None = None
) -> weft.Graph:
    """Return the graph of some vertices in which those with a common neighbour are adjacent.

    Parameters
    ----------
    g
        A bipartite graph; parallel edges count once, and directed edges are taken to run both ways.
    vertices
        One side of the graph, by labels if the graph has labels: vertices of which no two are
        adjacent.
    weight
        The weight of common neighbours w: "count" for 1 each, "newman" for 1 / (d(w) - 1) each (a
        group of d divides its attention). None gives an unweighted graph.
    config
        How to run it.

    Returns
    -------
    Graph
        Undirected, with the vertex columns and labels of the side, in ascending order of the
        vertices.

    Raises
    ------
    ConfigError
        If the weight is not known.
    GraphError
        If two of the vertices are adjacent.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 1, 2], [3, 4, 3, 4, 4], directed=False)
    >>> weft.bipartite_projection(g, [0, 1, 2]).to_edges().weight.tolist()
    [2.0, 1.0, 1.0]
    """
    if weight not in PROJECTIONS:
        raise ConfigError(unknown("weight", weight, [str(p) for p in PROJECTIONS]))
    plain, xp = simple(g), g.topology.xp
    side = xp.zeros(g.num_vertices, bool)
    side[move(np.unique(check_each(g, vertices)), g.topology.device)] = True
    src, dst = g.topology.edge_endpoints()
    inside = xp.flatnonzero(side[src] & side[dst])
    if inside.size:
        k = int(inside[0])
        raise GraphError(
            f"vertices {int(src[k])} and {int(dst[k])} of the side are adjacent. Expected one side "
            "of a bipartite graph, as weft.bipartite_sets returns."
        )
    state = plain.state(threshold=weft.scalar(0.0))
    kind = "newman" if weight == "newman" else "common_neighbors"
    places = xp.flatnonzero(side)
    first, second, score = plain.emit(telling(kind), state, places, config=config)
    joined = weft.Graph.from_edges(
        first, second, None if weight is None else score, num_vertices=g.num_vertices,
        directed=False, index_dtype=g.topology.index_dtype, device=g.topology.device,
    )  # fmt: skip
    held = weft.Graph(
        joined.topology, edge=dict(joined.edge), vertex=dict(g.vertex), labels=g.labels
    )
    return held.subgraph(side)
