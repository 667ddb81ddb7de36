"""explain: show how a program is compiled, from its IR to the generated source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft.config import Config
from weft.engine.change_driven import hidden_state
from weft.engine.prepared import Inputs, Prepared
from weft.engine.reorder import cross
from weft.engine.state import State, full
from weft.errors import ConfigError, FieldError, TraceError, unknown
from weft.graph import Graph
from weft.graph.execution import PLAIN, delta_of, prepared_for, signature_for
from weft.ir.check.show import show
from weft.ir.ops import ROLES
from weft.ir.trace.steps import Roles, trace_program
from weft.plan.directions import wanted_direction

if TYPE_CHECKING:
    from weft.backends.kernel_facts import KernelFacts
    from weft.ir.ops import Program
    from weft.plan.sweeps import Sweep

MODES = {
    "once": "written in place by the first message, which settles the vertex",
    "online": "updated in place; every change is detected as it happens",
    "counted": "a constant is added in place; a vertex is queued once it crosses a threshold",
    "deferred": "messages are combined in a second buffer and compared after the sweep",
    "effects": "no messages: edge state and live fields only",
    "vertex": "one function call per vertex of the frontier",
}


@dataclass(frozen=True)
class SweepSummary:
    """How one sweep of a program is executed.

    Attributes
    ----------
    functions
        The functions that share one pass over the edges or vertices.
    kind
        ``"edge"`` or ``"vertex"``.
    mode
        ``"once"``, ``"online"``, ``"counted"``, ``"deferred"``, ``"effects"`` or ``"vertex"``.
    buffered
        Fields that are written to a second buffer first.
    refused
        Directions that are not possible, each with the reason.
    notes
        Further decisions, such as an early exit.
    atomics
        For each way in which messages are combined ("push", "pull", "gather"): which of three
        conditions makes it need atomics: the direction, the schedule or the format. An empty string
        if none does.
    role
        ``"refill"`` if the sweep belongs to ``refill=``. In a change-driven run, ``"wide"`` if it
        replaces the others while many vertices change, ``"renew"`` if it also re-gathers the values
        that they keep. Otherwise empty.
    """

    functions: tuple[str, ...]
    kind: str
    mode: str
    buffered: tuple[str, ...]
    refused: dict[str, str]
    notes: tuple[str, ...]
    atomics: dict[str, str]
    role: str

    def __str__(self) -> str:
        role = f" of {self.role}" if self.role else ""
        lines = [f"{', '.join(self.functions)}: {self.kind} sweep{role}, mode {self.mode}"]
        lines.append(f"  {MODES[self.mode]}")
        if self.buffered:
            lines.append(f"  second buffers: {', '.join(self.buffered)}")
        lines += [f"  {note}" for note in self.notes]
        if self.kind == "edge":
            lines += [
                f"  {direction}: {'no, ' + reason if reason else 'yes' + self._how(direction)}"
                for direction, reason in {"push": "", "pull": "", **self.refused}.items()
            ]
        elif "gather" in self.atomics:
            lines.append(f"  gather: {self._how('gather').removeprefix(', ')}")
        return "\n".join(lines)

    def _how(self, way: str) -> str:
        if way not in self.atomics:
            return ""
        cause = self.atomics[way]
        return f", with atomics: {cause}" if cause else ", without atomics"


@dataclass(frozen=True)
class Explanation:
    """The result of `weft.explain`; prints as a full report.

    Attributes
    ----------
    ir
        The IR as traced.
    passes
        The passes that changed the program, then the decisions made.
    rewritten
        The IR after the passes, with constants lifted into arguments.
    sweeps
        How each sweep is executed.
    source
        The generated Numba module; on a GPU the generated CUDA C++, without the headers of weft
        that it includes.
    device
        Where the graph lives.
    phases
        On a GPU: the phases of the program, each with the direction whose kernel contains it
        ("push", "pull" or "both"). None on a CPU.
    kernels
        On a GPU: resources, launch shape and occupancy limit of each kernel. None on a CPU.
    launches
        On a GPU: the number of kernel launches per run. None on a CPU.
    shape
        On a GPU: the graph statistics that determine the defaults. None on a CPU.
    """

    ir: str
    passes: tuple[str, ...]
    rewritten: str
    sweeps: tuple[SweepSummary, ...]
    source: str
    device: str = "cpu"
    phases: tuple[tuple[str, str], ...] | None = None
    kernels: tuple[KernelFacts, ...] | None = None
    launches: str | None = None
    shape: str | None = None

    def __str__(self) -> str:
        parts = {
            "IR as traced": self.ir,
            "passes and decisions": ", ".join(self.passes) or "none",
            "IR after the passes": self.rewritten,
            "sweeps": "\n".join(map(str, self.sweeps)),
        }
        if self.phases is not None and self.kernels is not None:
            parts["phases"] = "\n".join(
                name if turn == "both" else f"{name} ({turn} only)" for name, turn in self.phases
            )
            parts["graph"] = str(self.shape)
            kernels = "\n".join(map(str, self.kernels))
            parts[f"kernels on {self.device}"] = f"launches: {self.launches}\n{kernels}"
        parts["generated source"] = self.source
        return "\n\n".join(f"-- {title}\n\n{text.rstrip()}" for title, text in parts.items()) + "\n"

    __repr__ = __str__


def explain(  # noqa: PLR0913
    functions: Any,
    g: Graph,
    state: State | None = None,
    frontier: Any = None,
    *,
    edge_state: State | None = None,
    mode: str = "iterate",
    until: Callable[..., Any] | None = None,
    max_iter: int | None = None,
    refill: Any = (),
    trail: bool = False,
    direction: str | None = None,
    config: Config | None = None,
) -> Explanation:
    """Show how a program is compiled: its IR, the passes applied, the generated source.

    Accepts the arguments of ``g.iterate`` and makes the same decisions, but runs nothing. For a GPU
    it compiles the kernels, to report the resources they use; on a CPU it compiles nothing.

    Parameters
    ----------
    functions
        A function made by `weft.edge`, `weft.vertex` or `weft.fold`, or a list of them.
    g
        The graph.
    state
        The state that the functions would run on, for the dtypes and shapes of the fields. Without
        one, every field that the functions name is assumed to be a float64 scalar.
    frontier
        The first frontier, which some decisions depend on.
    mode
        ``"iterate"``, or ``"run"`` for a single superstep.

    Examples
    --------
    >>> import weft
    >>> @weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
    ... def discover(u, v, e):
    ...     return u.level + 1
    >>> g = weft.generators.path(4)
    >>> state = g.state(level=weft.full(-1, weft.int32))
    >>> state.level[0] = 0
    >>> report = weft.explain(discover, g, state, [0])
    >>> report.passes
    ('dead_fields', 'write_once', 'early_exit')
    >>> print(report.sweeps[0])
    discover: edge sweep, mode once
      written in place by the first message, which settles the vertex
      a pull stops at the first message
      push: yes, with atomics: rows share targets
      pull: yes, without atomics
    >>> "def kernel(" in report.source
    True
    """
    _check_arguments(g, state, mode)

    def trace(candidate: State) -> Program:
        roles = Roles(until, refill, bounded=max_iter is not None, trail=trail)
        return trace_program(functions, signature_for(g, candidate, edge_state), mode, roles)

    if state is None:
        state = _guess_state(g, trace)
    program = trace(state)
    traced = show(program)
    # A copy, since preparing a run makes a state keep its old values.
    copy = State(dict(state.fields), state.scalars, state.parameters)
    copy.old.update(state.old)
    # As in a run, only an explicit configuration can make a program change-driven.
    delta = None
    if mode == "iterate":
        delta = delta_of(g, program, config, PLAIN, frontier, max_iter)
    if delta is not None:
        program, copy = delta.program, hidden_state(delta, copy, g.topology)
    prepared = prepared_for(g, program, config, direction)
    inputs = Inputs(copy, edge_state, g.frontier(frontier))
    compiled, on_device = _compiled(prepared, g, inputs)
    return Explanation(
        traced,
        ("delta_rewriting",) * (delta is not None) + tuple(compiled.fired),
        *_described(compiled, program, prepared.config, g.topology.keep),
        compiled.rendered.source,
        str(g.topology.device),
        **on_device,
    )


def _check_arguments(g: Any, state: Any, mode: str) -> None:
    if not isinstance(g, Graph):
        raise TraceError(f"weft.explain needs a graph after the functions, but got {g!r}.")
    if state is not None and not isinstance(state, State):
        raise FieldError(f"expected a state made by g.state(...), but got {state!r}.")
    if mode not in ("iterate", "run"):
        raise ConfigError(unknown("mode", mode, ("iterate", "run")))


def _compiled(prepared: Prepared, g: Graph, inputs: Inputs) -> tuple[Any, dict[str, Any]]:
    """Return the compiled program and what the backend reports about its kernels."""
    backend = prepared.backend
    with g.topology.device.current():
        request = prepared.request(g._prepared.columns, inputs)
        if request.topology.numbering is not None:
            request, _ = cross(request, backend, {})
        form = backend.prove(request, prepared.form(request))
        return form[0], backend.describe(request, form)


def _described(
    compiled: Any, program: Program, config: Config, keep: str
) -> tuple[str, tuple[SweepSummary, ...]]:
    """Return the rewritten IR and a summary of each sweep, with the user's function names.

    Programs of the same form share compiled code, which carries the names of the first one.
    """
    made = compiled.program
    pairs = zip(made.all_steps(), program.all_steps(), strict=True)
    named = {id(step): replace(step, name=traced.name) for step, traced in pairs}
    steps = {role: tuple(named[id(step)] for step in getattr(made, role)) for role in ROLES}
    unordered = _unordered(program, config, compiled.fired)
    summaries = [
        _summary(
            replace(sweep, steps=[named[id(step)] for step in sweep.steps]),
            keep,
            wanted_direction(config),
            _role(sweep, made),
            unordered,
            _atomics(sweep, compiled),
        )
        for sweep in compiled.sweeps
    ]
    return show(replace(made, **steps)), tuple(summaries)


def _guess_state(g: Graph, trace: Callable[[State], Program]) -> State:
    """Return a state with a float64 field for every name that the functions use."""
    fields: dict[str, Any] = {}
    while True:
        state = g.state(**fields)
        try:
            trace(state)
            return state
        except FieldError as error:
            if error.missing is None or error.missing in fields:
                raise
            fields[error.missing] = full(0.0)


def _role(sweep: Sweep, program: Program) -> str:
    """Return the role of a sweep's steps, or an empty string for the main loop."""
    role = next(role for role in ROLES if sweep.steps[0] in getattr(program, role))
    return "" if role == "steps" else role


