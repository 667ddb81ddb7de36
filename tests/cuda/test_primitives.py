"""Common neighbours with arcs, gathers by key, records, pairs, arc outputs and contraction."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import weft

pytestmark = pytest.mark.cuda


@weft.edge
def meet(u, v, e):
    e.product = weft.common(u, v, lambda w, ea, eb: ea.cost * eb.cost, weft.sum)
    e.least, e.over = weft.common(u, v, lambda w, ea, eb: (ea.cost + eb.cost, w.id), weft.argmin)


@weft.vertex
def vote(v):
    votes = v.gather_by(lambda u, e: u.label, lambda u, e: e.cost, weft.sum)
    v.chosen, v.weight = votes.argmax()
    v.kinds = votes.count()


@weft.edge
def triangles(u, v, e):
    weft.common(u, v, lambda w: weft.emit(u.id, v.id, w.id, when=(u.id < v.id) & (v.id < w.id)))


@weft.vertex
def square(v):
    row = v.gather_by(
        lambda u, e, w, f: w.id, lambda u, e, w, f: e.cost * f.cost, weft.sum, direction="out"
    )
    row.each(lambda key, value: weft.emit(v.id, key, value))


@weft.edge
def shared(u, v, e):
    e.count = weft.common(u, v, lambda w: 1, weft.sum)


@weft.edge
def rising(u, v, e):
    return u.id < v.id


@pytest.fixture(scope="module")
def graph(device, sized):
    """A simple graph with a hub, and its matrix of whole costs."""
    g = weft.generators.rmat(sized(12, 5), 8, seed=6)
    g.edge["cost"] = (np.arange(g.num_edges) * 7 % 9 - 2).astype(np.float64)
    ends = [np.asarray(x) for x in g.topology.endpoints()]
    cost = np.asarray(g.edge["cost"])[np.asarray(g.topology.edges("out"))]
    matrix = csr_array((cost, ends), (g.num_vertices,) * 2)
    return g.to(device), matrix, ends


def test_common_neighbours_with_both_arcs(graph, host):
    g, matrix, (sources, targets) = graph
    names = {"product": 0.0, "least": 0.0, "over": -1}
    found = g.edge_state(**{name: weft.full(value) for name, value in names.items()})
    g.run(meet, g.state(), edge_state=found, config=weft.Config(deterministic=True))
    square_ = (matrix @ matrix.T).tocsr()
    product = host(found.product)
    for arc in range(0, sources.size, max(1, sources.size // 500)):
        u, v = sources[arc], targets[arc]
        assert product[arc] == square_[u, v]
        rows = [matrix[[x]].tocoo() for x in (u, v)]
        near, far = (dict(zip(row.col.tolist(), row.data.tolist(), strict=True)) for row in rows)
        both = sorted((near[w] + far[w], w) for w in near.keys() & far.keys())
        assert (host(found.least)[arc], host(found.over)[arc]) == (both or [(np.inf, -1)])[0]


def test_votes_by_key(graph, host):
    g, matrix, _ = graph
    labels = np.arange(g.num_vertices) * 31 % 17 - 3
    state = g.state(label=labels, chosen=weft.full(0), weight=weft.full(0.0), kinds=weft.full(0))
    g.run(vote, state)
    chosen, kinds = host(state.chosen), host(state.kinds)
    for v in range(g.num_vertices):
        row = slice(matrix.indptr[v], matrix.indptr[v + 1])
        near = labels[matrix.indices[row]]
        totals = {k: matrix.data[row][near == k].sum() for k in np.unique(near).tolist()}
        assert kinds[v] == len(totals)
        assert chosen[v] == min(totals, key=lambda k: (-totals[k], k), default=-1)


def test_records_are_those_of_the_host(graph, host):
    g, matrix, _ = graph
    plain = g.to("cpu")
    for function in (triangles, square):
        for ours, theirs in zip(g.emit(function), plain.emit(function), strict=True):
            np.testing.assert_array_equal(host(ours), theirs)
    row, column, value = (host(part) for part in g.emit(square))
    dense = csr_array((value, (row, column)), matrix.shape)
    assert abs(dense - matrix @ matrix).max() == 0


def test_pairs_and_arcs(graph, host):
    g, matrix, (sources, targets) = graph
    a, b = np.random.default_rng(1).integers(0, g.num_vertices, (2, 5000))
    pairs = g.pairs(a, b)
    found = pairs.state(count=weft.full(0))
    g.run(shared, g.state(), pairs, edge_state=found)
    pattern = matrix.copy()
    pattern.data[:] = 1
    want = pattern[a].multiply(pattern[b]).sum(axis=1)
    np.testing.assert_array_equal(host(found.count), np.asarray(want).ravel())
    arcs = g.run(rising, g.state(), list(range(0, g.num_vertices, 3)), output="arcs")
    np.testing.assert_array_equal(
        arcs.tolist(), np.flatnonzero((sources % 3 == 0) & (sources < targets))
    )


def test_contraction(graph, host):
    g, _, _ = graph
    labels = np.arange(g.num_vertices) * 13 % 29
    for edge in (weft.sum, weft.min, weft.any):
        ours, theirs = (h.contract(labels, edge=edge) for h in (g, g.to("cpu")))
        for name in ("src", "dst"):
            np.testing.assert_array_equal(
                host(getattr(ours.to_edges(), name)), getattr(theirs.to_edges(), name)
            )
        np.testing.assert_array_equal(host(ours.edge["cost"]), theirs.edge["cost"])


@weft.vertex
def tally(v):
    found = v.gather_by(lambda u, e: u.label, lambda u, e: e.cost, weft.sum)
    v.kinds = found.count()
    v.chosen, v.weight = found.argmax()
    v.common = v.gather(lambda u, e: u.label, weft.mode)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("kinds", [3, 3000, 1 << 40])
def test_rows_of_every_length_by_key(device, host, sized, kinds, deterministic):
    """Rows for threads, warps and blocks, whose keys fit into shared memory or do not."""
    n = sized(150_000, 1500)
    lengths = [k for k in (5, 9, 100, 380, 390, 1500, 1600, 3100, 9000, n - 1) if k < n]
    rng = np.random.default_rng(kinds)
    rows = [np.full(k, v) for v, k in enumerate(lengths)]
    near = [rng.choice(n, k, replace=False) for k in lengths]
    g = weft.Graph.from_edges(
        np.concatenate(near), np.concatenate(rows), num_vertices=n, self_loops="keep"
    )
    g.edge["cost"] = rng.integers(-3, 9, g.num_edges).astype(np.float64)
    label = rng.integers(-1, min(kinds, n), n)
    state = g.to(device).state(
        label=label, kinds=weft.full(0), chosen=weft.full(0), weight=weft.full(0.0),
        common=weft.full(0),
    )  # fmt: skip
    g.to(device).run(tally, state, config=weft.Config(deterministic=deterministic))
    source, target = (np.asarray(x) for x in g.topology.edge_endpoints())
    for v in range(len(lengths)):
        row = target == v
        keys, place, counts = np.unique(label[source[row]], return_inverse=True, return_counts=True)
        totals = np.bincount(place, g.edge["cost"][row])
        assert host(state.kinds)[v] == keys.size
        assert host(state.chosen)[v] == keys[totals.argmax()]
        assert host(state.weight)[v] == totals.max()
        assert host(state.common)[v] == keys[counts.argmax()]


@weft.edge(into="total", reduce=weft.sum)
def send(u, v, e):
    return u.x * e.cost


@pytest.mark.parametrize("share", [0.001, 0.05, 1.0])
def test_sorted_pushes_have_the_same_bits_in_every_run(graph, host, share):
    g, matrix, _ = graph
    n, rng = g.num_vertices, np.random.default_rng(5)
    members = np.sort(rng.choice(n, max(1, int(n * share)), replace=False))
    x = rng.random(n)
    config = weft.Config(combine="radix", direction="push")
    found = []
    for _ in range(3):
        state = g.state(x=x, total=weft.full(0.0))
        g.run(send, state, g.frontier(members), config=config)
        found.append(host(state.total))
    chosen = np.zeros(n)
    chosen[members] = x[members]
    np.testing.assert_allclose(found[0], matrix.T @ chosen, rtol=1e-10, atol=1e-12)
    assert len({total.tobytes() for total in found}) == 1


def test_sorted_pushes_into_a_hub(device, host, sized):
    """One run of every arc, for a block, and one search by sorted keys."""
    n = sized(300_000, 3000)
    star = weft.generators.star(n, directed=True).reverse().to(device)
    state = star.state(x=np.arange(n) % 7, count=weft.full(0), total=weft.full(0))
    config = weft.Config(combine="radix", direction="push")
    star.run(weft.edge(lambda u, v, e: u.x, into="total", reduce=weft.sum), state, config=config)
    star.run(weft.edge(lambda u, v, e: 1, into="count", reduce=weft.sum), state, config=config)
    degree = np.asarray(host(star.in_degree))
    assert host(state.count).tolist() == degree.tolist()
    assert int(host(state.total)[degree.argmax()]) == int((np.arange(n) % 7)[degree == 0].sum())


def test_lists_of_what_messages_combine_to(graph, host):
    g, matrix, _ = graph
    n, rng = g.num_vertices, np.random.default_rng(6)
    state = g.state(x=rng.random(n), total=weft.full(3.0))
    for config in (None, weft.Config(combine="radix", direction="push")):
        for _ in range(2):
            members = np.sort(rng.choice(n, max(1, n // 50), replace=False))
            ids, total = (host(x) for x in g.collect(send, state, members, config=config))
            chosen = np.zeros(n)
            chosen[members] = host(state.x)[members]
            want = matrix.T @ chosen
            np.testing.assert_allclose(total, want[ids], rtol=1e-10, atol=1e-12)
            assert set(np.flatnonzero(want)) <= set(ids.tolist())
    assert (host(state.total) == 3).all()


def test_rows_of_two_graphs_and_functions_over_each(graph, host, device):
    g, matrix, _ = graph
    n = g.num_vertices
    both = g.stack(g.reverse() if g.directed else g)
    rng = np.random.default_rng(7)
    a, b = rng.integers(0, n, (2, 1000))
    pairs = both.pairs(a, n + b)
    found = pairs.state(product=weft.full(0.0), least=weft.full(0.0), over=weft.full(0))
    both.run(meet, both.state(), pairs, edge_state=found)
    other = matrix.T if g.directed else matrix
    want = np.asarray((matrix.tocsr()[a].multiply(other.tocsr()[b])).sum(axis=1)).ravel()
    np.testing.assert_array_equal(host(found.product), want)

    discover = weft.edge(
        lambda u, v, e: u.day + 1, into="day", reduce=weft.any, accept=lambda v: v.day < 0
    )
    again = weft.Graph(g.topology)
    day, days = (g.state(day=weft.full(-1).but(0, 0)) for _ in range(2))
    one = g.iterate([discover, discover], day, [0])
    steps = [discover, weft.over("again", discover)]
    two = g.iterate(steps, days, [0], graphs={"again": again})
    assert host(day.day).tolist() == host(days.day).tolist() and one.steps == two.steps


@weft.edge
def between(u, v, e):
    e.product = weft.common(
        u, v, lambda w, ea, eb: ea.cost * eb.cost, weft.sum, left="a", right="b"
    )


def test_rows_of_named_graphs(graph, host, device):
    g, matrix, _ = graph
    n = g.num_vertices
    other = g.reverse() if g.directed else g
    a, b = np.random.default_rng(7).integers(0, n, (2, 1000))
    pairs = g.pairs(a, b)
    found = pairs.state(product=weft.full(0.0))
    g.run(between, g.state(), pairs, edge_state=found, graphs={"a": g, "b": other})
    right = (matrix.T if g.directed else matrix).tocsr()
    want = np.asarray(matrix.tocsr()[a].multiply(right[b]).sum(axis=1)).ravel()
    np.testing.assert_array_equal(host(found.product), want)


@pytest.mark.parametrize("count", [0, 1, 1000, 1 << 19])
def test_unions_and_intersections(count, device, sized, host):
    count, rng = sized(count, 3000), np.random.default_rng(5)
    n = 8 * count + 10
    sides = [(np.sort(rng.choice(n, count, replace=False)), rng.random(count)) for _ in range(2)]
    here, there = (
        [
            weft.Graph.from_edges(np.full(count, 3), ids, x, num_vertices=n).to(to)
            for ids, x in sides
        ]
        for to in ("cpu", device)
    )
    for merge in (weft.unite, weft.intersect):
        want, found = (merge(*gs, lambda x, y: x - 2 * y) for gs in (here, there))
        for name in ("offsets", "targets"):
            one, two = (getattr(x.topology.adjacency("out"), name) for x in (want, found))
            np.testing.assert_array_equal(host(two), one)
        np.testing.assert_array_equal(host(found.edge["weight"]), want.edge["weight"])


@weft.edge
def weighed(u, v, e):
    e.count = weft.common(u, v, lambda w: 1, weft.sum)
    e.ids = weft.common(u, v, lambda w: w.id, weft.sum)


@pytest.mark.parametrize("far", [2000, 70_000])
def test_dense_beginnings_of_rows(device, sized, host, far):
    far = sized(far, 300)
    rng = np.random.default_rng(3)
    u, v = np.triu_indices(120, 1)
    kept = rng.random(u.size) < 0.6
    src = np.concatenate((u[kept], rng.integers(0, 120, 5 * far)))
    dst = np.concatenate((v[kept], rng.integers(0, far, 5 * far)))
    g = weft.Graph.from_edges(src, dst, num_vertices=far, directed=False)
    assert g.topology.row_bits() is not None
    plain = weft.Config(passes_off="row_bits")
    found = []
    for there, config in ((g, plain), (g.to(device), None), (g.to(device), plain)):
        state = there.edge_state(count=weft.full(0), ids=weft.full(0))
        there.run(weighed, there.state(), edge_state=state, config=config)
        found.append((host(state.count), host(state.ids)))
    for other in found[1:]:
        for got, want in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(got, want)
