"""Decides how the steps of a program are carried out, with proofs.

A `Sweep` is a sequence of functions that share one pass over the same items: one edge or vertex
function, or those of a fold. For a sweep over edges, the mode determines when updates become
visible:

once      `any` into a field that its accept makes write-once: in place, claimed by swap; if the
          field counts supersteps, a pull may test it in place of the frontier (operand reuse)
online    min, max, or, and (and argmin, argmax as packed pairs): in place, noticed one by one
deferred  into a second buffer, compared and copied after the sweep
effects   no messages: edge state and live fields only
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weft.ir.check.facts import Facts, before_reads, block_facts, facts_of
from weft.ir.ops import BOOL, ROLES, Program, Step, Value
from weft.ir.types import fits
from weft.topology.topology import Direction

IN_PLACE = "in_place"  # the name that disables all updates before the end of a sweep
_NONDECREASING = ("add", "minimum", "maximum", "cast")


@dataclass
class Sweep:
    """Functions that share one pass over arcs or vertices."""

    kind: str  # edge or vertex
    steps: list[Step]
    facts: Facts
    mode: str = "vertex"
    buffered: set[str] = field(default_factory=set)  # written to a second buffer first
    snapshots: set[str] = field(default_factory=set)  # far reads see the start of the fold
    old_snapshots: set[str] = field(default_factory=set)  # the same of their old values
    # Live fields that must be read as they were when the sweep began: by each function in which
    # they are not live, by accept, and by active as values before the step.
    frozen: list[set[str]] = field(default_factory=list)
    frozen_accept: set[str] = field(default_factory=set)
    frozen_before: set[str] = field(default_factory=set)
    live_old: set[str] = field(default_factory=set)  # live fields whose old values are kept
    early_exit: bool = False  # a pull may stop at the first message
    relaxes: bool = False  # in-place updates feed on themselves (rule 11)
    radix: bool = False  # pushed messages are sorted by their targets, see plan/sorting.py
    keeps_senders: bool = False  # its output contains the senders, as well as the receivers
    adds: bool = False  # messages are added to the field itself, and all receivers are active
    check_frontier: bool = False  # `once` holds if the first frontier accepts nothing
    # The increment of the deciding field of `once` per superstep, if it identifies the frontier, so
    # that a pull can test the field; 0 if it does not.
    rises: int = 0
    push_refused: str = ""  # why it cannot be pushed
    pull_refused: str = ""
    fold_start: bool = True  # the first sweep of a fold, or of a plain step
    in_order: bool = False  # if pushed, a single thread does so, in ascending order of edges

    @property
    def last(self) -> Step:
        """The function whose changes are the output."""
        return self.steps[-1]

    @property
    def direct_pull(self) -> bool:
        """Whether a pull may write its own vertex at once, since nothing else reads it."""
        far = self.facts.far | self.facts.far_old
        # A row that tests a live field must wait for the live writes of all other rows.
        waits = self.facts.live_written & block_facts(self.last.active).near
        copied = self.snapshots or self.old_snapshots
        return not (self.buffered & far) and not copied and not waits

    @property
    def copied(self) -> set[str]:
        """Fields that are copied before the sweep begins."""
        return self.frozen_accept.union(self.frozen_before, self.live_old, *self.frozen)

    @property
    def turned(self) -> bool:
        """Whether its functions see an arc as if it ran from its destination to its source."""
        return self.steps[0].along == "in"

    def way(self, direction: str) -> Direction:
        """Return the rows that a push, or a pull, walks."""
        return "in" if (direction == "pull") != self.turned else "out"

    def live_in(self, number: int) -> set[str]:
        """Return the fields that are live while a function of the sweep runs.

        What `active` reads at computed vertices is live in the function too: the test sees what
        the function assigned.
        """
        step = self.steps[number]
        tests = step.active if step.kind == "vertex" and step is self.last else None
        return block_facts(step.body, tests).live

    @property
    def buffered_old(self) -> set[str]:
        """Fields whose old values others read while a vertex function replaces them."""
        return (self.facts.written & self.facts.far_old) - self.live_old


@dataclass(frozen=True)
class Planning:
    """The inputs of planning besides the program.

    A deterministic run uses no packed pairs, since the order of equal keys is not fixed there.
    Neither does a run that cannot push: pulls reduce into a second buffer instead.
    """

    kept_old: frozenset[str] = frozenset()
    deterministic: bool = False
    wide_pairs: bool = True
    pushes: bool = True
    reuse: bool = False  # a pull tests the state in place of the frontier if equivalent
    ordering: bool = False  # a priority relaxes in place even if supersteps are observable
    radix: bool = False  # no update is made in place: messages of an edge function are sorted
    off: frozenset[str] = frozenset()


def plan_program(program: Program, planning: Planning) -> tuple[dict[str, list[Sweep]], list[str]]:
    """Plan the sweeps of all roles; return them by role, and the decisions."""
    planned, decided = {}, []
    for role in ROLES:
        planned[role], more = plan_sweeps(getattr(program, role), program, planning)
        decided += more
    return planned, decided


def plan_sweeps(
    steps: tuple[Step, ...], program: Program, planning: Planning
) -> tuple[list[Sweep], list[str]]:
    """Group steps into sweeps and decide how each is carried out; return the decisions."""
    kept_old, deterministic, off = planning.kept_old, planning.deterministic, planning.off
    sweeps: list[Sweep] = []
    for step in steps:
        folded = step.folded and bool(sweeps) and sweeps[-1].kind == step.kind
        if folded and "step_folding" in off and _may_part(sweeps[-1].steps, step):
            folded = False
            _hand_on(sweeps[-1].last)
        if folded or step.joined:
            sweeps[-1].steps.append(step)
        else:
            sweeps.append(Sweep(step.kind, [step], Facts(), fold_start=not step.folded))
    decided: list[str] = []
    in_place = frozenset({IN_PLACE}) if planning.radix else frozenset()
    for sweep in sweeps:
        sweep.facts = _facts(sweep)
        _plan_frozen(sweep, kept_old)
        if sweep.kind == "edge":
            half = 8 if planning.wide_pairs else 4  # bytes of half a pair; 0: no pairs
            half = half if planning.pushes and not deterministic else 0
            _plan_edges(sweep, program, kept_old, off | in_place, decided, half, planning.ordering)
            _plan_directions(sweep, deterministic)
            if planning.reuse and "operand_reuse" not in off and not sweep.pull_refused:
                sweep.rises = _rises(sweep, program)
                decided += ["operand_reuse"] if sweep.rises else []
        else:
            far = sweep.facts.far
            sweep.buffered = (sweep.facts.written & far) - sweep.facts.live
    _plan_snapshots(sweeps)
    return sweeps, decided


def _may_part(before: list[Step], step: Step) -> bool:
    """Whether a vertex function of a fold may run in a separate sweep, after the others."""
    members = [*before, step]
    if step.kind != "vertex" or step.everywhere or any(facts_of(s).live for s in members):
        return False
    reduced = set().union(*(facts_of(s).reduced for s in before))
    return not reduced & (facts_of(step).scalars | facts_of(step).reduced)


def _hand_on(step: Step) -> None:
    """Make functions of a fold output the vertices at which the next one runs."""
    if step.hands_on:
        return
    step.hands_on = True
    body = step.body
    going_on = Value("const", (), True, BOOL)
    if step.conditional:
        going_on, body.results, step.conditional = body.results[-1], body.results[:-1], False
    else:
        body.body.append(going_on)
    step.active = None
    body.body = [v for v in body.body if v.op != "set_changed"]
    body.body.append(Value("set_changed", (going_on,)))


def _facts(sweep: Sweep) -> Facts:
    merged = Facts()
    for step in sweep.steps:
        facts = facts_of(step)
        for _, block in step.hoisted:
            hoisted = block_facts(block)
            facts.scalars |= hoisted.scalars
            facts.loads |= hoisted.loads
            facts.near |= hoisted.far | hoisted.near
            facts.old |= hoisted.old
        for name in vars(merged):
            getattr(merged, name).update(getattr(facts, name))
    return merged


def _plan_frozen(sweep: Sweep, kept_old: frozenset[str]) -> None:
    """Find the fields that are written in place while other readers need their earlier values.

    Live writes, and assignments to fields that are live somewhere in the sweep, are seen at once,
    but only by functions in which the field is live too.
    """
    bodies = [block_facts(step.body) for step in sweep.steps]
    live_written = set().union(*(body.live_written for body in bodies))
    stored = set().union(*(body.written for body in bodies))
    at_once = live_written | (stored & sweep.facts.live)
    for body in bodies:
        reads = body.far | body.near if sweep.kind == "edge" else body.far
        sweep.frozen.append((reads - body.live) & at_once)
    sweep.frozen_accept = live_written & block_facts(*(step.accept for step in sweep.steps)).near
    live = set().union(*(sweep.live_in(number) for number in range(len(bodies))))
    sweep.live_old = at_once & live & kept_old
    if sweep.kind == "edge":
        sweep.frozen_before = live_written & before_reads(sweep.last.active)


def _plan_edges(
    sweep: Sweep,
    program: Program,
    kept: frozenset[str],
    off: frozenset[str],
    decided: list[str],
    pair_bytes: int,
    ordering: bool,
) -> None:
    step = sweep.steps[0]
    if not any(s.into for s in sweep.steps):
        sweep.mode = "effects"
        return
    sweep.mode = "deferred"
    sweep.buffered = {name for s in sweep.steps for name in s.into}
    names = {r.name for s in sweep.steps for r in s.reductions}
    plain = len(sweep.steps) == 1 and step.active is None and not (set(step.into) & kept)
    plain = plain and IN_PLACE not in off
    accept_reads = block_facts(step.accept)
    # Effects of a function other than its message happen wherever accept held at the start.
    may_claim = names == {"any"} and len(step.reductions) == 1 and not step.body_effects()
    if plain and may_claim and "write_once" not in off:
        proof = _write_once(step)
        if proof:
            sweep.mode, sweep.buffered = "once", set()
            sweep.check_frontier = proof == "frontier"
            decided.append("write_once")
    elif plain and not (accept_reads.near & set(step.into)):
        body = block_facts(step.body)
        read = (body.far | body.near) & set(step.into)
        scalar = not any(dict_shape for _, dict_shape in _into_types(step, program))
        if names <= {"min", "max", "or", "and"}:
            relaxes = (
                bool(read)
                and _may_relax(step, program, scalar, ordering)
                and "async_relaxation" not in off
            )
            if not read or relaxes:
                sweep.mode, sweep.buffered, sweep.relaxes = "online", set(), relaxes
                decided.append("async_relaxation" if relaxes else "in_place")
        elif names <= {"argmin", "argmax"} and len(step.into) == 2 and scalar:
            half = max(dtype.itemsize for dtype, _ in _into_types(step, program))
            allowed = half <= pair_bytes and "async_relaxation" not in off
            if allowed and read <= {step.into[0]} and _may_relax(step, program, True, ordering):
                sweep.mode, sweep.buffered, sweep.relaxes = "online", set(), True
                decided.append("async_relaxation")
    exits = all(r.name == "any" for r in step.reductions) or _saturating(step)
    if exits and len(sweep.steps) == 1 and "early_exit" not in off and not step.body_effects():
        sweep.early_exit = True
        decided.append("early_exit")


def _into_types(step: Step, program: Program) -> list[tuple[Any, tuple[int, ...]]]:
    known = {name: (dtype, shape) for name, dtype, shape in program.signature.fields}
    return [known[name] for name in step.into]


def _saturating(step: Step) -> bool:
    """Whether the first sent message decides: a constant True under `or`."""
    if len(step.into) != 1 or step.reductions[0].name != "or":
        return False
    message = step.body.results[0]
    return message.op == "const" and message.attr is True


def write_once_proof(step: Step) -> str:
    """Return the proof that an edge step alone in a program is write-once, or an empty string."""
    single = len(step.reductions) == 1 and step.reductions[0].name == "any"
    if step.kind != "edge" or not single or step.active is not None or step.body_effects():
        return ""
    return _write_once(step)


def _write_once(step: Step) -> str:
    """Prove that a message makes accept false for good: "always", "frontier" (given that the

    frontier accepts nothing) or "" if there is no proof.
    """
    if step.accept is None:
        return ""
    test = step.accept.results[0]
    if test.op not in ("lt", "eq") or len(test.args) != 2:
        return ""
    load, bound = _uncast(test.args[0]), test.args[1]
    if load.op != "load" or load.attr[:2] != ("field", "v") or bound.op != "const":
        return ""
    name = load.attr[2]
    if name not in step.into:
        return ""
    message = step.body.results[step.into.index(name)]
    return _not_accepted(message, name, test.op, bound.attr)


def _rises(sweep: Sweep, program: Program) -> int:
    """Return the increment of the deciding field from frontier to frontier, or 0 without a proof.

    If the message into it is `u.field + c` with c > 0 and all vertices of the first frontier hold
    the same s, those of the k-th hold s + c k. No other vertex ever does if all others accept at
    the start, since a vertex is written once. So the field identifies the frontier, even while a
    pull writes s + c (k + 1) to it. The start is checked when a run begins.
    """
    step = sweep.last
    alone = program.mode == "iterate" and len(program.steps) == 1 and not program.refill
    if sweep.mode != "once" or not alone or program.trail or step.everywhere:
        return 0
    claim = claim_field(step)
    (dtype,) = (kind for name, kind, _ in program.signature.fields if name == claim)
    if dtype.kind != "i" or dtype.itemsize < 4:
        return 0
    return _added(step.body.results[step.into.index(claim)], claim)


def _added(message: Value, name: str) -> int:
    """Return the sum of the constants that a message adds to u's field, or 0 for other messages."""
    message, total = _uncast(message), 0
    while message.op == "add":
        numbers = [_uncast(a) for a in message.args]
        constants = [a for a in numbers if a.op == "const"]
        if len(constants) != 1:
            return 0
        total += int(constants[0].attr)
        (message,) = (a for a in numbers if a.op != "const")
    return total if message.op == "load" and message.attr == ("field", "u", name) else 0


