"""The registry of built-in algorithms, filled by each algorithm's own file.

Each module of this folder declares its function, or a few related ones, with `algorithm`. The names
of `weft`, the documentation's table, `weft.estimate_memory` and the command line derive from it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from weft.algorithms import algorithm_homes
from weft.algorithms.support.guarding import on_its_device
from weft.topology.topology import Direction

Function = TypeVar("Function", bound=Callable[..., Any])

GROUPS: Final = (
    "traversal", "centrality", "structure", "communities", "similarity", "sampling", "matching",
)  # fmt: skip
BOTH: Final[tuple[Direction, ...]] = ("out", "in")


@dataclass(frozen=True)
class Fields:
    """Bytes per vertex of a kind of array, given the bytes of an id and of a distance or rank."""

    state: Callable[[int, int], int] = lambda i, w: 0
    cpu_buffers: Callable[[int, int], int] = lambda i, w: 0  # second buffers on a CPU
    gpu_buffers: Callable[[int, int], int] = lambda i, w: 0  # second buffers on a GPU
    own: int = 0  # arrays that it computes outside programs
    per_edge: int = 0  # the same, bytes per edge


@dataclass(frozen=True)
class Needs:
    """The memory needs of an algorithm.

    Attributes
    ----------
    directions
        The directions of arcs that it may visit.
    fields
        Bytes per vertex.
    frontier
        Whether it uses a frontier.
    weighted, simple, oriented
        Whether it reads weights; runs on a simple copy, or on an oriented one.
    degrees
        Directions whose degrees it reads.
    trail, ordered, keys
        Whether it keeps a trail of frontiers, runs in an order, or sorts labels of neighbours.
    by_place
        Whether a GPU may read what it gathers by place (`weft.topology.hub_places`).
    """

    directions: tuple[Direction, ...] = ()
    fields: Fields = Fields()
    frontier: bool = True
    weighted: bool = False
    degrees: tuple[Direction, ...] = ()
    simple: bool = False
    oriented: bool = False
    trail: bool = False
    ordered: bool = False
    keys: bool = False
    by_place: bool = False


@dataclass(frozen=True)
class Algorithm:
    """A built-in algorithm.

    Attributes
    ----------
    name, function
        Its name, and the function itself.
    group
        One of `GROUPS`.
    summary
        A short description of its result.
    weights
        How weights are used: "ignored", "used" or "optional".
    directed
        How edge directions are used: "followed" or "ignored".
    column
        The name of its column if the result is one array.
    per
        The items of its arrays: "vertex", or "result" if they have another length or are not
        arrays.
    reference
        The publication of the method.
    needs
        Its memory needs.
    """

    name: str
    function: Callable[..., Any]
    group: str
    summary: str
    weights: str
    directed: str
    column: str
    per: str
    reference: str
    needs: Needs


_known: dict[str, Algorithm] = {}


def algorithm(  # noqa: PLR0913
    *,
    group: str,
    summary: str,
    reference: str,
    needs: Needs,
    weights: str = "ignored",
    directed: str = "followed",
    column: str = "",
    per: str = "vertex",
) -> Callable[[Function], Function]:
    """Declare a function as a built-in algorithm; it then runs on the device of its graph.

    Parameters
    ----------
    group, summary, reference, needs, weights, directed, column, per
        See `Algorithm`; `column` is the function's name if left out.
    """
    if group not in GROUPS:
        raise ValueError(f"group={group!r} is not one of {GROUPS}.")

    def declare(function: Function) -> Function:
        run = on_its_device(function)
        name = function.__name__
        _known[name] = Algorithm(
            name, run, group, summary, weights, directed, column or name, per, reference, needs
        )
        return run

    return declare


def algorithms() -> dict[str, Algorithm]:
    """Return the built-in algorithms by name."""
    for home in dict.fromkeys(algorithm_homes().values()):
        importlib.import_module(home)
    return {name: _known[name] for name in sorted(_known)}
