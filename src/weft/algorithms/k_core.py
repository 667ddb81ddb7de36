"""k-cores and the layers of their peeling.

Method: vertices with at most k neighbours are removed, all at once, until there are none; then k
rises to the smallest remaining degree. Each removal is one layer. The k-core consists of the
vertices of core number k or more. O(m + n · layers) at most.

S. Seidman: Network structure and minimum degree (Social Networks 5, 1983).
L. Hébert-Dufresne, J. Grochow, A. Allard: Multi-scale structure and topological anomaly detection
via a new network statistic: the onion decomposition (Scientific Reports 6, 2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.core_number import core_number, find_lowest, has_lowest, lose_neighbor
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.arrays.checks import check_integer

Array = np.ndarray[Any, Any]

FIELDS = Fields(lambda i, w: 2 * i + 4, lambda i, w: i, lambda i, w: 2 * i + 8, own=16)
NEEDS = Needs(("out",), FIELDS, simple=True, degrees=("out",))


@weft.vertex
def peel(v: Any, k: Any) -> None:
    """Remove v as part of the current layer."""
    v.core = k
    v.layer = weft.cast(weft.superstep(), np.int32) + 1


@algorithm(
    group="structure",
    summary="the subgraph in which all vertices keep k neighbours",
    directed="ignored",
    per="result",
    reference="S. Seidman: Network structure and minimum degree (1983)",
    needs=NEEDS,
)
def k_core(g: weft.Graph, k: int | None = None, *, config: weft.Config | None = None) -> weft.Graph:
    """Return the largest subgraph in which every vertex has at least k neighbours.

    Parameters
    ----------
    g
        A graph. To find the core, self-loops are ignored, parallel edges count once, and directed
        edges are taken to run both ways.
    k
        The number of neighbours; by default the largest that has a core.
    config
        How to run it.

    Returns
    -------
    Graph
        A subgraph with the columns and labels of g, as from `Graph.subgraph`.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], directed=False)
    >>> weft.k_core(g, 2).num_vertices
    3
    """
    core = core_number(g, config=config)
    if k is None:
        k = int(core.max()) if g.num_vertices else 0
    return g.subgraph(core >= check_integer("k", k, 0))


@algorithm(
    group="structure",
    summary="the layer in which each vertex is peeled off",
    directed="ignored",
    column="layer",
    reference=(
        "L. Hébert-Dufresne, J. Grochow, A. Allard: Multi-scale structure and topological anomaly "
        "detection: the onion decomposition (2016)"
    ),
    needs=NEEDS,
)
def onion_layers(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the layer in which peeling the graph removes each vertex.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of int32
        Layers from 1 on; the innermost one is the highest.

    Examples
    --------
    >>> import weft
    >>> weft.onion_layers(weft.generators.path(5)).tolist()
    [1, 2, 3, 2, 1]
    """
    g = simple(g)
    state = g.state(
        core=weft.full(-1, weft.vertex_id),
        degree=lambda v: v.out_degree,
        k=weft.scalar(0, weft.vertex_id),
        layer=weft.full(0, np.int32),
    )
    g.iterate([peel, lose_neighbor], state, [], refill=[find_lowest, has_lowest], config=config)
    return state.layer
