"""Decides when a sweep of an edge function pulls, and along which blocks.

The rule is that of sweeps in memory, with one more term: arcs that must be read from disk cost as
much as arcs that are visited. A push reads the blocks with a vertex of the frontier, a pull those
with a vertex that accepts messages.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from weft.backends.blocks.carrier import Work
from weft.backends.blocks.kernels import BlockRun, BlockSpace, at_vertices
from weft.backends.blocks.stages import ArcPart
from weft.blocks.manifest import Manifest
from weft.errors import ConfigError
from weft.ir.ops import Program
from weft.ir.request import Request, RunOptions, Start

Array = np.ndarray[Any, Any]

FIRST_SHARE = 100  # of 1024 arcs, the assumed number that a first pull visits
COMBINED = 3  # the cost of a pushed message that is combined in an inbox


class Blocks(Protocol):
    """The queries of the rule to a carrier."""

    space: BlockSpace
    manifest: Manifest
    pulls: bool

    def unread(self, way: str, rows: Mapping[int, Array | None]) -> int:
        """Return how many arcs would have to be read for some rows of blocks, None for all."""


@dataclass
class PullPlan:
    """A sweep that pulls."""

    run: BlockRun
    rows: dict[int, Array | None]  # of accepting vertices with arcs, by block; None for all
    reach: int  # arcs of all accepting vertices

    def learn(self, part: ArcPart, work: Work) -> None:
        """Record the share of arcs that was visited."""
        work.pulling.add(part)
        if self.run.exits_early and self.run.looked:
            work.shares[part] = max(1, min(1024, self.run.looked * 1024 // max(1, self.reach)))


def plan_pull(
    carrier: Blocks, part: ArcPart, work: Work, frontier: Array | None
) -> PullPlan | None:
    """Return how a sweep pulls, or None if it should push."""
    space, manifest = carrier.space, carrier.manifest
    if not carrier.pulls or not part.pulled or work.wanted == "push":
        return None
    if manifest.directed and part.pull_way not in manifest.blocks:
        return None
    push_cost = _push_cost(carrier, part, frontier)
    forced = work.wanted == "pull"
    n = manifest.num_vertices
    if not forced and push_cost <= n // 4:
        return None
    try:
        run = run_of(space, part, work, work.pull_options, frontier)
    except ConfigError:
        part.pulled = False  # what it does cannot be pulled
        return None
    rows, reach = _accepting(carrier, part, work)
    share = work.shares.get(part, FIRST_SHARE) if run.exits_early else 1024
    cost = reach * share // 1024 + n // 4 + carrier.unread(part.pull_way, rows)
    if part in work.pulling:
        better = cost < push_cost + push_cost // 2
    else:
        better = cost + cost // 4 < push_cost
    return PullPlan(run, rows, reach) if forced or better else None


def _accepting(carrier: Blocks, part: ArcPart, work: Work) -> tuple[dict[int, Array | None], int]:
    """Return the rows of accepting vertices with arcs, by block, and the number of their arcs."""
    space, manifest = carrier.space, carrier.manifest
    accepting = None
    if part.accepts is not None:
        known = work.accepting.get(part)  # vertices that do not accept now never will again
        accepting = at_vertices(part.accepts, space.vertices, work, known)
    if accepting is None:
        return dict.fromkeys(range(manifest.num_blocks)), manifest.num_arcs
    degrees = space.degrees[space.stored_way(part.pull_way)][accepting]
    accepting = accepting[degrees > 0]
    if (part, "pull") in work.forms:
        work.accepting[part] = accepting
    return _by_block(accepting, manifest), int(degrees.sum(dtype=np.int64))


def _by_block(vertices: Array, manifest: Manifest) -> dict[int, Array | None]:
    """Return sorted vertices by the block that their rows are in."""
    places = np.searchsorted(vertices, manifest.cuts)
    pairs = enumerate(itertools.pairwise(places))
    return {number: vertices[low:high] for number, (low, high) in pairs if high > low}


def _push_cost(carrier: Blocks, part: ArcPart, frontier: Array | None) -> int:
    """Return the weighted number of arcs that a push visits, and of those that it reads."""
    (way,) = part.ways
    manifest, space = carrier.manifest, carrier.space
    size, edges = manifest.num_vertices, manifest.num_arcs
    rows: dict[int, Array | None] = dict.fromkeys(range(manifest.num_blocks))
    if frontier is not None:
        degree = space.degrees[space.stored_way(way)]
        size, edges = frontier.size, int(degree[frontier].sum(dtype=np.int64))
        rows = _by_block(frontier, manifest)
    weight = COMBINED if part.direct is None else 1
    return (edges + size) * weight + carrier.unread(way, rows)


def run_of(
    space: Any, part: ArcPart, work: Work, options: RunOptions, frontier: Array | None
) -> BlockRun:
    """Return the sweep of the direct form if its proof holds, else of the general one."""
    start = Start(frontier=frontier)

    def requested(program: Program) -> Request:
        return Request(program, space.topology, options, work.data, start, 1)

    if part.direct is not None:
        request = requested(part.direct)
        key = part, options.config.direction
        run: BlockRun = space.run(request, work.forms.get(key))
        if run.writes_once:
            if work.lasting:
                work.forms[key] = run.form
            return run
    return space.run(requested(part.program))
