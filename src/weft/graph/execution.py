"""States and frontiers of a graph, and programs that run on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft.arrays.checks import check_steps, check_tolerance
from weft.arrays.device import device_of, is_device_array, lies_on
from weft.arrays.trail import Trail
from weft.backends import loaded_backend_of
from weft.config import Config, check_config, each_choice
from weft.engine.change_driven import hidden_state, take_results
from weft.engine.frontier import Frontier, Pairs, make_frontier
from weft.engine.prepared import Inputs, Prepared
from weft.engine.reorder import sees_positions
from weft.engine.run import Run, kinds_of, signature_of
from weft.engine.state import Full, State, make_state
from weft.engine.tuned import changes, reject, remembered
from weft.errors import ConfigError, FieldError, GraphError, shortened
from weft.formats import format as format_named
from weft.graph.labels import vertex_numbers
from weft.graph.pairs import for_pairs
from weft.graph.prepared_cache import Kept, Recurring
from weft.ir.passes.delta import Delta, Refused, rewrite
from weft.ir.request import Deferred, Outcome
from weft.ir.trace.cache import kept_trace
from weft.ir.trace.looks import Settled, settled
from weft.ir.trace.steps import Roles
from weft.topology.orders import arranged, kept

if TYPE_CHECKING:
    from weft.graph.graph import Graph
    from weft.ir.ops import Program
    from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


class Loop(NamedTuple):
    """The options of `Graph.iterate` other than the configuration."""

    edge_state: State | None = None
    until: Any = None  # a condition, or `weft.settled`
    max_iter: int | None = None
    refill: Any = ()
    trail: bool = False
    next_threshold: Callable[..., Any] | None = None
    change_driven: bool | str | None = None
    tolerance: float = 0.0


PLAIN = Loop()


def loop_of(*options: Any) -> Loop:
    """Return the options of a loop, in the order of `Loop`; `PLAIN` itself if none is chosen."""
    loop = Loop(*options)
    plain = (
        loop.until is None and loop.max_iter is None and loop.edge_state is None
        and loop.next_threshold is None and loop.change_driven is None
        and not (loop.refill or loop.trail)
        and type(loop.tolerance) is float and loop.tolerance == 0
    )  # fmt: skip
    return PLAIN if plain else loop


ARCS = "arcs put out"  # the hidden edge field of `output="arcs"`


# -- states and frontiers


def vertex_state(g: Graph, fields: dict[str, Any], *unnamed: object) -> State:
    """Return a new state of the vertices of a graph."""
    if unnamed:
        raise FieldError(f"g.state({shortened(unnamed[0])}) names no field. Write g.state(x=...).")
    labels = g._labels
    if labels is None:
        return make_state(g._topology, fields, g._prepared.columns.vertex, g._history.version)

    place = partial(vertex_numbers, labels, g._topology.num_vertices)
    named = {
        name: what.placed(place) if isinstance(what, Full) else what
        for name, what in fields.items()
    }
    state = make_state(g._topology, named, g._prepared.columns.vertex, g._history.version)
    return state.named_by(place)


def edge_state(g: Graph, fields: dict[str, Any]) -> State:
    """Return a new state of the arcs of a graph."""
    return make_state(g._topology, fields, {}, g._history.version, g._topology.num_arcs)


def vertex_frontier(g: Graph, vertices: Any) -> Frontier:
    """Return a frontier of vertices, given by numbers, a mask, or non-integer labels."""
    topology = g._topology
    if g._labels is not None and _are_labels(vertices):
        wanted = list(vertices) if isinstance(vertices, set | frozenset) else vertices
        vertices = vertex_numbers(g._labels, topology.num_vertices, wanted)
    return make_frontier(
        vertices, topology.num_vertices, topology.index_dtype, arcs=False, device=topology.device
    )


def _are_labels(vertices: Any) -> bool:
    """Whether the members of a frontier are labels rather than numbers or a mask."""
    if vertices is None or isinstance(vertices, Frontier) or is_device_array(vertices):
        return False
    if isinstance(vertices, str | bytes):
        return True
    if isinstance(vertices, np.ndarray):
        return vertices.dtype.kind not in "iub" and vertices.size > 0
    if isinstance(vertices, list | set | frozenset | tuple):
        return any(not isinstance(x, int | np.integer | np.bool_) for x in vertices)
    return np.asarray(vertices).dtype.kind not in "iub"


def arc_frontier(g: Graph, arcs: Any) -> Frontier:
    """Return a frontier of arcs; raise if those given belong to an earlier version."""
    topology = g._topology
    made_for = arcs.version if isinstance(arcs, Frontier) else None
    if made_for is not None and not made_for.current:
        raise GraphError(
            f"the frontier holds arcs of version {made_for.number} of the graph; g.update has "
            "changed the graph since and renumbered its arcs. Make a new frontier with "
            "g.edge_frontier(...)."
        )
    made = make_frontier(
        arcs, topology.num_arcs, np.dtype(np.int64), arcs=True, device=topology.device
    )
    made.version = g._history.version if made_for is None else made_for
    return made


def first_of(g: Graph, frontier: Any) -> Frontier:
    """Return the first frontier of a run, of vertices or of arcs."""
    if isinstance(frontier, Pairs):
        return frontier
    if isinstance(frontier, Frontier) and frontier.arcs:
        return arc_frontier(g, frontier)
    return vertex_frontier(g, frontier)


def _frontier_of(g: Graph, items: Array | Deferred | None) -> Frontier:
    device = g._topology.device
    in_order = device.on_host and not isinstance(items, Deferred)
    return Frontier(items, g._topology.num_vertices, is_sorted=in_order, device=device)


# -- programs


def run_to_arcs(
    g: Graph,
    functions: Any,
    state: State,
    frontier: Any,
    edges: State | None,
    config: Config | None,
    direction: Any,
) -> Frontier:
    """Run one superstep; return the arcs at which the last function's condition held."""
    if isinstance(frontier, Pairs):
        raise ConfigError('output="arcs" is not possible over pairs. Read their state instead.')
    if getattr(state, "_watch", None) is not None:
        state.settle()
    marks = g._topology.xp.zeros(g._topology.num_arcs, bool)
    if edges is not None:
        _check_state(g, edges, g._topology.num_arcs, "edge_state")
    given = {} if edges is None else edges.fields
    held = State({**given, ARCS: marks}, {}, version=g._history.version)
    program = kept_trace(functions, signature_for(g, state, held), "run", Roles(arcs_into=ARCS))
    run_program(g, program, config, Inputs(state, held, first_of(g, frontier)), direction)
    return arc_frontier(g, marks)


