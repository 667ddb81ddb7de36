"""Checks before a run: whether a program suits the frontier, the mode and the configuration."""

from __future__ import annotations

from weft.config import Config
from weft.engine.frontier import Frontier
from weft.errors import ConfigError, TraceError, listed
from weft.ir.check.facts import block_facts, facts_of
from weft.ir.ops import ROLES, Program, Step


def check_start(program: Program, frontier: Frontier, config: Config) -> None:
    """Raise if a program cannot start from a frontier of arcs, or cannot be deterministic."""
    if frontier.arcs and program.steps[0].kind != "edge":
        raise TraceError(
            f"a frontier of arcs starts an edge function, but {program.steps[0].name!r} is a "
            f"vertex function. Use g.frontier(...)."
        )
    if frontier.arcs and program.trail:
        raise TraceError(
            "trail=True keeps frontiers of vertices, but the first one holds arcs. Run the first "
            "superstep with g.run, and continue from the frontier that it returns."
        )
    if config.deterministic and not program.findings.get("ordered"):
        for role in ROLES:
            _check_order(getattr(program, role))
        program.findings["ordered"] = True


def _check_order(steps: tuple[Step, ...]) -> None:
    """Raise if a result may depend on the order of live accesses.

    Loads are safe if nothing writes the field before the next barrier.
    """
    runs: list[list[Step]] = []  # groups of functions without a barrier between them
    for step in steps:
        if step.folded and runs and runs[-1][-1].kind == step.kind:
            runs[-1].append(step)
        else:
            runs.append([step])
    for run in runs:
        facts = [facts_of(step) for step in run]
        written = set[str]().union(*(fact.written | fact.live_written for fact in facts))
        for step, fact in zip(run, facts, strict=True):
            unordered = fact.live & written
            if unordered and not step.order_free:
                raise ConfigError(
                    f"deterministic=True cannot hold for {step.name!r}: it accesses "
                    f"{listed(sorted(unordered))} through .at(i) while other vertices write it, in "
                    f"no fixed order. Mark it order_free=True if its result does not depend on the "
                    f"order."
                )


def check_goes_on(program: Program) -> None:
    """Raise if a loop would always end after one superstep."""
    step = program.steps[-1]
    continues = program.until is not None or program.refill
    if program.mode != "iterate" or step.kind == "edge" or continues:
        return
    fact = block_facts(step.body)
    decides = step.active is not None or step.conditional or "set_changed" in fact.ops
    if decides or not fact.live_written or fact.written - fact.live_written:
        return
    raise TraceError(
        f"iterate would stop after one superstep: {step.name!r} only writes "
        f"{listed(sorted(fact.live_written))} through .at(i), and such writes put no vertex into "
        f"the next frontier. Set v.changed = condition to say which vertices run again, or use "
        f"g.run for a single superstep."
    )
