"""Decides whether an ordered relaxation first settles the vertices within a horizon.

In a graph of skewed degrees, few vertices own most arcs, and they are reached early. Nearly all of
their messages come too late to improve anything, but each reads its destination, which dominates
the time. A message whose own priority lies beyond a *horizon* is therefore not sent. Once all
vertices within have settled, every vertex beyond pulls once from all of its neighbours, and the run
continues without a horizon. This is exact for any message: a vertex within the horizon receives all
messages that could improve it, and one beyond receives all withheld ones.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.ir.check.facts import block_facts
from weft.ir.ops import Step
from weft.ir.request import Request
from weft.plan.sweeps import Sweep
from weft.topology.topology import Topology

LEAST_ARCS = 1 << 17  # with fewer, all reads hit a near cache
FEW_ARCS = 0.1  # a share of all arcs: those of vertices that may be beyond the horizon
MOST_EARLY = 1 / 3  # of the vertices, that own the other arcs
LEAST_DEGREE = 6  # that these have at least
ASKED_SHARE = 0.25  # of all messages that lie within a horizon that no graph suggested
CHANCES = 3  # messages within the horizon that a vertex of that degree gets on average
ASKED = "horizon"  # the value of `ordering` that requests it
_READ = frozenset({"field", "column", "edge_id", "id", "in_degree", "out_degree", "scalar",
                   "parameter"})  # fmt: skip
"""The loads allowed in a message: none depends on the direction in which its arc is found."""

_shares: weakref.WeakKeyDictionary[Topology, float] = weakref.WeakKeyDictionary()


def has_horizon(sweep: Sweep, request: Request, off: frozenset[str]) -> bool:
    """Whether an ordered sweep withholds messages: its messages allow it and the graph profits.

    With ``ordering="horizon"`` the graph is not considered.
    """
    if "horizon" in off or len(sweep.steps) != 1 or sweep.turned or request.program.observed:
        return False
    config, topology = request.options.config, request.topology
    if config.direction != "auto" or config.deterministic or topology.directed:
        return False
    return _may_hold_back(sweep.steps[0]) and share_within(request) > 0


def _may_hold_back(step: Step) -> bool:
    """Whether a message depends only on its source and arc, and its priority only on it."""
    if step.accept is not None or step.conditional or step.body_effects():
        return False
    if not _rises_with_key(step):
        return False
    body = block_facts(step.body)
    loads = [value.attr for value in step.body.walk() if value.op == "load"]
    alone = all(attr[0] in _READ and attr[1] != "v" for attr in loads)
    return alone and not (body.live or body.gathers or "common" in body.ops)


def _rises_with_key(step: Step) -> bool:
    """Whether a better key has a lower priority: it is the key, or its negative."""
    assert step.priority is not None
    rank = step.priority.results[0]
    least = step.reductions[0].name in ("min", "argmin")
    if rank.op == "neg" and not least and rank.dtype.kind == "f":  # least integers have no negative
        rank = rank.args[0]
    elif not least:
        return False
    return rank.op == "load" and rank.attr == ("field", "v", step.into[0])


def share_within(request: Request) -> float:
    """Return the target share of messages within the horizon; 0 for no horizon."""
    share = early_share(request.topology)
    return share or (ASKED_SHARE if request.options.config.ordering == ASKED else 0.0)


def early_share(topology: Topology) -> float:
    """Return the share suggested by a graph; 0 for no horizon.

    A vertex of the least degree that most arcs belong to then gets about `CHANCES` of them.
    """
    found = _shares.get(topology)
    if found is None:
        found = _shares[topology] = _early_share(topology)
    return found


def _early_share(topology: Topology) -> float:
    if topology.num_arcs < LEAST_ARCS:
        return 0.0
    degree: Any = topology.out_degree
    xp, longest = topology.xp, 1 << 12
    with topology.device.current():
        vertices = to_host(xp.bincount(xp.minimum(degree, longest), minlength=longest + 1))
    owned = np.cumsum(vertices * np.arange(longest + 1))
    owned[longest] = topology.num_arcs  # whose rows are longer
    least = int(np.searchsorted(owned, FEW_ARCS * topology.num_arcs))
    early = int(vertices[least:].sum()) / topology.num_vertices
    if least < LEAST_DEGREE or early > MOST_EARLY:
        return 0.0
    return min(0.5, CHANCES / least)
