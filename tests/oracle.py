"""Runs programs on the interpreter, the definition that every backend is compared with."""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.backends.cuda.host.run import run_request
from weft.config import Config
from weft.ir.check.verify import verify
from weft.ir.ops import Program, Signature, program_blocks
from weft.ir.reference.interpret import interpret
from weft.ir.request import Data, Deferred, Degrees, Outcome, Request, RunOptions, Start
from weft.ir.trace.steps import Roles, trace_program


@dataclass
class PlainState:
    """Fields, scalars, ... as plain arrays; each scalar is an array of one element."""

    fields: dict[str, np.ndarray] = field(default_factory=dict)
    scalars: dict[str, np.ndarray] = field(default_factory=dict)
    edge_fields: dict[str, np.ndarray] = field(default_factory=dict)
    parameters: dict[str, np.ndarray] = field(default_factory=dict)

    def copy(self) -> "PlainState":
        return PlainState(
            *(
                {name: np.array(array) for name, array in part.items()}
                for part in (self.fields, self.scalars, self.edge_fields, self.parameters)
            )
        )


@dataclass
class Interpreted:
    """What a run left behind."""

    state: PlainState
    outcome: Outcome
    program: Program
    sizes: list[int]

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self.state.fields[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def frontier(self) -> list[int]:
        assert self.outcome.frontier is not None
        return self.outcome.frontier.tolist()


def kinds(arrays: dict[str, np.ndarray]) -> tuple[tuple[str, np.dtype, tuple[int, ...]], ...]:
    """Return name, dtype and feature shape of each array."""
    return tuple((name, array.dtype, array.shape[1:]) for name, array in arrays.items())


def signature_of(topology: Any, state: PlainState, columns: dict[str, np.ndarray]) -> Signature:
    """Return what a program on this graph and state may name."""
    fields = {name: a for name, a in state.fields.items() if not name.startswith("old.")}
    scalars = tuple((name, array.dtype) for name, array in state.scalars.items())
    return Signature(
        kinds(fields), kinds(state.edge_fields), kinds(columns), scalars, topology.index_dtype,
        tuple((name, array.dtype, array.shape) for name, array in state.parameters.items()),
    )  # fmt: skip


def as_plain(state: Any, edge_state: Any = None) -> PlainState:
    """Return a copy of a state, and of an edge state, as plain arrays."""
    edges = edge_state.fields if edge_state is not None else getattr(state, "edge_fields", {})
    return PlainState(state.fields, state.scalars, edges, state.parameters).copy()


def add_old_fields(program: Program, state: PlainState) -> None:
    """Add the hidden fields that hold values before the last change."""
    for block in program_blocks(program):
        for value in block.walk():
            if value.op == "load" and value.attr[0] == "old":
                name = value.attr[2]
                state.fields.setdefault(f"old.{name}", state.fields[name].copy())


def make_request(
    graph: Any,
    functions: Any,
    state: Any,
    frontier: Any = None,
    *,
    mode: str = "iterate",
    edge_state: Any = None,
    arcs: bool = False,
    until: Any = None,
    refill: Any = (),
    max_iter: int | None = None,
    trail: bool = False,
    replay: list[np.ndarray] | None = None,
    options: dict[str, Any] | None = None,
) -> tuple[Request, PlainState]:
    """Trace functions and return a request on a copy of a state, with that copy.

    `graph` has `topology` and `edge` (columns by name). `frontier` is a list of vertices (or arcs),
    None stands for all.
    """
    columns = {name: graph.edge[name] for name in graph.edge}
    plain = as_plain(state, edge_state)
    signature = signature_of(graph.topology, plain, columns)
    roles = Roles(until, refill, bounded=max_iter is not None, trail=trail)
    program = trace_program(functions, signature, "replay" if replay is not None else mode, roles)
    verify(program)
    add_old_fields(program, plain)

    def column(name: str, order: str) -> np.ndarray:
        return columns[name] if order == "edge" else graph.edge.in_slots(name, order)

    members = None
    if frontier is not None:
        members = np.array(sorted(frontier), np.int64 if arcs else graph.topology.index_dtype)
    data = Data(plain.fields, plain.edge_fields, column, plain.scalars, plain.parameters)
    request = Request(
        program, graph.topology, run_options(options), data, Start(members, arcs, replay), max_iter
    )
    return request, plain


def run_options(choices: dict[str, Any] | None = None) -> RunOptions:
    """Return the options of a request: fields of a Config, and degrees, which have no field."""
    rest = dict(choices or {})
    degrees = [rest.pop(f"{who}_degree", None) for who in ("warp", "block", "grid")]
    config = Config(**rest)
    return RunOptions(config, config.schedule, degrees=Degrees(*degrees))


def run_interpreted(
    *arguments: Any, shuffle: int | None = None, passes: Any = None, **options: Any
) -> Interpreted:
    """Interpret functions on a copy of a state; the arguments are those of `make_request`.

    `shuffle` is the seed of a random order. `passes` rewrites the program first, as
    `weft.ir.passes.run_passes` does.
    """
    request, plain = make_request(*arguments, **options)
    if passes is not None:
        passes(request.program)
        verify(request.program)
    sizes: list[int] = []
    order = None if shuffle is None else random.Random(shuffle)
    outcome = interpret(request, shuffle=order, trace_sizes=sizes)
    return Interpreted(plain, outcome, request.program, sizes)


def run_on(backend: Any, *arguments: Any, driver: Any = None, **options: Any) -> Interpreted:
    """Run functions by a backend, or by a driver of the CUDA backend, on a copy of a state."""
    request, plain = make_request(*arguments, **options)
    form = backend.compile(request)
    if driver is None:
        outcome = backend.run(request, form)
    else:
        outcome = run_request(request, form, driver)
    if isinstance(outcome.frontier, Deferred):
        outcome.frontier = outcome.frontier.get()
    if outcome.frontier is None:
        outcome.frontier = np.arange(request.topology.num_vertices)
    return Interpreted(plain, outcome, request.program, [])


def assert_same(left: Interpreted, right: Interpreted, *, steps: bool = True) -> None:
    """Compare everything that two runs of one program left behind, bit for bit.

    Relaxation in place may take fewer steps to the same fixpoint: `steps=False` allows that.
    """
    for part in ("fields", "scalars", "edge_fields"):
        ours, theirs = getattr(left.state, part), getattr(right.state, part)
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=f"{part}: {name}")
    assert left.frontier == right.frontier
    assert not steps or left.outcome.steps == right.outcome.steps
    assert left.program.mode != "iterate" or left.outcome.converged == right.outcome.converged
    assert [part.tolist() for part in left.outcome.trail] == [
        part.tolist() for part in right.outcome.trail
    ]
