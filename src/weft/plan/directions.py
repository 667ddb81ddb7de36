"""Published rules for the direction of a sweep, written like a user's: functions of its stats."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.config import Config
from weft.ir.ops import WIDE_SHARE
from weft.plan.own_rules import Condition, Stats, tests_of

COST = "cost"
OWN = "own:"  # before the two tests of a user's rule


@dataclass(frozen=True)
class Rule:
    """When to switch from push to pull, and back, as text valid in C++ and Python."""

    to_pull: str
    to_push: str


def beamer(stats: Stats, alpha: float, beta: float) -> Condition:
    """Beamer, Asanović, Patterson 2012: down while few edges lead out of a growing frontier."""
    if stats.pulling:
        return ~((stats.frontier * beta < stats.n) & stats.shrinking)
    return (stats.edges * alpha > stats.unexplored) & stats.growing


def ligra(stats: Stats, share: float) -> Condition:
    """Shun, Blelloch 2013: a frontier is dense above a share of the edges."""
    return stats.frontier + stats.edges > stats.m * share


def gunrock(stats: Stats, do_a: float, do_b: float) -> Condition:
    """Wang et al. 2017: n_f m / n against n_u n / (n - n_u), with n_u unvisited vertices.

    The share of unexplored edges approximates theirs.
    """
    forward = stats.frontier * stats.m * (stats.m - stats.unexplored)
    backward = stats.n * stats.n * stats.unexplored
    if stats.pulling:
        return ~(forward < backward * do_b)
    return forward > backward * do_a


def graphblast(stats: Stats, share: float) -> Condition:
    """Yang, Buluç, Owens 2022: dense above a share of the vertices and growing; sparse below it

    and shrinking.
    """
    if stats.pulling:
        return ~((stats.frontier <= stats.n * share) & stats.shrinking)
    return (stats.frontier > stats.n * share) & stats.growing


def simdx(stats: Stats, share: float) -> Condition:
    """Liu, Huang 2019: more than a share of the edges."""
    return stats.edges > stats.m * share


RULES: Mapping[str, tuple[Callable[..., Condition], tuple[float, ...]]] = {
    "beamer": (beamer, (14, 24)),
    "ligra": (ligra, (1 / 20,)),
    "gunrock": (gunrock, (1 / 1000, 1 / 5)),
    "graphblast": (graphblast, (1 / 10,)),
    "simdx": (simdx, (0.3,)),
}
"""The rules, and the thresholds that their papers state."""


@functools.lru_cache(maxsize=64)
def rule_named(text: str) -> Rule | None:
    """Return a rule by its name, or by name and thresholds as in "beamer(14.0,24.0)".

    Examples
    --------
    >>> rule_named("simdx(0.5)").to_pull
    '((1.0 * edges) > ((1.0 * m) * 0.5))'
    """
    if text.startswith(OWN):
        return Rule(*text.removeprefix(OWN).split(";"))
    name, _, given = text.partition("(")
    if name not in RULES:
        return None
    rule, thresholds = RULES[name]
    if given:
        thresholds = tuple(float(number) for number in given.rstrip(")").split(","))

    def chosen(stats: Any) -> Condition:
        return rule(stats, *thresholds)

    return Rule(*tests_of(chosen))


def wide_test(pushes: bool, pulls: bool, edges: str, arcs: str) -> str:
    """Return the condition for a wide frontier, given the directions that can pass on changes.

    Without a push, changes cost as much as all messages; if a push was requested, no frontier is
    wide.
    """
    if not pushes:
        return "1"
    return f"{edges} * {WIDE_SHARE} > {arcs}" if pulls else "0"


def rule_of(config: Config) -> str:
    """Return the direction rule of a configuration; `COST` is weft's own."""
    chosen = config.direction
    if callable(chosen):
        return OWN + ";".join(tests_of(chosen))
    if isinstance(chosen, tuple):
        return f"{chosen[0]}({','.join(map(repr, chosen[1:]))})"
    return chosen if chosen in RULES else COST


def wanted_direction(config: Config) -> str:
    """Return "push", "pull" or, also for every rule, "auto"."""
    chosen = config.direction
    return chosen if isinstance(chosen, str) and chosen not in RULES else "auto"
