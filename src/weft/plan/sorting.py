"""Pushes whose messages are sorted by their targets (``combine="radix"``)."""

from __future__ import annotations

from weft.errors import ConfigError
from weft.ir.ops import Step, Value
from weft.plan.queries import scalar_reductions
from weft.plan.sweeps import Sweep

_UNIFORM_LOADS = ("superstep", "num_vertices")


def sorting_refused(sweep: Sweep, deterministic: bool) -> str:
    """Return why the messages of a sweep cannot be sorted, or an empty string."""
    if len(sweep.steps) > 1:
        return "the functions of a fold each send messages of their own"
    if sweep.push_refused and not sweep.in_order:
        return sweep.push_refused
    if deterministic and scalar_reductions(sweep.steps):
        return "a deterministic run reduces its scalars in the order of the arcs"
    return ""


def plan_sorting(sweeps: list[Sweep], deterministic: bool, refusal: str) -> list[str]:
    """Make pushed messages be sorted; return the decisions.

    `refusal` states why the rows of the frontier cannot be laid out; empty if they can.
    """
    decided = []
    for sweep in sweeps:
        if sweep.kind != "edge" or sweep.mode != "deferred":
            continue
        reason = refusal or sorting_refused(sweep, deterministic)
        if reason:
            raise ConfigError(
                f"combine='radix' is not possible for {sweep.last.name!r}: {reason}. Expected "
                "another combine, or None for the engine's choice."
            )
        sweep.radix = True
        if sweep.in_order:
            sweep.in_order, sweep.push_refused = False, ""
        decided.append("radix_keys" if sends_uniform(sweep.last) else "radix")
    return decided


def sends_uniform(step: Step) -> bool:
    """Whether every arc sends the same message, so that only keys are sorted."""
    return all(_is_uniform(message) for message in step.body.results[: len(step.into)])


def message_values(step: Step) -> list[Value]:
    """Return the values that uniform messages are made of, in order."""
    wanted: set[int] = set()

    def want(value: Value) -> None:
        if id(value) not in wanted:
            wanted.add(id(value))
            for argument in value.args:
                want(argument)

    for message in step.body.results[: len(step.into)]:
        want(message)
    return [value for value in step.body.body if id(value) in wanted]


def _is_uniform(value: Value) -> bool:
    if value.shape or value.blocks:
        return False
    if value.op in ("const", "constant"):
        return True
    if value.op == "load":
        return value.attr[0] in _UNIFORM_LOADS
    return value.op in ("cast", "add", "sub", "mul") and all(map(_is_uniform, value.args))