def claim_field(step: Step) -> str:
    """Return the field that decides acceptance of a write-once step."""
    assert step.accept is not None
    for value in step.accept.walk():
        if value.op == "load" and value.attr[0] == "field":
            return str(value.attr[2])
    raise AssertionError("a write-once step tests a field")


def _uncast(value: Value) -> Value:
    """Return the operand of casts that preserve every value.

    Vertices cast to 32 bits fit; edges may not.
    """
    while value.op == "cast":
        source = value.args[0]
        bytes_ = 8 if source.op == "load" and source.attr[0] == "edge_id" else 4
        wide = source.weak and value.dtype.kind != "b" and value.dtype.itemsize >= bytes_
        if not wide and not fits(source.dtype, value.dtype):
            break
        value = source
    return value


def _not_accepted(message: Value, name: str, op: str, bound: float, adds: int = 4) -> str:
    """Return the proof for one message; at most `adds` small numbers are added in it."""
    message = _uncast(message)
    if message.op == "load":
        if message.attr[0] in ("id", "superstep", "edge_id", "rank"):
            return "always" if bound <= 0 and (op == "lt" or bound < 0) else ""
        if message.attr == ("field", "u", name) and op == "lt":
            return "frontier"
    if message.op == "add":
        for a, b in (message.args, message.args[::-1]):
            step = _uncast(b)
            if step.op == "const" and 0 <= step.attr <= 2 and adds:
                inner = _not_accepted(a, name, op, bound, adds - 1)
                if op == "lt" or inner == "always":
                    return inner
    if message.op == "const" and op == "lt":
        return "always" if message.attr >= bound else ""
    if message.op == "const" and op == "eq":
        return "always" if message.attr != bound else ""
    return ""


