"""Drawn programs on drawn graphs and states under drawn configurations, against the interpreter."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import agreement
import weft
from programs import Case, EdgeSpec, edge_specs, fixpoints, folds, vertex_specs
from weft.errors import ConfigError, WeftError

from .calls import relaxed
from .cases import GROUP, Difference, chance, pick, random_of
from .drawing import Rng, drawn_config, drawn_ends, with_threads
from .shrinking import differs, fewest

FAMILIES = (
    *("bounded",) * 4, "refilled", "refilled", "fixpoint", "ordered", "arcs", "replayed", "jumps",
)  # fmt: skip


@dataclass(frozen=True)
class Ordered(EdgeSpec):
    """An edge function that lowers the field b, with b as its priority."""

    def make(self) -> Any:
        step = super().make()
        step.priority = lambda v: v.b
        return step


@dataclass(frozen=True)
class Family:
    """What the cases of a group share: all that compiled kernels depend on."""

    name: str
    steps: tuple[Any, ...]
    filler: Any
    mode: str
    bounded: bool
    until: bool
    wide: bool
    directed: bool
    trail: bool
    configs: tuple[weft.Config, ...]


def run(seed: int, device: str) -> str:
    """Run one case. Seeds of one group share the program and two configurations."""
    family = family_of(seed // GROUP, device)
    rng = random_of("programs of", seed)
    if family.name == "jumps":
        return _run_jumps(family, rng, device)
    case, more = drawn_case(family, rng)
    config = with_threads(pick(rng, family.configs), rng)
    try:
        return check(case, more, config, family, device)
    except Exception as error:
        first = error

    def fails(arcs: list[Any]) -> bool:
        return differs(lambda: check(replace(case, arcs=tuple(arcs)), more, config, family, device))

    if "arcs" not in more:
        case = replace(case, arcs=tuple(fewest(case.arcs, fails)))
        try:
            check(case, more, config, family, device)
        except Exception as error:
            first = error
    raw = "" if isinstance(first, Difference) else f"raw {type(first).__name__}: "
    wide = ", 64-bit ids" if family.wide else ""
    raise Difference(f"{family.name}{wide}: {case}\n{more}\n{config.given()}\n{raw}{first}")


@lru_cache(maxsize=4)
def family_of(number: int, device: str) -> Family:
    """Draw what a group shares."""
    rng = random_of("programs", number)
    name = pick(rng, FAMILIES)
    steps = _drawn_steps(name, int(rng.integers(2**32)))
    mode = {"bounded": pick(rng, ("iterate", "iterate", "run")), "replayed": "run"}.get(
        name, "iterate"
    )
    bounded = mode == "iterate" and name not in ("fixpoint", "jumps")
    if name == "ordered":
        bounded = chance(rng, 0.3)
    until = bounded and chance(rng, 0.3)
    filler = example(vertex_specs(), int(rng.integers(2**32))) if name == "refilled" else None
    configs = tuple(drawn_config(rng, device) for _ in range(2))
    return Family(
        name, steps, filler, mode, bounded, until,
        wide=chance(rng, 0.15), directed=chance(rng, 0.5), trail=chance(rng, 0.5), configs=configs,
    )  # fmt: skip


def example(strategy: st.SearchStrategy[Any], seed: int) -> Any:
    """Return what a strategy draws for a seed."""
    found = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=2, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found[-1]  # the first one is the simplest


def _drawn_steps(name: str, seed: int) -> tuple[Any, ...]:
    if name == "jumps":
        return ()
    if name in ("fixpoint", "ordered"):
        (spec,) = example(fixpoints(), seed).steps
        monotone = isinstance(spec, EdgeSpec) and spec.messages.into[0] == "b"
        if name == "ordered" and monotone and "min" in spec.messages.monoid:
            return (Ordered(spec.messages, accept=spec.accept),)
        return (spec,)
    shapes = st.one_of(edge_specs(), vertex_specs(), folds())
    if name == "arcs":
        return (
            example(edge_specs(), seed),
            *example(st.lists(st.one_of(edge_specs(), vertex_specs()), max_size=1), seed + 1),
        )
    return tuple(example(st.lists(shapes, min_size=1, max_size=3), seed))


def drawn_case(family: Family, rng: Rng) -> tuple[Case, dict[str, Any]]:
    """Draw a graph, a state and a frontier for a program; returns the case and more options."""
    n, src, dst = drawn_ends(rng, most=14)
    some = np.flatnonzero(rng.random(n) < pick(rng, (0.1, 0.5, 1.0)))
    case = Case(
        num_vertices=n,
        arcs=tuple(zip(src.tolist(), dst.tolist(), strict=True)),
        directed=family.directed,
        seed=int(rng.integers(2**16)),
        steps=family.steps,
        frontier=None if chance(rng, 0.5) else tuple(some.tolist()),
        mode=family.mode,
        max_iter=int(rng.integers(0, 6)) if family.bounded else None,
        limit=int(rng.integers(-50, 50)) if family.until else None,
    )
    more: dict[str, Any] = {}
    if family.name == "refilled":
        more = {"refill": [family.filler], "trail": family.trail}
        case = replace(case, max_iter=max(case.max_iter or 0, 1))
    if family.name == "replayed":
        shuffled = random.Random(case.seed)
        trail = [sorted(shuffled.sample(range(n), shuffled.randint(0, n))) for _ in range(3)]
        more = {"trail": [np.array(part, np.int64) for part in trail]}
    if family.name == "arcs":
        count = case.graph().topology.num_arcs
        more = {"arcs": np.flatnonzero(rng.random(count) < 0.5).tolist()}
    return case, more


def check(
    case: Case, more: dict[str, Any], config: weft.Config, family: Family, device: str
) -> str:
    """Run a case on the device and on the interpreter, and compare everything left behind."""
    more = dict(more)
    g = case.graph(index_dtype=np.int64 if family.wide else None)
    state = case.state()
    fields = {**state.fields, "total": weft.scalar(3)}
    frontier = None if case.frontier is None else list(case.frontier)
    if "arcs" in more:
        frontier = g.edge_frontier(more.pop("arcs"))
    if "refill" in more:
        more["refill"] = [spec.make() for spec in more["refill"]]
    mode = "replay" if family.name == "replayed" else case.mode
    options = {"mode": mode, "edges": state.edge_fields, **case.options(), **more}
    given = (g, case.functions(), fields, frontier)
    verdict = "ok"
    with agreement.on_device(device):
        want = _tried(agreement.interpreted, *given, **options)
        got = _tried(agreement.run, *given, **options, config=config)
        if isinstance(got, ConfigError) and not isinstance(want, ConfigError):
            verdict = "refused"
            got = _tried(agreement.run, *given, **options, config=relaxed(config))
    if isinstance(got, WeftError) or isinstance(want, WeftError):
        if type(got) is not type(want) and not isinstance(got, ConfigError):
            raise Difference(f"expected {_named(want)}\ngot      {_named(got)}")
        return "refused"
    try:
        if family.bounded and isinstance(case.steps[0], Ordered):
            rest = _tried(
                agreement.interpreted, *given, **options | {"max_iter": None, "until": None}
            )
            _compare_on_the_way(got, rest, state.fields["b"])
        else:
            agreement.compare(got, want, steps=family.name not in ("fixpoint", "ordered"))
    except AssertionError as error:
        raise Difference(str(error).strip() or _outcomes(got, want)) from None
    if case.limit is not None and got.converged and not got.scalars["total"] > case.limit:
        raise Difference(f"converged, but `until` does not hold: total = {got.scalars['total']}")
    return verdict


def _compare_on_the_way(got: Any, rest: Any, start: Any) -> None:
    """Rule 11: a bounded run in order is somewhere between its start and the fixpoint."""
    lowest, value = rest.state.fields["b"], got.fields["b"]
    if not got.frontier:  # nothing is left to do
        for name, array in got.fields.items():
            agreement.assert_bits_equal(array, rest.state.fields[name], name)
    assert np.all(value >= lowest), "b fell below its fixpoint"
    assert np.all(value <= np.asarray(start)), "b rose"


def _outcomes(got: Any, want: Any) -> str:
    outcome = want.outcome
    return (
        f"expected frontier {want.frontier}, {outcome.steps} steps, converged={outcome.converged}, "
        f"trail {[part.tolist() for part in outcome.trail]}\n"
        f"got      frontier {got.frontier}, {got.steps} steps, converged={got.converged}, "
        f"trail {[part.tolist() for part in got.trail]}"
    )


def _named(result: Any) -> str:
    return repr(result) if isinstance(result, Exception) else "a result"


def _tried(function: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return function(*arguments, **options)
    except WeftError as error:
        return error


@weft.vertex
def jump(v):
    """Point to the target of the own target, read live."""
    v.to = v.to.at(v.to).load()


def _run_jumps(family: Family, rng: Rng, device: str) -> str:
    """Follow pointers to the roots of a forest: the fixpoint does not depend on the order."""
    n = int(rng.integers(1, 70))
    order = rng.permutation(n).tolist()  # a vertex may point to those before it
    to, roots = [0] * n, [0] * n
    for k, v in enumerate(order):
        to[v] = order[int(rng.integers(0, k + 1))]
        roots[v] = v if to[v] == v else roots[to[v]]
    g = weft.Graph.from_edges([], [], num_vertices=n).to(device)
    state = g.state(to=np.array(to, np.int64 if family.wide else np.int32))
    config = with_threads(pick(rng, family.configs), rng)
    text = f"jumps over {to}\n{config.given()}"
    try:
        done = g.iterate(jump, state, config=config)
    except ConfigError:
        return "refused"
    got = np.asarray(state.fields["to"]).tolist()
    if got != roots or not done.converged:
        raise Difference(
            f"{text}\nexpected {roots}\ngot      {got}, converged={done.converged}, {done.steps}"
        )
    return "ok"
