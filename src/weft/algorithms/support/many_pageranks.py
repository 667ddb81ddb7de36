"""PageRank of several personalisations at once: one sweep moves a vector of ranks.

Method: for each column p of the personalisation, the ranks are proportional to the solution of

    x(v) = d · Σ x(u) · w(u, v) / W(u) over u -> v  +  (1 - d) · p(v),

found by iteration from x = p. Vertices without out-edges send nothing: the jumps that the usual
definition gives them only scale the solution. An edge is read once for all columns.

G. Jeh, J. Widom: Scaling personalized web search (WWW 2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.support.ranking import Ranking
from weft.algorithms.support.strengths import distribution
from weft.arrays.device import as_array
from weft.arrays.reduce import all_true
from weft.errors import GraphError

Array = np.ndarray[Any, Any]


def moving(weighted: bool, dtype: Any) -> Any:
    """Return the vertex function of one iteration."""

    def share(u: Any, e: Any) -> Any:
        if weighted:
            weight = weft.cast(e.weight, dtype)
            return weight / weft.where(u.strength > 0, u.strength, 1) * u.rank
        return u.rank / weft.cast(weft.maximum(u.out_degree, 1), dtype)

    @weft.vertex(wake="all")
    def move(v: Any, damping: Any) -> None:
        kept = weft.cast(damping, dtype)
        rank = kept * v.gather(share, weft.sum) + (1 - kept) * v.home
        moved = weft.sum(abs(rank - v.rank))
        weft.reduce("error", weft.cast(moved, np.float64), weft.sum)
        weft.reduce("mass", weft.cast(weft.sum(rank), np.float64), weft.sum)
        v.rank = rank

    return move


def many_ranks(
    g: weft.Graph, personalization: Any, strength: Array | None, wanted: Ranking
) -> tuple[Array, weft.Run]:
    """Return one column of ranks per column of the personalisation, and how the run ended."""
    dtype, tol = wanted.dtype, wanted.tol
    home = _homes(personalization, g.num_vertices).astype(dtype)
    fields = {"rank": home, "home": home}
    if strength is not None:
        fields["strength"] = strength
    state = g.state(
        **fields,
        damping=weft.scalar(wanted.damping),
        error=weft.scalar(np.inf),
        mass=weft.scalar(0.0),
    )
    run = g.iterate(
        moving(strength is not None, dtype), state,
        until=lambda error, mass: error <= tol * mass, max_iter=wanted.max_iter,
        config=wanted.config,
    )  # fmt: skip
    total = state.rank.sum(axis=0, dtype=np.float64)
    return (state.rank / (total + (total == 0))).astype(dtype), run


def _homes(personalization: Any, n: int) -> Array:
    """Return columns that add up to 1 each."""
    homes = as_array(personalization).astype(np.float64)
    if homes.shape[0] != n or homes.shape[1] < 1:
        raise GraphError(
            f"personalization has shape {homes.shape}. Expected ({n}, k): one column for each of k "
            f"rankings."
        )
    most = homes.max(axis=0) if n else homes
    if n and not (all_true(homes >= 0) and all_true((most > 0) & (most < np.inf))):
        raise GraphError(
            "every column of the personalization must be finite, non-negative and somewhere "
            f"positive, but the smallest value is {homes.min()} and the largest of each are {most}."
        )
    return distribution(homes) if n else homes
