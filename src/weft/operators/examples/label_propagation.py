"""Communities by weighted label propagation: every vertex takes the heaviest label around it."""

from typing import Any

from weft.ir.trace import monoids
from weft.operators import filter, neighbor_reduce


def label_propagation(g: Any, rounds: int = 10) -> Any:
    """Return a label for every vertex of an undirected graph, after some rounds at most.

    Of labels of equal weight the smallest one wins.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.label_propagation import label_propagation
    >>> label_propagation(weft.generators.complete(4), 2).tolist()
    [0, 0, 0, 0]
    """
    state = g.state(label=lambda v: v.id)
    rows = filter(g, None, has_neighbors, state)
    for _ in range(rounds):
        if not neighbor_reduce(g, rows, vote, monoids.mode, state, into="label"):
            break
    return state.label


def has_neighbors(v: Any) -> Any:
    """Hold for vertices with an arc."""
    return v.out_degree > 0


def vote(u: Any, v: Any, e: Any) -> Any:
    """Vote for the label of a neighbour with the weight of the edge."""
    return v.label, e.weight
