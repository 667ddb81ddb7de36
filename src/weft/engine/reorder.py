"""Translation between the user's vertex order and that of a reordered topology.

A program that runs over a reordered topology works on reordered copies of its fields; what it
writes is copied back afterwards. Vertex ids are translated inside the kernels, not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.arrays.device import module_of, move
from weft.arrays.trail import Trail
from weft.ir.check.facts import program_facts
from weft.ir.ops import Program, program_blocks
from weft.ir.request import Deferred, Outcome, Request
from weft.topology.renumbering import Numbering

if TYPE_CHECKING:
    from weft.backends.base import Backend

FEW = 1024  # up to this many members of a first frontier are translated on the host
# Ops that depend on the order of a vertex's arcs.
_POSITIONS = frozenset({"neighbor", "neighbor_edge"})


def sees_positions(program: Program) -> bool:
    """Whether a program reads positions within rows, or emits in the order of vertices or arcs."""
    found: bool | None = program.findings.get("positions")
    if found is None:
        found = program.findings["positions"] = bool(program.emits) or any(
            value.op in _POSITIONS or (value.op == "load" and value.attr == ("rank",))
            for block in program_blocks(program)
            for value in block.walk()
        )
    return found


@dataclass
class Crossing:
    """Translates the results of a run over a reordered topology."""

    numbering: Numbering
    copy_back: Callable[[], None]
    """Copies the fields that the run wrote to the user's arrays."""

    def outcome(self, request: Request, outcome: Outcome) -> Outcome:
        """Return the outcome in the user's numbering."""
        xp, order = request.topology.xp, self.numbering.order
        frontier = outcome.frontier
        if not (request.start.arcs and outcome.steps == 0):
            if isinstance(frontier, Deferred):
                listed = frontier
                frontier = Deferred(lambda: _taken(order, listed.get()), listed.size)
            elif frontier is not None and frontier.size:
                frontier = _taken(order, frontier)
                if request.topology.device.on_host:  # GPU frontiers are sorted on demand
                    frontier = np.sort(frontier)
        trail = outcome.trail
        if trail:
            held = Trail.of_parts(trail, order.size, xp)
            trail = held.with_members(lambda p: order[p])
        return replace(outcome, frontier=frontier, trail=trail)


def cross(
    request: Request, backend: Backend, untouched: Mapping[str, Any]
) -> tuple[Request, Crossing]:
    """Translate a request to the numbering of its reordered topology.

    Fields in `untouched` still hold their initial values, which are written directly in the new
    order rather than copied.
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
    """Return the fields used and written, of vertices and of edges; cached in the program."""
    found: tuple[set[str], set[str], set[str], set[str]] | None = program.findings.get("crossing")
    if found is not None:
        return found
    used, written, edge_used, edge_written = set[str](), set[str](), set[str](), set[str]()
    for fact in program_facts(program):
        written |= fact.written | fact.live_written
        used |= fact.far | fact.near | fact.live | fact.written
        edge_written |= fact.edge_written
        edge_used |= fact.edge_read | fact.edge_written
    used |= program.until_fields
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


def _trail(request: Request, numbering: Numbering) -> Trail:
    trail, device = request.start.trail, request.topology.device
    assert trail is not None
    held = Trail.of_parts(trail, numbering.place.size, request.topology.xp)
    return held.with_members(lambda members: numbering.place[move(members, device)])


def _taken(array: Any, places: Any) -> Any:
    """Return the elements at some indices; `take` has less overhead in CuPy than brackets."""
    xp = module_of(array)
    if xp is np:
        return np.take(array, places, axis=0, mode="clip")
    return xp.take(array, places, axis=0)


def _sorted(request: Request, members: Any) -> Any:
    return np.sort(members) if request.topology.device.on_host else members
