"""explain: what becomes of a program, from the IR to the source that is compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft.config import Config, check_config
from weft.engine.change_driven import hidden_state
from weft.engine.reorder import cross
from weft.engine.state import State, full
from weft.errors import ConfigError, FieldError, TraceError, unknown
from weft.graph import Graph
from weft.ir.check.show import show
from weft.ir.ops import ROLES
from weft.ir.trace.steps import trace_program
from weft.plan.directions import wanted_direction

if TYPE_CHECKING:
    from weft.backends.cuda.host.describe import KernelFacts
    from weft.ir.ops import Program
    from weft.plan.sweeps import Sweep

MODES = {
    "once": "written in place by the first message, which settles the vertex",
    "online": "updated in place; changes are noticed one by one",
    "deferred": "messages are gathered in a second buffer and compared after the sweep",
    "effects": "no messages: edge state and live fields only",
    "vertex": "one function call per vertex of the frontier",
}


@dataclass(frozen=True)
class SweepSummary:
    """How one sweep of a program is carried out.

    Attributes
    ----------
    functions
        The functions that go over the edges or vertices together.
    kind
        ``"edge"`` or ``"vertex"``.
    mode
        ``"once"``, ``"online"``, ``"deferred"``, ``"effects"`` or ``"vertex"``.
    buffered
        Fields that are written to a second buffer first.
    refused
        Directions that are not possible, each with the reason.
    notes
        Further decisions, such as an early exit.
    role
        ``"refill"`` if the sweep belongs to ``refill=``. In a run that is driven by changes,
        ``"wide"`` if it takes the place of the others while many vertices change, ``"renew"`` if it
        also gathers anew what they keep. Else empty.
    """

    functions: tuple[str, ...]
    kind: str
    mode: str
    buffered: tuple[str, ...]
    refused: dict[str, str]
    notes: tuple[str, ...]
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
                f"  {direction}: {'no, ' + self.refused[direction] if reason else 'yes'}"
                for direction, reason in {"push": "", "pull": "", **self.refused}.items()
            ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """What `weft.explain` found; printed, it tells all of it.

    Attributes
    ----------
    ir
        The IR as it was traced.
    passes
        The rewrites that fired, then the decisions that were made.
    rewritten
        The IR after the rewrites, with constants lifted into arguments.
    sweeps
        How each sweep is carried out.
    source
        The generated Numba module; on a GPU the generated CUDA C++, without the headers of weft
        that it includes.
    device
        Where the graph lives.
    phases
        On a GPU: the phases of the program's machine, each with the direction whose kernel holds
        it ("push", "pull" or "both"). None on a CPU.
    kernels
        On a GPU: what each kernel takes, how it is launched and what limits its grid. None on a
        CPU.
    launches
        On a GPU: how many launches a run takes. None on a CPU.
    shape
        On a GPU: the statistics of the graph that defaults are chosen by. None on a CPU.
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


