"""Queries about topologies, sweeps and steps, shared by the renderers of all backends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.ir.check.facts import block_facts, is_pure
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import Program, Reduction, Step, Value
from weft.plan.sweeps import Sweep
from weft.topology.topology import Direction

LEAST_ROW, END_ROW = "least_row__", "end_row__"  # scalars: the rows that a pull over a block walks
_OF_ENDS = frozenset({"field", "id", "in_degree", "num_vertices", "out_degree", "parameter",
                      "scalar", "superstep"})  # fmt: skip
"""Loads of a message that are the same for all arcs between two vertices."""
MOST_ADDED = 8  # to a field of u by one message of a write-once step


@dataclass(frozen=True)
class Traits:
    """The properties of a topology that shape the code: which slot maps are the identity."""

    directed: bool
    keep: str
    renumbered: bool = False  # vertices and edges have different numbers outside

    def arcs_are_slots(self, direction: str) -> bool:
        """Whether a slot of a direction is its canonical arc."""
        return direction == ("in" if self.keep == "in" else "out")

    def edges_are_slots(self, direction: str) -> bool:
        """Whether a slot of a direction is its edge id."""
        return self.directed and not self.renumbered and self.arcs_are_slots(direction)


def refused(sweep: Sweep, direction: str) -> str:
    """Return why a sweep cannot go in a direction, or an empty string."""
    return sweep.push_refused if direction == "push" else sweep.pull_refused


def side_of(sweep: Sweep, direction: str) -> str:
    """Return the side of a configuration that serves a direction of a sweep.

    A pull that scans whole rows performs like a gather.
    """
    return "gather" if direction == "pull" and not sweep.early_exit else direction


def looks_at_arcs(sweep: Sweep) -> bool:
    """Whether the functions of a vertex sweep read adjacency: their arcs count as visited."""
    ops = {"gather", "gather_by", "common", "neighbor", "neighbor_edge"}
    return any(value.op in ops for step in sweep.steps for value in step.body.walk())


def reads_no_arc(step: Step) -> bool:
    """Whether the messages of a step depend only on the two ends of an arc."""
    return all(
        value.op in ELEMENTWISE
        or value.op in ("const", "constant")
        or (value.op == "load" and value.attr[0] in _OF_ENDS)
        for value in step.body.walk()
    )


def buffered_edges(sweep: Sweep) -> set[str]:
    """Return the edge fields that are written while the opposite arc's are read."""
    facts = sweep.facts
    return facts.edge_written & facts.edge_read if "reverse" in facts.loads else set()


def counted_way(following: Sweep) -> Direction:
    """Return the direction of the rows whose lengths measure a frontier's work in a sweep."""
    return following.way("push") if following.kind == "edge" else "out"


def groups_of(step: Step) -> list[tuple[Reduction, tuple[str, ...], range]]:
    """Return each reduction of a step with its fields and the positions of its messages."""
    if len(step.reductions) == 1 and step.reductions[0].selecting:
        return [(step.reductions[0], step.into, range(len(step.into)))]
    return [(r, (step.into[i],), range(i, i + 1)) for i, r in enumerate(step.reductions)]


def scalar_reductions(steps: list[Step]) -> list[tuple[str, Reduction, Any]]:
    """Return the scalars that some steps reduce into, each once."""
    found: dict[str, tuple[str, Reduction, Any]] = {}
    for step in steps:
        for value in step.body.walk():
            if value.op == "reduce_scalar":
                found[value.attr[0]] = (value.attr[0], value.attr[1], value.dtype)
    return list(found.values())


def is_movable(value: Value, live: set[str]) -> bool:
    """Whether a value may be computed once per row instead of once per arc."""
    return (value.op in ELEMENTWISE or value.op == "load") and is_pure(value, live)


def row_values(
    step: Step, row: str, live: set[str], fits: Callable[[Value], bool] = lambda v: not v.shape
) -> list[Value]:
    """Return the values of a function that depend on the row's vertex alone and fit in a row."""
    inside: dict[int, Value] = {}
    for value in step.body.body:
        if value.op == "load":
            alone = value.attr[0] in ("superstep", "num_vertices", "scalar", "parameter") or (
                len(value.attr) > 1 and value.attr[1] == row
            )
            if alone and is_movable(value, live):
                inside[id(value)] = value
        elif value.op in ("const", "constant") or (
            is_movable(value, live) and fits(value) and all(id(a) in inside for a in value.args)
        ):
            inside[id(value)] = value
    return [v for v in inside.values() if v.op not in ("const", "constant") and fits(v)]


def moving_fields(sweep: Sweep) -> set[str]:
    """Return the fields that may still improve while the arcs of a row are sent.

    Each arc reads them again: a message that is better by then saves a later one.
    """
    relaxed = set(sweep.last.into) if sweep.mode == "online" else set()
    return relaxed | sweep.facts.live


def may_carry(program: Program, sweeps: list[Sweep]) -> bool:
    """Whether the hidden fields of the next superstep can be written by this one.

    This saves a separate sweep: all vertices run in every superstep, and between supersteps only
    the vertex's own fields change in these expressions.
    """
    if len(sweeps) != 1 or program.mode != "iterate" or program.refill:
        return False
    step = sweeps[0].last
    facts = block_facts(*(block for _, block in step.hoisted))
    steady = not (facts.scalars & sweeps[0].facts.reduced) and "superstep" not in facts.loads
    return bool(step.hoisted) and steady and not facts.old and len(sweeps[0].steps) == 1


def may_turn(program: Program, sweeps: list[Sweep], kept_old: frozenset[str]) -> Sweep | None:
    """Return the sweep whose second buffers may be swapped with the fields.

    This saves copying: the sweep writes all of them, at least where all vertices run, and no other
    sweep has any. The last superstep may leave results in the buffers. In programs with steps for
    wide frontiers, only those are considered.
    """
    if program.mode != "iterate" or (program.refill and not program.wide) or program.trail:
        return None
    if program.until_fields:  # it looks where the fields are
        return None
    vertices = [sweep for sweep in sweeps if sweep.kind == "vertex" and sweep.buffered]
    edges = [sweep for sweep in sweeps if sweep.kind == "edge" and buffered_edges(sweep)]
    if len(vertices) + len(edges) != 1:
        return None
    (sweep,) = vertices + edges
    step = sweep.last
    if len(sweep.steps) > 1 or sweep.buffered_old & kept_old:
        return None
    if sweep.kind == "vertex":
        return sweep if len(sweeps) == 1 else None
    others = [other for other in sweeps if other is not sweep]
    alone = not any(buffered_edges(sweep) & other.facts.edge_written for other in others)
    return sweep if alone and step.everywhere and step.accept is None else None
