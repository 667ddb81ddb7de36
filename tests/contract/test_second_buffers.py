"""Messages and fields that wait in a second buffer: nothing stale ever comes back from there."""

import numpy as np
import pytest

import weft
from agreement import placed
from oracle import run_interpreted

G = weft.generators.rmat(6, 4, seed=1, directed=True, weights="int")
N = G.num_vertices


@weft.edge(into="total", reduce=weft.sum, active=lambda v, old: v.id % 7 == 0)
def arrive(u, v, e):
    return u.x


@weft.vertex(on="all")
def halve(v):
    v.total = v.total // 2


@weft.vertex
def is_even(v):
    return v.x % 2 == 0


@weft.vertex
def blur(v):
    v.x = v.x + v.gather(lambda u, e: u.x, weft.min)


@weft.vertex(on="all")
def shrink(v):
    v.x = v.x // 3


@weft.vertex
def is_large(v):
    large = v.x > 20
    v.x = -v.x
    return large


@weft.vertex
def keep_old(v):
    v.total = v.old.x + v.gather(lambda u, e: u.old.x, weft.sum)
    v.x = v.x + 1


@weft.edge(into="total", reduce=weft.any)
def first_any(u, v, e):
    return v.x * 3


@weft.edge(into="x", reduce=weft.any, accept=lambda v: v.id % 3 == 0)
def second_any(u, v, e):
    return weft.send(v.x * 3 + v.total, when=u.id % 4 == 1)


@weft.edge(into="x", reduce=weft.sum)
def second_sum(u, v, e):
    return weft.send(v.x * 3 + u.total, when=u.id % 4 == 1)


@weft.edge
def only_odd(u, v, e):
    return v.id % 2 == 1


PROGRAMS = {
    "a pull, then a push": arrive,
    "a vertex function between two pushes": [arrive, halve, arrive],
    "a fold whose second function did not run": [weft.fold(is_even, blur), shrink],
    "a condition that reads what is assigned": weft.fold(is_large, blur),
    "old values that others read": [keep_old, shrink],
    "a fold of any and any": weft.fold(first_any, second_any),
    "a fold of sum and sum": weft.fold(arrive, second_sum),
    "a fold of two monoids into one field": weft.fold(second_sum, second_any),
    "a fold that ends without a message": weft.fold(second_sum, only_odd),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_second_buffers(name):
    functions = PROGRAMS[name]
    directions = (
        ["auto"] if isinstance(functions, weft.ir.trace.steps.Fold) else ["auto", "push", "pull"]
    )

    def make(g):
        return g.state(x=np.arange(N), total=np.ones(N, int))

    want = run_interpreted(G, functions, make(G), max_iter=4)
    g = placed(G)
    for direction in directions:
        state = make(g)
        run = g.iterate(functions, state, max_iter=4, direction=direction)
        np.testing.assert_array_equal(state.total, want.total)
        np.testing.assert_array_equal(state.x, want.x)
        assert run.frontier.tolist() == want.frontier


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_messages_that_change_nothing_bit_for_bit(direction):
    """The sum of -0.0 and -0.0 is -0.0; the minimum of NaN and NaN is NaN."""

    @weft.edge(into=("a", "b"), reduce=(weft.sum, weft.min))
    def send(u, v, e):
        return u.c, u.d + u.b * 0

    g = placed(weft.Graph.from_edges([0, 0, 1], [1, 2, 2]))
    state = g.state(a=np.full(3, -0.0), b=np.full(3, np.nan), c=np.full(3, -0.0), d=np.zeros(3))
    assert g.run(send, state, direction=direction).tolist() == []
    assert np.signbit(state.a).all() and np.isnan(state.b).all()
