"""Sums of constants that are counted in place (``combine="in_place"``).

In peeling, every message lowers a number by the same constant, and a vertex is queued once the
number falls to a threshold. A message may then change the number itself: nothing reads it before
the sweep is over, and since it only falls, a vertex active after any of its messages is active in
the end. This needs neither an inbox nor a phase that empties it.
"""

from __future__ import annotations

from weft.config import Config
from weft.ir.ops import Block, Step, Value
from weft.plan.sweeps import Sweep

COUNTED = "counted"  # the mode of such a sweep
IN_PLACE = "in_place"  # the value of `combine` that requests it
LEAST_BYTES = 4  # of the numbers: narrower ones may wrap around
_FALLING, _RISING = ("le", "lt"), ("ge", "gt")
_TURNED = {"le": "ge", "lt": "gt", "ge": "le", "gt": "lt"}


def counts_in_place(config: Config | None, on_gpu: bool) -> bool:
    """Whether the configuration allows adding sums of constants to the field itself."""
    if config is None or config.combine is None:
        return on_gpu and not (config and config.deterministic)
    return config.combine == IN_PLACE and not config.deterministic


def plan_counting(sweeps: list[Sweep], kept_old: frozenset[str]) -> list[str]:
    """Count sums of constants in place where the result is the same; return the decisions."""
    decided = []
    for sweep in sweeps:
        if sweep.kind == "edge" and sweep.mode == "deferred" and _may_count(sweep, kept_old):
            sweep.mode, sweep.buffered = COUNTED, set()
            decided.append(COUNTED)
    return decided


def _may_count(sweep: Sweep, kept_old: frozenset[str]) -> bool:
    step = sweep.last
    if len(sweep.steps) > 1 or len(step.into) != 1 or step.reductions[0].name != "sum":
        return False
    if step.active is None or step.body_effects() or sweep.facts.live or sweep.copied:
        return False
    (name,), message = step.into, step.body.results[0]
    dtype, shape = message.dtype, message.shape
    if name in kept_old or shape or dtype.kind != "i" or dtype.itemsize < LEAST_BYTES:
        return False
    if _reads(step.accept, name) or _reads(step.body, name):
        return False
    sign = _sign(message)
    return sign != 0 and _crosses(step, name, sign)


def _sign(message: Value) -> int:
    """Return the sign of a constant message; 0 if unknown.

    Small constants are part of the code; others are arguments, whose sign a kernel cannot tell.
    """
    while message.op == "cast" and message.args[0].dtype.kind == "i":
        message = message.args[0]
    if message.op != "const":
        return 0
    return (message.attr > 0) - (message.attr < 0)


def _crosses(step: Step, name: str, sign: int) -> bool:
    """Whether v is active below (or above) a threshold that is independent of the field."""
    assert step.active is not None
    test = step.active.results[0]
    if test.op not in _TURNED:
        return False
    op, (left, right) = test.op, test.args
    if _uncast(right).op == "load" and _uncast(right).attr == ("field", "v", name):
        op, left, right = _TURNED[op], right, left
    number = _uncast(left)
    if number.op != "load" or number.attr != ("field", "v", name):
        return False
    loads = [value.attr for value in step.active.walk() if value.op == "load"]
    others = [attr for attr in loads if attr != ("field", "v", name)]
    apart = all(attr[0] != "old" and attr[1:2] != ("before",) for attr in others)
    return apart and not _names(right, name) and op in (_FALLING if sign < 0 else _RISING)


def _uncast(value: Value) -> Value:
    """Return the number beneath casts that preserve order."""
    while value.op == "cast" and value.dtype.kind == value.args[0].dtype.kind == "i":
        if value.dtype.itemsize < value.args[0].dtype.itemsize:
            break
        value = value.args[0]
    return value


def _names(value: Value, name: str) -> bool:
    """Whether a value depends on a field."""
    if value.op == "load" and value.attr[0] in ("field", "old") and value.attr[2] == name:
        return True
    return any(_names(argument, name) for argument in value.args)


def _reads(block: Block | None, name: str) -> bool:
    """Whether a block loads a field, of any vertex."""
    return block is not None and any(
        value.op == "load" and value.attr[0] in ("field", "old") and value.attr[2] == name
        for value in block.walk()
    )
