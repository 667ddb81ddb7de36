"""Edge functions over given pairs of vertices: every device, the interpreter and sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, edge_lists
from weft.errors import FieldError, GraphError, TraceError


@weft.edge
def similar(u, v, e):
    shared = weft.common(u, v, lambda w: 1, weft.sum)
    e.shared = shared * e.scale
    weft.reduce("total", shared, weft.sum)


@weft.edge
def listed(u, v, e):
    weft.common(u, v, lambda w: weft.emit(u.id, v.id, w.id))


def rows_of(g):
    rows = [set() for _ in range(g.num_vertices)]
    for u, v in zip(*(np.asarray(x).tolist() for x in g.topology.endpoints()), strict=True):
        rows[u].add(v)
    return rows


def check(g, a, b, devices=("reference", "cpu")):
    rows = rows_of(g)
    both = [sorted(rows[u] & rows[v]) for u, v in zip(a, b, strict=True)]
    scale = np.arange(len(a)) % 3
    for name in devices:
        h = g.to(name)
        pairs = h.pairs(a, b)
        for deterministic in (False, True):
            state, found = (
                h.state(total=weft.scalar(0)),
                pairs.state(shared=weft.full(0), scale=scale),
            )
            config = weft.Config(deterministic=deterministic, threads=2)
            h.run(similar, state, pairs, edge_state=found, config=config)
            assert found.shared.tolist() == [len(w) * s for w, s in zip(both, scale, strict=True)]
            assert int(state.total) == sum(map(len, both))
        records = [np.asarray(x).tolist() for x in h.emit(listed, None, pairs)]
        want = [(u, v, w) for u, v, ws in zip(a, b, both, strict=True) for w in ws]
        assert list(zip(*records, strict=True)) == want


@pytest.mark.parametrize("name", [n for n in AWKWARD if not n.startswith(("weights", "empty"))])
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    ends = np.random.default_rng(3).integers(0, g.num_vertices, (2, 300)).tolist()
    check(g, *ends, devices=("cpu",))


@settings(max_examples=25, deadline=None)
@given(edge_lists(weights=None, min_vertices=1), st.data())
def test_drawn_graphs(edges, data):
    vertices = st.integers(0, edges.num_vertices - 1)
    pairs = data.draw(st.lists(st.tuples(vertices, vertices), max_size=20))
    a, b = [u for u, _ in pairs], [v for _, v in pairs]
    check(edges.build().reorder("random"), a, b)


def test_emulated():
    g = weft.generators.rmat(5, 5, seed=1)
    ends = np.random.default_rng(3).integers(0, g.num_vertices, (2, 700)).tolist()
    check(g, *ends, devices=("emulated",))
    check(g, [], [], devices=("emulated", "cpu"))


def test_what_a_pair_lacks_is_told():
    g = weft.generators.path(4, weights=(1, 2))
    pairs = g.pairs([0, 1], [2, 3])

    @weft.edge
    def weighs(u, v, e):
        e.x = e.weight

    @weft.edge(into="y", reduce=weft.sum)
    def sends(u, v, e):
        return 1

    with pytest.raises(TraceError, match=r"a pair is not an arc: e\.weight"):
        g.run(weighs, g.state(), pairs, edge_state=pairs.state(x=weft.full(0)))
    with pytest.raises(TraceError, match="one edge function without into="):
        g.run(sends, g.state(y=weft.full(0)), pairs)
    with pytest.raises(FieldError, match="has 6 rows, but this graph needs 2"):
        g.run(similar, g.state(), pairs, edge_state=g.edge_state(shared=weft.full(0)))
    with pytest.raises(GraphError, match="out of range"):
        g.pairs([0], [9])
    with pytest.raises(GraphError, match="another graph or version"):
        h = weft.generators.path(4)
        h.run(similar, h.state(total=weft.scalar(0)), pairs,
              edge_state=pairs.state(shared=weft.full(0), scale=weft.full(1)))  # fmt: skip
