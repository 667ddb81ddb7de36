"""The parts of the programming model on a device: the same results as on a CPU."""

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.cuda
INF = float("inf")


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0, along="in")
def discover_back(u, v, e):
    return u.level + 1


@weft.edge(into="total", reduce=weft.sum, on="all", along="in")
def add_back(u, v, e):
    return u.x * e.size + e.id % 7


@weft.vertex(on="all")
def look(v):
    there = weft.find_edge(v.id, v.wish)
    v.there = weft.has_edge(v.id, v.wish)
    v.cost = weft.cond(there >= 0, lambda: weft.edge_at(there).size, lambda: -1)
    v.first = weft.cond(v.out_degree > 0, lambda: weft.neighbor(v.id, 0), lambda: -1)
    v.won = v.gather(lambda u, e: (u.x % 5, e.size), weft.mode)
    v.least = v.gather(lambda u, e: u.id, weft.min)
    v.hits = weft.for_range(
        0, weft.minimum(v.out_degree, 9), lambda i, kept: kept.replaced(i % 3, kept[i % 3] + 1),
        weft.local(3, weft.int64),
    )  # fmt: skip


@weft.edge(into=("dist", "parent"), reduce=weft.argmin, priority=lambda v: v.dist)
def relax(u, v, e):
    return u.dist + e.weight, u.id


@pytest.fixture(scope="module")
def graph(sized):
    g = weft.generators.rmat(sized(15, 6), 8, seed=5)
    g.edge["size"] = np.random.default_rng(2).integers(0, 9, g.num_edges)
    return g


def everywhere(host, g, device, work):
    """Return what the work leaves behind on the host and on the device."""
    return [
        {name: host(array) for name, array in work(here).fields.items()}
        for here in (g, g.to(device))
    ]


def same(results):
    want, got = results
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array, err_msg=name)


@pytest.mark.parametrize("direction", ["push", "pull", "auto"])
def test_steps_against_the_arcs(device, host, graph, direction):
    def work(g):
        state = g.state(
            level=weft.full(-1, weft.int32), x=np.arange(g.num_vertices) % 11,
            total=weft.full(0, weft.int64),
        )  # fmt: skip
        state.level[3] = 0
        config = weft.Config(direction=direction)
        g.iterate(discover_back, state, [3], config=config)
        g.run(add_back, state, config=config)
        return state

    same(everywhere(host, graph, device, work))


def test_lookups_branches_arrays_and_ids(device, host, graph):
    def work(g):
        n = g.num_vertices
        state = g.state(
            wish=(np.arange(n) * 7 + 1) % n, there=weft.full(False), cost=weft.full(0, weft.int64),
            first=weft.full(0, weft.vertex_id), x=np.arange(n), won=weft.full(0, weft.int64),
            least=weft.full(0, weft.vertex_id), hits=weft.full(0, weft.int64, shape=(3,)),
        )  # fmt: skip
        g.run(look, state)
        return state

    same(everywhere(host, graph, device, work))


def test_loops_stop_at_their_target(device, host, sized):
    side = sized(300, 14)
    g = weft.generators.grid(side, side, weights=(1, 9), seed=4)
    want = np.asarray(weft.sssp(g, 0).dist)
    for target in (1, side + 1, 5 * side + 5):
        here = g.to(device)
        state = here.state(dist=weft.full(INF), parent=weft.full(-1, weft.vertex_id))
        state.dist[0] = 0
        run = here.iterate(relax, state, [0], until=weft.settled(target))
        found = host(state.dist)
        assert run.converged and found[target] == want[target] and (found >= want).all()
        if side > 100:
            assert np.isinf(found).any()


def test_until_looks_at_a_field(device, sized):
    n = sized(2000, 40)
    here = weft.generators.path(n).to(device)
    state = here.state(level=weft.full(-1, weft.int32))
    state.level[0] = 0
    ahead = weft.edge(
        lambda u, v, e: u.level + 1, into="level", reduce=weft.any, accept=lambda v: v.level < 0
    )
    run = here.iterate(ahead, state, [0], until=lambda level: level[n // 2] >= 0)
    assert (run.steps, run.converged) == (n // 2, True)