def run(
    g: Graph,
    functions: Any,
    state: State,
    frontier: Any,
    edges: State | None,
    config: Config | None,
    direction: Any,
) -> Frontier:
    """Run one superstep; see `Graph.run`."""
    if getattr(state, "_watch", None) is not None:
        state.settle()
    found = None
    if edges is None and not isinstance(frontier, Pairs):
        found = _recurring(g, "run", functions, state, config, direction)
    if found is not None:
        inputs = Inputs(state, None, first_of(g, frontier))
        outcome = found.kept.prepared.run(g._prepared.columns, inputs)
        return _frontier_of(g, outcome.frontier)
    signature = signature_for(g, state, edges, frontier)
    program = kept_trace(functions, signature, "run")
    if isinstance(frontier, Pairs):
        config = for_pairs(g, frontier, program, config)
    inputs = Inputs(state, edges, first_of(g, frontier))
    outcome = run_program(g, program, config, inputs, direction)
    if edges is None and not isinstance(frontier, Pairs):
        _expect(g, functions, program, state, config, direction)
    return _frontier_of(g, outcome.frontier)


def iterate(
    g: Graph,
    functions: Any,
    state: State,
    frontier: Any,
    loop: Loop,
    config: Config | None,
    direction: Any,
) -> Run:
    """Run supersteps until a loop ends; see `Graph.iterate`."""
    if getattr(state, "_watch", None) is not None:
        state.settle()
    if loop is PLAIN:
        found = _recurring(g, "iterate", functions, state, config, direction)
        if found is not None:
            priority = found.priority
            window = 0.0 if priority is None else _window_of(frontier, priority)
            inputs = Inputs(state, None, first_of(g, frontier), window=window)
            outcome = found.kept.prepared.run(g._prepared.columns, inputs)
            return _ended(g, outcome, state, frontier, priority)
    most = None if loop.max_iter is None else check_steps("max_iter", loop.max_iter)
    until = loop.until
    if isinstance(until, Settled) and until.is_label:
        until = settled(g.vertex_of(until.target))
    roles = Roles(until, loop.refill, loop.next_threshold, most is not None, loop.trail)
    program = kept_trace(functions, signature_for(g, state, loop.edge_state), "iterate", roles)
    held = state
    delta = delta_of(g, program, config, loop, frontier, most)
    if delta is not None:
        program, held = delta.program, hidden_state(delta, state, g._topology)
    first, priority = first_of(g, frontier), _priority_of(functions)
    window = _window_of(frontier, priority)
    inputs = Inputs(held, loop.edge_state, first, max_iter=most, window=window)
    outcome = run_program(g, program, config, inputs, direction)
    if delta is not None and outcome.converged:
        take_results(delta, held, g._topology)
    elif loop is PLAIN and delta is None:
        _expect(g, functions, program, state, config, direction)
    return _ended(g, outcome, state, frontier, priority)


