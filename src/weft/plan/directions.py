"""Published rules for the direction of a sweep, as text that is C++ and Python alike.

They compare, with whole numbers: ``size`` and ``edges``, the vertices of the frontier and their
out-edges; ``left``, the edges of vertices that no frontier has held yet (all edges, where vertices
come back); ``n`` and ``m``, all vertices and edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from weft.config import Config
from weft.ir.ops import WIDE_SHARE
from weft.plan.own_rules import tests_of

COST = "cost"
OWN = "own:"  # before the two tests of a user's rule


@dataclass(frozen=True)
class Rule:
    """When to turn: from push to pull, and from pull to push."""

    to_pull: str
    to_push: str


def _above(test: str) -> Rule:
    """Return the rule that pulls while a test holds, and only then."""
    left, right = test.split(" > ")
    return Rule(test, f"{left} <= {right}")


# Gunrock compares n_f m / n with n_u n / (n - n_u), n_u being the vertices not seen yet; the share
# of the edges that is left stands in for theirs. As floats: the products do not fit 64 bits.
_FORWARD, _BACKWARD = "1.0 * size * m * (m - left)", "1.0 * n * n * left"

RULES: Mapping[str, Rule] = {
    # Beamer, Asanović, Patterson 2012: alpha = 14, beta = 24.
    "beamer": Rule("edges * 14 > left", "size * 24 < n"),
    # Shun, Blelloch 2013: a frontier is dense above m / 20.
    "ligra": _above("(size + edges) * 20 > m"),
    # Wang et al. 2017: do_a = 1 / 1000, do_b = 1 / 5.
    "gunrock": Rule(f"{_FORWARD} * 1000 > {_BACKWARD}", f"{_FORWARD} * 5 < {_BACKWARD}"),
    # Yang, Buluç, Owens 2022: a vector is dense above n / 10.
    "graphblast": _above("size * 10 > n"),
    # Liu, Huang 2019: more than 0.3 of the edges.
    "simdx": _above("edges * 10 > m * 3"),
}


def rule_named(text: str) -> Rule | None:
    """Return a rule by its name, or by name and thresholds as in "beamer(14.0,24.0)".

    Examples
    --------
    >>> rule_named("beamer(7.5,24)").to_pull
    'edges * 7.5 > left'
    """
    if text.startswith(OWN):
        return Rule(*text.removeprefix(OWN).split(";"))
    name, _, given = text.partition("(")
    if not given:
        return RULES.get(name)
    numbers = [float(number) for number in given.rstrip(")").split(",")]
    return THRESHOLDED[name](*numbers)


def _gunrock(a: float, b: float) -> Rule:
    return Rule(f"{_FORWARD} > {a!r} * {_BACKWARD}", f"{_FORWARD} < {b!r} * {_BACKWARD}")


THRESHOLDED: Mapping[str, Callable[..., Rule]] = {
    "beamer": lambda alpha, beta: Rule(f"edges * {alpha!r} > left", f"size * {beta!r} < n"),
    "ligra": lambda share: _above(f"size + edges > {share!r} * m"),
    "gunrock": _gunrock,
    "graphblast": lambda share: _above(f"size > {share!r} * n"),
    "simdx": lambda share: _above(f"edges > {share!r} * m"),
}


def wide_test(pushes: bool, pulls: bool, edges: str, arcs: str) -> str:
    """Return when a frontier is wide, given the directions in which changes can be passed on.

    Without a push they cost as much as all messages do; where a push was asked for, none is wide.
    """
    if not pushes:
        return "1"
    return f"{edges} * {WIDE_SHARE} > {arcs}" if pulls else "0"


def rule_of(config: Config) -> str:
    """Return the rule by which a configuration chooses directions, `COST` being weft's own."""
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