def _unordered(program: Program, config: Config, fired: list[str]) -> str:
    """Return why the priority of a step is not used, or an empty string."""
    if "ordering" in fired:
        return ""
    if not config.ordering:
        return "ordering=False was given"
    if config.deterministic and program.observed:
        return "a deterministic run that max_iter or until may end must not depend on the order"
    if program.trail:
        return "trail=True keeps every frontier"
    return "it applies to a single step of iterate that is pushed and updated in place"


def _atomics(sweep: Sweep, compiled: Any) -> dict[str, str]:
    """Return why messages of a sweep meet by atomics, for each way that combines them."""
    if sweep.kind != "edge":
        return {"gather": compiled.splits_rows("gather")} if "gather" in sweep.facts.ops else {}
    if sweep.mode == "effects":
        return {}
    return {"push": "rows share targets", "pull": compiled.splits_rows("pull")}


def _summary(
    sweep: Sweep, keep: str, wanted: str, role: str, unordered: str, atomics: dict[str, str]
) -> SweepSummary:
    refused = {}
    for direction, stored in (("push", "out"), ("pull", "in")):
        own = sweep.push_refused if direction == "push" else sweep.pull_refused
        if own:
            refused[direction] = own
        elif keep not in ("both", stored):
            refused[direction] = f"the graph does not keep its {stored}-edges"
        elif wanted not in ("auto", direction):
            refused[direction] = f"direction={wanted!r} was given"
    notes = []
    if sweep.early_exit:
        notes.append("a pull stops at the first message")
    if sweep.rises:
        from weft.plan.sweeps import claim_field

        notes.append(f"a pull tests {claim_field(sweep.steps[0])} instead of the frontier")
    if sweep.relaxes:
        notes.append("messages may use values from the same superstep (monotone)")
    if unordered and any(step.priority is not None for step in sweep.steps):
        notes.append(f"the priority is not used: {unordered}")
    if sweep.snapshots:
        notes.append(
            f"neighbours see {', '.join(sorted(sweep.snapshots))} as at the start of the fold"
        )
    for step in sweep.steps:
        notes += [f"computed once per vertex: {name}" for name, _ in step.hoisted]
    return SweepSummary(
        tuple(step.name for step in sweep.steps),
        sweep.kind,
        sweep.mode,
        tuple(sorted(sweep.buffered)),
        refused if sweep.kind == "edge" else {},
        tuple(notes),
        atomics,
        role,
    )