def replay(
    g: Graph,
    functions: Any,
    state: State,
    trail: Sequence[Array],
    edges: State | None,
    config: Config | None,
    direction: Any,
) -> None:
    """Run functions over the frontiers of a trail, last to first."""
    if getattr(state, "_watch", None) is not None:
        state.settle()
    program = kept_trace(functions, signature_for(g, state, edges), "replay")
    if not (isinstance(trail, Trail) and trail.length == g.num_vertices):
        checked = [_replayed(g, part) for part in trail]
        trail = Trail.of_parts(checked, g.num_vertices, g._topology.xp)
    inputs = Inputs(state, edges, vertex_frontier(g, None), trail=trail)
    run_program(g, program, config, inputs, direction)


def _replayed(g: Graph, members: Any) -> Array:
    """Return one frontier of a trail, checked; those kept by `iterate` are already sorted."""
    if g._topology.device.on_host and not is_device_array(members):
        array = np.asarray(members)
        rising = array.ndim == 1 and array.dtype.kind == "i" and np.all(array[1:] > array[:-1])
        if rising and (not array.size or 0 <= array[0] <= array[-1] < g._topology.num_vertices):
            return array
    return vertex_frontier(g, members).items


def _ended(g: Graph, outcome: Outcome, state: State, frontier: Any, priority: Any) -> Run:
    """Return the result of a loop that began with a frontier."""
    scalars = state.scalars
    if scalars:
        scalars = {name: array[0] for name, array in scalars.items()}
    last = _frontier_of(g, outcome.frontier)
    if priority is not None:
        last.window = priority, outcome.window
    if outcome.steps == 0 and isinstance(frontier, Frontier):
        last = frontier  # which may hold arcs
    trail: Sequence[Any] = []
    if outcome.trail:  # on a GPU, making an empty one would take longer than a small run
        trail = Trail.of_parts(outcome.trail, g.num_vertices, g._topology.xp)
    return Run(outcome.steps, outcome.converged, last, scalars, trail)


# -- prepared programs


def _recurring(
    g: Graph, mode: str, functions: Any, state: State, config: Config | None, direction: Any
) -> Recurring | None:
    """Return the prepared run of an earlier plain call of the same functions, if still valid.

    It is valid for states with the same kinds of fields while whatever the functions read, the
    columns, the order and the stored tunings are unchanged.
    """
    found = g._prepared.recurring.get((mode, id(functions), id(config), direction))
    if found is None or not isinstance(state, State):
        return None
    kept = found.kept
    same = (
        state._version is g._history.version
        and found.changes == (g._vertex.changes, g._edge.changes)
        and kept.topology is g._topology
        and kept.order is g._order
        and (config is not None or kept.tunings == changes[0])
        and found.kinds == kinds_of(state)
        and found.reads.unchanged()
    )
    return found if same else None


