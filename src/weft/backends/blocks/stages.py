"""A program as stages, each split into a part that needs arcs and a part that does not.

Blocks are swept one after another, or on different machines, so a sweep must not see the writes of
another block. The part of a step that needs arcs therefore reads the current state and only writes
to hidden fields. Once all blocks are done, a vertex function without arcs does the rest:

edge step      arcs: messages are combined into an *inbox* for each field
               then: at every vertex that got a message, the field is combined with its inbox
vertex step    arcs: what it gathers is stored in hidden fields
               then: the function itself, which loads these

A write-once step into a field that its `accept` closes for good needs no inbox: no vertex that
sends is written, whatever the order of the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.ir.ops import INT64, Program, Reduction, Shape, Signature, Step
from weft.plan.queries import END_ROW, LEAST_ROW

Kind = tuple[np.dtype[Any], Shape]
SUPERSTEP = "superstep__"  # a scalar that holds the number of the superstep


@dataclass(frozen=True)
class Group:
    """Hidden fields that are combined together, and how; a selecting monoid forms one group."""

    reduction: Reduction
    names: tuple[str, ...]


@dataclass(frozen=True)
class EdgeUse:
    """The fields of edge state that a step reads and writes, and whether those of opposite arcs."""

    read: frozenset[str]
    written: frozenset[str]
    reverse: bool


@dataclass(eq=False)
class ArcPart:
    """The part of a step that is run over blocks.

    Attributes
    ----------
    program
        A `run` of one step. It may be shared, and changes nothing but hidden fields.
    ways
        The directions whose blocks it needs.
    groups
        How the writes of two blocks to hidden fields of one vertex are combined. Empty for gathers,
        whose rows belong to one block each.
    hidden
        The hidden fields, with the value that each starts from.
    sources
        Further hidden fields that it reads, filled earlier.
    reads
        The fields that it reads.
    scalars
        The scalars that it reduces.
    pairs
        Whether it looks at common neighbours, and so needs two blocks of rows at a time.
    direct
        A form of the program that writes to the fields directly, if the step is write-once.
    accepts
        A vertex program that outputs the accepting vertices; None for all.
    pulled
        Whether the program may also pull: along the rows of those that accept.
    edges
        How it uses edge state; None if it does not.
    """

    program: Program
    ways: tuple[str, ...]
    groups: tuple[Group, ...] = ()
    hidden: dict[str, tuple[Kind, Any]] = field(default_factory=dict)
    sources: dict[str, Kind] = field(default_factory=dict)
    reads: frozenset[str] = frozenset()
    scalars: tuple[tuple[str, Reduction, Any], ...] = ()
    pairs: bool = False
    direct: Program | None = None
    accepts: Program | None = None
    pulled: bool = False
    edges: EdgeUse | None = None

    @property
    def pull_way(self) -> str:
        """The direction whose blocks a pull needs."""
        return "out" if self.step.along == "in" else "in"

    @property
    def step(self) -> Step:
        """The one step."""
        return self.program.steps[0]


@dataclass(eq=False)
class Stage:
    """One step: the programs before its sweep over arcs, the sweep, and the programs after it."""

    step: Step  # as it was traced
    before: Program | None = None  # fills hidden fields at all vertices
    arcs: ArcPart | None = None
    after: Program | None = None


@dataclass
class Source:
    """Stands in for generated code in reports."""

    source: str


@dataclass(eq=False)
class Staged:
    """A program as stages, by role."""

    program: Program
    stages: dict[str, list[Stage]]
    rendered: Source
    wakes: list[ArcPart]  # the sweep that wakes gatherers of changed vertices
    sweeps: tuple[Any, ...] = ()
    fired: tuple[str, ...] = ("arc_parts",)


def with_hidden(signature: Signature, hidden: dict[str, Kind]) -> Signature:
    """Return a signature with hidden fields and the scalars of sweeps."""
    fields = tuple((name, dtype, shape) for name, (dtype, shape) in hidden.items())
    numbers = tuple((name, INT64) for name in (SUPERSTEP, LEAST_ROW, END_ROW))
    return replace(signature, fields=signature.fields + fields, scalars=signature.scalars + numbers)


def load_supersteps(program: Program) -> None:
    """Make all blocks read the superstep number from a scalar, since single runs have none."""
    for step in program.steps:
        hoisted = [block for _, block in step.hoisted]
        for block in (step.body, step.accept, step.active, *hoisted):
            for value in block.walk() if block is not None else ():
                if value.op == "load" and value.attr[0] == "superstep":
                    value.attr = ("scalar", SUPERSTEP)
