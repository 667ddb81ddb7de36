"""Whether the next frontier may be a mere count: ``Config(frontier_out="counter")``.

A count suffices if no step reads the members: if all vertices run next if any changed, or if a pull
tests the state in place of the frontier (operand reuse).
"""

from __future__ import annotations

from weft.config import SIDES, Config, of_side
from weft.errors import ConfigError
from weft.ir.ops import Program
from weft.plan.queries import side_of
from weft.plan.sweeps import Sweep

COUNTER = "counter"
REMEDY = "Use 'queue', 'bitmap' or 'bytemap', or leave the choice to the engine"


def counting_sides(config: Config) -> tuple[str, ...]:
    """Return the sides whose outputs are only counted."""
    return tuple(side for side in SIDES if of_side(config.frontier_out, side) == COUNTER)


def why_members(program: Program) -> str:
    """Return what reads the members of a program's frontier, or an empty string."""
    if program.emits or program.mode == "run":
        return "the frontier is what one superstep returns"
    if program.trail:
        return "trail=True keeps the frontiers"
    if program.refill:
        return "a program with refill= starts its rounds from the vertices that it put out"
    if program.wide:
        return "a change-driven run sends from the vertices that changed"
    steps = program.steps
    if program.mode == "replay":
        following = [*steps[1:]]
    else:
        following = [*steps[1:], steps[0]]
    for step, after in zip(steps, following, strict=False):
        last = step is steps[-1] and program.mode == "iterate"
        one_sweep = after.joined or (after.folded and after.kind == step.kind)
        if one_sweep or after.everywhere:
            continue
        if last and step.kind == "vertex" and step.wake != "changed":
            if step.wake == "all":
                continue
            return f"the neighbors of the vertices that {step.name!r} changed run next"
        return f"{after.name!r} runs at the vertices that {step.name!r} changed"
    return ""


def counts_outputs(program: Program, config: Config) -> bool:
    """Whether the last output of a superstep is counted: all vertices run next if any changed."""
    return bool(counting_sides(config)) and not why_members(program)


def check_counter(program: Program, config: Config) -> None:
    """Raise if a count is requested and the program reads the members of its frontiers.

    `check_told` handles pulls that may find them in the state.

    Raises
    ------
    ConfigError
        With the step that needs the members.
    """
    for side in counting_sides(config):
        why = "" if side == "push" and config.direction == "pull" else why_not(program, side)
        if why:
            raise _refused(why, config)


def why_not(program: Program, side: str) -> str:
    """Return why a side cannot count its outputs, or an empty string if it can, or might."""
    alone = program.mode == "iterate" and len(program.steps) == 1 and not program.refill
    searches = alone and program.steps[0].kind == "edge" and not program.trail
    return "" if searches and side != "push" else why_members(program)


def check_told(sweeps: list[Sweep], program: Program, config: Config) -> None:
    """Raise if a count is requested and a pull cannot find the frontier in the state."""
    sides = counting_sides(config)
    if not sides or not (why := why_members(program)):
        return
    for sweep in sweeps:
        if sweep.kind == "edge" and side_of(sweep, "pull") in sides and not sweep.rises:
            raise _refused(f"{why}, and no field tells which these are", config)


def _refused(why: str, config: Config) -> ConfigError:
    return ConfigError(
        f"frontier_out={config.frontier_out!r} is not possible: a counter holds only the number of "
        f"vertices, but {why}. {REMEDY}."
    )