def _expect(
    g: Graph,
    functions: Any,
    program: Program,
    state: State,
    config: Config | None,
    direction: Any,
) -> None:
    """Cache the prepared run of a plain call, for the next call of the same functions."""
    reads = program.findings.get("reads")
    kept = g._prepared.programs.get((id(program), id(config), direction))
    if reads is None or kept is None or isinstance(functions, list):
        return
    changed = (g._vertex.changes, g._edge.changes)
    key = (program.mode, id(functions), id(config), direction)
    g._prepared.recurring[key] = Recurring(
        functions, kinds_of(state), changed, reads, kept, _priority_of(functions)
    )


def run_program(
    g: Graph,
    program: Program,
    config: Config | None,
    inputs: Inputs,
    direction: Any = None,
) -> Outcome:
    """Run a program; if the backend rejects a stored tuning, drop it and try again."""
    try:
        return prepared_for(g, program, config, direction).run(g._prepared.columns, inputs)
    except ConfigError as error:
        if config is not None or not reject(g._topology, program, error):
            raise
    return run_program(g, program, None, inputs, direction)


def prepared_for(
    g: Graph, program: Program, config: Config | None, direction: Any = None
) -> Prepared:
    """Return a program prepared for a graph, from the cache if nothing has changed.

    Without a configuration, it uses the stored tuning or the default.
    """
    topology, cache = g._topology, g._prepared
    key = (id(program), id(config), direction)
    kept = cache.programs.get(key)
    if kept is not None and kept.holds(topology, g._order):
        return kept.prepared
    if config is None:
        checked = remembered(topology, program) or check_config(None)
    else:
        checked = check_config(config)
    if direction is not None:
        checked = replace(checked, direction=direction)
    prepared = Prepared(program, topology_for(g, program, checked), checked)
    own = None if g._arrangement is None else g._arrangement[1]
    if prepared.topology not in (topology, own):
        # Keep at most one order that is requested only by a configuration.
        cache.drop_orders_but((topology, prepared.topology))
    cache.programs[key] = Kept(prepared, config, topology, g._order, changes[0])
    return prepared


def delta_of(
    g: Graph, program: Program, config: Config | None, loop: Loop, frontier: Any, most: int | None
) -> Delta | None:
    """Return the change-driven form of a program, if wanted and possible."""
    wanted, tolerance = loop.change_driven, loop.tolerance
    if wanted is None:
        wanted = check_config(config).change_driven
    if wanted is False and type(tolerance) is float and tolerance == 0:
        return None
    if wanted is not True and wanted not in (False, "auto"):
        replace(check_config(None), change_driven=wanted)  # raises the usual error
    tolerance = check_tolerance("tolerance", tolerance)
    if not wanted:
        if tolerance:
            raise ConfigError(
                f"tolerance={tolerance!r} applies only to change-driven runs. Pass "
                "change_driven=True or 'auto' as well."
            )
        return None
    if most == 0 or g._topology.num_vertices == 0:
        return None
    try:
        first = first_of(g, frontier)
        if first.arcs or not first.is_all:
            raise Refused("the first frontier does not contain all vertices")
        return _rewritten(program, tolerance)
    except Refused as reason:
        if wanted == "auto":
            return None
        raise ConfigError(
            f"change_driven=True is not possible: {reason}. Expected one vertex function that "
            "gathers sums or products over in-edges; 'auto' runs others normally."
        ) from None


def _rewritten(program: Program, tolerance: float) -> Delta:
    """Return the change-driven form of a program, cached in it."""
    found = program.findings.setdefault("driven", {})
    if tolerance not in found:
        found[tolerance] = rewrite(program, tolerance)
    made: Delta = found[tolerance]
    return made


def _priority_of(functions: Any) -> Any:
    """Return the identity of a function's priority; None if it has none."""
    if isinstance(functions, list | tuple) and len(functions) == 1:
        functions = functions[0]
    priority = getattr(functions, "priority", None)
    return getattr(priority, "__code__", priority)


