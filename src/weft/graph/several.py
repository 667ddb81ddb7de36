"""Programs over several graphs of the same vertices: each function runs over its own.

Consecutive functions over one graph stay one program. The loop over supersteps runs on the host,
since a kernel has one topology.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from weft.arrays.checks import check_steps
from weft.arrays.device import to_host
from weft.engine.frontier import Frontier
from weft.engine.run import Run
from weft.engine.state import State
from weft.errors import ConfigError, listed, unknown
from weft.graph import execution, other_rows
from weft.graph.other_rows import Rows, looks_elsewhere, rows_of
from weft.ir.check.facts import facts_of
from weft.ir.ops import Program
from weft.ir.reference.evaluate import holds_outside
from weft.ir.trace.cache import kept_trace
from weft.ir.trace.looks import Settled
from weft.ir.trace.steps import Over, Roles

if TYPE_CHECKING:
    from weft.config import Config
    from weft.graph.graph import Graph

Part = tuple[Rows, list[Any], "State | None"]  # a graph, functions over it, and its edge state


def run_as(g: Graph, functions: Any, state: State, frontier: Any, how: tuple[Any, ...]) -> Frontier:
    """Run one superstep that returns arcs, or goes over several graphs; see `Graph.run`."""
    output, graphs, edges, config, direction = how
    if output not in ("vertices", "arcs"):
        raise ConfigError(unknown("output", output, ("vertices", "arcs")))
    if graphs is None:
        return execution.run_to_arcs(g, functions, state, frontier, edges, config, direction)
    if output == "arcs":
        raise ConfigError('output="arcs" is not possible with graphs=. Leave one of them out.')
    return run(parts_of(g, functions, graphs, edges), state, frontier, config, direction)


def run(
    parts: list[Part], state: State, frontier: Any, config: Config | None, direction: Any
) -> Frontier:
    """Run one superstep over several graphs; see `Graph.run`."""
    for rows, functions, edges in parts:
        args = (functions, state, frontier, edges)
        if looks_elsewhere(rows.traced(*args[:2], edges, frontier)):
            frontier = other_rows.run(rows, *args, config, direction)
        else:
            frontier = execution.run(rows.g, *args, config, direction)
    reached: Frontier = frontier
    return reached


def iterate(
    parts: list[Part],
    state: State,
    frontier: Any,
    loop: execution.Loop,
    config: Config | None,
    direction: Any,
) -> Run:
    """Run supersteps over several graphs until a loop ends; see `Graph.iterate`."""
    _check_loop(loop)
    most = None if loop.max_iter is None else check_steps("max_iter", loop.max_iter)
    programs = [rows.traced(part, state, edges, None) for rows, part, edges in parts]
    _check_programs(programs)
    (final, part, edges), last = parts[-1], parts[-1][0].g
    named = final.named(state, state.fields) if looks_elsewhere(programs[-1]) else state
    signature = execution.signature_for(last, named, edges)
    tested = kept_trace(part, signature, "iterate", Roles(until=loop.until))
    persists = loop.until is not None and any(
        step.everywhere for program in programs for step in program.steps
    )
    wakes_all = programs[-1].steps[-1].wake == "all"
    reached = execution.first_of(parts[0][0].g, frontier)
    steps, held = 0, False
    while (persists or len(reached)) and (most is None or steps < most) and not held:
        reached = run(parts, state, reached, config, direction)
        if wakes_all and len(reached):
            reached = execution.vertex_frontier(last, None)
        steps += 1
        held = _holds(last, tested, state, steps, len(reached))
    if loop.until is None:
        held = not len(reached)
    elif not steps:
        held = _holds(last, tested, state, 0, len(reached))
    scalars = {name: array[0] for name, array in state.scalars.items()}
    return Run(steps, held, reached, scalars, [])


def parts_of(g: Graph, functions: Any, graphs: Mapping[str, Graph], edges: Any) -> list[Part]:
    """Return the graphs that functions run over, in order, each with its consecutive functions."""
    rows = rows_of(g, graphs)
    by_name: Mapping[Any, Any] = edges if isinstance(edges, Mapping) else {None: edges}
    for known in by_name:
        if known is not None and known not in graphs:
            raise ConfigError(unknown("the graph of edge_state", known, list(graphs)))
    named: list[tuple[str | None, Any]] = []
    for function in functions if isinstance(functions, list | tuple) else [functions]:
        inner = isinstance(function, Over)
        if inner and function.name not in graphs:
            raise ConfigError(unknown("the graph of weft.over", function.name, list(graphs)))
        named.append((function.name, function.function) if inner else (None, function))
    if not named:
        raise ConfigError("there is no function to run. Expected at least one.")
    return [
        (
            rows if name is None else Rows(graphs[name], graphs),
            [f for _, f in group],
            by_name.get(name),
        )
        for name, group in itertools.groupby(named, key=itemgetter(0))
    ]


def _check_loop(loop: execution.Loop) -> None:
    given = {
        "refill": bool(loop.refill), "trail": loop.trail, "tolerance": loop.tolerance != 0,
        "next_threshold": loop.next_threshold is not None,
        "change_driven": loop.change_driven not in (None, False),
        "until=weft.settled(...)": isinstance(loop.until, Settled),
    }  # fmt: skip
    wrong = [name for name, there in given.items() if there]
    if wrong:
        raise ConfigError(
            f"{listed(wrong)} cannot be combined with graphs=: the loop is the host's. Leave it "
            "out, or write the loop around g.run(..., graphs=...)."
        )


def _check_programs(programs: list[Program]) -> None:
    for step in (step for program in programs for step in program.steps):
        if "superstep" in facts_of(step).loads:
            raise ConfigError(
                f"{step.name!r} asks for weft.superstep(), which a program over several graphs "
                "does not count. Count in a scalar of the state."
            )
    last = programs[-1].steps[-1]
    if last.wake == "neighbors":
        raise ConfigError(
            f"{last.name!r} wakes the neighbors of what changed, but in which graph is not said. "
            'Use wake="changed" or wake="all".'
        )


def _holds(g: Graph, program: Program, state: State, steps: int, size: int) -> bool:
    """Whether `until` holds after some supersteps."""
    if program.until is None:
        return False
    fields = {name: to_host(state.fields[name]) for name in program.until_fields}
    parameters = {name: to_host(array) for name, array in state.parameters.items()}
    return holds_outside(
        program.until, state.scalars, parameters, superstep=steps, n=g.topology.num_vertices,
        fields=fields, least=float("-inf") if size else float("inf"),
    )  # fmt: skip