def explain(
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
    """Show what a program becomes: its IR, the passes that fired, the generated source.

    Takes what ``g.iterate`` takes and decides as it would, but runs nothing. On a CPU it compiles
    nothing either; for a GPU it compiles the kernels, to tell what they take.

    Parameters
    ----------
    functions
        A function made by `weft.edge`, `weft.vertex` or `weft.fold`, or a list of them.
    g
        The graph.
    state
        The state that the functions would run on: it gives the dtypes and shapes of the fields.
        Without one, every field that they name is taken to be a float64 scalar.
    frontier
        The first frontier; some decisions depend on it.
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
    >>> told = weft.explain(discover, g, state, [0])
    >>> told.passes
    ('dead_fields', 'write_once', 'early_exit')
    >>> print(told.sweeps[0])
    discover: edge sweep, mode once
      written in place by the first message, which settles the vertex
      a pull stops at the first message
      push: yes
      pull: yes
    >>> "def kernel(" in told.source
    True
    """
    if not isinstance(g, Graph):
        raise TraceError(f"weft.explain needs a graph after the functions, but got {g!r}.")
    if state is not None and not isinstance(state, State):
        raise FieldError(f"expected a state made by g.state(...), but got {state!r}.")
    if mode not in ("iterate", "run"):
        raise ConfigError(unknown("mode", mode, ("iterate", "run")))

    def trace(candidate: State) -> Program:
        return trace_program(
            functions, g._signature(candidate, edge_state), mode, until=until, refill=refill,
            bounded=max_iter is not None, trail=trail,
        )  # fmt: skip

    if state is None:
        state = _guess_state(g, trace)
    program = trace(state)
    traced = show(program)
    checked = g._prepared(program, config, direction).config
    # Old values are not to be kept from now on.
    copy = State(dict(state.fields), state.scalars, state.parameters)
    copy.old.update(state.old)
    # As in a run, only a configuration that is given can ask for this.
    wanted = check_config(config).change_driven if mode == "iterate" else False
    delta = g._delta(program, wanted, 0.0, frontier, max_iter)
    if delta is not None:
        program, copy = delta.program, hidden_state(delta, copy, g.topology)
    prepared = g._prepared(program, config, direction)
    with g.topology.device.current():
        request = prepared.request(g._columns(), copy, edge_state, g.frontier(frontier))
        if request.topology.numbering is not None:
            request, _ = cross(request, prepared.backend, {})
        form = prepared.backend.prove(request, prepared.form(request))
        compiled, on_device = form[0], prepared.backend.describe(request, form)
    # Programs of one form share what was compiled: it is told with the names of this one.
    made = compiled.program
    own = zip(made.all_steps(), program.all_steps(), strict=True)
    named = {id(step): replace(step, name=traced_step.name) for step, traced_step in own}
    renamed = replace(
        made,
        steps=tuple(named[id(step)] for step in made.steps),
        refill=tuple(named[id(step)] for step in made.refill),
        wide=tuple(named[id(step)] for step in made.wide),
        renew=tuple(named[id(step)] for step in made.renew),
    )
    return Explanation(
        traced,
        ("delta_rewriting",) * (delta is not None) + tuple(compiled.fired),
        show(renamed),
        tuple(
            _summary(
                replace(sweep, steps=[named[id(step)] for step in sweep.steps]),
                g.topology.keep, wanted_direction(checked), _role(sweep, made),
                _unordered(program, checked, compiled.fired),
            )
            for sweep in compiled.sweeps
        ),
        compiled.rendered.source,
        str(g.topology.device),
        **on_device,
    )  # fmt: skip


def _guess_state(g: Graph, trace: Callable[[State], Program]) -> State:
    """Return a state with the fields that functions name, all of them float64."""
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
    """Return which steps of a program a sweep belongs to."""
    role = next(role for role in ROLES if sweep.steps[0] in getattr(program, role))
    return "" if role == "steps" else role


def _unordered(program: Program, config: Config, fired: list[str]) -> str:
    """Return why the priority of a step is not used, or nothing."""
    if "ordering" in fired:
        return ""
    if not config.ordering:
        return "ordering=False was asked for"
    if config.deterministic and program.observed:
        return "the order would show where max_iter or until ends a deterministic run"
    if program.trail:
        return "trail=True keeps every frontier"
    return "it applies to a single step of iterate that is pushed and updated in place"


def _summary(sweep: Sweep, keep: str, wanted: str, role: str, unordered: str) -> SweepSummary:
    refused = {}
    for direction, stored in (("push", "out"), ("pull", "in")):
        own = sweep.push_refused if direction == "push" else sweep.pull_refused
        if own:
            refused[direction] = own
        elif keep not in ("both", stored):
            refused[direction] = f"the graph does not keep its {stored}-edges"
        elif wanted not in ("auto", direction):
            refused[direction] = f"direction={wanted!r} was asked for"
    notes = []
    if sweep.early_exit:
        notes.append("a pull stops at the first message")
    if sweep.rises:
        from weft.plan.sweeps import claim_field

        notes.append(f"a pull tests {claim_field(sweep.steps[0])} in place of the frontier")
    if sweep.relaxes:
        notes.append("messages may be built from values of the same superstep (monotone)")
    if unordered and any(step.priority is not None for step in sweep.steps):
        notes.append(f"the priority is not used: {unordered}")
    if sweep.snapshots:
        notes.append(f"others see {', '.join(sorted(sweep.snapshots))} as when the fold began")
    for step in sweep.steps:
        notes += [f"computed once per vertex: {name}" for name, _ in step.hoisted]
    return SweepSummary(
        tuple(step.name for step in sweep.steps),
        sweep.kind,
        sweep.mode,
        tuple(sorted(sweep.buffered)),
        refused if sweep.kind == "edge" else {},
        tuple(notes),
        role,
    )
