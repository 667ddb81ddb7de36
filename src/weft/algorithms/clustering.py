"""Local clustering coefficients.

Method: the triangles of an oriented graph are found as in `triangle_count`, each once; each is
credited to its three corners. With t triangles and d neighbours,

    clustering(v) = 2 t(v) / (d(v) · (d(v) - 1)).

In a directed graph, let x(a, b) be the number of directions in which a pair is joined. Then there
are two common definitions: the share of ordered pairs of neighbours that are joined by an edge
(LDBC), and the share of possible directed triangles that exist (Fagiolo),

    Σ x(a, b) / (d · (d - 1)),    Σ x(v, a) · x(v, b) · x(a, b) / (D · (D - 1) - 2 (D - d)),

over the triangles v, a, b, with D the sum of in- and out-degree. With weights, 1 becomes the cube
root of the weight over the largest one, so that a triangle counts by its geometric mean.
O(m^1.5) at most.

D. Watts, S. Strogatz: Collective dynamics of small-world networks (Nature 393, 1998).
G. Fagiolo: Clustering in complex directed networks (Physical Review E 76, 2007).
J.-P. Onnela et al.: Intensity and coherence of motifs in weighted complex networks (Physical Review
E 71, 2005).
A. Iosup et al.: The LDBC Graphalytics benchmark (arXiv:2011.15028).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.algorithms.support.weights import check_weights
from weft.algorithms.triangle_count import oriented
from weft.errors import ConfigError, unknown

Array = np.ndarray[Any, Any]


@weft.edge(order_free=True)
def credit(u: Any, v: Any, e: Any) -> bool:
    """Credit the triangles over an edge to its ends and to the third corner of each."""

    def third(w: Any) -> int:
        w.triangles.at(w.id).add(1)
        return 1

    found = weft.common(u, v, third, weft.sum)
    u.triangles.at(u.id).add(found)
    v.triangles.at(v.id).add(found)
    return False


@weft.edge(order_free=True)
def credit_opposite(u: Any, v: Any, e: Any) -> bool:
    """Credit each corner of a triangle with the directions of the edge between the others."""
    directions = e.weight

    def third(w: Any, ea: Any, eb: Any) -> tuple[Any, Any]:
        w.total.at(w.id).add(directions)
        return eb.weight, ea.weight

    first, second = weft.common(u, v, third, (weft.sum, weft.sum))
    u.total.at(u.id).add(first)
    v.total.at(v.id).add(second)
    return False


@weft.edge(order_free=True)
def credit_product(u: Any, v: Any, e: Any) -> bool:
    """Credit each corner of a triangle with the product of the three edges."""
    own = e.weight

    def third(w: Any, ea: Any, eb: Any) -> Any:
        product = own * ea.weight * eb.weight
        w.total.at(w.id).add(product)
        return product

    found = weft.common(u, v, third, weft.sum)
    u.total.at(u.id).add(found)
    v.total.at(v.id).add(found)
    return False


DEFINITIONS = (None, "ldbc", "fagiolo")


@algorithm(
    group="structure",
    summary="the local clustering coefficient of every vertex",
    weights="optional",
    reference=(
        "D. J. Watts, S. H. Strogatz: Collective dynamics of small-world networks (Nature 1998)"
    ),
    needs=Needs(
        (), Fields(lambda i, w: 8, own=96), frontier=False, simple=True, oriented=True,
        weighted=True,
    ),
)  # fmt: skip
def clustering(
    g: weft.Graph,
    *,
    definition: str | None = None,
    weighted: bool = False,
    config: weft.Config | None = None,
) -> Array:
    """Return the share of the pairs of neighbours of each vertex that are adjacent.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, and parallel edges count once.
    definition
        The role of edge directions. None: none, directed edges are taken to run both ways.
        "ldbc": an edge between two neighbours counts for each of its directions, as in LDBC
        Graphalytics. "fagiolo": directed triangles are counted, as NetworkX does.
    weighted
        Whether a triangle counts by the geometric mean of its weights over the largest weight of
        the graph, rather than 1; weights must be finite and not negative. The heaviest of parallel
        edges counts.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One coefficient from 0 to 1 per vertex; 0 where there are fewer than two neighbours.

    Raises
    ------
    ConfigError
        If the definition is not known, or has no weighted form ("ldbc").
    GraphError
        If weights are to be used and some are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], directed=False)
    >>> weft.clustering(g).round(3).tolist()
    [0.333, 1.0, 1.0, 0.0]
    >>> g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2])
    >>> weft.clustering(g, definition="ldbc").tolist()
    [0.5, 0.5, 0.5]
    """
    if definition not in DEFINITIONS:
        raise ConfigError(unknown("definition", definition, [str(d) for d in DEFINITIONS]))
    if weighted and definition == "ldbc":
        raise ConfigError(
            "definition='ldbc' cannot be combined with weighted=True: LDBC Graphalytics defines no "
            "weighted coefficient. Expected definition=None or 'fagiolo'."
        )
    weighted = check_weights(g, weighted, "clustering")
    plain = simple(g)
    degree = plain.out_degree.astype(np.float64)
    pairs = degree * (degree - 1)
    if not weighted and (definition is None or not g.directed):
        arcs = oriented(plain)
        state = arcs.state(triangles=weft.full(0))
        arcs.run(credit, state, config=config)
        return 2 * state.triangles / g.topology.xp.maximum(pairs, 1)
    told = g.directed and definition is not None
    arcs = oriented(_valued(g, weighted, told), "weight")
    state = arcs.state(total=weft.full(0.0))
    arcs.run(credit_opposite if definition == "ldbc" else credit_product, state, config=config)
    if not told:
        return 2 * state.total / g.topology.xp.maximum(pairs, 1)
    if definition == "fagiolo":
        own = simple(g, directed=True)
        both = own.out_degree.astype(np.float64) + own.in_degree
        pairs = both * (both - 1) - 2 * (both - degree)
    return state.total / g.topology.xp.maximum(pairs, 1)


def _valued(g: weft.Graph, weighted: bool, told: bool) -> weft.Graph:
    """Return the simple graph weighted by the values of pairs, in each direction if `told`."""
    src, dst = g.topology.edge_endpoints()
    value = g.topology.xp.ones(src.size)
    if weighted:
        weight = g.edge.storage("weight").astype(np.float64)
        value = g.topology.xp.cbrt(weight / (float(weight.max()) or 1.0))
    options: dict[str, Any] = {
        "num_vertices": g.num_vertices, "self_loops": "drop", "device": g.topology.device,
        "index_dtype": g.topology.index_dtype,
    }  # fmt: skip
    one_way = weft.Graph.from_edges(src, dst, value, directed=told, duplicates="max", **options)
    if not told:
        return one_way
    src, dst = one_way.topology.edge_endpoints()
    value = one_way.edge.storage("weight")
    return weft.Graph.from_edges(src, dst, value, directed=False, duplicates="sum", **options)
