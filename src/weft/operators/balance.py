"""The schedule of an advance: balance over its input, or over the arcs that it visits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.config import BySide
from weft.engine.frontier import Frontier
from weft.errors import ConfigError, unknown
from weft.schedules import schedules

SMALL_FRONTIER = 4096
"""Vertices up to which a frontier may be balanced over its input."""
SMALL_DEGREE = 8
"""Largest degree for which it may be: a thread then walks at most so many arcs."""
BY_INPUT, BY_OUTPUT = "vertex", "merge"


def schedule_for(g: Any, frontier: Frontier, wanted: Any) -> Any:
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
    """
    if wanted is None:
        return None
    if isinstance(wanted, Mapping):
        return BySide(dict(wanted))
    if wanted == "input":
        return BY_INPUT
    if wanted == "output":
        return BY_OUTPUT
    if wanted == "auto":
        return None if getattr(frontier, "pending", False) else balance(g, frontier)
    known = ("auto", "input", "output", *schedules())
    if wanted not in known:
        raise ConfigError(unknown("schedule", wanted, known))
    return wanted


def balance(g: Any, frontier: Frontier) -> str:
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
    if len(frontier) > SMALL_FRONTIER or frontier.is_all:
        return BY_OUTPUT
    members = frontier.members
    if not members.size:
        return BY_INPUT
    return BY_INPUT if int(g.out_degree[members].max()) <= SMALL_DEGREE else BY_OUTPUT