def _may_relax(step: Step, program: Program, scalar: bool, ordering: bool) -> bool:
    """Rule 11: in place is unobservable for monotone messages inside an unbounded iterate.

    With a priority this also applies to bounded runs, whose intermediate states may then differ.
    Scalars may be reduced, as long as no message depends on them.
    """
    facts = facts_of(step)
    alone = program.mode == "iterate" and len(program.steps) == 1 and not program.refill
    asked = program.observed and ordering and step.priority is not None
    if not alone or program.trail or not scalar or "superstep" in facts.loads:
        return False
    if program.observed and not asked:
        return False
    if facts.reduced and (not asked or facts.reduced & facts.scalars):
        return False
    if facts.edge_written or facts.live or facts.old or step.everywhere:
        return False
    body = block_facts(step.body)
    if body.near & set(step.into):
        return False
    if step.conditional and _depends(step.body.results[-1], set(step.into)):
        return False
    if step.reductions[0].selecting:
        return _nondecreasing(step.body.results[0], step.into[0]) and not _depends(
            step.body.results[1], set(step.into)
        )
    own = dict(zip(step.into, step.body.results, strict=False))
    return all(
        _nondecreasing(message, name) and not _depends(message, set(step.into) - {name})
        for name, message in own.items()
    )


def _depends(value: Value, names: set[str]) -> bool:
    if value.op == "load" and value.attr[0] == "field" and value.attr[2] in names:
        return True
    inner = any(_depends(v, names) for block in value.blocks for v in block.body)
    return inner or any(_depends(a, names) for a in value.args)


