"""Common neighbours of rows of two named graphs, against products of matrices by SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, edge_lists
from weft.errors import FaultError, GraphError, TraceError


def times(w, ea, eb):
    return ea.weight * eb.weight, 1


@weft.edge
def masked(u, v, e):
    e.total, e.count = weft.common(u, v, times, (weft.sum, weft.sum), left="a", right="b")


@weft.edge
def half_masked(u, v, e):
    e.total, e.count = weft.common(u, v, times, (weft.sum, weft.sum), right="b")
    e.total = e.total * u.scale


@weft.edge
def shared(u, v, e):
    weft.common(u, v, lambda w: weft.emit(u.id, v.id, w.id), left="a", right="b")


@weft.vertex(on="all")
def squares(v, factor):
    """The sum over the squares of what a row has in common in two graphs."""
    v.total = factor * weft.common(v, v, lambda w, ea, eb: ea.weight * w.scale, weft.sum, right="b")
    weft.reduce("all_of_it", v.total, weft.sum)


@weft.edge(into="total", reduce=weft.sum)
def send(u, v, e):
    return e.weight * weft.common(u, v, lambda w: 1, weft.sum, left="a", right="b")


def matrix_of(g):
    """Return the weights by row and column: of parallel edges that of the first one."""
    out = g.topology.adjacency("out")
    offsets, targets = np.asarray(out.offsets), np.asarray(out.targets)
    n, rows = g.num_vertices, np.repeat(np.arange(g.num_vertices), np.diff(offsets))
    weights = g.edge.in_slots("weight", "out") if "weight" in g.edge else np.ones(len(targets))
    _, first = np.unique(rows * (n + 1) + targets, return_index=True)
    cells = np.asarray(weights, np.float64)[first], (rows[first], targets[first])
    return sp.csr_matrix(cells, shape=(n, n)), rows, targets, np.asarray(weights, np.float64)


def structure(matrix):
    ones = matrix.copy()
    ones.data[:] = 1
    return ones


def check(g, a, b, device="cpu"):
    (one, rows, targets, weights), (two, *_), (three, *_) = map(matrix_of, (g, a, b))
    g, a, b = (x.to(device) for x in (g, a, b))
    graphs = {"a": a, "b": b}
    n, scale = g.num_vertices, np.arange(g.num_vertices) + 1.0
    product, count = (two @ three.T).toarray(), (structure(two) @ structure(three).T).toarray()
    found = g.edge_state(total=weft.full(0.0), count=weft.full(0))
    g.run(masked, g.state(), edge_state=found, graphs=graphs)
    np.testing.assert_allclose(found.total, product[rows, targets])
    np.testing.assert_array_equal(found.count, count[rows, targets])
    some = np.arange(0, len(rows), 2)
    found = g.edge_state(total=weft.full(-1.0), count=weft.full(-1))
    g.run(half_masked, g.state(scale=scale), g.edge_frontier(some), edge_state=found, graphs=graphs)
    want = np.full(len(rows), -1.0)
    want[some] = ((one @ three.T).toarray()[rows, targets] * scale[rows])[some]
    np.testing.assert_allclose(found.total, want)
    state = g.state(scale=scale, total=weft.full(0.0), factor=weft.scalar(2.0),
                    all_of_it=weft.scalar(0.0))  # fmt: skip
    g.run(squares, state, [0], graphs=graphs)
    both = one.multiply(structure(three))
    np.testing.assert_allclose(state.total, 2 * (both @ scale))
    np.testing.assert_allclose(state.all_of_it, 2 * (both @ scale).sum())
    state = g.state(total=weft.full(0.0))
    g.run(send, state, graphs=graphs)
    np.testing.assert_allclose(state.total, np.bincount(targets, weights * count[rows, targets], n))
    ends = np.array([(u, v) for u in range(n) for v in range(n)]).reshape(-1, 2).T
    pairs = g.pairs(*ends)
    found = pairs.state(total=weft.full(0.0), count=weft.full(0))
    g.run(masked, g.state(), pairs, edge_state=found, graphs=graphs)
    np.testing.assert_allclose(found.total, product.ravel())
    emitted = g.emit(shared, None, pairs, graphs=graphs)
    assert len(emitted[0]) == count.sum()
    for u, v, w in zip(*emitted, strict=True):
        assert structure(two)[u, w] and structure(three)[v, w]


@given(data=st.data(), directed=st.booleans())
@settings(max_examples=12, derandomize=True, deadline=None)
def test_rows_of_three_graphs(data, directed):
    sides = ((directed, "int"), (True, None), (not directed, "float"))
    drawn = (
        edge_lists(directed=side, weights=weights, min_vertices=5, max_vertices=5)
        for side, weights in sides
    )
    check(*(data.draw(part).build() for part in drawn))


@pytest.mark.parametrize("device", ["cpu", "reference", "emulated"])
@pytest.mark.parametrize("name", ["parallel edges", "self-loops undirected", "one vertex"])
def test_awkward_graphs(name, device):
    g = AWKWARD[name]()
    n = g.num_vertices
    check(g, weft.generators.path(n, directed=False), g, device)
    check(weft.generators.star(n), g, weft.Graph.from_edges([], [], num_vertices=n), device)


def test_a_loop_and_the_graph_kept_between_runs():
    g, other = weft.generators.cycle(6), weft.generators.complete(6)
    module = weft.graph.other_rows
    rows = module.Rows(g, {"k": other})
    assert rows.stacked() is rows.stacked()
    other.edge["weight"] = np.arange(other.num_edges)
    first = rows.stacked()
    assert "weight" in first.edge

    @weft.vertex(on="all")
    def grow(v):
        v.size = v.size + weft.common(v, v, lambda w: 1, weft.sum, right="k")
        weft.reduce("most", v.size, weft.max)

    state = g.state(size=weft.full(0), most=weft.scalar(0))
    run = g.iterate(grow, state, until=lambda most: most >= 6, graphs={"k": other})
    assert (run.steps, state.size.tolist()) == (3, [6] * 6)


def test_what_cannot_be_named():
    g = weft.generators.path(3)

    def counted(left, x=lambda v: v, more=lambda v: 0):
        @weft.vertex
        def count(v):
            v.n = weft.common(x(v), v, lambda w: 1, weft.sum, left=left) + more(v)

        return count

    def run(function, other=g):
        g.run(function, g.state(n=weft.full(0)), graphs={"a b": other})

    run(counted("a b"))
    run(counted("a b", lambda v: v.id))
    with pytest.raises(TraceError, match=r"graph 'b', which is not given\. Pass it"):
        run(counted("b"))
    with pytest.raises(TraceError, match=r"'a b', which is not given"):
        g.run(counted("a b"), g.state(n=weft.full(0)))
    with pytest.raises(TraceError, match=r"takes the name of a graph, but got Graph"):
        run(counted(g))
    with pytest.raises(TraceError, match=r"uses 'neighbor', which belongs to one graph alone"):
        run(counted("a b", more=lambda v: weft.neighbor(v.id, 0)))
    with pytest.raises(TraceError, match=r"uses 'num_vertices', which"):
        run(counted("a b", more=lambda v: weft.num_vertices()))
    with pytest.raises(TraceError, match=r"gathers of in-edges"):
        run(counted("a b", more=lambda v: v.gather(lambda u, e: 1, weft.sum)))
    for x in (lambda v: v.id + 1, lambda v: v.id - 1):
        with pytest.raises(FaultError):
            run(counted("a b", x))
    with pytest.raises(GraphError, match=r"Expected the same vertices"):
        run(counted("a b"), weft.generators.path(4))
