"""From a request to a compiled program: keys, proofs about the start, directions.

Shared by all backends; only compiling itself is specific to each.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.config import of_side
from weft.errors import ConfigError
from weft.ir.check.facts import arcs_of_common
from weft.ir.check.key import keyed, lifted_copy
from weft.ir.ops import Program
from weft.ir.reference.evaluate import arrays_evaluator, evaluate_arrays, holds_outside
from weft.ir.request import Request
from weft.plan.directions import wanted_direction
from weft.plan.outputs import check_told, counting_sides
from weft.plan.queries import MOST_ADDED
from weft.plan.sweeps import Sweep, claim_field
from weft.storage.memory import Cache

_lock = threading.RLock()
_NOTHING: frozenset[str] = frozenset()
_BITS = methodcaller("tobytes")
Make = Callable[[Program, frozenset[str]], Any]


class Proofs:
    """The assumptions of a compiled program about the start of a run; a base class."""

    sweeps: list[Sweep]
    closed: frozenset[str]  # fields that must hold vertices

    @functools.cached_property
    def checks_frontier(self) -> bool:
        """Whether a proof of write-once needs a first frontier that accepts nothing."""
        return any(sweep.check_frontier for sweep in self.sweeps)

    @functools.cached_property
    def unproven(self) -> bool:
        """Whether anything remains to be proven at the start."""
        return self.checks_frontier or bool(self.closed or self.sweeps[0].rises)

    @functools.cached_property
    def accepted_fields(self) -> tuple[str, ...]:
        """The fields that decide whether the first frontier accepts, and the claimed one."""
        step = self.sweeps[0].steps[0]
        assert step.accept is not None
        loads = [value.attr for value in step.accept.walk() if value.op == "load"]
        names = [attr[2] for attr in loads if attr[0] == "field"]
        return tuple(dict.fromkeys([*names, claim_field(step)]))

    @functools.cached_property
    def accepts(self) -> Callable[[Callable[[Any], Any]], Any]:
        """The acceptance of the first step, evaluated for many vertices at once."""
        accept = self.sweeps[0].steps[0].accept
        assert accept is not None
        return arrays_evaluator(accept)

    @functools.cached_property
    def claimed(self) -> str:
        """The field that the first step claims."""
        return claim_field(self.sweeps[0].steps[0])

    @functools.cached_property
    def right_starts(self) -> Cache[Any, bool]:
        """Cached answers of whether runs from one vertex start correctly."""
        return Cache("starts of runs", 256)


class Preparation:
    """A request's program on its way to compiled code, which is looked up by its key.

    `shape` is whatever else determines the code; `make(program, off)` compiles a copy of the
    program, which it may change, with some rewrites disabled. If a proof about the start fails, the
    program is compiled again without the rewrites that rely on it.
    """

    def __init__(
        self,
        request: Request,
        cache: dict[Any, Any],
        shape: tuple[Any, ...],
        make: Make,
    ) -> None:
        self.request, self.cache, self.shape, self.make = request, cache, shape, make
        self.off = frozenset(request.options.config.passes_off)
        if not request.options.config.fold:
            self.off |= {"step_folding"}
        self.lift = "constant_lifting" not in self.off
        self.key, self.constants = keyed(request.program, self.lift)

    def compiled(self) -> Any:
        """Return the compiled form without the disabled rewrites."""
        full = (self.key, self.shape, self.off)
        with _lock:
            compiled = self.cache.get(full)
            if compiled is None:
                compiled = self.make(lifted_copy(self.request.program, self.lift), self.off)
                self.cache[full] = compiled
        check_told(compiled.sweeps, self.request.program, self.request.options.config)
        return compiled

    def without(self, rewrite: str) -> Any:
        """Return the compiled form without one more rewrite."""
        self.off |= {rewrite}
        return self.compiled()


Form = tuple[Any, list[Any]]  # a compiled program and the values of its lifted constants


def proven_form(request: Request, form: Form, prepare: Callable[[Request], Preparation]) -> Form:
    """Return a form whose proofs hold for a request: the given one, or one with fewer rewrites."""
    compiled, constants = form
    if not compiled.unproven:
        return form
    preparation: Preparation | None = None
    while refuted := _refuted(request, compiled, constants):
        preparation = preparation or prepare(request)
        compiled = preparation.without(refuted)
    return compiled, constants


def _refuted(request: Request, compiled: Proofs, constants: list[Any]) -> str:
    """Return the name of a rewrite whose proof does not hold at the start."""
    if compiled.checks_frontier and not _starts_rightly(request, compiled, constants):
        return "write_once"
    if compiled.closed and not _holds_vertices(request, compiled):
        return "index_proofs"
    if compiled.sweeps[0].rises and not _state_tells(request, compiled, constants):
        return "operand_reuse"
    return ""


def may_start_anywhere(request: Request, compiled: Proofs) -> bool:
    """Whether no proof of write-once depends on a frontier other than the first."""
    if not compiled.checks_frontier:
        return True
    return len(request.program.steps) == 1 and not request.start.arcs and not request.program.refill


def wants_row_bits(request: Request) -> bool:
    """Whether common neighbours are found by the bits of dense rows.

    Runs at all vertices build them; a run at some vertices uses them if they exist.
    """
    topology, config = request.topology, request.options.config
    if not _looks_up_bits(request.program):
        return False
    if "row_bits" in config.passes_off or topology.keep == "in" or topology.carrier is not None:
        return False
    if topology.has_row_bits:
        return True
    return request.start.frontier is None and topology.row_bits() is not None


def _looks_up_bits(program: Program) -> bool:
    """Whether a program searches common neighbours without using their second arcs."""
    found: bool | None = program.findings.get("looks_up_bits")
    if found is None:
        found = program.findings["looks_up_bits"] = any(
            value.op == "common" and "eb" not in arcs_of_common(value)
            for step in program.all_steps()
            for value in step.body.walk()
        )
    return found


def kept_old(request: Request) -> frozenset[str]:
    """Return the fields whose old values are kept."""
    fields = request.data.fields
    for name in fields:
        if name.startswith("old."):
            return frozenset(other[4:] for other in fields if other.startswith("old."))
    return _NOTHING


def directions_of(request: Request) -> tuple[str, ...]:
    """Return the directions that the graph and the configuration allow."""
    possible = {"out": ("push",), "in": ("pull",), "both": ("push", "pull")}[request.topology.keep]
    wanted = wanted_direction(request.options.config)
    return tuple(d for d in possible if wanted in ("auto", d))


def may_order(request: Request, directions: tuple[str, ...], observed: bool = True) -> bool:
    """Whether a step that relaxes in place may hold members of the frontier back by priority.

    A deterministic run with observable supersteps must not depend on their order, for which threads
    race.
    """
    config = request.options.config
    wanted = bool(config.ordering) and "push" in directions
    return wanted and not request.start.arcs and not (observed and config.deterministic)


def push_narrow(sweeps: list[Sweep], program: Program, directions: tuple[str, ...]) -> None:
    """Make the sweeps of a program with steps for wide frontiers push, if they can."""
    if program.wide and "push" in directions:
        for sweep in sweeps:
            if sweep.kind == "edge" and not sweep.push_refused:
                sweep.pull_refused = "wide frontiers re-gather every message, so this only pushes"


def check_directions(sweep: Sweep, directions: tuple[str, ...], request: Request) -> None:
    """Raise if a sweep over edges is impossible in every available direction."""
    if sweep.kind != "edge":
        return
    if sweep.turned and request.topology.keep != "both":
        raise ConfigError(
            f'{sweep.last.name!r} goes along="in", which needs the rows of both directions, but '
            f'the graph keeps only {request.topology.keep!r}. Build it with keep="both".'
        )
    refusals = {"push": sweep.push_refused, "pull": sweep.pull_refused}
    if any(not refusals[direction] for direction in directions):
        return
    name = sweep.last.name
    keep, wanted = request.topology.keep, request.options.config.direction
    if not directions:
        stored = {"out": "out-edges, which are pushed", "in": "in-edges, which are pulled"}[keep]
        raise ConfigError(
            f"direction={wanted!r} is not possible: the graph keeps only {stored}. Build it with "
            f'keep="both".'
        )
    reasons = "; ".join(refusals[direction] for direction in directions)
    remedy = 'Build the graph with keep="both"' if keep != "both" else 'Use direction="auto"'
    raise ConfigError(f"{name!r} cannot be run by {' or '.join(directions)}: {reasons}. {remedy}.")


def _starts_rightly(request: Request, compiled: Proofs, constants: list[Any]) -> bool:
    """Whether the first frontier accepts nothing, as the proof of write-once may need."""
    first, step = request.start.frontier, compiled.sweeps[0].steps[0]
    if first is None or first.size != 1 or step.everywhere:
        return _accepts_nothing(request, compiled, constants)
    # Many runs start from one vertex with the same values.
    key: list[Any] = [request.topology.num_vertices, *map(_BITS, constants)]
    for name in compiled.accepted_fields:
        field = request.data.fields[name]
        held = field[first]
        key += field.dtype, (held if type(held) is np.ndarray else to_host(held)).tobytes()
    told = tuple(key)
    found = compiled.right_starts.get(told)
    if found is None:
        found = compiled.right_starts[told] = _accepts_nothing(request, compiled, constants)
    return found


def _accepts_nothing(request: Request, compiled: Proofs, constants: list[Any]) -> bool:
    sweep = compiled.sweeps[0]
    everywhere = request.start.frontier is None or sweep.steps[0].everywhere
    chosen: Any = slice(None) if everywhere else request.start.frontier
    loaded: dict[str, Any] = {}

    def load(attr: Any) -> Any:
        if attr[0] == "field":
            if attr[2] not in loaded:
                loaded[attr[2]] = to_host(request.data.fields[attr[2]][chosen])
            return loaded[attr[2]]
        if attr[0] == "constant":
            return constants[attr[1]]
        return None

    if np.count_nonzero(compiled.accepts(load)):
        return False
    # The message may be a value of the frontier plus a little; it must not wrap in any superstep.
    claimed = load(("field", "v", compiled.claimed))
    if claimed.dtype.kind == "f" or not claimed.size:
        return True
    largest = int(claimed[claimed.argmax()])  # faster than `max` for few
    room = _most(claimed.dtype) - max(0, largest)
    return room >= MOST_ADDED * (request.topology.num_vertices + 1)


@functools.cache
def _most(dtype: np.dtype[Any]) -> int:
    return int(np.iinfo(dtype).max)


def has_converged(request: Request, steps: int, *, empty: bool, held: bool) -> bool:
    """Return the value of `Run.converged`: whether `until` holds, or the frontier is empty.

    `held` means that `until` ended the run. Otherwise it was false after the last superstep, and
    can only hold if there was none, or if a refill reduced scalars since.
    """
    program = request.program
    if program.until is None or held:
        return empty or held
    if steps > 0 and not (program.refill or program.renew):
        return False
    parameters = {name: to_host(array) for name, array in request.data.parameters.items()}
    n = request.topology.num_vertices
    fields = {name: to_host(request.data.fields[name]) for name in program.until_fields}
    return holds_outside(
        program.until, request.data.scalars, parameters, superstep=steps, n=n, fields=fields,
        least=np.inf if empty else -np.inf,
    )  # fmt: skip


def wants_state(request: Request, default: bool) -> bool:
    """Whether pulls should test the state in place of the frontier, if that is equivalent."""
    kind = of_side(request.options.config.frontier_in, "pull")
    config = request.options.config
    counted = bool({"pull", "gather"} & set(counting_sides(config)))  # only the state has members
    told = kind == "state" or (kind is None and (default or counted))
    return not request.start.arcs and told


def _state_tells(request: Request, compiled: Proofs, constants: list[Any]) -> bool:
    """Whether the deciding field identifies the first frontier, as operand reuse requires."""
    step = compiled.sweeps[0].steps[0]
    assert step.accept is not None
    claimed = request.data.fields[claim_field(step)]

    def load(attr: Any) -> Any:
        return constants[attr[1]] if attr[0] == "constant" else claimed

    chosen: Any = slice(None) if request.start.frontier is None else request.start.frontier
    held = claimed[chosen]
    closed = held.size == np.count_nonzero(~evaluate_arrays(step.accept, load))
    return bool(closed and (held == held[:1]).all())


def _holds_vertices(request: Request, compiled: Proofs) -> bool:
    """Whether the fields used as unchecked indices hold vertices at the start."""
    n = request.topology.num_vertices

    def highest(array: Any) -> int:
        return int(array.view(np.dtype(f"u{array.dtype.itemsize}")).max())

    return all(highest(request.data.fields[name]) < n for name in compiled.closed)
