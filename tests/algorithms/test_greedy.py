"""Independent sets, colours and matchings against a sequential pass in the same order."""

import importlib

import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs, simple_graph
from weft.errors import ConfigError


def bits_of(g, seed=0):
    """The random bits of the vertices."""

    @weft.vertex
    def draw(v, seed):
        v.bits = weft.random_bits(seed, v.id)

    state = g.state(bits=weft.full(0, np.uint64), seed=weft.scalar(seed))
    g.run(draw, state)
    return (state.bits >> 32).tolist()


def ordered(g, seed, sign):
    """The simple graph and its vertices by degree, bits and number, rising or falling."""
    graph, bits = simple_graph(g), bits_of(g, seed)
    return graph, sorted(graph, key=lambda v: (graph.degree(v), bits[v], v), reverse=sign < 0)


def check_set(g, found, seed=0):
    graph, bits = simple_graph(g), bits_of(g, seed)

    def place(v):
        degree = graph.degree(v)
        unit = 1 << max(degree.bit_length() - 3, 0)  # of two bits below the highest
        return degree // unit * unit, bits[v] >> 23, v

    order = sorted(graph, key=place)
    chosen = set()
    for v in order:
        if not any(u in chosen for u in graph[v]):
            chosen.add(v)
    assert np.flatnonzero(found).tolist() == sorted(chosen)


def check_colors(g, found, seed=0, by_degree=True):
    graph, order = ordered(g, seed, -1)
    if not by_degree:
        bits = bits_of(g, seed)
        order = sorted(graph, key=lambda v: (bits[v], v), reverse=True)
    color = {}
    for v in order:
        used = {color[u] for u in graph[v] if u in color}
        color[v] = next(c for c in range(len(used) + 1) if c not in used)
    assert found.tolist() == [color[v] for v in range(g.num_vertices)]


CASES = {
    "maximal_independent_set": Case(weft.maximal_independent_set, check_set),
    "color": Case(weft.color, check_colors),
}


@pytest.mark.parametrize(
    ("name", "check"), [("maximal_independent_set", check_set), ("color", check_colors)]
)
def test_the_seed_chooses_among_equals(name, check):
    g = AWKWARD["road"]()
    first, second = (getattr(weft, name)(g, seed=seed) for seed in (1, 2))
    check(g, first, 1)
    check(g, second, 2)
    assert not np.array_equal(first, second)
    with pytest.raises(ConfigError, match="seed=-1"):
        getattr(weft, name)(g, seed=-1)


def test_colors_in_a_random_order():
    g = AWKWARD["social undirected"]()
    for seed in (1, 2):
        check_colors(g, weft.color(g, "random", seed=seed), seed, by_degree=False)
    with pytest.raises(ConfigError, match=r"order='smallest' is not known"):
        weft.color(g, "smallest")


@pytest.mark.parametrize("config", [None, weft.Config(deterministic=True), weft.Config(threads=8)])
@pytest.mark.parametrize("order", ["largest_first", "random"])
def test_colors_in_turn_are_those_of_many_threads(order, config):
    g = weft.generators.rmat(9, 40, seed=2, directed=False)
    assert int(g.out_degree.max()) >= 64
    check_colors(g, weft.color(g, order, seed=3, config=config), 3, order == "largest_first")


def test_equal_bits_are_told_apart_by_the_number():
    module = importlib.import_module("weft.algorithms.color")
    g = weft.generators.complete(70)
    place = np.arange(70) // 3
    colors = module._paint_in_turn(g, place, None)
    assert np.argsort(colors).tolist() == np.lexsort((np.arange(70), place))[::-1].tolist()


@pytest.mark.parametrize("most", ["short rows", "long rows"])
def test_colors_in_the_emulation(most):
    g = weft.generators.road(9, seed=1)
    if most == "long rows":
        g = weft.generators.rmat(7, 30, seed=1, directed=False)
    assert (int(g.out_degree.max()) >= 64) == (most == "long rows")
    check_colors(g, weft.color(g.to("emulated")))


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("n", [64, 65, 130, 200])
def test_complete_graphs_need_a_color_for_every_vertex(n, threads):
    g = weft.generators.complete(n)
    check_colors(g, weft.color(g, config=weft.Config(threads=threads)))


@pytest.mark.parametrize("order", ["largest_first", "random"])
def test_colors_by_bounds_are_those_of_a_sequential_pass(order):
    g = weft.generators.rmat(11, 30, seed=4)
    found = weft.color(g, order, seed=5, config=weft.Config(threads=8))
    assert found.tolist() == weft.color(g, order, seed=5, config=weft.Config(threads=1)).tolist()


def drawn(k, seed=0):
    """SplitMix64's output for a number, 31 bits of it."""
    mask = 2**64 - 1
    z = (k + seed + 1) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return (z ^ z >> 31) >> 33


def place_of(k, seed):
    """A number of 31 bits that no other edge has."""
    x = (k + drawn(0, seed)) % 2**31
    for shift, factor in ((16, 0x2C1B3C6D), (12, 0x297A2D39), (15, 1)):
        x = (x ^ x >> shift) * factor % 2**31
    return x


def check_matching(g, found, seed=0, weighted=False):
    weight = g.to_edges().weight
    values = weight.tolist() if weighted and weight is not None else [0] * g.num_edges
    pairs = edge_pairs(g)
    mate = [-1] * g.num_vertices
    for k in sorted(range(g.num_edges), key=lambda k: (values[k], place_of(k, seed)), reverse=True):
        u, v = pairs[k]
        if u != v and mate[u] < 0 and mate[v] < 0:
            mate[u], mate[v] = v, u
    assert found.tolist() == mate


def check_cover(g, found):
    pairs = edge_pairs(g)
    assert all(found[u] or found[v] for u, v in pairs)
    mate = weft.maximal_matching(g)
    looped = {u for u, v in pairs if u == v}
    assert set(np.flatnonzero(found).tolist()) == set(np.flatnonzero(mate >= 0).tolist()) | looped


CASES |= {
    "maximal_matching": Case(weft.maximal_matching, check_matching),
    "heaviest_matching": Case(
        lambda g, **options: weft.maximal_matching(g, weighted=True, **options),
        lambda g, found: check_matching(g, found, weighted=True),
        "float",
        avoid=("weights negative", "weights infinite"),
    ),
    "vertex_cover": Case(weft.vertex_cover, check_cover),
}


def test_matchings_depend_on_the_seed():
    g = AWKWARD["road"]()
    for seed in (1, 2):
        check_matching(g, weft.maximal_matching(g, seed=seed), seed)


@pytest.mark.parametrize("kind", ["few", "float", "beyond float32", "zeros of both signs", "equal"])
def test_heaviest_edges_come_first(kind):
    """Edges are sorted by one key where that decides, else by weight, bits and number."""
    rng = np.random.default_rng(3)
    weight = {
        "few": rng.integers(0, 4, 300),
        "float": rng.random(300),
        "beyond float32": 2**53 - rng.integers(0, 9, 300),
        "zeros of both signs": rng.choice([0.0, -0.0, 1e-45, 5e-324, 1e308], 300),
        "equal": np.full(300, 0.1),
    }[kind]
    g = weft.Graph.from_edges(*rng.integers(0, 60, (2, 300)), weight=weight)
    check_matching(g, weft.maximal_matching(g, weighted=True), weighted=True)
