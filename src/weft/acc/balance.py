"""Keeps the sum of ranks near their number, so that programs rank by small signed differences.

PageRank spreads the rank of vertices without out-edges evenly, like its jumps. Programs that omit
this only scale the result, but then a uniform gain shrinks only by the damping in each superstep
and keeps every vertex active. So the jump term (`base`) includes an estimate of that rank, which is
exact if vertices without out-edges are isolated; otherwise uniform gains are removed after every
superstep while most vertices are active.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.acc.model import Program
from weft.arrays.reduce import any_true, count_true
from weft.config import Config
from weft.engine.state import full
from weft.errors import ConfigError
from weft.graph import Graph


def even_start(g: Graph, damping: float) -> tuple[float, Any]:
    """Return the jump term of every vertex, and initial ranks with mean 1.

    Vertices without in-edges start with their exact rank: no message ever corrects it.

    Raises
    ------
    ConfigError
        If `damping` is not from 0 to below 1.
    """
    if not isinstance(damping, float | int | np.number) or not 0 <= damping < 1:
        raise ConfigError(f"damping={damping!r} is not possible. Expected 0 to less than 1.")
    n = max(g.num_vertices, 1)
    closed, unreached = g.topology.out_degree == 0, g.topology.in_degree == 0
    isolated, count = count_true(closed & unreached), count_true(unreached)
    absorbed = damping * (count_true(closed) - isolated)
    base = (n * (1 - damping) + absorbed) / (n - damping * isolated)
    mean = (n - count * base) / max(n - count, 1)
    return float(base), g.topology.xp.where(unreached, base, mean)


def run_balanced(
    program: Program, g: Graph, rank: Any, tol: float, config: Config | None, **scalars: float
) -> Any:
    """Run a program with the fields `rank` and `sent`; return its final ranks."""
    given: dict[str, Any] = {"tol": tol, "config": config, **scalars}
    closed = (g.topology.out_degree == 0) & (g.topology.in_degree > 0)
    sent: Any = full(-1.0)
    frontier: Any = None
    few = (program.push_below or 0) * g.num_vertices
    while any_true(closed) and (frontier is None or len(frontier) > few):
        state = program.run(g, frontier, rank=rank, sent=sent, max_iter=1, **given).state
        rank, sent = state.rank, state.sent
        rank -= (rank - sent).sum() / rank.size
        frontier = g.frontier(abs(rank - sent) > tol * (1 + rank))
    return program.run(g, frontier, rank=rank, sent=sent, **given).state.rank
