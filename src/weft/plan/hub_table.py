"""Whether gathers read the values of other vertices by place, hubs from a table of each block.

By place, the vertices that most arcs name have their values side by side
(`weft.topology.hub_places`): a near cache holds more of what is read again. With a table, the
first of them lie in the shared memory of every block, which leaves less to that cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from weft.arrays.device import free_bytes
from weft.config import Config
from weft.ir.check.key import lifted_copy
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import LEAF, Program, Step, Value
from weft.ir.passes import hoist_sources, run_passes
from weft.plan.first_looks import is_uneven
from weft.topology.hub_places import share_of_hubs
from weft.topology.topology import Direction, Topology

LEAST_ARCS = 1 << 24  # with fewer the values are in a near cache, and the places take their time
MEMORY_SHARE = 3  # times the room for the places of targets must be free
LEAST_DEGREE = 8  # on average: each vertex has to be written by place
LEAST_SHARE = 0.6  # of the reads that a table has to answer
WIDTHS = (4, 8)  # bytes of a value
_AT_HAND = frozenset({"column", "edge_id", "edge_state", "field", "id", "in_degree",
                      "num_vertices", "old", "out_degree", "parameter", "scalar",
                      "superstep"})  # fmt: skip
"""Loads of a message beside those of u that may be read by place."""


class Gathered(NamedTuple):
    """What a program gathers by place, if it may.

    Attributes
    ----------
    nbytes
        The most bytes of a vertex that one gather reads; 0 if no gather may.
    ways
        The directions of the rows.
    """

    nbytes: int = 0
    ways: frozenset[Direction] = frozenset()


def gathered_by_place(program: Program, config: Config) -> Gathered:
    """Return what a program may gather by place; found once.

    Only what is gathered again and again is worth it. Change-driven runs have few supersteps that
    take all vertices.
    """
    asked = config.hub_table or not program.wide
    if program.mode != "iterate" or not asked or "source_hoisting" in config.passes_off:
        return Gathered()
    found: Gathered | None = program.findings.get("by place")
    if found is None:
        found = program.findings["by place"] = _gathered(program)
    return found


def _gathered(program: Program) -> Gathered:
    def gathers(program: Program) -> Iterator[tuple[Step, Value]]:
        for step in (*program.steps, *program.wide):
            for value in step.body.body:
                if value.op == "gather":
                    yield step, value

    if not any(reads_by_place(gather) for _, gather in gathers(program)):
        return Gathered()
    own = lifted_copy(program, lift=False)
    run_passes(own)
    hoist_sources(own, reads_by_place)
    found = [gather for step, gather in gathers(own) if may_lie_by_place(step, gather)]
    widths = [sum(dtype.itemsize for dtype in sources_of(gather).values()) for gather in found]
    return Gathered(max(widths, default=0), frozenset(gather.attr[0] for gather in found))


def reads_places(topology: Topology, config: Config) -> bool:
    """Whether gathers read by place, where a program has a use for it.

    Examples
    --------
    >>> import weft
    >>> topology = weft.generators.star(5).topology
    >>> reads_places(topology, weft.Config(hub_table="places"))
    True
    >>> reads_places(topology, weft.Config())
    False
    """
    if topology.carrier is not None:
        return False
    if config.hub_table is not None:
        return bool(config.hub_table)
    arcs = topology.num_arcs
    dense = arcs >= max(LEAST_ARCS, LEAST_DEGREE * topology.num_vertices)
    return dense and is_uneven(topology) and _fits(topology, arcs)


def keeps_table(topology: Topology, config: Config, gathered: Gathered, room: int) -> bool:
    """Whether blocks with so many bytes of room keep tables of what is gathered by place.

    Examples
    --------
    >>> import weft
    >>> topology = weft.generators.star(5).topology
    >>> gathered = Gathered(8, frozenset({"in"}))
    >>> [keeps_table(topology, weft.Config(), gathered, room) for room in (0, 8, 80)]
    [False, False, True]
    """
    if config.hub_table is not None:
        return config.hub_table is True
    count = room // gathered.nbytes
    return all(share_of_hubs(topology, way, count) >= LEAST_SHARE for way in gathered.ways)


def _fits(topology: Topology, arcs: int) -> bool:
    """Whether the targets by place leave a device the greater part of its free memory."""
    free = free_bytes(topology.device)
    return free is None or MEMORY_SHARE * arcs * topology.index_dtype.itemsize <= free


def reads_by_place(gather: Value) -> bool:
    """Whether the messages of a gather read nothing of u but scalars, which may lie by place."""
    if gather.attr[0] == "both":
        return False
    for value in gather.blocks[0].walk():
        if value.op == "load":
            if value.attr[0] not in _AT_HAND:
                return False
        elif value.op not in ELEMENTWISE and value.op not in LEAF:
            return False
    loads = _loads_of_source(gather)
    return bool(loads) and all(not v.shape and v.dtype.itemsize in WIDTHS for v in loads)


def _loads_of_source(gather: Value) -> list[Value]:
    loads = [value for value in gather.blocks[0].walk() if value.op == "load"]
    return [value for value in loads if len(value.attr) > 1 and value.attr[1] == "u"]


def sources_of(gather: Value) -> dict[str, np.dtype[Any]]:
    """Return the hidden fields of u that the messages of a gather read, and their types."""
    return {value.attr[2]: value.dtype for value in _loads_of_source(gather)}


def may_lie_by_place(step: Step, gather: Value) -> bool:
    """Whether all that the only gather of a step reads of u has been hoisted, and may lie so."""
    others = {"gather", "gather_by"} & {v.op for v in step.body.walk() if v is not gather}
    names = {name for name, _ in step.hoisted}
    hoisted = all(value.attr[-1] in names for value in _loads_of_source(gather))
    return not others and hoisted and reads_by_place(gather)
