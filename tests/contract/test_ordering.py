"""Steps with a priority keep its order where `max_iter` or `until` ends a run early (rule 12)."""

import heapq
from dataclasses import replace

import numpy as np
import pytest

import weft
from agreement import agreed, distinct, placed
from oracle import make_request
from weft import Config
from weft.plan.sweeps import Planning, plan_program

SIDE = 24
ROADS = weft.generators.road(SIDE, 0.9, seed=1, weights="float")
N = ROADS.num_vertices
HOME = int(np.argmax(ROADS.topology.out_degree > 2))
CONFIGS = (Config(threads=1), Config(threads=3))
UNREACHED = np.where(np.arange(N) == HOME, 0.0, np.inf)


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax(u, v, e):
    return u.dist + e.weight


@weft.edge(into=("dist", "parent"), reduce=weft.argmin, priority=lambda v: v.dist)
def relax_parents(u, v, e):
    return u.dist + e.weight, u.id


def best(join, start):
    """Return the least values that paths from HOME have; `join(value, weight)` extends a path."""
    edges = [[] for _ in range(N)]
    for a, b, weight in zip(*ROADS.to_edges()[:2], ROADS.edge["weight"], strict=True):
        edges[a].append((int(b), float(weight)))
        edges[b].append((int(a), float(weight)))
    found, queue = {}, [(start, HOME)]
    while queue:
        value, u = heapq.heappop(queue)
        if u not in found:
            found[u] = value
            for v, weight in edges[u]:
                heapq.heappush(queue, (join(value, weight), v))
    return np.array([found.get(v, np.inf) for v in range(N)])


NEAREST = best(lambda value, weight: value + weight, 0.0)


def looked(profile):
    return sum(record.edges for record in profile.records)


def in_pieces(g, function, state, most, config=None):
    """Iterate by so many supersteps at a time; return how many arcs were looked at."""
    frontier = g.frontier([HOME])
    with weft.profile() as profile:
        while True:
            run = g.iterate(function, state, frontier, max_iter=most, config=config)
            frontier = run.frontier
            assert most is None or run.steps <= most
            assert run.converged == (len(frontier) == 0)
            if run.converged:
                return looked(profile)


@pytest.mark.parametrize("most", [1, 4])
def test_a_run_in_pieces_looks_at_as_many_arcs_as_a_whole_one(most):
    # One thread alone looks at the same arcs in every run.
    g, config = placed(ROADS), distinct([Config(threads=1)])[0]
    whole, parts = g.state(dist=UNREACHED), g.state(dist=UNREACHED)
    arcs = in_pieces(g, relax, whole, None, config)
    assert in_pieces(g, relax, parts, most, config) <= 1.1 * arcs
    np.testing.assert_array_equal(whole.dist, NEAREST)
    np.testing.assert_array_equal(parts.dist, NEAREST)
    plain = replace(config, ordering=False)
    assert in_pieces(g, relax, g.state(dist=UNREACHED), most, plain) > 1.2 * arcs


def test_no_vertex_is_lost_wherever_a_run_ends():
    g = placed(ROADS)
    for config in distinct(CONFIGS):
        for most in (0, 1, 2, 3, 5, 8, 13):
            state = g.state(dist=UNREACHED)
            run = g.iterate(relax, state, [HOME], max_iter=most, config=config)
            assert run.steps <= most and run.converged == (len(run.frontier) == 0)
            assert (np.asarray(state.dist) >= NEAREST).all()
            assert g.iterate(relax, state, run.frontier.tolist()).converged
            np.testing.assert_array_equal(state.dist, NEAREST)


def test_a_first_frontier_of_several_is_taken_in_order():
    g = placed(ROADS)
    far = np.argsort(np.where(np.isfinite(NEAREST), NEAREST, -1))[-40:]
    start = UNREACHED.copy()
    start[far] = NEAREST[far]
    state = g.state(dist=start)
    run = g.iterate(relax, state, [HOME, *far], max_iter=1)
    assert set(far) <= set(run.frontier.tolist())
    everybody = g.iterate(relax, state, max_iter=500)
    assert everybody.converged
    np.testing.assert_array_equal(state.dist, NEAREST)


