"""Random programs on random multigraphs: the generated CUDA does what the interpreter does.

Every program runs under a drawn configuration. What is drawn is the same in every run of the tests;
`--hypothesis-seed`, and more examples by WEFT_EXAMPLES=100, find more.
"""

import os
import random

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from oracle import assert_same, run_interpreted, run_on
from programs import Case, cases, edge_specs, fixpoints, graphs, vertex_specs
from weft.backends.cuda.backend import BACKEND
from weft.errors import ConfigError
from weft.formats import formats
from weft.schedules import schedules

MORE = int(os.environ.get("WEFT_EXAMPLES", "0"))
LITTLE = {"max_examples": MORE or 3, "derandomize": not MORE}
if MORE:  # what fails is small as it is, and costs a compilation each time
    LITTLE["phases"] = [Phase.generate]

DRAWN = {
    "direction": ["push", "pull", "auto", "beamer"],
    "schedule": [None, *schedules()],
    # Few arcs of random graphs lie on diagonals that pay: dia would be refused.
    "format": ["dia(fill=0)" if name == "dia" else name for name in sorted(formats())],
    "deterministic": [False, False, False, True],
    "fuse": ["all", "all", "direction", "none"],
    "frontier_in": [None, "queue", "bitmap", "bytemap", "reverse_queue", "state"],
    "frontier_out": [None, "queue", "bitmap", "bytemap"],
    "compaction": ["online", "ballot", "batch", "atomic", "jit"],
    "dedup": ["exact", "none", "bitmask", "history", "warp"],
    "combine": ["atomic", "by_target", "radix"],
    "block_size": [32, 64, 96],
    "bin_size": [1, 64],
    "width": ["auto", "block", "grid"],
    # Where rows go to warps, blocks and all blocks: so low that small graphs have some of each.
    "warp_degree": [2, 32],
    "block_degree": [3, 1024],
    "grid_degree": [5, 1 << 16],
}


@st.composite
def configurations(draw):
    """Draw a value for each choice."""
    return {name: draw(st.sampled_from(values)) for name, values in DRAWN.items()}


def check(case: Case, options: dict, *, same_steps: bool = True, index=None, **more) -> None:
    """Run a case in the emulation and on the interpreter."""
    arguments = {"mode": case.mode, **case.options(), **more}
    frontier = arguments.pop("frontier", case.frontier)
    graph, functions, state = case.graph(index_dtype=index), case.functions(), case.state()
    want = run_interpreted(graph, functions, state, frontier, **arguments)
    chosen = dict(options)
    given = (graph.to("emulated"), functions, state, frontier)
    try:
        got = run_on(BACKEND, *given, options=chosen, **arguments)
    except ConfigError:  # the direction, or sorting, is not possible for one of the steps
        chosen |= {"direction": "auto", "combine": "atomic"}
        got = run_on(BACKEND, *given, options=chosen, **arguments)
    got.outcome.frontier = np.sort(got.outcome.frontier)
    if not same_steps:
        got.outcome.steps = want.outcome.steps
    assert_same(want, got)


INDEX = st.sampled_from([None, None, np.int64])


@given(case=cases(), options=configurations(), index=INDEX)
@settings(**LITTLE)
def test_bounded_programs_agree(case, options, index):
    check(case, options, index=index)


@given(case=fixpoints(), options=configurations(), index=INDEX)
@settings(**LITTLE)
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
@settings(**LITTLE)
def test_frontiers_of_arcs_agree(drawn, options):
    case, arcs = drawn
    check(case, options, frontier=arcs, arcs=True)


@given(case=cases(), filler=vertex_specs(), options=configurations())
@settings(**LITTLE)
def test_programs_with_a_refill_and_a_trail_agree(case, filler, options):
    if case.mode == "run":
        case = Case(**{**vars(case), "mode": "iterate", "max_iter": 3})
    check(case, options, refill=[filler.make()], trail=True)


@given(case=cases(), options=configurations(), seed=st.integers(0, 99))
@settings(**LITTLE)
def test_replayed_programs_agree(case, options, seed):
    rng = random.Random(seed)
    everyone = range(case.num_vertices)
    trail = [
        np.array(sorted(rng.sample(everyone, rng.randint(0, case.num_vertices))), np.int64)
        for _ in range(3)
    ]
    case = Case(**{**vars(case), "mode": "run", "max_iter": None, "limit": None})
    check(case, options, replay=trail)
