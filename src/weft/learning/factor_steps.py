"""The traced functions of alternating least squares (see `weft.learning.factors`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.learning.inputs import weight_of
from weft.program import edge, vertex


def _solution(v: Any, direction: str, ridge: float, dtype: Any) -> Any:
    """Return the best factors of v, given those of its neighbours."""
    scale, gram = v.gather(
        lambda u, e: (weight_of(e, "weight", dtype) * u.factor, fn.outer(u.factor, u.factor)),
        monoids.sum,
        direction=direction,
    )
    return fn.solve(gram + ridge * fn.eye(v.factor.size), scale, assume="spd")


def refitting(direction: str, ridge: float, dtype: Any) -> Any:
    """Return the vertex function that solves for the factors of one side."""

    @vertex
    def refit(v: Any) -> None:
        v.factor = _solution(v, direction, ridge, dtype)
        v.changed = True

    return refit


def refitting_all(direction: str, ridge: float, dtype: Any) -> Any:
    """Return the vertex function that solves for the factors of every vertex at once."""

    @vertex(wake="all")
    def refit_all(v: Any) -> None:
        v.factor = _solution(v, direction, ridge, dtype)

    return refit_all


def refitting_counted(direction: str, ridge: float, dtype: Any, tol: float) -> Any:
    """Return `refitting` that also adds up the arcs of vertices that moved, in `moving`."""

    @vertex
    def refit(v: Any) -> None:
        factor = _solution(v, direction, ridge, dtype)
        moved = fn.any_changed(factor, v.factor, tol)
        fn.reduce("moving", fn.where(moved, fn.cast(v.out_degree, np.int64), 0), monoids.sum)
        v.factor = factor
        v.changed = True

    return refit


def in_turn(refit: Any) -> list[Any]:
    """Return a superstep that solves for the users, then for the items, and so on."""

    @vertex(on="all")
    def take_turns(v: Any) -> None:
        v.changed = v.side == 1 + fn.superstep() % 2

    return [take_turns, refit]


def refitting_implicit(direction: str, trust: float, dtype: Any) -> Any:
    """Return the same for implicit feedback, in coordinates in which Y + λ I is I."""

    @vertex
    def refit(v: Any) -> None:
        def messages(u: Any, e: Any) -> Any:
            extra = trust * weight_of(e, "weight", dtype)
            return (1 + extra) * u.factor, extra * fn.outer(u.factor, u.factor)

        scale, gram = v.gather(messages, monoids.sum, direction=direction)
        v.factor = fn.solve(gram + fn.eye(v.factor.size), scale, assume="spd")

    return refit


def measuring(trust: float | None, dtype: Any) -> Any:
    """Return the edge function that adds up squared errors, and their weights."""

    @edge
    def measure(u: Any, v: Any, e: Any) -> None:
        rating = weight_of(e, "weight", dtype)
        confidence = 1 if trust is None else 1 + trust * rating
        missed = (rating if trust is None else 1) - fn.dot(u.factor, v.factor)
        fn.reduce("error", fn.cast(confidence * missed * missed, np.float64), monoids.sum)
        fn.reduce("weight", fn.cast(confidence + 0 * rating, np.float64), monoids.sum)

    return measure
