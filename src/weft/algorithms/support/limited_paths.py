"""Shortest paths up to a distance, or until a target is settled.

Ordered relaxation settles small distances first: once no vertex in the frontier is nearer than the
target, the target's distance is final. Supersteps run in short batches, and distances beyond the
limit are removed at the end.
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import numpy as np

import weft
from weft.algorithms.support.sources import check_source
from weft.arrays.checks import real_of
from weft.errors import ConfigError, GraphError, shortened

BATCH: Final = 8  # supersteps between checks of the target


class Limits(NamedTuple):
    """The limits of a search: a target vertex, a distance, or both."""

    target: int | None
    cutoff: float


def check_limits(g: weft.Graph, target: Any, cutoff: Any) -> Limits | None:
    """Return the limits of a search, or None; raise if they are invalid."""
    if target is None and cutoff is None:
        return None
    most = np.inf if cutoff is None else real_of(cutoff)
    if not most >= 0:
        raise ConfigError(
            f"cutoff={shortened(cutoff)} is not a distance. Expected a number from 0 on."
        )
    return Limits(None if target is None else check_source(g, target, "target"), most)


def refuse_negative(low: float, target: Any, cutoff: Any) -> None:
    """Raise if a search over negative weights has limits: longer paths may become shorter again."""
    if target is not None or cutoff is not None:
        raise GraphError(
            f"the least weight is {low}, so that paths beyond a target or a cutoff may lead back. "
            "Expected weights from 0 on; leave target= and cutoff= out."
        )


@functools.lru_cache(maxsize=16)
def relax_within(dtype: np.dtype[Any]) -> Any:
    """Return the relaxation that stops at a distance."""

    def relax(u: Any, v: Any, e: Any, cutoff: Any) -> Any:
        dist = u.dist + weft.cast(e.weight, dtype)
        return weft.send((dist, u.id), when=dist <= cutoff)

    return weft.edge(relax, into=("dist", "parent"), reduce=weft.argmin, priority=lambda v: v.dist)


def search_within(
    g: weft.Graph, state: weft.State, places: Any, limits: Limits, config: weft.Config | None
) -> None:
    """Search up to the limits; vertices beyond them are left unchanged."""
    xp, target = g.topology.xp, limits.target
    dtype = state.dist.dtype
    unreached = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    most = min(limits.cutoff, float(np.iinfo(dtype).max) if dtype.kind != "f" else np.inf)
    held = g.state(
        dist=state.dist, parent=state.parent,
        cutoff=weft.scalar(dtype.type(np.floor(most) if dtype.kind != "f" else most)),
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
