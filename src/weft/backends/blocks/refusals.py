"""Finds operations that are impossible on a partitioned graph, before anything runs."""

from __future__ import annotations

from weft.errors import ConfigError
from weft.ir.check.facts import Facts, block_facts, facts_of
from weft.ir.ops import LIVE_WRITE, Block, Program, Step, Value

_LOOKUPS = {
    "neighbor": "weft.neighbor",
    "neighbor_edge": "weft.neighbor_edge",
    "has_edge": "weft.has_edge",
    "find_edge": "weft.find_edge",
    "column_at": "weft.edge_at",
    "degree": "weft.degree",
}
_GATHER = "Gather over the edges of v (v.gather), or send from an edge function."


def refuse(step: Step, reason: str, remedy: str) -> ConfigError:
    """Return the error about a step that cannot run over blocks."""
    where = f" ({step.place})" if step.place else ""
    return ConfigError(
        f"{step.name!r}{where} cannot run on a partitioned graph: {reason}. {remedy} If the arcs "
        "fit into memory, g.to('cpu') runs every program."
    )


def updates_in_place(step: Step) -> bool:
    """Whether a step only updates and reads fields by .at(i), in any order.

    If all blocks share the memory of the state, such steps are swept block by block unchanged. A
    vertex function may read the neighbours of v itself.
    """
    body = block_facts(step.body)
    if body.edge_read or body.edge_written:
        return False
    if not step.order_free or step.active is not None or not body.live_written:
        return False
    if step.kind == "vertex":
        looks = [value for value in step.body.walk() if value.op == "neighbor"]
        if not looks or body.written or body.gathers or not all(_own(v.args[0]) for v in looks):
            return False
    elif step.into:
        return False
    at_once = not body.live_written & ((body.far | body.near) - body.live)
    return at_once and not body.live_written & block_facts(step.accept).near


def _own(value: Value) -> bool:
    """Whether a value is the id of v."""
    while value.op == "cast":
        value = value.args[0]
    return value.op == "load" and value.attr == ("id", "v")


def check_program(program: Program, shared: bool) -> None:
    """Raise ConfigError unless all steps of a program can run over blocks.

    `shared` means that all blocks share the memory of the state.
    """
    if program.wide or program.renew:
        raise refuse(
            program.steps[0], "change-driven runs keep a sum for every vertex up to date by arcs",
            "Leave change_driven= and tolerance= out.",
        )  # fmt: skip
    if program.emits:
        raise refuse(program.steps[0], "it emits records by arc", "Keep results in fields.")
    if program.until is not None and _reads(program.until, "least"):
        raise refuse(
            program.steps[0], "weft.settled needs an ordered run",
            "Pass a condition on a scalar as until=.",
        )  # fmt: skip
    for steps in (program.steps, program.refill):
        for number, step in enumerate(steps):
            _check_step(step, shared)
            if step.folded:
                _check_fold(steps[number - 1], step)


def _reads(block: Block, kind: str) -> bool:
    return any(value.op == "load" and value.attr[0] == kind for value in block.walk())


def _check_step(step: Step, shared: bool) -> None:
    facts, in_place = facts_of(step), shared and updates_in_place(step)
    for op, name in _LOOKUPS.items():
        if op in facts.ops and not (in_place and op == "neighbor"):
            raise refuse(step, f"{name} looks at the rows of other vertices", _GATHER)
    if facts.edge_read or facts.edge_written:
        _check_edge_state(step, shared)
    for load, name in (("edge_id", "e.id"), ("rank", "e.rank")):
        if any(found.split(".")[0] == load for found in facts.loads):
            raise refuse(
                step, f"{name} numbers the arcs of the whole graph", "Use an edge column instead."
            )
    if step.kind == "edge":
        _check_edge(step, facts, in_place)
    else:
        _check_vertex(step)


def _check_edge_state(step: Step, shared: bool) -> None:
    if not shared:
        raise refuse(
            step, "it uses edge state, whose values lie with the arcs on other machines",
            "Open the graph on one machine (weft.open), or keep a field on the vertices.",
        )  # fmt: skip
    if step.kind != "edge" or step.along != "out":
        raise refuse(
            step, "it reads edge state against the order in which arcs are stored",
            "Use it in an edge function along the arcs (along='out').",
        )  # fmt: skip


def _check_edge(step: Step, facts: Facts, in_place: bool) -> None:
    if not in_place and facts.live_written & block_facts(step.body).live_written:
        raise refuse(
            step, "it updates fields by .at(i) while arcs are swept, across blocks",
            "Send to v by into= and reduce=, and update by .at(i) in a vertex function after it; "
            "on disk a function marked order_free=True may also do nothing but such updates.",
        )  # fmt: skip
    if any(reduction.name == "mode" for reduction in step.reductions):
        raise refuse(step, "weft.mode collects all messages of a row", "Gather them.")
    for value in step.body.walk():
        if value.op == "common" and not all(_end(arg) for arg in value.args):
            raise refuse(
                step, "weft.common looks at rows that are not those of u and v",
                "Pass u and v themselves.",
            )  # fmt: skip


def _end(value: Value) -> bool:
    """Whether a value is the id of u or v."""
    while value.op == "cast":
        value = value.args[0]
    return value.op == "load" and value.attr in (("id", "u"), ("id", "v"))


def _check_vertex(step: Step) -> None:
    for value in step.body.walk():
        if value.op == "common":
            raise refuse(
                step, "weft.common looks at the rows of two vertices at a time",
                "Use it in an edge function, with u and v.",
            )  # fmt: skip
        if value.op == "gather_by" and value.attr[1] != 1:
            raise refuse(step, "it gathers over two arcs at a time", "Gather twice.")
    if any(value.op in ("gather", "gather_by") for value in step.body.body):
        live = {v.attr[0] if v.op == "at_reduce" else v.attr for v in step.body.walk()
                if v.op in LIVE_WRITE}  # fmt: skip
        if live:
            raise refuse(
                step, "it gathers and updates fields by .at(i) in one function",
                "Split it into two functions, and pass them as a list.",
            )  # fmt: skip


def _check_fold(before: Step, step: Step) -> None:
    """Reject folds whose functions would see other values with a barrier between them."""
    facts = facts_of(step)
    gathers = bool(facts.gathers or facts_of(before).gathers)
    if step.kind == before.kind == "vertex" and not gathers and not facts.live:
        return
    if (before.kind, step.kind) == ("edge", "vertex") and not (facts.far or facts.gathers):
        return
    raise refuse(
        step, "functions of a weft.fold share a sweep, which lies in several blocks here",
        "Pass the functions as a list, which puts a barrier between them.",
    )  # fmt: skip
