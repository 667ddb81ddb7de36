"""Checks that weights are finite and not negative."""

from __future__ import annotations

import weft
from weft.errors import GraphError


def check_weights(g: weft.Graph, weighted: bool, what: str) -> bool:
    """Return whether weights are to be read; raise if they are negative or not finite."""
    if not weighted or not g.weighted or g.num_edges == 0:
        return False
    low, high = g.edge.extent("weight")
    if not (low >= 0 and high < float("inf")):
        raise GraphError(
            f"the weights range from {low} to {high}. Expected finite weights from 0 on for {what}."
        )
    return True
