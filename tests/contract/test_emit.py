"""Records of unknown number: every device, the interpreter and plain Python."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array

import weft
from graphs import AWKWARD, edge_lists
from weft.errors import TraceError

DEVICES = ["reference", "cpu", "emulated"]
devices = pytest.mark.parametrize("device", DEVICES[1:])


@weft.edge
def triangles(u, v, e):
    def found(w, ea, eb):
        rising = (u.id < v.id) & (v.id < w.id)
        weft.emit(u.id, v.id, w.id, e.w + ea.w + eb.w, when=rising)

    weft.common(u, v, found)


@weft.edge
def plain(u, v, e):
    weft.common(u, v, lambda w: weft.emit(7, w.id - u.id, u.id * v.id, when=w.id % 2 == 0))


@weft.vertex
def listed(v, least):
    weft.emit(v.id, -1, v.x > 1.0, when=v.id % 2 == 0)
    weft.for_range(0, v.out_degree, lambda i: weft.emit(v.id, i, True, when=v.x >= least))


@weft.vertex
def products(v):
    rows = v.gather_by(
        lambda u, e, w, f: w.id, lambda u, e, w, f: e.w * f.w, weft.sum, direction="out"
    )
    rows.each(lambda key, value: weft.emit(v.id, key, value))


@weft.edge
def crossing(u, v, e):
    weft.emit(u.id, v.id, weft.cast(e.w, weft.float32), when=u.side != v.side)


def weighted(g):
    g.edge["w"] = (np.arange(g.num_edges) * 5 % 13 - 6) / 4
    return g


def on_all(g, function, fields, *, frontier=None, config=None, devices=("reference", "cpu")):
    """Return the records, the same on several devices."""
    want = None
    for name in devices:
        h = weighted(g.to(name))
        arcs = frontier() if callable(frontier) else frontier
        got = [np.asarray(x) for x in h.emit(function, h.state(**fields), arcs, config=config)]
        want = want or got
        for ours, theirs in zip(got, want, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
    return want


def common_of(g):
    """Yield both ends of every arc and each neighbor that their rows have in common."""
    sources, targets = (np.asarray(x).tolist() for x in g.topology.endpoints())
    rows = [set() for _ in range(g.num_vertices)]
    for u, v in zip(sources, targets, strict=True):
        rows[u].add(v)
    for u, v in zip(sources, targets, strict=True):
        for w in sorted(rows[u] & rows[v]):
            yield u, v, w


def triangles_of(g):
    return [(u, v, w) for u, v, w in common_of(g) if u < v < w]


def even_neighbors_of(g):
    return [(7, w - u, u * v) for u, v, w in common_of(g) if w % 2 == 0]


def check(g, devices=("reference", "cpu")):
    a, b, c, _ = on_all(g, triangles, {}, devices=devices)
    assert list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)) == triangles_of(g)
    parts = on_all(g, plain, {}, devices=devices)
    assert list(zip(*(part.tolist() for part in parts), strict=True)) == even_neighbors_of(g)
    x = np.arange(g.num_vertices) % 5 / 2
    who, which, large = on_all(g, listed, {"x": x, "least": weft.scalar(0.5)}, devices=devices)
    degrees = np.asarray(g.out_degree).tolist()
    want = []
    for v, degree in enumerate(degrees):
        want += [(v, -1, x[v] > 1)] if v % 2 == 0 else []
        want += [(v, i, True) for i in range(degree)] if x[v] >= 0.5 else []
    assert list(zip(who.tolist(), which.tolist(), large.tolist(), strict=True)) == want


@pytest.mark.parametrize("name", [n for n in AWKWARD if not n.startswith("weights")])
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    check(g, devices=("reference", "cpu") if g.num_edges < 300 else ("cpu",))


@settings(max_examples=30, deadline=None)
@given(edge_lists(weights=None))
def test_drawn_graphs(edges):
    check(edges.build())


@pytest.mark.parametrize(
    "name", ["empty", "self-loops", "parallel edges undirected", "two cliques"]
)
def test_emulated(name):
    check(AWKWARD[name](), devices=("reference", "emulated"))


@pytest.mark.parametrize("reorder", [None, "degree"])
def test_rows_with_hubs(reorder):
    """Long rows are searched, or compared as bits; both end with the last record of an arc."""
    g = weft.generators.rmat(9, 24, seed=2)
    parts = on_all(g, plain, {}, config=weft.Config(reorder=reorder), devices=("cpu",))
    assert list(zip(*(part.tolist() for part in parts), strict=True)) == even_neighbors_of(g)


@devices
def test_products_of_sparse_matrices(device):
    g = weighted(weft.generators.rmat(5, 5, seed=4, directed=True))
    row, column, value = on_all(g, products, {}, devices=("reference", device))
    ends = [np.asarray(x) for x in g.topology.endpoints()]
    matrix = csr_array((np.asarray(g.edge["w"]), ends), (g.num_vertices,) * 2)
    dense = np.zeros((g.num_vertices,) * 2)
    dense[row, column] = value
    np.testing.assert_array_equal(dense, (matrix @ matrix).toarray())
    keys = list(zip(row.tolist(), column.tolist(), strict=True))
    assert keys == sorted(set(keys))


@devices
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_the_order_is_that_of_arcs_whatever_the_configuration(device, direction):
    g = weft.generators.rmat(6, 4, seed=1)
    fields = {"side": np.arange(g.num_vertices) // 7 % 2}
    configs = [weft.Config(direction=direction), weft.Config(reorder="random")]
    some = [1, 4, 5, 17, 30]
    found = [
        on_all(g, crossing, fields, frontier=some, config=c, devices=("reference", device))
        for c in configs
    ]
    for one, other in itertools.pairwise(found):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    sources, targets = (np.asarray(x) for x in g.topology.endpoints())
    side = fields["side"]
    kept = np.isin(sources, some) & (side[sources] != side[targets])
    np.testing.assert_array_equal(found[0][0], sources[kept])
    np.testing.assert_array_equal(found[0][1], targets[kept])


def test_arcs_of_a_frontier():
    g = weighted(weft.generators.rmat(5, 4, seed=2, directed=True))
    arcs = [0, 3, 5, 20]
    state = g.state(side=np.arange(g.num_vertices) % 2)
    a, b, _ = g.emit(crossing, state, g.edge_frontier(arcs))
    sources, targets = (np.asarray(x)[arcs] for x in g.topology.endpoints())
    kept = sources % 2 != targets % 2
    assert a.tolist() == sources[kept].tolist() and b.tolist() == targets[kept].tolist()


def test_misuse_says_what_to_do():
    g = weft.generators.path(3)
    state = g.state(x=weft.full(0.5))

    @weft.vertex
    def stores(v):
        v.x = 1.0
        weft.emit(v.id)

    @weft.vertex
    def gathers(v):
        v.gather(lambda u, e: weft.emit(u.id), weft.sum)

    @weft.vertex
    def uneven(v):
        weft.emit(v.id)
        weft.emit(v.id, 2)

    @weft.vertex
    def silent(v):
        v.x = 2.0

    for function, message in (
        (stores, "runs twice"), (gathers, "cannot stand inside the function of a gather"),
        (uneven, "2 parts, but 1 before"), (silent, "calls weft.emit"),
    ):  # fmt: skip
        with pytest.raises(TraceError, match=message):
            g.emit(function, state)
    with pytest.raises(TraceError, match=r"g\.emit"):
        g.run(listed, g.state(x=weft.full(0.0), least=weft.scalar(0.0)))