def _nondecreasing(value: Value, name: str) -> bool:
    """Whether a value does not fall when u's field rises (or does not depend on it)."""
    if not _depends(value, {name}):
        return True
    if value.op == "load":
        return True
    if value.op == "cast":
        floats = value.dtype.kind == value.args[0].dtype.kind == "f"
        kept = floats or fits(value.args[0].dtype, value.dtype)
        return kept and _nondecreasing(value.args[0], name)
    if value.op in _NONDECREASING:
        return all(_nondecreasing(a, name) for a in value.args)
    if value.op == "sub":
        return _nondecreasing(value.args[0], name) and not _depends(value.args[1], {name})
    return False


def _plan_directions(sweep: Sweep, deterministic: bool) -> None:
    reductions = [r for s in sweep.steps for r in s.reductions]
    selecting = any(r.name in ("argmin", "argmax") for r in reductions)
    if sweep.mode == "online" and selecting:
        sweep.pull_refused = "argmin and argmax in place are pushed by compare-and-swap"
    if len(sweep.steps) > 1:
        sweep.pull_refused = sweep.pull_refused or "a fold of edge functions is pushed"
    sweep.in_order = deterministic and depends_on_order(sweep)
    if deterministic and sweep.mode == "once" and sweep.facts.far & set(sweep.last.into):
        sweep.check_frontier = True  # a claimed source would expose the order
    if sweep.in_order and not sweep.pull_refused:
        sweep.push_refused = "a deterministic run pulls what depends on the order of messages"


