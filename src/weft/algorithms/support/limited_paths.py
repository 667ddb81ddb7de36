"""Shortest paths up to a distance, or until a target is settled.

Relaxation in order settles small distances first: once no vertex in the frontier lies nearer than
the target, the distance of the target is final. Supersteps run in short batches, and whatever lies
beyond the limit is removed at the end.
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import numpy as np

from weft.algorithms.support.sources import check_source
from weft.arrays.checks import real_of
from weft.config import Config
from weft.engine.state import State, scalar
from weft.errors import ConfigError, GraphError, shortened
from weft.graph import Graph
from weft.ir.trace import monoids
from weft.ir.trace.functions import cast
from weft.ir.trace.proxies import send
from weft.program import edge

BATCH: Final = 8  # supersteps between two looks at the target


class Limits(NamedTuple):
    """Where a search ends: at a vertex, beyond a distance, or both."""

    target: int | None
    cutoff: float


def check_limits(g: Graph, target: Any, cutoff: Any) -> Limits | None:
    """Return the limits of a search, None without any; raise if they do not make sense."""
    if target is None and cutoff is None:
        return None
    most = np.inf if cutoff is None else real_of(cutoff)
    if not most >= 0:
        raise ConfigError(
            f"cutoff={shortened(cutoff)} is not a distance. Expected a number from 0 on."
        )
    return Limits(None if target is None else check_source(g, target, "target"), most)


def refuse_negative(low: float, target: Any, cutoff: Any) -> None:
    """Raise if a search over negative weights is to end early: paths beyond may lead back."""
    if target is not None or cutoff is not None:
        raise GraphError(
            f"the least weight is {low}, so that paths beyond a target or a cutoff may lead back. "
            "Expected weights from 0 on; leave target= and cutoff= out."
        )


@functools.lru_cache(maxsize=16)
def relax_within(dtype: np.dtype[Any]) -> Any:
    """Return the relaxation that stops at a distance."""

    def relax(u: Any, v: Any, e: Any, cutoff: Any) -> Any:
        dist = u.dist + cast(e.weight, dtype)
        return send((dist, u.id), when=dist <= cutoff)

    return edge(relax, into=("dist", "parent"), reduce=monoids.argmin, priority=lambda v: v.dist)


def search_within(
    g: Graph, state: State, places: Any, limits: Limits, config: Config | None
) -> None:
    """Search up to the limits; vertices beyond them stay as they were."""
    xp, target = g.topology.xp, limits.target
    dtype = state.dist.dtype
    unreached = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    most = min(limits.cutoff, float(np.iinfo(dtype).max) if dtype.kind != "f" else np.inf)
    held = g.state(
        dist=state.dist, parent=state.parent,
        cutoff=scalar(dtype.type(np.floor(most) if dtype.kind != "f" else most)),
    )  # fmt: skip
    frontier: Any = g.frontier(places)
    while len(frontier):
        run = g.iterate(
            relax_within(dtype), held, frontier, max_iter=None if target is None else BATCH,
            config=config,
        )  # fmt: skip
        frontier = run.frontier
        if target is not None and len(frontier):
            settled = held.dist[target] <= held.dist[frontier.members].min()
            frontier = frontier if not settled else ()
    beyond = held.dist > (held.dist[target] if target is not None else unreached)
    state.dist = xp.where(beyond, dtype.type(unreached), held.dist)
    state.parent = xp.where(beyond, held.parent.dtype.type(-1), held.parent)
