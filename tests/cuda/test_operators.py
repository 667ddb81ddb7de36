"""Frontier operators on a GPU: the example programs, and captured loops, beside the interpreter."""

import numpy as np
import pytest

import weft
from weft.operators import (
    Queue,
    Tables,
    advance,
    compute,
    filter,
    intersect,
    lbs_transform,
    neighbor_reduce,
    scan_transform,
    set_transform,
    split,
)
from weft.operators.dedup import without_duplicates
from weft.operators.examples.betweenness import betweenness
from weft.operators.examples.bfs import bfs
from weft.operators.examples.coloring import coloring
from weft.operators.examples.components import components
from weft.operators.examples.delta_stepping import delta_stepping
from weft.operators.examples.label_propagation import label_propagation
from weft.operators.examples.maximal_independent_set import maximal_independent_set
from weft.operators.examples.pagerank import pagerank
from weft.operators.examples.sssp import sssp
from weft.operators.examples.triangles import triangles

pytestmark = pytest.mark.cuda

PROGRAMS = {
    "sssp": lambda g: sssp(g, 0),
    "bfs": lambda g: bfs(g, 0),
    "pagerank pull": pagerank,
    "pagerank push": lambda g: pagerank(g, push=True),
    "betweenness": lambda g: betweenness(g, [0, 1]),
    "components": components,
    "triangles": triangles,
    "coloring": coloring,
    "maximal independent set": maximal_independent_set,
    "label propagation": label_propagation,
    "delta-stepping": lambda g: delta_stepping(g, 0, 20.0),
}


@pytest.fixture(scope="module")
def graph(sized):
    return weft.generators.rmat(sized(12, 5), 8, seed=3, weights="int")


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(device, host, graph, name):
    found = host(PROGRAMS[name](graph.to(device)))
    want = PROGRAMS[name](graph.to("reference"))
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


def relax(u, v, e):
    return v.x.min(u.x + e.weight)


def near(v):
    return v.x < 400


def bump(v):
    v.n += 1


def search(g, recorded):
    state = g.state(x=weft.full(10**6).but(0, 0), n=weft.full(0))
    frontier = g.frontier([0])
    with recorded:
        while frontier:
            frontier = advance(g, frontier, relax, state)
            frontier = filter(g, frontier, near, state)
            frontier = compute(g, frontier, bump, state)
    return state.x


def test_a_captured_loop_is_one_run(device, host, graph):
    with weft.profile() as p:
        found = host(search(graph.to(device), weft.capture(strict=True)))
    assert len(p.facts) == 1
    want = search(graph.to("reference"), weft.capture(strict=True))
    assert found.tolist() == want.tolist()


def test_arrays_of_operators(device, host, graph):
    results = []
    for here in (graph.to(device), graph.to("reference")):
        n = here.num_vertices
        state = here.state(x=np.arange(n) * 7 % 11, n=weft.full(0))
        some = here.frontier(np.arange(0, n, 3))
        neighbor_reduce(here, some, lambda u, v, e: v.x, weft.sum, state, into="n")
        items = np.random.default_rng(1).integers(0, n, 999)
        queues = [
            np.unique(host(without_duplicates(Queue(here, items).repeats, name, Tables())))
            for name in ("warp", "history", "bitmask", "exact")
        ]
        left = np.arange(n // 3) * 3
        found = intersect(here, here.frontier(left), here.frontier(left + 1), common, state)
        results.append([
            state.n, *queues, found.pair, found.vertex,
            scan_transform(here, some, lambda v, idx: v.x + idx, state, monoid=weft.max),
            *lbs_transform(here, some, lambda u, v, e, idx, segment, rank: (idx, segment), state),
            set_transform(here, some, np.arange(0, n, 2), partitions=7).items,
            *(part.items for part in split(here, None, "x", state, [2, 5])),
        ])  # fmt: skip
    for found, want in zip(*results, strict=True):
        np.testing.assert_array_equal(host(found), want)


def common(u, v, w, eu, ev):
    return w.id > u.id
