"""Graph methods that create state and frontiers, and run programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.arrays.checks import check_steps, check_tolerance
from weft.arrays.device import device_of, is_device_array, lies_on
from weft.backends import loaded_backend_of
from weft.config import Config, check_config, each_choice
from weft.engine.change_driven import hidden_state, take_results
from weft.engine.frontier import Frontier, Trail, make_frontier
from weft.engine.prepared import Columns, Inputs, Prepared
from weft.engine.reorder import sees_positions
from weft.engine.run import Run, kinds_of, signature_of
from weft.engine.state import State, make_state
from weft.engine.tuned import changes, reject, remembered
from weft.errors import ConfigError, FieldError, GraphError
from weft.formats import format as format_named
from weft.graph.prepared_cache import Expected, Kept
from weft.ir.passes.delta import Delta, Refused, rewrite
from weft.ir.request import Deferred, Outcome
from weft.ir.trace.cache import kept_trace
from weft.storage.memory import Cache
from weft.topology.orders import arranged, kept

if TYPE_CHECKING:
    from weft.graph.columns import EdgeColumns, VertexColumns
    from weft.graph.version import History
    from weft.ir.ops import Program
    from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


class Running:
    """The execution methods of a graph."""

    _topology: Topology
    _vertex: VertexColumns
    _edge: EdgeColumns
    _order: Array | None = None  # order of the vertices in memory, if it was changed
    _arrangement: tuple[Topology, Topology] | None = None  # a topology, and its reordered copy
    _history: History
    _ready: Cache[Any, Kept]
    _expected: Cache[Any, Expected]
    _columns_held: Columns | None = None

    def state(self, **fields: Any) -> State:
        """Create the state that programs work on: one array per field, aligned with the vertices.

        Parameters
        ----------
        **fields
            Each a constant (`weft.full`), an array with one row per vertex, a function of v, a
            scalar (`weft.scalar`) or a parameter (`weft.parameter`). A field hides the vertex
            column of the same name: programs read and write the field, and the column stays
            unchanged. To start from its values, pass them: ``g.state(rank=g.vertex["rank"])``.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.star(3)
        >>> g.state(rank=weft.full(0.25), degree=lambda v: v.out_degree, error=weft.scalar(0.0))
        State(rank: float64, degree: int32, error=0.0)
        """
        n = self._topology.num_vertices
        state = make_state(self._topology, fields, self._vertex.stored(), length=n, edges=False)
        return state.belonging_to(self._history.version)

    def edge_state(self, **fields: Any) -> State:
        """Create edge state: one value per arc, which edge functions may assign (``e.msg = ...``).

        Pass it to `run` and `iterate` as ``edge_state=``. Arcs are numbered in the order of the
        stored rows; an undirected edge has two. A field hides the edge column of the same name,
        which stays unchanged.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.path(3)
        >>> g.edge_state(msg=weft.full(1.0)).msg.shape
        (4,)
        """
        count = self._topology.num_arcs
        state = make_state(self._topology, fields, {}, length=count, edges=True)
        return state.belonging_to(self._history.version)

    def frontier(self, vertices: Any = None) -> Frontier:
        """Create a frontier of vertices from ids or a mask; without an argument, of all vertices.

        Ids are vertex numbers even if the vertices have labels: use
        ``g.frontier(g.vertex_of(labels))`` for labels.
        """
        topology = self._topology
        return make_frontier(
            vertices,
            topology.num_vertices,
            topology.index_dtype,
            arcs=False,
            device=topology.device,
        )

    def edge_frontier(self, arcs: Any = None) -> Frontier:
        """Create a frontier of arcs from numbers or a mask; without an argument, of all arcs."""
        topology = self._topology
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
        made.version = self._history.version if made_for is None else made_for
        return made

    def run(
        self,
        functions: Any,
        state: State,
        frontier: Any = None,
        *,
        edge_state: State | None = None,
        direction: str | None = None,
        config: Config | None = None,
    ) -> Frontier:
        """Run one superstep of a function, a fold or a list; return the vertices that changed.

        Parameters
        ----------
        functions
            A function made by `weft.edge`, `weft.vertex` or `weft.fold`, or a list of them. The
            functions of a list run one after another, each on the vertices that the previous one
            changed. A function with ``on="all"`` runs on all vertices.
        state
            Made by `state`; its arrays are changed in place.
        frontier
            Where to run; by default on all vertices.
        edge_state
            Made by `edge_state`, for functions that use edge fields.
        direction, config
            As for `iterate`.

        Examples
        --------
        >>> import weft
        >>> @weft.edge(into="count", reduce=weft.sum)
        ... def arrive(u, v, e):
        ...     return 1
        >>> g = weft.Graph.from_edges([0, 1, 1], [2, 2, 0])
        >>> state = g.state(count=weft.full(0))
        >>> g.run(arrive, state).tolist()
        [0, 2]
        >>> state.count
        array([1, 0, 2])
        """
        program = kept_trace(functions, self._signature(state, edge_state), "run")
        inputs = Inputs(state, edge_state, self._first(frontier))
        return self._frontier_of(self._run(program, config, direction, inputs).frontier)

    def iterate(
        self,
        functions: Any,
        state: State,
        frontier: Any = None,
        *,
        edge_state: State | None = None,
        until: Callable[..., Any] | None = None,
        max_iter: int | None = None,
        refill: Any = (),
        trail: bool = False,
        next_threshold: Callable[..., Any] | None = None,
        change_driven: bool | str | None = None,
        tolerance: float = 0.0,
        direction: str | None = None,
        config: Config | None = None,
    ) -> Run:
        """Run supersteps until nothing changes, `until` holds or `max_iter` is reached.

        The whole loop runs inside the backend. An empty frontier ends it, unless `until` is given
        and a function runs with ``on="all"``: then the loop continues until the condition holds. If
        it never does and there is no `max_iter`, the loop does not end; Ctrl-C stops it.

        Parameters
        ----------
        functions
            A function made by `weft.edge`, `weft.vertex` or `weft.fold`, or a list of them, each of
            which runs on the vertices that the previous one changed, as in `run`.
        state
            Made by `state`; its arrays are changed in place.
        frontier
            The first frontier; by default all vertices.
        edge_state
            Made by `edge_state`, for functions that use edge fields.
        until
            A condition on scalars of the state, tested after each superstep. ``Run.converged`` then
            says whether it holds at the end.
        max_iter
            Maximum number of supersteps. A superstep of an edge function with a priority processes
            the members of the frontier that are due, and those that become due meanwhile; the
            others stay in the frontier, so that iterating from ``Run.frontier`` continues in order
            and reaches the same result. Which members are due depends on the device and the
            threads: if intermediate states matter, use ``Config(ordering=False)`` or
            ``Config(deterministic=True)``.
        refill
            Steps to run over all vertices when the frontier is empty; the vertices where the last
            one returns true form the new frontier. The loop ends if there are none, even if `until`
            does not hold.
        trail
            Whether to keep the frontiers of all supersteps, for `replay`.
        next_threshold
            ``next_threshold(old, stats)`` returns the next threshold of a step with a priority.
        change_driven
            Short for ``Config(change_driven=...)``: keep the values that a vertex function gathers,
            and send only the differences of changed vertices. ``True`` raises where that is not
            possible; ``"auto"`` then runs normally. Messages must be finite, since an infinity
            cannot be subtracted again.
        tolerance
            Accuracy of a change-driven run: smaller changes are not sent on, and at the end another
            full step would move no feature by more than twice this value.
        direction
            "push", "pull" or "auto"; short for ``Config(direction=...)``.
        config
            How to run it.

        Returns
        -------
        Run
            The number of supersteps, whether the run converged, the last frontier, the scalars.

        Raises
        ------
        TraceError
            If the last function only writes through ``.at(i)``, which puts no vertex into the next
            frontier, and neither `until` nor `refill` is given: set ``v.changed``.

        Examples
        --------
        Differences of integer sums are exact, so a change-driven run gives the same result:

        >>> import weft
        >>> @weft.vertex
        ... def count(v):
        ...     v.paths = v.own + v.gather(lambda u, e: u.paths, weft.sum)
        >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3])
        >>> state = g.state(own=[1, 0, 0, 0], paths=weft.full(0))
        >>> g.iterate(count, state, change_driven=True).steps
        4
        >>> state.paths
        array([1, 1, 1, 2])
        """
        plain = (
            until is None and max_iter is None and edge_state is None and next_threshold is None
            and not (refill or trail or change_driven) and tolerance == 0
        )  # fmt: skip
        if plain:
            found = self._recurring(functions, state, config, direction)
            if found is not None:
                return self._iterated(found, state, frontier)
        most = None if max_iter is None else check_steps("max_iter", max_iter)
        signature = self._signature(state, edge_state)

        roles = {"until": until, "refill": refill, "next_threshold": next_threshold,
                 "bounded": max_iter is not None, "trail": trail}  # fmt: skip
        wanted = check_config(config).change_driven if change_driven is None else change_driven
        program, held = kept_trace(functions, signature, "iterate", **roles), state
        delta = None
        if wanted is not False or type(tolerance) is not float or tolerance != 0:
            delta = self._delta(program, wanted, tolerance, frontier, most)
        if delta is not None:
            program, held = delta.program, hidden_state(delta, state, self._topology)
        first, priority = self._first(frontier), _priority_of(functions)
        window = _window_of(frontier, priority)
        inputs = Inputs(held, edge_state, first, max_iter=most, window=window)
        outcome = self._run(program, config, direction, inputs)
        if delta is not None and outcome.converged:
            take_results(delta, held, self._topology)
        elif plain and delta is None:
            self._expect(functions, program, state, config, direction)
        return self._ended(outcome, state, frontier, priority)

    def _iterated(self, found: Expected, state: State, frontier: Any) -> Run:
        """Iterate what is prepared already."""
        priority = found.priority
        window = 0.0 if priority is None else _window_of(frontier, priority)
        first = self._first(frontier)
        prepared = found.kept.prepared
        inputs = Inputs(state, None, first, window=window)
        outcome = prepared.run(self._columns(), inputs)
        return self._ended(outcome, state, frontier, priority)

    def _ended(self, outcome: Outcome, state: State, frontier: Any, priority: Any) -> Run:
        """Return how a loop that began with a frontier ended."""
        scalars = {name: array[0] for name, array in state.scalars.items()}
        last = self._frontier_of(outcome.frontier)
        if priority is not None:
            last.window = priority, outcome.window
        if outcome.steps == 0 and isinstance(frontier, Frontier):
            last = frontier  # which may hold arcs
        return Run(outcome.steps, outcome.converged, last, scalars, Trail(outcome.trail))

    def _recurring(
        self, functions: Any, state: State, config: Config | None, direction: str | None
    ) -> Expected | None:
        """Return what a plain loop of the same functions ran by before, if it may run so again.

        That holds for a state of the same kinds of fields, as long as nothing that the functions
        read, no column, no order and no stored tuning has changed.
        """
        found = self._expected.get((id(functions), id(config), direction))
        if found is None or not isinstance(state, State):
            return None
        same = (
            state._version is self._history.version
            and found.columns == (self._vertex.changes, self._edge.changes)
            and found.kinds == kinds_of(state)
            and found.kept.holds(self._topology, self._order)
            and found.reads.unchanged()
        )
        return found if same else None

    def _expect(
        self,
        functions: Any,
        program: Program,
        state: State,
        config: Config | None,
        direction: str | None,
    ) -> None:
        """Keep what a plain loop ran by, for the next one of the same functions."""
        reads = program.findings.get("reads")
        kept = self._ready.get((id(program), id(config), direction))
        if reads is None or kept is None or isinstance(functions, list):
            return
        columns = (self._vertex.changes, self._edge.changes)
        self._expected[id(functions), id(config), direction] = Expected(
            functions, kinds_of(state), columns, reads, kept, _priority_of(functions)
        )

    def _run(
        self,
        program: Program,
        config: Config | None,
        direction: str | None,
        inputs: Inputs,
    ) -> Outcome:
        """Run a program; if the backend rejects a stored tuning, drop it and try again."""
        try:
            return self._prepared(program, config, direction).run(self._columns(), inputs)
        except ConfigError as error:
            if config is not None or not reject(self._topology, program, error):
                raise
        return self._run(program, None, direction, inputs)

    def _prepared(
        self, program: Program, config: Config | None, direction: str | None = None
    ) -> Prepared:
        """Return a program prepared for this graph, from the cache if nothing has changed.

        Without a configuration, it uses the stored tuning or the default.
        """
        key = (id(program), id(config), direction)
        kept = self._ready.get(key)
        if kept is not None and kept.holds(self._topology, self._order):
            return kept.prepared
        if config is None:
            checked = remembered(self._topology, program) or check_config(None)
        else:
            checked = check_config(config)
        if direction is not None:
            checked = replace(checked, direction=direction)
        prepared = Prepared(program, self._held_for(program, checked), checked)
        if prepared.topology not in (self._topology, self._arranged_as_held()):
            # Keep at most one order that is requested only by a configuration.
            wanted = (self._topology, prepared.topology)
            for other, kept in list(self._ready.items()):
                if kept.prepared.topology not in wanted:
                    self._ready.pop(other, None)
            for other, found in list(self._expected.items()):
                if found.kept.prepared.topology not in wanted:
                    self._expected.pop(other, None)
        self._ready[key] = Kept(prepared, config, self._topology, self._order, changes[0])
        return prepared

    def _arranged_as_held(self) -> Topology | None:
        """Return the topology in the graph's own order, if it exists."""
        return None if self._arrangement is None else self._arrangement[1]

    def _columns(self) -> Columns:
        held = self._columns_held
        if held is None or held.edge is not self._edge or held.vertex is not self._vertex.stored():
            held = self._columns_held = Columns(self._vertex.stored(), self._edge)
        return held

    def _first(self, frontier: Any) -> Frontier:
        """Return the first frontier of a run, of vertices or of arcs."""
        if isinstance(frontier, Frontier) and frontier.arcs:
            return self.edge_frontier(frontier)
        return self.frontier(frontier)

    def _delta(
        self,
        program: Program,
        wanted: bool | str,
        tolerance: float,
        frontier: Any,
        most: int | None,
    ) -> Delta | None:
        """Return the change-driven form of a program, if wanted and possible."""
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
        if most == 0 or self._topology.num_vertices == 0:
            return None
        try:
            first = self._first(frontier)
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

    def replay(
        self,
        functions: Any,
        state: State,
        trail: list[Array],
        *,
        edge_state: State | None = None,
        direction: str | None = None,
        config: Config | None = None,
    ) -> None:
        """Run functions over the frontiers of a trail, last to first."""
        program = kept_trace(functions, self._signature(state, edge_state), "replay")
        is_own = trail.is_own if isinstance(trail, Trail) else lambda part: False
        checked = [
            part if is_device_array(part) and is_own(part) else self._replayed(part)
            for part in trail
        ]
        inputs = Inputs(state, edge_state, self.frontier(), trail=checked)
        self._run(program, config, direction, inputs)

    def _replayed(self, members: Any) -> Array:
        """Return one frontier of a trail, checked; those kept by `iterate` are already sorted."""
        if not self._topology.device.on_host or is_device_array(members):
            return self.frontier(members).items
        array = np.asarray(members)
        rising = array.ndim == 1 and array.dtype.kind == "i" and np.all(array[1:] > array[:-1])
        if rising and (not array.size or 0 <= array[0] <= array[-1] < self._topology.num_vertices):
            return array
        return self.frontier(members).items

    def _signature(self, state: State, edge_state: State | None) -> Any:
        if not isinstance(state, State):
            raise FieldError(f"expected a state made by g.state(...), but got {state!r}.")
        self._check_state(state, self._topology.num_vertices, "state")
        if edge_state is not None:
            self._check_state(edge_state, self._topology.num_arcs, "edge_state")
        source = (self._history.version, self._vertex.changes, self._edge.changes)
        kept = state._signature
        if edge_state is None and kept is not None and kept[0] == source:
            return kept[1]
        made = signature_of(
            self._topology, state, edge_state, self._vertex.stored(), self._edge.stored()
        )
        if edge_state is None:
            vars(state)["_signature"] = source, made
        return made

    def _check_state(self, state: State, length: int, maker: str) -> None:
        """Raise unless the fields of a state fit this graph; its own states are on its device."""
        state.check_current(maker)
        made_here = state.is_of(self._history.version)
        for name, array in state.fields.items():
            if len(array) != length:
                raise FieldError(
                    f"field {name!r} has {len(array)} rows, but this graph needs {length}. "
                    f"Make the state with g.{maker}(...) of the graph that runs the program."
                )
            if not made_here:
                self._check_place(name, array, maker)
        if not made_here:
            for name, array in state.parameters.items():
                self._check_place(name, array, maker)

    def _check_place(self, name: str, array: Array, maker: str) -> None:
        here = self._topology.device
        if not lies_on(array, here):
            raise FieldError(
                f"field {name!r} lies on {str(device_of(array))!r}, but this graph is on "
                f"{str(here)!r}. "
                f"Make the state with g.{maker}(...) of the graph that runs the program."
            )

    def _held_for(self, program: Any, config: Config) -> Topology:
        """Return the topology that a program runs over: the user's, or a reordered one.

        Programs that read positions within rows, and deterministic runs, use the user's order,
        which defines their results.
        """
        topology, wanted = self._topology, config.reorder
        own = self._order if wanted is None else None
        if wanted is None and own is None and config.format is not None:
            wanted = order_wanted(config)
        if (wanted in (None, "none") and own is None) or topology.num_vertices == 0:
            return topology
        if config.deterministic or sees_positions(program):
            return topology
        return self._arranged() if wanted is None else arranged(topology, wanted)

    def _arranged(self) -> Topology:
        """Return the topology in the graph's own order, built on first use."""
        held = self._arrangement
        if held is None or held[0] is not self._topology:
            assert self._order is not None
            held = self._arrangement = self._topology, self._topology.arranged(self._order)
        return held[1]

    def _arranged_bytes(self) -> int:
        """Return the bytes of orders and reordered topologies, including their scratch memory."""
        held, latest = kept(self._topology)
        own = None if self._arrangement is None else self._arrangement[1]
        arranged = {topology for topology in (latest, own) if topology is not None}
        return held + sum(t.memory_bytes + scratch_bytes(t) for t in arranged)

    def _frontier_of(self, items: Array | Deferred | None) -> Frontier:
        device = self._topology.device
        in_order = device.on_host and not isinstance(items, Deferred)
        return Frontier(items, self._topology.num_vertices, is_sorted=in_order, device=device)


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


def _rewritten(program: Program, tolerance: float) -> Delta:
    """Return the change-driven form of a program, cached in it."""
    found = program.findings.setdefault("driven", {})
    if tolerance not in found:
        found[tolerance] = rewrite(program, tolerance)
    made: Delta = found[tolerance]
    return made


def order_wanted(config: Config) -> str | None:
    """Return the vertex order that the chosen format is designed for, if any."""
    names = [name for name in each_choice(config.format) if name is not None]
    return next((order for order in (format_named(name).order for name in names) if order), None)


def scratch_bytes(topology: Topology) -> int:
    """Return the bytes of scratch memory kept between runs on a topology."""
    backend = loaded_backend_of(topology.device)
    return 0 if backend is None else backend.held_bytes(topology)