def _window_of(frontier: Any, priority: Any) -> float:
    """Return the window to resume with, if the frontier came from a run with this priority."""
    if priority is None or not isinstance(frontier, Frontier):
        return 0.0
    known, width = frontier.window
    return width if known is priority else 0.0


# -- checks of states


def signature_for(g: Graph, state: State, edges: State | None, frontier: Any = None) -> Any:
    """Return the names and types available to a program on a graph; check the state."""
    if not isinstance(state, State):
        raise FieldError(f"expected a state made by g.state(...), but got {state!r}.")
    _check_state(g, state, g._topology.num_vertices, "state")
    if edges is not None:
        pairs = isinstance(frontier, Pairs)
        length = frontier.length if pairs else g._topology.num_arcs
        _check_state(g, edges, length, "edge_state" if not pairs else "pairs(a, b).state")
    source = (g._history.version, g._vertex.changes, g._edge.changes)
    kept = state._signature
    if edges is None and kept is not None and kept[0] == source:
        return kept[1]
    made = signature_of(g._topology, state, edges, g._vertex.stored(), g._edge.described())
    if edges is None:
        vars(state)["_signature"] = source, made
    return made


def _check_state(g: Graph, state: State, length: int, maker: str) -> None:
    """Raise unless the fields of a state fit a graph; its own states are on its device."""
    state.check_current(maker)
    made_here = state.is_of(g._history.version)
    for name, array in state.fields.items():
        if len(array) != length:
            raise FieldError(
                f"field {name!r} has {len(array)} rows, but this graph needs {length}. "
                f"Make the state with g.{maker}(...) of the graph that runs the program."
            )
        if not made_here:
            _check_place(g, name, array, maker)
    if not made_here:
        for name, array in state.parameters.items():
            _check_place(g, name, array, maker)


def _check_place(g: Graph, name: str, array: Array, maker: str) -> None:
    here = g._topology.device
    if not lies_on(array, here):
        raise FieldError(
            f"field {name!r} lies on {str(device_of(array))!r}, but this graph is on "
            f"{str(here)!r}. "
            f"Make the state with g.{maker}(...) of the graph that runs the program."
        )


# -- orders of the vertices


def topology_for(g: Graph, program: Any, config: Config) -> Topology:
    """Return the topology that a program runs over: the user's, or a reordered one.

    Programs that read positions within rows, and deterministic runs, use the user's order,
    which defines their results.
    """
    topology, wanted = g._topology, config.reorder
    own = g._order if wanted is None else None
    if wanted is None and own is None and config.format is not None:
        wanted = order_wanted(config)
    if (wanted in (None, "none") and own is None) or topology.num_vertices == 0:
        return topology
    if config.deterministic or sees_positions(program):
        return topology
    return arrangement(g) if wanted is None else arranged(topology, wanted)


def arrangement(g: Graph) -> Topology:
    """Return the topology in a graph's own order, built on first use."""
    held = g._arrangement
    if held is None or held[0] is not g._topology:
        assert g._order is not None
        held = g._arrangement = g._topology, g._topology.arranged(g._order)
    return held[1]


def arranged_bytes(g: Graph) -> int:
    """Return the bytes of orders and reordered topologies, including their scratch memory."""
    held, latest = kept(g._topology)
    own = None if g._arrangement is None else g._arrangement[1]
    topologies = {topology for topology in (latest, own) if topology is not None}
    return held + sum(t.memory_bytes + scratch_bytes(t) for t in topologies)


def order_wanted(config: Config) -> str | None:
    """Return the vertex order that the chosen format is designed for, if any."""
    names = [name for name in each_choice(config.format) if name is not None]
    return next((order for order in (format_named(name).order for name in names) if order), None)


def scratch_bytes(topology: Topology) -> int:
    """Return the bytes of scratch memory kept between runs on a topology."""
    backend = loaded_backend_of(topology.device)
    return 0 if backend is None else backend.held_bytes(topology)