def depends_on_order(sweep: Sweep) -> bool:
    """Whether the order of messages can affect the bits of a result."""
    for step in sweep.steps:
        if any(v.op == "reduce_scalar" and v.dtype.kind == "f" for v in step.body.walk()):
            return True
        floats = any(v.dtype.kind == "f" for v in step.body.results)
        exact = {"or", "and"} if floats else {"min", "max", "or", "and", "sum", "prod"}
        if sweep.relaxes:  # min and max: the order only affects the sign of zeros
            exact |= {"min", "max"}
        if not {r.name for r in step.reductions} <= exact:
            return True
    return False


def _plan_snapshots(sweeps: list[Sweep]) -> None:
    """A vertex run of a fold sees other vertices as they were when the fold began (rule 9)."""
    written: set[str] = set()
    for sweep in sweeps:
        if sweep.fold_start:
            written = set()
        elif sweep.kind == "vertex" and not any(step.relaxed for step in sweep.steps):
            hoisted = block_facts(*(b for step in sweep.steps for _, b in step.hoisted))
            bodies = [block_facts(step.body) for step in sweep.steps]
            far = set().union(hoisted.far, *(body.far - body.live for body in bodies))
            sweep.snapshots = far & written
            sweep.old_snapshots = (sweep.facts.far_old | hoisted.far_old) & written
        written |= sweep.facts.written | sweep.facts.live_written
