"""k-cores and the layers of their peeling.

Method: vertices with k neighbours or fewer are taken away, all at once, until none is left; then k
rises to the smallest degree that remains. Each such removal is one layer. The k-core is what lies
within core numbers of k or more. O(m + n · layers) at most.

S. Seidman: Network structure and minimum degree (Social Networks 5, 1983).
L. Hébert-Dufresne, J. Grochow, A. Allard: Multi-scale structure and topological anomaly detection
via a new network statistic: the onion decomposition (Scientific Reports 6, 2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.core_number import core_number, find_lowest, has_lowest, lose_neighbor
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.arrays.checks import check_integer
from weft.config import Config
from weft.engine.state import full, scalar
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.types import vertex_id
from weft.program import vertex

Array = np.ndarray[Any, Any]

FIELDS = Fields(lambda i, w: 2 * i + 4, lambda i, w: i, lambda i, w: 2 * i + 8, own=16)
NEEDS = Needs(("out",), FIELDS, simple=True, degrees=("out",))


@vertex
def peel(v: Any, k: Any) -> None:
    """Take v away, as part of the present layer."""
    v.core = k
    v.layer = fn.cast(fn.superstep(), np.int32) + 1


@algorithm(
    group="structure",
    summary="the subgraph in which all vertices keep k neighbours",
    directed="ignored",
    per="result",
    reference="S. Seidman: Network structure and minimum degree (1983)",
    needs=NEEDS,
)
def k_core(g: Graph, k: int | None = None, *, config: Config | None = None) -> Graph:
    """Return the largest subgraph in which every vertex has k neighbours or more.

    Parameters
    ----------
    g
        A graph. To find the core, self-loops are ignored, parallel edges count once, and directed
        edges are taken to run both ways.
    k
        The number of neighbours; by default the largest for which there is a core.
    config
        How to run it.

    Returns
    -------
    Graph
        With the columns and labels of g, as `Graph.subgraph` returns it.

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
def onion_layers(g: Graph, *, config: Config | None = None) -> Array:
    """Return the layer in which every vertex is taken away when the graph is peeled.

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
        core=full(-1, vertex_id), degree=lambda v: v.out_degree, k=scalar(0, vertex_id),
        layer=full(0, np.int32),
    )  # fmt: skip
    g.iterate([peel, lose_neighbor], state, [], refill=[find_lowest, has_lowest], config=config)
    return state.layer
