"""Common neighbours with the arcs that lead to them: every device, the interpreter and NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings

import weft
from agreement import agreed, on_device, run
from graphs import AWKWARD, edge_lists

devices = pytest.mark.parametrize("device", ["cpu", "emulated"])
FIXED = [weft.Config(deterministic=True, threads=threads) for threads in (1, 3)]


@weft.edge
def meet(u, v, e):
    def message(w, ea, eb):
        return weft.send((ea.w * eb.w + ea.cap, 1), when=ea.cap % 5 != 1)

    e.total, e.count = weft.common(u, v, message, (weft.sum, weft.sum))
    e.least, e.over, e.first, e.last = weft.common(
        v, u, lambda w, ea, eb: (ea.w - eb.w, w.id, ea.id, eb.id), weft.argmin
    )
    e.some = weft.common(u.id, v, lambda w: weft.send(w.id + 1, when=w.id % 3 != 0), weft.any)


NAMES = ("total", "count", "least", "over", "first", "last", "some")


def fields_of(g):
    """Return edge state with whole numbers for the messages to read, and give the graph a column.

    It is the same for all graphs, so that few kernels serve them.
    """
    g.edge["w"] = (np.arange(g.num_edges) * 5 % 13 - 6) / 4
    count = g.topology.num_arcs
    found = {name: np.zeros(count, np.int64) for name in NAMES}
    found["total"] = found["least"] = np.zeros(count)
    return found | {"cap": np.arange(count) * 7 % 11}


def expected(g, cap):
    """Answer by rows held in dictionaries: neighbour -> (arc, edge id, weight) of the first arc."""
    sources, targets = (np.asarray(x).tolist() for x in g.topology.endpoints())
    ids = g.topology.edges("out")
    ids = list(range(len(sources))) if ids is None else np.asarray(ids).tolist()
    weight = np.asarray(g.edge["w"]).tolist()
    rows = [{} for _ in range(g.num_vertices)]
    for arc in sorted(range(len(sources)), key=lambda arc: (sources[arc], ids[arc])):
        rows[sources[arc]].setdefault(targets[arc], (arc, ids[arc], weight[ids[arc]]))
    total, count, some = [], [], []
    for u, v in zip(sources, targets, strict=True):
        both = sorted(rows[u].keys() & rows[v].keys())
        kept = [w for w in both if cap[rows[u][w][0]] % 5 != 1]
        total.append(sum(rows[u][w][2] * rows[v][w][2] + int(cap[rows[u][w][0]]) for w in kept))
        count.append(len(kept))
        some.append(next((w + 1 for w in both if w % 3 != 0), 0))
    return {"total": total, "count": count, "some": some}


def check(g, configs=FIXED):
    edges = fields_of(g)
    found = agreed(g, meet, {}, edges=edges, configs=configs)
    for name, want in expected(g, edges["cap"]).items():
        assert np.asarray(getattr(found, name)).tolist() == want, name


@devices
@pytest.mark.parametrize("name", [n for n in AWKWARD if not n.startswith("weights")])
def test_awkward_graphs(device, name):
    g = AWKWARD[name]()
    if device == "emulated" and g.num_edges > 300:
        pytest.skip("too slow in the emulation")
    with on_device(device):
        check(g)


@settings(max_examples=40, deadline=None)
@given(edge_lists(weights=None, min_vertices=1))
def test_drawn_graphs(edges):
    check(edges.build())


@settings(max_examples=8, deadline=None)
@given(edge_lists(weights=None, min_vertices=1, max_vertices=8))
def test_drawn_graphs_emulated(edges):
    with on_device("emulated"):
        check(edges.build())


@weft.edge
def totals(u, v, e):
    e.total = weft.common(u, v, lambda w, ea, eb: ea.weight * eb.weight, weft.sum)
    e.top = weft.common(u, v, lambda w, ea, eb: weft.minimum(ea.weight, eb.cap), weft.max)


@devices
def test_groups_of_lanes_and_other_orders(device):
    g = weft.generators.rmat(6, 6, seed=3, weights="int")
    count = g.topology.num_arcs
    edges = {name: np.zeros(count, np.int64) for name in ("total", "top")}
    edges["cap"] = np.arange(count)
    with on_device(device):
        agreed(g, totals, {}, edges=edges, configs=[weft.Config(), weft.Config(reorder="random")])


@weft.edge
def refresh(u, v, e):
    e.cap = 1 + weft.common(u, v, lambda w, ea, eb: weft.minimum(ea.cap, eb.cap), weft.sum)


@devices
def test_state_of_the_arcs_reads_as_it_was_when_the_step_began(device):
    g = weft.generators.complete(6)
    edges = {"cap": np.arange(g.topology.num_arcs)}
    with on_device(device):
        agreed(g, refresh, {}, edges=edges, mode="iterate", max_iter=3)


@weft.vertex
def strongest(v):
    v.key, v.who = weft.common(
        v, v.mate, lambda w, ea, eb: (ea.weight + eb.weight + w.x, w.id), weft.argmax
    )


@devices
def test_vertex_functions_over_pairs_that_they_compute(device):
    g = weft.generators.rmat(5, 5, seed=1, weights="float")
    n = g.num_vertices
    fields = {"mate": np.arange(n)[::-1] // 2, "x": np.arange(n) % 4 / 2}
    fields |= {"key": np.zeros(n), "who": np.zeros(n, np.int64)}
    with on_device(device):
        agreed(g, strongest, fields, configs=FIXED)


def test_any_takes_one_of_the_messages():
    @weft.edge
    def one(u, v, e):
        e.w, e.first = weft.common(u, v, lambda w, ea, eb: (w.id, ea.id), weft.any)

    g = weft.generators.rmat(6, 8, seed=2)
    held = {"w": np.full(g.topology.num_arcs, -1), "first": np.full(g.topology.num_arcs, -1)}
    found = run(g, one, {}, edges=held)
    rows = [set(map(int, row)) for row in np.split(*_rows(g))]
    sources, targets = (np.asarray(x).tolist() for x in g.topology.endpoints())
    for u, v, w in zip(sources, targets, found.w.tolist(), strict=True):
        both = rows[u] & rows[v]
        assert w in both if both else w == 0


def _rows(g):
    adjacency = g.topology.adjacency("out")
    return np.asarray(adjacency.targets), np.asarray(adjacency.offsets)[1:-1]


@weft.edge
def shared(u, v, e):
    e.count = weft.common(u, v, lambda w: 3, weft.sum)
    e.some = weft.common(u, v, lambda w: weft.send(w.id, when=w.id % 2 == 0), weft.max)
    e.narrow = weft.common(v, u, lambda w: weft.cast(200, np.uint8), weft.sum)


def hubs(seed, n=1500, many=30, repeated=False):
    """Return a graph whose first vertices are adjacent to half of each other and to some others."""
    rng = np.random.default_rng(seed)
    u, v = np.triu_indices(many, 1)
    kept = rng.random(u.size) < 0.5
    src = np.concatenate((u[kept], rng.integers(0, many, 3 * n), rng.integers(0, n, n)))
    dst = np.concatenate((v[kept], rng.integers(0, n, 3 * n), rng.integers(0, n, n)))
    if repeated:
        src, dst = np.tile(src, 2), np.tile(dst, 2)
    return weft.Graph.from_edges(src, dst, num_vertices=n, directed=False)


@devices
@pytest.mark.parametrize("repeated", [False, True])
def test_dense_beginnings_of_rows(device, repeated):
    g = hubs(4, 600 if device == "emulated" else 1500, repeated=repeated)
    assert g.topology.row_bits() is not None
    count = g.topology.num_arcs
    edges = {"count": np.zeros(count, np.int64), "some": np.zeros(count, np.int64)}
    edges["narrow"] = np.zeros(count, np.uint8)
    with on_device(device):
        configs = [weft.Config(threads=3), weft.Config(passes_off={"row_bits"}), *FIXED]
        agreed(g, shared, {}, edges=edges, configs=configs)


@devices
def test_dense_beginnings_with_arcs(device):
    g = hubs(5, 400, repeated=True)
    with on_device(device):
        check(g)
