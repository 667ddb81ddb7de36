"""PageRank by residuals: a vertex that has settled leaves, and comes back when rank arrives.

Method: PageRank is, but for a factor that makes the ranks add up to 1, the solution of

    x(v) = d · Σ x(u) · w(u, v) / W(u) over u -> v  +  (1 - d) · p(v),

where vertices without out-edges send nothing: what they send home in the usual definition only
scales the solution. Every vertex keeps the part of x that it has not passed on yet, its residue.
When that exceeds tol / 2n, it becomes rank and is passed on as a difference. While most vertices
are active the engine pulls; later the few that are left push.

S. Kamvar, T. Haveliwala, G. Golub: Adaptive methods for the computation of PageRank (Linear Algebra
and its Applications 386, 2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.config import Config
from weft.engine.run import Run
from weft.engine.state import full, scalar
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]


def settling(weighted: bool, damping: float, least: float, dtype: Any) -> list[Any]:
    """Return the steps: pass differences on, then turn residues into rank where they count."""

    @edge(into="residue", reduce=monoids.sum)
    def pass_on(u: Any, v: Any, e: Any) -> Any:
        if weighted:
            share = fn.cast(e.weight, dtype) / fn.where(u.strength > 0, u.strength, 1)
            return damping * u.passed * share
        return damping * u.passed / u.out_degree

    @vertex
    def settle(v: Any) -> None:
        counts = v.residue > least
        v.passed = fn.where(counts, v.residue, 0)
        v.rank = v.rank + v.passed
        v.residue = fn.where(counts, 0, v.residue)
        fn.reduce("moved", fn.cast(v.passed, np.float64), monoids.sum)
        v.changed = counts

    return [pass_on, settle]


def adaptive_ranks(
    g: Graph,
    home: Array | None,
    strength: Array | None,
    damping: float,
    tol: float,
    max_iter: int,
    dtype: Any,
    config: Config | None,
) -> tuple[Array, Run]:
    """Return ranks that add up to 1, and how the run ended.

    `home` is where jumps go to (everywhere alike if None), `strength` the weight of the out-edges.
    """
    n = g.num_vertices
    begin = full((1 - damping) / max(n, 1), dtype) if home is None else (1 - damping) * home
    fields = {"rank": begin, "passed": begin, "residue": full(0, dtype)}
    if home is not None:
        fields = {name: _as(dtype, field) for name, field in fields.items()}
    if strength is not None:
        fields["strength"] = strength
    state = g.state(**fields, moved=scalar(np.inf))
    steps = settling(strength is not None, damping, tol / (2 * max(n, 1)), dtype)
    first = None if home is None else state.rank > 0
    run = g.iterate(
        steps, state, first, until=lambda moved: moved <= tol / 2, max_iter=max_iter, config=config
    )
    total = float(state.rank.sum(dtype=np.float64))
    return state.rank / (total or 1), run


def _as(dtype: Any, field: Any) -> Any:
    return field.astype(dtype) if hasattr(field, "astype") else field
