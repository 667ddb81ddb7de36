"""From a request to queries: what a program reads, its sweeps in each form of a plan."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from weft.backends.relational.dialect import Dialect
from weft.backends.relational.refusals import Refused, refusal
from weft.backends.relational.sweeps import Sweep, lower
from weft.backends.relational.tables import Field, Plan, Schema, make_field
from weft.errors import ConfigError
from weft.ir.check.facts import facts_of, program_facts
from weft.ir.ops import ROLES, Program, Step, program_blocks
from weft.ir.passes import PASSES
from weft.ir.reference.memory import stored_fields
from weft.ir.reference.sweeps import cut_into_sweeps
from weft.ir.request import Request

_USEFUL = {"constant_folding", "equal_expressions", "gather_folding", "source_hoisting"}


@dataclass(frozen=True)
class Stretch:
    """A run of edge functions or of vertex functions, between two barriers.

    Attributes
    ----------
    begins
        It starts a fold, or is a single step: later functions see other vertices as they are now.
    watched
        A later run of its fold sees other vertices as they were before this one.
    """

    steps: tuple[Step, ...]
    begins: bool
    watched: bool


def stretches(steps: tuple[Step, ...]) -> list[Stretch]:
    """Cut steps into runs of functions of one kind."""
    cut: list[tuple[tuple[Step, ...], bool]] = []
    for sweep in cut_into_sweeps(steps):
        begins = not sweep[0].folded
        for kind in ("edge", "vertex"):
            own = tuple(step for step in sweep if step.kind == kind)
            if own:
                cut.append((own, begins))
                begins = False
    found: list[Stretch] = []
    watched = False
    for own, begins in reversed(cut):
        found.append(Stretch(own, begins, watched and own[0].kind != ""))
        looks = own[0].kind == "vertex" and any(
            value.op in ("gather", "gather_by", "common") for s in own for value in s.body.walk()
        )
        watched = (watched or looks) and not begins
    return found[::-1]


@dataclass
class Source:
    """The text of the queries, as `weft.explain` shows it."""

    source: str


@dataclass
class Compiled:
    """A program as queries, written when a superstep first needs them."""

    program: Program
    schema: Schema
    dialect: Dialect
    deterministic: bool
    rendered: Source = field(init=False)
    sweeps: tuple[Any, ...] = ()
    fired: tuple[str, ...] = ()
    _lowered: dict[tuple[int, Plan], Sweep] = field(default_factory=dict)

    def __post_init__(self) -> None:
        texts = []
        for role in ROLES:
            for stretch in stretches(getattr(self.program, role)):
                names = ", ".join(step.name for step in stretch.steps)
                sweep = self.sweep(stretch.steps, Plan())
                texts += [f"-- {names} ({stretch.steps[0].kind})", *(f"{t};" for t in sweep.texts)]
        self.rendered = Source("\n".join(texts) + "\n")

    def sweep(self, steps: tuple[Step, ...], plan: Plan) -> Sweep:
        """Return the queries of a run of functions; raise ConfigError if there are none."""
        key = id(steps[0]), plan
        if key not in self._lowered:
            try:
                made = lower(steps, self.schema, self.dialect, plan, self.deterministic)
            except Refused as refused:
                raise refusal(refused, steps[0], self.dialect.name) from None
            self._lowered[key] = made
        return self._lowered[key]


def compiled(request: Request, dialect: Dialect, columns: dict[str, Field]) -> Compiled:
    """Return the queries of a request; raise ConfigError if its program has none."""
    _check_program(request, dialect)
    schema = _schema(request)
    with_columns(schema, columns)
    for held in (*schema.fields.values(), *schema.columns.values(), *schema.arc_fields.values()):
        if held.dtype.name not in dialect.types:
            raise ConfigError(
                f"{held.name!r} is {held.dtype}, which {dialect.name} has no type for. Expected "
                f"one of {', '.join(dialect.types)}; declare it with another dtype."
            )
    own, fired = _rewritten(request)
    config = request.options.config
    return Compiled(own, schema, dialect, config.deterministic, fired=fired)


def _rewritten(request: Request) -> tuple[Program, tuple[str, ...]]:
    """Return a copy of the program, with the rewrites that make queries shorter."""
    program, off = copy.deepcopy(request.program), request.options.config.passes_off
    fired = [name for name, rewrite in PASSES if name in _USEFUL - set(off) and rewrite(program)]
    return program, tuple(fired)


def _check_program(request: Request, dialect: Dialect) -> None:
    program = request.program
    reasons = (
        (request.start.pairs is not None, "pairs in place of arcs", "no table holds them"),
        (bool(program.emits), "weft.emit", "records have no place in the state"),
        (bool(program.wide or program.renew), "a change-driven run",
         "what it keeps between supersteps is read and written in one query"),
        (_looks_at_least(program), "the least priority of the frontier",
         "a query does not keep the order of vertices"),
    )  # fmt: skip
    for holds, what, why in reasons:
        if holds:
            step = program.steps[0] if program.steps else None
            raise refusal(Refused(what, why), step, dialect.name)


def _looks_at_least(program: Program) -> bool:
    walk = program.until.walk() if program.until is not None else ()
    return any(value.op == "load" and value.attr[0] == "least" for value in walk)


def _schema(request: Request) -> Schema:
    program, topology, data = request.program, request.topology, request.data
    facts = program_facts(program)
    used = set().union(
        *(f.far | f.near | f.old | f.live | f.written | f.live_written for f in facts)
    )
    used |= program.until_fields
    for step in program.all_steps():
        used |= set(step.into) | stored_fields(step.body)
    used |= {f"old.{name}" for name in used if f"old.{name}" in data.fields}
    loads = set().union(*(facts_of(step).loads for step in program.all_steps()))
    degrees = {load.split(".")[0] for load in loads if "_degree." in load}
    if any(v.op == "degree" for block in program_blocks(program) for v in block.walk()):
        degrees.add("out_degree")
    schema = Schema(
        topology.num_vertices, topology.num_arcs, topology.num_edges, topology.directed,
        scalars={name: array.dtype for name, array in data.scalars.items()},
        parameters=dict(data.parameters), degrees=tuple(sorted(degrees)),
    )  # fmt: skip
    for number, name in enumerate(sorted(used & data.fields.keys())):
        array = data.fields[name]
        schema.fields[name] = make_field(name, number, "f", array.dtype, array.shape[1:])
    for number, (name, array) in enumerate(data.edge_fields.items()):
        schema.arc_fields[name] = make_field(name, number, "g", array.dtype, array.shape[1:])
    return schema


def with_columns(schema: Schema, columns: dict[str, Field]) -> None:
    """Declare the edge columns that lie in the table of arcs."""
    schema.columns = dict(columns)
