"""Records that functions emit: results whose number is known only when the program has run."""

from __future__ import annotations

from typing import Any

from weft.errors import TraceError
from weft.ir.ops import BOOL, EFFECT, EMIT, Program, Step, Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import fail
from weft.ir.trace.expr import node


def emit(*values: Any, when: Any = None) -> None:
    """Add a record to the results of `Graph.emit`.

    Parameters
    ----------
    *values
        The parts of the record: scalars, as many and of the same dtypes in every call.
    when
        A condition; without it the record is always added.

    Examples
    --------
    >>> import weft
    >>> @weft.edge
    ... def heavy(u, v, e):
    ...     weft.emit(u.id, v.id, e.weight, when=e.weight > 2)
    >>> g = weft.Graph.from_edges([0, 1, 1], [1, 2, 3], weight=[3, 1, 5])
    >>> g.emit(heavy)
    (array([0, 1]), array([1, 3]), array([3, 5]))
    """
    builder = tracing.current()
    if builder.gathering:
        raise fail(
            "weft.emit cannot stand inside the function of a gather. Use an edge function, a loop, "
            "weft.common or the entries of a gather by key."
        )
    parts = [builder.strong(node(value)) for value in values]
    if not parts or any(part.shape for part in parts):
        raise fail("weft.emit takes the parts of a record, one scalar at least.")
    known = builder.emitted
    if known is None:
        builder.emitted = tuple(part.dtype for part in parts)
    elif len(known) != len(parts):
        raise fail(f"weft.emit got {len(parts)} parts, but {len(known)} before.")
    else:
        parts = [
            builder.fit(part, dtype, (), f"part {number} of a record")
            for number, (part, dtype) in enumerate(zip(parts, known, strict=True))
        ]
    if when is not None:
        parts.append(builder.test(node(when), "when="))
    builder.emit("emit", tuple(parts), when is not None)


def make_pass(program: Program, name: str) -> None:
    """Turn a traced program into the pass that counts or writes what it emits."""
    step = program.steps[0]
    found = [value for value in step.body.walk() if value.op == "emit"]
    if len(program.steps) > 1 or step.into or not found:
        raise TraceError(
            f"g.emit runs one function, made by weft.vertex or by weft.edge without into=, that "
            f"calls weft.emit; got {', '.join(s.name for s in program.steps)}."
        )
    _refuse_effects(step)
    conditional = found[0].attr
    parts = found[0].args[:-1] if conditional else found[0].args
    program.emits, program.emitted = name, tuple(part.dtype for part in parts)
    if name == "count":
        for value in found:
            value.args = value.args[-1:] if value.attr else ()
    step.body.body.insert(0, Value("emit_begin", (), step.kind))
    step.body.body.append(Value("emit_end", (), step.kind))


def mark_arcs(program: Program, name: str) -> None:
    """Make the last function mark, in an edge field, the arcs at which its condition held."""
    step = program.steps[-1]
    if step.kind != "edge":
        raise TraceError(
            f'output="arcs" needs an edge function at the end, but {step.name} is a vertex '
            f"function."
        )
    if step.conditional:
        held = step.body.results[-1]
    else:
        held = Value("const", (), True, BOOL)
        step.body.body.append(held)
    step.body.body.append(Value("store_edge", (held,), name, BOOL))


def _refuse_effects(step: Step) -> None:
    for value in step.body.walk():
        if value.op in EFFECT - EMIT:
            raise TraceError(
                f"{step.name} emits records and has another effect ({value.op}). A function that "
                f"emits runs twice, to count its records and to write them: let another function "
                f"do the rest."
            )
