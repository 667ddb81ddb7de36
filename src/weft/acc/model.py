"""The Active-Compute-Combine model: a program in three small functions.

In every superstep the active vertices send what `compute` returns along their out-edges, `combine`
decides how the updates that meet at a vertex are combined, and `active` selects the vertices that
send in the next superstep. docs/design/acc.md describes how each piece is lowered.

H. Liu, H. H. Huang: SIMD-X: programming and processing of graph algorithms on GPUs (ATC 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.config import Config, check_config
from weft.engine.state import Scalar, State, scalar
from weft.errors import ConfigError, FieldError, TraceError, unknown
from weft.graph import Graph
from weft.ir.trace import builder as tracing
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.monoids import Monoid
from weft.ir.trace.proxies import Vertex
from weft.ir.trace.steps import EdgeFunction, VertexFunction, call_function
from weft.program import edge, vertex

Function = Callable[..., Any]


@dataclass(frozen=True)
class Result:
    """The final state of a program, and how its run ended."""

    state: State
    steps: int
    converged: bool


class Program:
    """A program of the Active-Compute-Combine model.

    Functions receive scalars of the state through further parameters of the same name.

    Parameters
    ----------
    fields
        The fields of the vertices, by name, each as ``g.state`` takes it; scalars too.
    compute
        ``compute(u, v, e)`` returns the update that the active vertex u sends to v.
    combine
        ``"vote"``: any one of the updates that meet decides, and the others are skipped. Or a
        monoid that aggregates them with the current value.
    into
        The field, or the fields, that take the updates.
    active
        ``active(v)`` decides at each vertex that received an update whether it sends in the next
        superstep. It sees all fields, ``v.id`` and the fields before this superstep as ``v.old``.
        By default the vertices whose fields changed send.
    accept
        ``accept(v)``: only vertices where it holds take updates.
    init
        ``init(v)`` assigns fields at every vertex before the first superstep; it may return the
        condition under which v sends first (by default all do).
    prepare
        ``prepare(v)`` assigns fields of the active vertices before they send.
    priority
        ``priority(v)``: send in this order where that cannot change the result.
    senders
        ``"active"``, or ``"all"``: every vertex sends for as long as any is active.
    along
        ``"out"``, or ``"in"``: updates run against the arcs, as if each ran from v to u.
    push_below
        A fraction of the vertices: pull while more of them are active, then push. By default the
        engine chooses the direction in each superstep.

    Examples
    --------
    >>> import weft
    >>> reach = weft.acc.Program(
    ...     fields={"seen": lambda v: v.id == 0},
    ...     compute=lambda u, v, e: u.seen,
    ...     combine=weft.or_,
    ...     into="seen",
    ... )
    >>> g = weft.Graph.from_edges([0, 1, 3], [1, 2, 2])
    >>> reach.run(g, [0]).state.seen.tolist()
    [True, True, True, False]
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        fields: Mapping[str, Any],
        compute: Function,
        combine: str | Monoid | tuple[Monoid, ...],
        into: str | Sequence[str],
        active: Function | None = None,
        accept: Function | None = None,
        init: Function | None = None,
        prepare: Function | None = None,
        priority: Function | None = None,
        senders: str = "active",
        along: str = "out",
        push_below: float | None = None,
    ) -> None:
        if isinstance(combine, str) and combine != "vote":
            raise TraceError(f"{unknown('combine', combine, ['vote'])} Or a monoid: weft.sum, ...")
        if senders not in ("active", "all"):
            raise TraceError(unknown("senders", senders, ["active", "all"]))
        if push_below is not None and not 0 <= push_below <= 1:
            raise ConfigError(
                f"push_below={push_below!r} is not a fraction. Expected 0 to 1, or None."
            )
        self.fields = dict(fields)
        self.init = None if init is None else vertex(_Begin(init))
        self.push_below = push_below
        self.senders = senders
        on = "all" if senders == "all" else None
        self.steps: list[EdgeFunction | VertexFunction] = []
        if prepare is not None or push_below is not None:
            self.steps.append(vertex(_Prepare(prepare, push_below is not None), on=on))
        send = edge(
            compute,
            into=into,
            reduce=monoids.any if isinstance(combine, str) else combine,
            accept=accept,
            active=None if active is None else _Active(active),
            priority=priority,
            on=on,
            along=along,
        )
        if send.__name__ == "<lambda>":
            send.__name__ = "compute"
        self.steps.append(send)

    def run(
        self,
        g: Graph,
        frontier: Any = None,
        *,
        max_iter: int | None = None,
        config: Config | None = None,
        **fields: Any,
    ) -> Result:
        """Run the program on a graph until no vertex is active.

        Parameters
        ----------
        g
            The graph.
        frontier
            The vertices that send first, by number or as a mask; by default those that `init`
            chose, or all.
        max_iter
            The largest number of supersteps.
        config
            How to run it.
        **fields
            Fields and scalars in place of those that the program declares.
        """
        state = self._state(g, fields)
        if self.init is not None:
            chosen = g.run(self.init, state, config=config)
            frontier = chosen if frontier is None else frontier
        ruled = self.push_below is not None and check_config(config).direction == "auto"
        if not (ruled and g.topology.keep == "both"):
            run = g.iterate(self.steps, state, frontier, max_iter=max_iter, config=config)
            return Result(state, run.steps, run.converged)
        if self.senders == "all":  # the fraction of senders never falls
            direction = "push" if self.push_below == 1 else "pull"
            run = g.iterate(
                self.steps, state, frontier, max_iter=max_iter, direction=direction, config=config
            )
            return Result(state, run.steps, run.converged)
        pulled = g.iterate(
            self.steps, state, frontier, until=lambda sending, few: sending <= few,
            max_iter=max_iter, direction="pull", config=config,
        )  # fmt: skip
        pushed = g.iterate(
            self.steps, state, pulled.frontier,
            max_iter=None if max_iter is None else max_iter - pulled.steps,
            direction="push", config=config,
        )  # fmt: skip
        return Result(state, pulled.steps + pushed.steps, pushed.converged)

    def _state(self, g: Graph, more: dict[str, Any]) -> State:
        fields = dict(self.fields)
        if self.push_below is not None:
            few = int(self.push_below * g.num_vertices)
            fields |= {"sending": scalar(0), "few": scalar(few)}
        for name, value in more.items():
            if name not in fields:
                raise FieldError(f"{unknown('field', name, fields)} Declare it in fields=.")
            known = fields[name]
            if isinstance(known, Scalar) and not isinstance(value, Scalar):
                value = scalar(value, known.dtype or np.asarray(known.value).dtype)
            fields[name] = value
        return g.state(**fields)

    def __repr__(self) -> str:
        return f"<weft.acc.Program of {', '.join(repr(step) for step in self.steps)}>"


