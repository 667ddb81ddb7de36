"""The border between the user's order of vertices and the one that a topology holds them in.

A program that runs over an arranged topology gets copies of its fields in the order of places, and
what it wrote is copied back. Ids are looked up inside the kernels, which is not done here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.arrays.device import module_of, move
from weft.ir.check.facts import program_facts
from weft.ir.ops import Program, program_blocks
from weft.ir.request import Deferred, Outcome, Request
from weft.topology.renumbering import Numbering

if TYPE_CHECKING:
    from weft.backends.base import Backend

FEW = 1024  # members of a first frontier that are looked up where they lie
# Ops and loads that see in which order the arcs of a vertex lie.
_POSITIONS = frozenset({"neighbor", "neighbor_edge"})


def sees_positions(program: Program) -> bool:
    """Whether a program asks for positions within rows, which another order would change."""
    found: bool | None = program.findings.get("positions")
    if found is None:
        found = program.findings["positions"] = any(
            value.op in _POSITIONS or (value.op == "load" and value.attr == ("rank",))
            for block in program_blocks(program)
            for value in block.walk()
        )
    return found


@dataclass
class Crossing:
    """What is to be copied back when a run has ended."""

    numbering: Numbering
    copy_back: Callable[[], None]
    """Copies what the run wrote to the user's arrays."""

    def outcome(self, request: Request, outcome: Outcome) -> Outcome:
        """Return the outcome in the user's numbers."""
        xp, order = request.topology.xp, self.numbering.order
        frontier = outcome.frontier
        if not (request.start.arcs and outcome.steps == 0):
            if isinstance(frontier, Deferred):
                listed = frontier
                frontier = Deferred(lambda: _taken(order, listed.get()))
            elif frontier is not None and frontier.size:
                frontier = _taken(order, frontier)
                if request.topology.device.on_host:  # others sort when somebody asks
                    frontier = np.sort(frontier)
        return replace(outcome, frontier=frontier, trail=[xp.sort(order[p]) for p in outcome.trail])


def cross(
    request: Request, backend: Backend, untouched: Mapping[str, Any]
) -> tuple[Request, Crossing]:
    """Return a request over an arranged topology in the numbers that the topology uses.

    Fields of `untouched` still hold the values that they were described by: those are written where
    they belong, in place of being copied.
    """
    topology, data = request.topology, request.data
    numbering = topology.numbering
    assert numbering is not None
    used, written, edge_used, edge_written = _names(request.program)
    old = {name for name in data.fields if name.startswith("old.")}
    used, written = used | old, written | old
    fields = {
        name: topology.xp.empty(array.shape, array.dtype)
        for name, array in data.fields.items()
        if name in used
    }
    starts = {name: untouched[name] for name in fields if name in untouched}
    place = numbering.place_on_host if starts else None
    backend.fill(
        topology.device,
        [
            (fields[name], value, [(int(place[item]), own) for item, own in places])
            for name, (value, places) in starts.items()
            if place is not None
        ],
    )
    pairs = [(data.fields[n], inner) for n, inner in fields.items() if n not in starts]
    backend.carry(topology.device, numbering.order, pairs)
    edge_fields = {
        name: array[numbering.arcs] for name, array in data.edge_fields.items() if name in edge_used
    }
    back = [(fields[name], data.fields[name]) for name in sorted(written)]
    edges_back = [(edge_fields[name], data.edge_fields[name]) for name in sorted(edge_written)]

    def copy_back() -> None:
        backend.carry(topology.device, numbering.place, back)
        for inner, outer in edges_back:
            outer[numbering.arcs] = inner

    inner = replace(
        request,
        data=replace(data, fields=fields, edge_fields=edge_fields),
        start=replace(
            request.start,
            frontier=_placed(request, numbering),
            trail=None if request.start.trail is None else _trail(request, numbering),
        ),
    )
    return inner, Crossing(numbering, copy_back)


def _names(program: Program) -> tuple[set[str], set[str], set[str], set[str]]:
    """Return the fields in use and those written, and the same of edge state; found once."""
    found: tuple[set[str], set[str], set[str], set[str]] | None = program.findings.get("crossing")
    if found is not None:
        return found
    used, written, edge_used, edge_written = set[str](), set[str](), set[str](), set[str]()
    for fact in program_facts(program):
        written |= fact.written | fact.live_written
        used |= fact.far | fact.near | fact.live | fact.written
        edge_written |= fact.edge_written
        edge_used |= fact.edge_read | fact.edge_written
    found = program.findings["crossing"] = used, written, edge_used, edge_written
    return found


def _placed(request: Request, numbering: Numbering) -> Any:
    if request.start.frontier is None:
        return None
    held = request.start.frontier
    if isinstance(held, np.ndarray) and not request.start.arcs and held.size <= FEW:
        return _sorted(request, numbering.place_on_host[held])
    members = move(held, request.topology.device)
    if not request.start.arcs:
        return _sorted(request, _taken(numbering.place, members))
    xp = request.topology.xp
    places = xp.empty(numbering.arcs.size, numbering.arcs.dtype)
    places[numbering.arcs] = xp.arange(places.size, dtype=places.dtype)
    return _sorted(request, places[members])


def _trail(request: Request, numbering: Numbering) -> list[Any]:
    assert request.start.trail is not None
    device = request.topology.device
    return [_sorted(request, numbering.place[move(part, device)]) for part in request.start.trail]


def _taken(array: Any, places: Any) -> Any:
    """Return what an array has at some places; indices in brackets take CuPy longer to prepare."""
    xp = module_of(array)
    if xp is np:
        return np.take(array, places, axis=0, mode="clip")
    return xp.take(array, places, axis=0)


def _sorted(request: Request, members: Any) -> Any:
    return np.sort(members) if request.topology.device.on_host else members
