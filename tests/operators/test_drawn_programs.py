"""Programs of drawn operators leave the same behind in a recording and one by one."""

import contextlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from operator_cases import LISTS
from weft.operators import advance, compute, filter, neighbor_reduce


def relax(u, v, e):
    return v.x.min(u.x + e.weight)


def count_even(u, v, e):
    v.n += 1
    return (u.id + v.id) % 2 == 0


def two(u, v, e):
    v.n += 1
    v.y.max(u.y)
    return u.x < v.x


def larger(u, v, e):
    return v.x > u.y


def few(u, v, e):
    return v.y < 3


def both(u, v, e):
    return (v.x < 4) & (u.id != v.id)


def add(u, v, e):
    v.n += u.x


def at_once(u, v, e):
    v.n.at(v.id).add(1)


def thirds(v):
    return v.x % 3 != 0


def grow(v):
    v.y = v.y + 1
    return v.n < 50


def sums(v):
    v.y = v.x + v.n


def bump(v):
    v.n = v.n + 1


def far_x(u, v, e):
    return v.x


def far_n(u, v, e):
    return v.n + e.weight


def once_more(v):
    v.left = v.left - 1
    return v.left > 0


def an_advance(function, **options):
    if isinstance(function, tuple):
        cond, apply = function
        return lambda g, f, s: advance(g, f, None, s, cond=cond, apply=apply, **options)
    return lambda g, f, s: advance(g, f, function, s, **options)


def a_reduction(message, monoid, into, output, along):
    return lambda g, f, s: neighbor_reduce(
        g, f, message, monoid, s, into=into, output=output, along=along
    )


FUNCTIONS = [relax, count_even, two, larger, (few, add), (both, add), (few, at_once)]
ADVANCES = st.builds(
    an_advance, st.sampled_from([*FUNCTIONS, (both, at_once)]), along=st.sampled_from(["out", "in"])
)
SILENT = st.builds(an_advance, st.sampled_from([relax, (few, at_once)]), output=st.none())
FILTERS = st.sampled_from([thirds, grow]).map(lambda fn: lambda g, f, s: filter(g, f, fn, s))
COMPUTES = st.sampled_from([sums, bump]).map(lambda fn: lambda g, f, s: compute(g, f, fn, s))
REDUCTIONS = st.builds(
    a_reduction,
    st.sampled_from([far_x, far_n]),
    st.sampled_from([weft.sum, weft.max]),
    st.sampled_from(["x", "n"]),
    st.sampled_from(["rows", "neighbors", None]),
    st.sampled_from(["out", "in"]),
)
# Whether a call is at all vertices, and whether the next one takes what it returns.
CALLS = st.tuples(
    st.one_of(ADVANCES, SILENT, FILTERS, COMPUTES, REDUCTIONS),
    st.booleans(),
    st.sampled_from([True, True, False]),
)


def passed(g, state, frontier, calls):
    for call, everywhere, goes_on in calls:
        found = call(g, None if everywhere else frontier, state)
        frontier = found if goes_on else frontier
    return frontier


def run(g, members, calls, loop, recorded):
    n = np.arange(g.num_vertices)
    state = g.state(x=n * 5 % 7, y=n * 3 % 5, n=weft.full(0), left=weft.full(4))
    frontier = g.frontier(members)
    with recorded:
        if loop == "while":
            while frontier:
                frontier = filter(g, passed(g, state, frontier, calls), once_more, state)
        for _ in range({"range": 4, "line": 1}.get(loop, 0)):
            frontier = passed(g, state, frontier, calls)
    fields = [array.tolist() for array in state.fields.values()]
    return frontier.tolist(), frontier.iteration, fields


@settings(max_examples=100, deadline=None)
@given(
    edges=LISTS,
    data=st.data(),
    calls=st.lists(CALLS, min_size=1, max_size=4),
    loop=st.sampled_from(["while", "range", "line"]),
)
def test_recorded_and_one_by_one(edges, data, calls, loop):
    g = edges.build().to("reference")
    members = data.draw(st.lists(st.integers(0, g.num_vertices - 1), max_size=5))
    one_by_one = run(g, members, calls, loop, contextlib.nullcontext())
    assert run(g, members, calls, loop, weft.capture()) == one_by_one
