"""Samples of neighbours against their definitions and distributions, and forest fires."""

import itertools

import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs
from weft.errors import ConfigError, GraphError

FANOUTS = [2, -1, 3]
BAD = ("weights negative", "weights infinite")


def arcs_into(g, direction):
    """For each vertex the other end and the edge of every arc that leads to it."""
    arcs = [[] for _ in range(g.num_vertices)]
    for k, (u, v) in enumerate(edge_pairs(g)):
        near, far = (v, u) if direction == "in" else (u, v)
        arcs[near].append((far, k))
        if not g.directed and u != v:
            arcs[far].append((near, k))
    return arcs


def seeds_of(g):
    return [g.num_vertices - 1, 0, g.num_vertices - 1]


def usable(g, arcs, weighted):
    weight = g.to_edges().weight
    if not weighted or weight is None:
        return arcs
    return [[(far, k) for far, k in row if weight[k] > 0] for row in arcs]


def check_draws(drawers, found, arcs, fanout, replace):
    """Check the arcs that some vertices drew in one hop."""
    drawn = {v: [] for v in drawers}
    for far, near, k in found:
        assert (far, k) in arcs[near]
        drawn[near].append((far, k))
    for v, chosen in drawn.items():
        d = len(arcs[v])
        count = d if fanout < 0 else (fanout if replace and d else min(fanout, d))
        assert len(chosen) == count
        if not replace or fanout < 0:
            assert len(set(chosen)) == count or len(set(arcs[v])) < d


def check_pyg(weighted, replace, direction):
    def check(g, found):
        arcs = usable(g, arcs_into(g, direction), weighted)
        node = found.node.tolist()
        assert len(set(node)) == len(node) == sum(found.num_nodes)
        assert node[: found.num_nodes[0]] == list(dict.fromkeys(seeds_of(g)))
        ends, edges = np.cumsum(found.num_nodes), np.cumsum([0, *found.num_edges])
        begin = 0
        for hop, fanout in enumerate(FANOUTS):
            part = slice(edges[hop], edges[hop + 1])
            rows, cols = found.node[found.row[part]], found.node[found.col[part]]
            drawers = node[begin : ends[hop]]
            triples = list(
                zip(rows.tolist(), cols.tolist(), found.edge[part].tolist(), strict=True)
            )
            check_draws(drawers, triples, arcs, fanout, replace)
            assert set(node[ends[hop] : ends[hop + 1]]) == set(rows.tolist()) - set(
                node[: ends[hop]]
            )
            begin = ends[hop]

    return check


def check_dgl(g, blocks):
    arcs = arcs_into(g, "in")
    targets = list(dict.fromkeys(seeds_of(g)))
    for block, fanout in zip(blocks[::-1], FANOUTS, strict=True):
        source = block.source.tolist()
        assert source[: block.num_targets] == targets and len(set(source)) == len(source)
        rows, cols = block.source[block.row].tolist(), block.source[block.col].tolist()
        assert set(source) == set(targets) | set(rows)
        check_draws(
            targets, list(zip(rows, cols, block.edge.tolist(), strict=True)), arcs, fanout, False
        )
        targets = source


def sampled(**fixed):
    return lambda g, **options: weft.sample_neighbors(g, seeds_of(g), FANOUTS, **fixed, **options)


def check_fire(g, found):
    assert found.sum() == g.num_vertices // 2