class _Hook:
    """Adapts a user's function to weft.program; its parameters name the scalars."""

    def __init__(self, function: Function | None) -> None:
        self.function = function
        name = getattr(function, "__name__", "<lambda>")
        self.__name__ = type(self).__name__.strip("_").lower() if name == "<lambda>" else name
        self.__doc__ = getattr(function, "__doc__", None)

    def ask(self, v: Vertex) -> Any:
        """Call the function, if there is one."""
        if self.function is None:
            return None
        return call_function(self.function, (v,), tracing.current())


class _Watched(Vertex):
    """A vertex after a superstep, with its values before it as `old`."""

    __slots__ = ()

    @property
    def old(self) -> Any:
        """The vertex before the superstep."""
        return Vertex("before")


class _Active(_Hook):
    def __call__(self, v: Vertex, before: Vertex) -> Any:
        return self.ask(_Watched("v"))


class _Begin(_Hook):
    def __call__(self, v: Vertex) -> Any:
        chosen = self.ask(v)
        return True if chosen is None else chosen


class _Prepare(_Hook):
    """Prepares the vertices of the frontier, counts them on request, and passes all of them on."""

    def __init__(self, function: Function | None, counts: bool) -> None:
        super().__init__(function)
        self.counts = counts

    def __call__(self, v: Vertex) -> Any:
        self.ask(v)
        if self.counts:
            fn.reduce("sending", 1, monoids.sum)
        return True
