"""Random programs on random multigraphs: the CPU backend does what the interpreter does.

Every program runs with one, two and three threads under a drawn direction and schedule. What is
drawn is the same in every run of the tests; `--hypothesis-seed` and more examples find more.
"""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import assert_same, run_interpreted, run_on
from programs import Case, cases, edge_specs, fixpoints, graphs, vertex_specs
from weft.backends.cpu.backend import BACKEND
from weft.errors import ConfigError

SCHEDULES = ("vertex", "edge", "merge", "weaver")
THREADS = (1, 2, 3)


@st.composite
def configurations(draw):
    """Draw a direction, a schedule, how messages meet, and whether to be deterministic and fold."""
    return {
        "direction": draw(st.sampled_from(["push", "pull", "auto"])),
        "schedule": draw(st.sampled_from(SCHEDULES)),
        "combine": draw(st.sampled_from([None, "radix"])),
        "deterministic": draw(st.integers(0, 3)) == 0,
        "fold": draw(st.integers(0, 3)) > 0,
    }


def check(case: Case, options: dict, *, same_steps: bool = True, index=None, **more) -> None:
    """Run a case on the backend and on the interpreter, in order and shuffled."""
    arguments = {"mode": case.mode, **case.options(), **more}
    frontier = arguments.pop("frontier", case.frontier)
    given = (case.graph(index_dtype=index), case.functions(), case.state(), frontier)
    want = run_interpreted(*given, **arguments)
    shuffled = run_interpreted(*given, shuffle=case.seed, **arguments)
    assert_same(want, shuffled, steps=same_steps)
    for threads in THREADS:
        chosen = {**options, "threads": threads}
        try:
            got = run_on(BACKEND, *given, options=chosen, **arguments)
        except ConfigError:  # the direction, or sorting, is not possible for one of the steps
            chosen |= {"direction": "auto", "combine": None}
            got = run_on(BACKEND, *given, options=chosen, **arguments)
        if not same_steps:
            got.outcome.steps = want.outcome.steps
        try:
            assert_same(want, got)
        except AssertionError as error:
            raise AssertionError(f"{chosen}: {error}") from None


INDEX = st.sampled_from([None, None, np.int64])


@given(case=cases(), options=configurations(), index=INDEX)
@settings(max_examples=7, derandomize=True)
def test_bounded_programs_agree(case, options, index):
    check(case, options, index=index)


@given(case=fixpoints(), options=configurations(), index=INDEX)
@settings(max_examples=6, derandomize=True)
def test_programs_that_run_to_a_fixpoint_agree(case, options, index):
    check(case, options, same_steps=False, index=index)


@st.composite
def arc_cases(draw):
    """Draw a program that begins with an edge function, and arcs to begin with."""
    steps = [
        draw(edge_specs()),
        *draw(st.lists(st.one_of(edge_specs(), vertex_specs()), max_size=1)),
    ]
    case = Case(**draw(graphs()), steps=tuple(steps), max_iter=draw(st.sampled_from([1, 2, 3])))
    count = case.graph().topology.num_arcs
    arcs = sorted(draw(st.sets(st.integers(0, max(count - 1, 0)), max_size=count)))
    return case, arcs if count else []


@given(drawn=arc_cases(), options=configurations())
@settings(max_examples=3, derandomize=True)
def test_frontiers_of_arcs_agree(drawn, options):
    case, arcs = drawn
    check(case, options, frontier=arcs, arcs=True)


@given(case=cases(), filler=vertex_specs(), options=configurations())
@settings(max_examples=3, derandomize=True)
def test_programs_with_a_refill_and_a_trail_agree(case, filler, options):
    if case.mode == "run":
        case = Case(**{**vars(case), "mode": "iterate", "max_iter": 3})
    check(case, options, refill=[filler.make()], trail=True)


@given(case=cases(), options=configurations(), seed=st.integers(0, 99))
@settings(max_examples=3, derandomize=True)
def test_replayed_programs_agree(case, options, seed):
    rng = random.Random(seed)
    everyone = range(case.num_vertices)
    trail = [
        np.array(sorted(rng.sample(everyone, rng.randint(0, case.num_vertices))), np.int64)
        for _ in range(3)
    ]
    case = Case(**{**vars(case), "mode": "run", "max_iter": None, "limit": None})
    check(case, options, replay=trail)