CASES = {
    "sample_neighbors": Case(sampled(), check_pyg(False, False, "in"), least=1),
    "sample_neighbors_weighted": Case(
        sampled(weighted=True, direction="out"),
        check_pyg(True, False, "out"),
        "float",
        least=1,
        avoid=BAD,
    ),
    "sample_neighbors_again": Case(
        sampled(weighted=True, replace=True),
        check_pyg(True, True, "in"),
        "int",
        least=1,
        avoid=BAD,
    ),
    "sample_neighbors_repeated": Case(sampled(replace=True), check_pyg(False, True, "in"), least=1),
    "sample_blocks": Case(sampled(layout="dgl"), check_dgl, least=1),
    "forest_fire": Case(
        lambda g, **options: weft.forest_fire(g, g.num_vertices // 2, **options), check_fire
    ),
}


def star_draws(weights, count, rounds, **options):
    """How often each set of leaves of a star was drawn by its centre."""
    d = len(weights)
    g = weft.Graph.from_edges(np.arange(1, d + 1), np.zeros(d, int), np.array(weights, float))
    drawn = {}
    for seed in range(rounds):
        found = weft.sample_neighbors(g, [0], [count], seed=seed, **options)
        key = tuple(sorted(found.edge.tolist()))
        drawn[key] = drawn.get(key, 0) + 1
    return drawn


def chi_squared(drawn, chances, rounds):
    assert set(drawn) <= {key for key, chance in chances.items() if chance > 0}
    return sum(
        (drawn.get(key, 0) - rounds * chance) ** 2 / (rounds * chance)
        for key, chance in chances.items()
        if chance > 0
    )


def chances_of(weights, count, replace):
    """The chance of every multiset of leaves when they are drawn one after another."""
    chances = {}
    total = sum(weights)
    for order in itertools.product(range(len(weights)), repeat=count):
        if not replace and len(set(order)) < count:
            continue
        chance, left = 1.0, total
        for k in order:
            chance *= weights[k] / left if left else 0
            left -= 0 if replace else weights[k]
        key = tuple(sorted(order))
        chances[key] = chances.get(key, 0) + chance
    return chances


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_distributions(weighted, replace):
    weights, rounds = [1.0, 4.0, 0.0, 2.0, 1.0], 1500
    drawn = star_draws(weights, 2, rounds, weighted=weighted, replace=replace)
    chances = chances_of(weights if weighted else [1.0] * 5, 2, replace)
    outcomes = sum(chance > 0 for chance in chances.values())
    assert chi_squared(drawn, chances, rounds) < 3 * outcomes


def test_draws_depend_on_seed_and_vertex_alone():
    g = AWKWARD["social"]()
    one = weft.sample_neighbors(g, [5], [3], seed=1)
    more = weft.sample_neighbors(g, [9, 5], [3], seed=1)
    own = more.edge[more.col == 1]
    assert one.edge.tolist() == own.tolist()
    other = weft.sample_neighbors(g, [5], [3], seed=2)
    assert other.edge.tolist() != one.edge.tolist()


def test_labels_name_seeds():
    g = weft.Graph.from_edges(["b", "c"], ["a", "a"])
    found = weft.sample_neighbors(g, ["a"], [5])
    assert g.labels[found.node].tolist() == ["a", "b", "c"]


def test_fires_follow_edges_and_depend_on_the_seed():
    g = weft.Graph.from_edges(np.arange(99), np.arange(1, 100), num_vertices=100)
    burned = weft.forest_fire(g, 30, 0.999999, seed=3)
    runs = np.flatnonzero(np.diff(np.r_[0, burned.astype(int), 0]) == 1).size
    assert burned.sum() == 30 and runs <= 2
    assert weft.forest_fire(g, 30, 0.0, seed=3).sum() == 30
    social = AWKWARD["social"]()
    first, other = (weft.forest_fire(social, 50, seed=seed) for seed in (1, 2))
    assert not np.array_equal(first, other)


def test_every_vertex_burns_in_the_end():
    for seed in range(3):
        assert weft.forest_fire(weft.generators.star(9), 9, 0.5, seed=seed).all()


def test_arguments_are_checked():
    g = weft.generators.path(4)
    with pytest.raises(ConfigError, match=r"fanouts=3 is not a list"):
        weft.sample_neighbors(g, [0], 3)
    with pytest.raises(ConfigError, match=r"fanouts=-2"):
        weft.sample_neighbors(g, [0], [-2])
    with pytest.raises(ConfigError, match=r"layout='csr' is not known"):
        weft.sample_neighbors(g, [0], [1], layout="csr")
    with pytest.raises(ConfigError, match=r"direction='both' is not known"):
        weft.sample_neighbors(g, [0], [1], direction="both")
    with pytest.raises(GraphError, match=r"source=7 does not exist"):
        weft.sample_neighbors(g, [7], [1])
    with pytest.raises(ConfigError, match=r"p=1 is not possible"):
        weft.forest_fire(g, 2, 1)
    with pytest.raises(ConfigError, match=r"size=5"):
        weft.forest_fire(g, 5)
