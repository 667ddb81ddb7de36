"""Quality of a partition: modularity and conductance.

Method: one pass over the edges. With m the total weight, L(c) the weight of the edges inside a
community and S(c) the total weight at its vertices,

    modularity = Σ L(c) / m - γ · (S(c) / 2m)²,
    conductance(c) = weight that leaves c / min(S(c), 2m - S(c)).

M. Newman, M. Girvan: Finding and evaluating community structure in networks (Physical Review E 69,
2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.communities import check_labels
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import real_of
from weft.errors import ConfigError, shortened
from weft.topology.adjacency_gpu import sums_of_keys

Array = np.ndarray[Any, Any]

NEEDS = Needs((), Fields(own=64), frontier=False, weighted=True)
REFERENCE = "M. Newman, M. Girvan: Finding and evaluating community structure in networks (2004)"


@algorithm(
    group="communities",
    summary="how much weight lies inside communities beyond what chance would give",
    weights="optional",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def modularity(
    g: weft.Graph,
    labels: Any,
    resolution: float = 1.0,
    *,
    weighted: bool = True,
    config: weft.Config | None = None,
) -> float:
    """Return the modularity of a partition.

    Parameters
    ----------
    g
        A graph. In a directed one, outgoing and incoming weights are distinguished.
    labels
        The community of every vertex, any integers.
    resolution
        The weight γ of the random expectation: larger values favour smaller communities.
    weighted
        Whether to count weights, which must be finite and not negative, rather than edges.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    float
        At most 1; 0 in a graph without edges.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5], directed=False)
    >>> weft.modularity(g, [0, 0, 0, 1, 1, 1])
    0.5
    """
    if not real_of(resolution) >= 0:
        raise ConfigError(
            f"resolution={shortened(resolution)} is not possible. Expected a number from 0 on."
        )
    number, count = check_labels(g, labels)
    inside, leaving, entering, total = _weights(g, number, count, weighted)
    if total == 0:
        return 0.0
    if g.directed:
        chance = float((leaving * entering).sum()) / total**2
    else:
        chance = float(((leaving + entering) ** 2).sum()) / (2 * total) ** 2
    return float(inside.sum()) / total - resolution * chance


@algorithm(
    group="communities",
    summary="the share of its weight that each community sends outside",
    weights="optional",
    per="result",
    reference="J. Shi, J. Malik: Normalized cuts and image segmentation (2000)",
    needs=NEEDS,
)
def conductance(
    g: weft.Graph, labels: Any, *, weighted: bool = True, config: weft.Config | None = None
) -> Array:
    """Return the conductance of every community: the share of its weight that leads outside.

    Parameters
    ----------
    g
        A graph; directions do not matter.
    labels
        The community of every vertex, any integers; a mask gives the conductance of a set and of
        the rest.
    weighted
        Whether to count weights, which must be finite and not negative, rather than edges.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    ndarray of float64
        One value for each label, in the order of the labels: the weight of the edges that leave
        over the weight at its vertices or at all others, whichever is less; NaN where that is 0.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], directed=False)
    >>> weft.conductance(g, [0, 0, 0, 1, 1]).round(3).tolist()
    [0.333, 0.333]
    """
    number, count = check_labels(g, labels)
    inside, leaving, entering, total = _weights(g, number, count, weighted)
    volume = leaving + entering
    least = g.topology.xp.minimum(volume, 2 * total - volume)
    cut = volume - 2 * inside
    with np.errstate(invalid="ignore", divide="ignore"):
        return cut / least


def _weights(
    g: weft.Graph, number: Array, count: int, weighted: bool
) -> tuple[Array, Array, Array, float]:
    """Return the weight inside each community, of edges from it, of edges to it, and of all."""
    src, dst = g.topology.edge_endpoints()
    xp = g.topology.xp
    if not src.size:
        zero = xp.zeros(count)
        return zero, zero, zero, 0.0
    if check_weights(g, weighted, "communities"):
        weight = g.edge.storage("weight").astype(np.float64)
    else:
        weight = xp.ones(src.size)
    a, b = number[src], number[dst]
    same = a == b
    inside = sums_of_keys(a, xp.where(same, weight, 0.0), count)
    leaving, entering = sums_of_keys(a, weight, count), sums_of_keys(b, weight, count)
    return inside, leaving, entering, float(weight.sum())