def test_pairs_in_pieces():
    g = placed(ROADS)
    state = g.state(dist=UNREACHED, parent=weft.full(-1, weft.vertex_id))
    in_pieces(g, relax_parents, state, 2)
    dist, parent = np.asarray(state.dist), np.asarray(state.parent)
    np.testing.assert_array_equal(dist, NEAREST)
    reached = np.flatnonzero(parent >= 0)
    assert (dist[parent[reached]] < dist[reached]).all() and len(reached) > SIDE


def strange(v):
    return weft.where(v.id % 3 == 0, np.nan, weft.where(v.id % 3 == 1, np.inf, -v.width))


@weft.edge(into="width", reduce=weft.max, priority=strange)
def widen(u, v, e):
    return weft.minimum(u.width, e.weight)


def test_priorities_that_are_not_numbers_lose_nobody():
    g = placed(ROADS)
    state = g.state(width=np.where(np.arange(N) == HOME, np.inf, 0.0))
    in_pieces(g, widen, state, 2)
    widest = best(lambda value, weight: max(value, -weight), -np.inf)
    np.testing.assert_array_equal(state.width, np.where(widest == np.inf, 0.0, -widest))


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist + v.ahead)
def approach(u, v, e, target):
    weft.reduce("found", u.id == target, weft.or_)
    weft.reduce("arcs", 1, weft.sum)
    return u.dist + e.weight


def test_until_sees_what_an_ordered_step_reduces():
    g = placed(ROADS)
    target = int(np.argsort(np.where(np.isfinite(NEAREST), NEAREST, np.inf))[60])
    for config in distinct(CONFIGS):
        state = g.state(
            dist=UNREACHED, ahead=weft.full(0.0), target=weft.scalar(target),
            found=weft.scalar(False), arcs=weft.scalar(0),
        )  # fmt: skip
        with weft.profile() as profile:
            run = g.iterate(approach, state, [HOME], until=lambda found: found, config=config)
        assert run.converged and run.scalars["found"] and len(run.frontier) > 0
        assert NEAREST[target] <= state.dist[target] < np.inf
        assert run.scalars["arcs"] == profile.records[-1].edges
        state.target = -1  # is never found: an empty frontier is not convergence then
        rest = g.iterate(approach, state, run.frontier, until=lambda found: found, config=config)
        assert not rest.converged and len(rest.frontier) == 0
        np.testing.assert_array_equal(state.dist, NEAREST)


@pytest.mark.parametrize("config", [Config(deterministic=True), Config(ordering=False)])
def test_supersteps_are_whole_in_deterministic_and_in_unordered_runs(config):
    for most in (0, 1, 3):
        agreed(
            ROADS, relax, {"dist": UNREACHED}, [HOME], mode="iterate", max_iter=most,
            configs=[config],
        )  # fmt: skip


def counting(priority):
    @weft.edge(into="dist", reduce=weft.min, priority=priority)
    def relax_counting(u, v, e):
        weft.reduce("sent", 1, weft.sum)
        return u.dist + e.weight

    return relax_counting


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax_slower(u, v, e, sent):
    weft.reduce("sent", 1, weft.sum)
    return u.dist + e.weight + weft.where(sent > 3, 1.0, 0.0)


def relaxes(function, ordering, **options):
    state = ROADS.state(dist=UNREACHED, sent=weft.scalar(0))
    request, _ = make_request(ROADS, function, state, [HOME], **options)
    planned, _ = plan_program(request.program, Planning(ordering=ordering))
    return planned["steps"][0].relaxes


def test_what_could_change_a_result_is_not_ordered():
    plain = counting(lambda v: v.dist)
    later = counting(lambda v: v.dist * weft.superstep())
    steered = counting(lambda v, sent: v.dist * sent)
    assert relaxes(relax, True, max_iter=5) and relaxes(plain, True, max_iter=5)
    assert relaxes(relax, True) and relaxes(relax, False)
    assert not relaxes(relax, False, max_iter=5)
    assert not relaxes(relax, True, max_iter=5, trail=True)
    for function in (relax_slower, later, steered):
        assert not relaxes(function, True, max_iter=5)
    assert not relaxes(plain, True)  # without a condition the order brings nothing to see
