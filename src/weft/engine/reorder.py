"""The border between the user's order of vertices and the one that a topology holds them in.

A program that runs over an arranged topology gets copies of its fields in the order of places, and
what it wrote is copied back. Ids are looked up inside the kernels, which is not done here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.arrays.device import module_of, move
from weft.ir.check.facts import program_facts
from weft.ir.ops import Program, program_blocks
from weft.ir.request import Deferred, Outcome, Request
from weft.topology.renumbering import Numbering

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
    fields: list[tuple[Any, Any]] = field(default_factory=list)  # (the user's, the one used)
    edge_fields: list[tuple[Any, Any]] = field(default_factory=list)

    def back(self, request: Request, outcome: Outcome) -> Outcome:
        """Copy fields back, and return the outcome in the user's numbers."""
        _carry(request, self.numbering.place, [(inner, outer) for outer, inner in self.fields])
        for outer, inner in self.edge_fields:
            outer[self.numbering.arcs] = inner
        xp, order = request.topology.xp, self.numbering.order
        frontier = outcome.frontier
        if not (request.arcs and outcome.steps == 0):
            if isinstance(frontier, Deferred):
                listed = frontier
                frontier = Deferred(lambda: _taken(order, listed.get()))
            elif frontier is not None and frontier.size:
                frontier = _taken(order, frontier)
                if request.topology.device.kind == "cpu":  # others sort when somebody asks
                    frontier = np.sort(frontier)
        return replace(outcome, frontier=frontier, trail=[xp.sort(order[p]) for p in outcome.trail])


def cross(request: Request) -> tuple[Request, Crossing]:
    """Return a request over an arranged topology in the numbers that the topology uses."""
    numbering = request.topology.numbering
    assert numbering is not None
    used, written, edge_used, edge_written = _names(request.program)
    old = {name for name in request.fields if name.startswith("old.")}
    used, written = used | old, written | old
    crossing = Crossing(numbering)
    fields = {
        name: request.topology.xp.empty(array.shape, array.dtype)
        for name, array in request.fields.items()
        if name in used
    }
    pairs = [(request.fields[name], inner) for name, inner in fields.items()]
    _carry(request, numbering.order, pairs)
    edge_fields = {
        name: array[numbering.arcs]
        for name, array in request.edge_fields.items()
        if name in edge_used
    }
    crossing.fields = [(request.fields[name], fields[name]) for name in sorted(written)]
    crossing.edge_fields = [
        (request.edge_fields[name], edge_fields[name]) for name in sorted(edge_written)
    ]
    inner = replace(
        request,
        fields=fields,
        edge_fields=edge_fields,
        frontier=_placed(request, numbering),
        trail=None if request.trail is None else _trail(request, numbering),
    )
    return inner, crossing


def used_fields(program: Program) -> set[str]:
    """Return the fields that a program uses, columns of the vertices among them."""
    return _names(program)[0]


def users_fields(request: Request) -> tuple[dict[str, Any], Callable[[], None]]:
    """Return new arrays for the fields of a request in the user's order, and what fills them."""
    numbering = request.topology.numbering
    assert numbering is not None
    empty = request.topology.xp.empty
    fields = {name: empty(array.shape, array.dtype) for name, array in request.fields.items()}
    pairs = [(inner, fields[name]) for name, inner in request.fields.items()]
    return fields, lambda: _carry(request, numbering.place, pairs)


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
    if request.frontier is None:
        return None
    held = request.frontier
    if isinstance(held, np.ndarray) and not request.arcs and held.size <= FEW:
        return _sorted(request, numbering.place_on_host[held])
    members = move(held, request.topology.device)
    if not request.arcs:
        return _sorted(request, _taken(numbering.place, members))
    xp = request.topology.xp
    places = xp.empty(numbering.arcs.size, numbering.arcs.dtype)
    places[numbering.arcs] = xp.arange(places.size, dtype=places.dtype)
    return _sorted(request, places[members])


def _trail(request: Request, numbering: Numbering) -> list[Any]:
    assert request.trail is not None
    device = request.topology.device
    return [_sorted(request, numbering.place[move(part, device)]) for part in request.trail]


def _carry(request: Request, places: Any, pairs: list[tuple[Any, Any]]) -> None:
    """Copy what each first array has at some places to the second one of its pair."""
    together: list[tuple[Any, Any]] = []
    device = request.topology.device
    if device.kind == "cuda" and pairs:
        from weft.backends.cuda.host import reorder_fields as carrying

        can_carry = carrying.can_carry
        together = [pair for pair in pairs if can_carry(pair[0]) and can_carry(pair[1])]
        carrying.carry(device, places, together)
    done = {id(target) for _, target in together}
    for source, target in pairs:
        if id(target) not in done:
            _taken(source, places, out=target)


def _taken(array: Any, places: Any, out: Any = None) -> Any:
    """Return what an array has at some places; indices in brackets take CuPy longer to prepare."""
    xp = module_of(array)
    if xp is np:
        return np.take(array, places, axis=0, out=out, mode="clip")
    return xp.take(array, places, axis=0, out=out)


def _sorted(request: Request, members: Any) -> Any:
    return np.sort(members) if request.topology.device.on_host else members
