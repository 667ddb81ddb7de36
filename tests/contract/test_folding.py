"""Folded and unfolded runs: vertex functions one after another at each vertex, or step by step."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from agreement import placed
from graphs import edge_lists
from oracle import run_interpreted


@weft.vertex
def collect(v):
    v.near = v.gather(lambda u, e: u.x, weft.sum) % 7 + v.old.x + v.in_degree
    v.x = v.x + v.near


@weft.vertex
def halve(v):
    v.pair = weft.stack([v.x // 2, v.near])
    v.x = v.x // 2
    weft.reduce("most", v.x, weft.max)


@weft.vertex(active=lambda v, old: v.x % 2 == v.in_degree - old.in_degree + 1)
def odd_alone(v):
    v.count = v.count + v.pair[0]


@weft.vertex
def look_round(v, most):
    v.seen = v.gather(lambda u, e: u.x + u.count, weft.max) + most
    v.x = v.x + 1


@weft.edge(into="x", reduce=weft.sum)
def send(u, v, e):
    return u.x % 5


# The last function of each list is not joined: it reads what others of them wrote elsewhere.
PROGRAMS = {
    "list": [collect, halve, odd_alone, look_round],
    "fold of edges": [weft.fold(send, odd_alone, look_round), halve],
    # What comes before a fold is over when it begins, though its first function could be joined.
    "fold after another": [collect, weft.fold(halve, look_round), odd_alone],
}


@given(
    drawn=edge_lists(directed=True, weights=None, min_vertices=1),
    seed=st.integers(0, 999),
    steps=st.integers(1, 3),
)
@settings(max_examples=6, derandomize=True)
def test_folded_and_unfolded_runs_are_equal(drawn, seed, steps):
    g = drawn.build(keep="both")
    n, rng = g.num_vertices, np.random.default_rng(seed)
    first = {name: rng.integers(-9, 40, n) for name in ("x", "near", "count", "seen")}
    first |= {"pair": rng.integers(0, 9, (n, 2)), "most": weft.scalar(0)}
    frontier = np.flatnonzero(rng.random(n) < 0.7)
    for name, functions in PROGRAMS.items():
        want = run_interpreted(
            g, functions, g.state(**first), frontier, mode="iterate", max_iter=steps
        )
        for fold in (True, False):
            state = placed(g).state(**first)
            config = weft.Config(fold=fold)
            run = placed(g).iterate(functions, state, frontier, max_iter=steps, config=config)
            for field, values in want.state.fields.items():
                if not field.startswith("old."):
                    got = getattr(state, field)
                    np.testing.assert_array_equal(got, values, f"{name}, {field}, {fold}")
            assert state.most == want.state.scalars["most"][0]
            assert run.frontier.tolist() == want.frontier


def test_what_is_folded_is_shown():
    g = weft.generators.path(4)
    state = g.state(**dict.fromkeys(("x", "near", "count", "seen"), weft.full(0)),
                    pair=np.zeros((4, 2), int), most=weft.scalar(0))  # fmt: skip

    def sweeps(name, **given):
        told = weft.explain(PROGRAMS[name], g, state, config=weft.Config(**given))
        return [sweep.functions for sweep in told.sweeps], "step_folding" in told.passes

    names = ("collect", "halve", "odd_alone", "look_round")
    assert sweeps("list") == ([names[:3], names[3:]], True)
    assert sweeps("list", fold=False) == ([(name,) for name in names], False)
    assert sweeps("list", passes_off="step_folding") == sweeps("list", fold=False)
    fold = "fold of edges"
    assert sweeps(fold) == ([("send",), names[2:], ("halve",)], False)
    assert sweeps(fold, fold=False) == ([("send",), names[2:3], names[3:], ("halve",)], False)
