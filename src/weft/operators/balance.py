"""The schedule of an advance: balance over its input, or over the arcs that it visits."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from weft.config import BySide
from weft.engine.frontier import Frontier
from weft.errors import ConfigError, unknown
from weft.schedules import schedules
from weft.topology.topology import Topology

SMALL_FRONTIER = 4096
"""Vertices up to which a frontier may be balanced over its input."""
SMALL_DEGREE = 8
"""Largest degree for which it may be: a thread then walks at most so many arcs."""
BY_INPUT, BY_OUTPUT = "vertex", "merge"


_largest: weakref.WeakKeyDictionary[Topology, dict[str, int]] = weakref.WeakKeyDictionary()


def schedule_for(g: Any, frontier: Frontier, wanted: Any, along: str = "out") -> Any:
    """Return the schedule of an advance; None leaves it to the engine.

    Parameters
    ----------
    g
        The graph.
    frontier
        The input.
    wanted
        ``"auto"``, ``"input"`` (a thread takes a vertex), ``"output"`` (threads share the arcs
        evenly), the name of a schedule, or one for each side.
    along
        Whether the arcs that leave the frontier are visited, or those that enter it.
    """
    if isinstance(wanted, Mapping):
        return BySide(dict(wanted))
    if wanted == "input":
        return BY_INPUT
    if wanted == "output":
        return BY_OUTPUT
    if wanted == "auto":
        return None if getattr(frontier, "pending", False) else balance(g, frontier, along)
    known = ("auto", "input", "output", *schedules())
    if wanted not in known:
        raise ConfigError(unknown("schedule", wanted, known))
    return wanted


def balance(g: Any, frontier: Frontier, along: str = "out") -> str:
    """Return the schedule that suits a frontier.

    Sharing arcs evenly costs a scan over the degrees of the frontier. A small frontier of small
    degrees does without: the longest row decides how long it takes, and that is short.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.balance import balance
    >>> road, star = weft.generators.grid(9, 9), weft.generators.star(99)
    >>> balance(road, road.frontier([0, 5])), balance(star, star.frontier([0, 5]))
    ('vertex', 'merge')
    """
    if frontier.arcs:
        return BY_INPUT
    if frontier.is_all or len(frontier) > SMALL_FRONTIER:
        return BY_OUTPUT
    if _largest_degree(g, along) <= SMALL_DEGREE:
        return BY_INPUT  # without a look at the frontier, whose members a GPU holds
    members = frontier.members
    if not members.size:
        return BY_INPUT
    degrees = g.out_degree if along == "out" else g.in_degree
    with g.topology.device.current():
        return BY_INPUT if int(degrees[members].max()) <= SMALL_DEGREE else BY_OUTPUT


def _largest_degree(g: Any, along: str) -> int:
    """Return the largest degree of a graph, which is computed once."""
    known = _largest.setdefault(g.topology, {})
    if along not in known:
        degrees = g.out_degree if along == "out" else g.in_degree
        with g.topology.device.current():
            known[along] = int(degrees.max()) if degrees.size else 0
    return known[along]
