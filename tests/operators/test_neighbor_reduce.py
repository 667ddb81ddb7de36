"""Neighbour reductions beside NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from operator_cases import AWKWARD, arcs_of, awkward, cases, passed
from weft.errors import ConfigError, TraceError
from weft.operators import neighbor_reduce

LONGEST = weft.monoid(lambda a, b: weft.where(abs(a) > abs(b), a, b), 0, name="longest")


def far(u, v, e):
    return v.x * e.weight - u.x


def both(u, v, e):
    return v.x, 1


def check(g, given_to, members, along="out"):
    src, dst, weight = arcs_of(g)
    if along == "in":
        src, dst = dst, src
    n = g.num_vertices
    x = np.arange(n) * 5 % 7 - 3
    message = x[dst] * weight - x[src]
    rows = {u: message[src == u] for u in sorted(set(members))}
    for monoid, combine, identity in (
        (weft.sum, np.sum, 10), (weft.min, np.min, 2), (weft.max, np.max, -1),
    ):  # fmt: skip
        state = g.state(x=x, r=weft.full(-5))
        found = neighbor_reduce(
            g, given_to, far, monoid, state, into="r", identity=identity, along=along
        )
        want = np.full(n, -5)
        for u, parts in rows.items():
            want[u] = combine([identity, *parts])
        assert state.r.tolist() == want.tolist()
        assert found.tolist() == np.flatnonzero(want != -5).tolist()
    state = g.state(x=x, r=weft.full(-5), n=weft.full(7))
    found = neighbor_reduce(
        g, given_to, both, (weft.sum, weft.sum), state, into=("r", "n"), output="neighbors",
        along=along,
    )  # fmt: skip
    on = np.isin(src, list(rows))
    assert found.tolist() == np.unique(dst[on]).tolist()
    assert [state.n[u] for u in rows] == [len(parts) for parts in rows.values()]
    assert [state.r[u] for u in rows] == [x[dst[src == u]].sum() for u in rows]
    empty = neighbor_reduce(g, given_to, far, weft.sum, state, into="r", output=None)
    assert len(empty) == 0


@settings(max_examples=25)
@given(cases(), st.sampled_from(["out", "in"]))
def test_reductions(case, along):
    edges, members, kind = case
    g = edges.build().to("reference")
    check(g, passed(g, members, kind), members, along)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = awkward(name).to("reference")
    check(g, None, range(g.num_vertices))


@pytest.mark.parametrize("device", [pytest.param("cpu", marks=pytest.mark.slow), "emulated"])
def test_compiled(device):
    g = weft.generators.rmat(5, 4, seed=4, weights="int", directed=True).to(device)
    src, dst, _ = arcs_of(g)
    state = g.state(x=np.arange(32), r=weft.full(-5), n=weft.full(7))
    found = neighbor_reduce(
        g, [1, 2, 3], both, (weft.sum, weft.sum), state, into=("r", "n"), output="neighbors"
    )
    on = np.isin(src, [1, 2, 3])
    assert found.tolist() == np.unique(dst[on]).tolist()
    assert state.n[[1, 2, 3]].tolist() == np.bincount(src, minlength=32)[[1, 2, 3]].tolist()


def test_own_monoids_and_selections():
    g = awkward("parallel").to("reference")
    state = g.state(x=[1, -9, 4, 0], r=weft.full(0), who=weft.full(-1))
    neighbor_reduce(g, [0, 1], lambda u, v, e: v.x, LONGEST, state, into="r", identity=5)
    assert state.r.tolist() == [-9, 5, 0, 0]
    neighbor_reduce(g, [1], lambda u, v, e: (v.x, v.id), weft.argmax, state, into=("r", "who"))
    assert state.r.tolist() == [-9, 4, 0, 0] and state.who[1] == 2
    sent = neighbor_reduce(
        g, [1], lambda u, v, e: weft.send(v.x, when=v.x < 2), weft.sum, state, into="r"
    )
    assert sent.tolist() == [1] and state.r[1] == 1


def test_misuse_is_told():
    g = awkward("parallel").to("reference")
    state = g.state(x=weft.full(0), r=weft.full(0))
    with pytest.raises(ConfigError, match="output='arcs' is not known"):
        neighbor_reduce(g, None, far, weft.sum, state, into="r", output="arcs")
    with pytest.raises(TraceError, match="takes vertices, but got Frontier"):
        neighbor_reduce(g, g.edge_frontier([0]), far, weft.sum, state, into="r")
    with pytest.raises(ConfigError, match="along='up' is not known"):
        neighbor_reduce(g, None, far, weft.sum, state, into="r", along="up")
    with pytest.raises(TraceError, match=r"identity= has no meaning for weft\.any"):
        neighbor_reduce(g, None, far, weft.any, state, into="r", identity=0)
    with pytest.raises(TraceError, match=r"returned 2 message\(s\) for into="):
        neighbor_reduce(g, None, both, weft.sum, state, into="r")
    with pytest.raises(TraceError, match=r"returned nothing. Expected a message"):
        neighbor_reduce(g, None, lambda u, v, e: None, weft.sum, state, into="r")
    with pytest.raises(TraceError, match="is not a monoid"):
        neighbor_reduce(g, None, far, "sum", state, into="r")
    for into in (None, 3, ["r", 4]):
        with pytest.raises(TraceError, match="Expected the name of a field"):
            neighbor_reduce(g, None, far, weft.sum, state, into=into)
