"""Advance: every kind of function, input and output, beside NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from operator_cases import AWKWARD, arcs_of, awkward, cases, on_devices, passed
from weft.errors import ConfigError, FieldError, GraphError, TraceError
from weft.operators import Queue, advance


def relax(u, v, e):
    return v.x.min(u.x + e.weight)


def add(u, v, e):
    v.x += e.weight
    return (u.id + v.id) % 3 == 0


def closed(u, v, e):
    return v.y == 0


def assign(u, v, e):
    v.y = u.id + 1


def light(u, v, e):
    return e.weight < u.x


def count(u, v, e):
    v.y += 1


def claim(u, v, e):
    return v.y.at(v.id).cas(0, u.id + 1) == 0


def start(g):
    rng = np.random.default_rng(g.num_vertices)
    n = g.num_vertices
    return g.state(x=rng.integers(0, 20, n), y=rng.integers(0, 2, n))


def check(g, given_to, members, along="out"):
    """Compare every function on one frontier; `members` are the vertices that it holds."""
    src, dst, weight = arcs_of(g)
    if along == "in":
        src, dst = dst, src
    n, on = g.num_vertices, np.isin(src, members)
    state = start(g)
    x, y = state.x.copy(), state.y.copy()

    found = advance(g, given_to, relax, state, along=along)
    low = x.copy()
    np.minimum.at(low, dst[on], (x[src] + weight)[on])
    assert state.x.tolist() == low.tolist()
    assert found.tolist() == np.flatnonzero(low < x).tolist()
    state.x[...] = x
    found = advance(g, given_to, relax, state, output="arcs", along=along)
    better = on & (x[src] + weight < x[dst])
    assert found.arcs and found.tolist() == np.flatnonzero(better).tolist()
    assert state.x.tolist() == low.tolist()

    state.x[...] = x
    found = advance(g, given_to, add, state, along=along)
    sums = x + np.bincount(dst[on], weight[on], n).astype(np.int64)
    assert state.x.tolist() == sums.tolist()
    passing = on & ((src + dst) % 3 == 0)
    assert found.tolist() == np.unique(dst[passing]).tolist()
    assert found.iteration == 1
    assert len(advance(g, given_to, add, state, output=None, along=along)) == 0
    assert state.x.tolist() == (2 * sums - x).tolist()

    state.x[...] = x
    found = advance(
        g, given_to, None, state, cond=closed, apply=assign, idempotent=True, along=along
    )
    entered = np.unique(dst[on & (y[dst] == 0)])
    assert found.tolist() == entered.tolist()
    for v in entered:
        assert state.y[v] - 1 in src[on & (dst == v)]
    rest = np.setdiff1d(np.arange(n), entered)
    assert (state.y[rest] == y[rest]).all()

    state.y[...] = y
    found = advance(g, given_to, None, state, cond=light, apply=count, along=along)
    passing = on & (weight < x[src])
    assert found.tolist() == np.unique(dst[passing]).tolist()
    assert state.y.tolist() == (y + np.bincount(dst[passing], minlength=n)).tolist()

    state.y[...] = y
    found = advance(g, given_to, claim, state, along=along)
    assert found.tolist() == entered.tolist()


@settings(max_examples=25)
@given(cases())
def test_functions_and_outputs(case):
    edges, members, kind = case
    g = edges.build().to("reference")
    check(g, passed(g, members, kind), members)


UPDATES = {
    "sum": (lambda v, m: setattr(v, "x", v.x.__iadd__(m)), np.add),
    "min": (lambda v, m: v.x.min(m), np.minimum),
    "max": (lambda v, m: v.x.max(m), np.maximum),
    "or": (lambda v, m: setattr(v, "x", v.x.__ior__(m)), np.bitwise_or),
    "and": (lambda v, m: setattr(v, "x", v.x.__iand__(m)), np.bitwise_and),
}
TERMS = {
    "source": (lambda u, v, e: u.x, lambda x, y, u, v, w: x[u]),
    "target": (lambda u, v, e: v.y * 2, lambda x, y, u, v, w: y[v] * 2),
    "weight": (lambda u, v, e: e.weight, lambda x, y, u, v, w: w),
    "ids": (lambda u, v, e: u.id - v.id, lambda x, y, u, v, w: u - v),
}


@settings(max_examples=40)
@given(
    cases(), st.sampled_from(list(UPDATES)), st.sampled_from(list(TERMS)),
    st.sampled_from(list(TERMS)), st.integers(-5, 15), st.sampled_from(["vertices", "arcs"]),
)  # fmt: skip
def test_drawn_functions(case, update, message, tested, bound, output):
    edges, members, kind = case
    g = edges.build().to("reference")
    state = start(g)
    x, y = state.x.copy(), state.y.copy()
    change, combine = UPDATES[update]
    (term, want_term), (test, want_test) = TERMS[message], TERMS[tested]

    def function(u, v, e):
        change(v, term(u, v, e))
        return test(u, v, e) < bound

    found = advance(g, passed(g, members, kind), function, state, output=output)
    src, dst, weight = arcs_of(g)
    on = np.isin(src, members)
    after = x.copy()
    combine.at(after, dst[on], want_term(x, y, src, dst, weight)[on])
    assert state.x.tolist() == after.tolist()
    passing = on & (want_test(x, y, src, dst, weight) < bound)
    want = np.unique(dst[passing]) if output == "vertices" else np.flatnonzero(passing)
    assert found.tolist() == want.tolist()


@pytest.mark.slow
def test_functions_and_outputs_compiled():
    g = weft.generators.rmat(5, 4, seed=4, weights="int", directed=True)
    check(g, range(0, 32, 3), np.arange(0, 32, 3))
    check(g, [], [])


def test_marks_and_live_fields_compiled():
    g = weft.generators.rmat(5, 4, seed=4, weights="int", directed=True)
    here = g.to("reference")
    for function in (add, claim):
        state, want = start(g), start(here)
        found = advance(g, range(0, 32, 3), function, state)
        assert found.tolist() == advance(here, range(0, 32, 3), function, want).tolist()
        assert state.x.tolist() == want.x.tolist()


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = awkward(name).to("reference")
    check(g, None, np.arange(g.num_vertices))
    check(g, g.frontier(np.arange(0, g.num_vertices, 2)), np.arange(0, g.num_vertices, 2), "in")


def test_int64_ids_and_float64():
    g = awkward("hub", index_dtype=np.int64).to("reference")
    check(g, [0], [0])
    state = g.state(x=weft.full(np.inf), y=weft.full(np.nan))
    state.x[0] = -np.inf
    assert advance(g, [0], relax, state).tolist() == list(range(1, 41))
    assert np.isneginf(state.x[:41]).all()
    low = g.edge_frontier(range(5))
    for output, want in (("arcs", range(5)), ("vertices", range(1, 6))):  # numbers replace NaN
        state.y[...] = np.nan
        found = advance(g, low, lambda u, v, e: v.y.min(1.0), state, output=output)
        assert found.tolist() == list(want)
    assert advance(g, low, lambda u, v, e: v.y.max(np.nan), state, output="arcs").tolist() == []


def test_arcs_as_input():
    g = weft.generators.rmat(5, 4, seed=2, weights="int", directed=True).to("reference")
    src, dst, weight = arcs_of(g)
    some = np.arange(0, len(src), 3)
    state = start(g)
    x = state.x.copy()
    found = advance(g, g.edge_frontier(some), add, state)
    on = np.isin(np.arange(len(src)), some)
    assert found.tolist() == np.unique(dst[on & ((src + dst) % 3 == 0)]).tolist()
    assert state.x.tolist() == (x + np.bincount(dst[on], weight[on], len(x))).tolist()
    further = advance(g, Queue(g, g.edge_frontier(some)), add, state, output="arcs")
    reached = np.isin(src, dst[on]) & ((src + dst) % 3 == 0)
    assert further.tolist() == np.flatnonzero(reached).tolist()


def at_once(u, v, e):
    v.y.at(v.id).add(10)
    e.seen = e.seen + 1
    weft.reduce("total", u.id + 1, weft.sum)


def of_both(u, v, e):
    return (v.y == 0) & (u.id < v.id)


@on_devices
@pytest.mark.parametrize("output", ["vertices", "arcs", None])
@pytest.mark.parametrize("cond", [closed, of_both])
def test_apply_acts_only_where_cond_holds(device, cond, output):
    """Also what is no message: live fields, edge state and scalars."""
    src, dst = np.array([0, 0, 0, 3, 2]), np.array([1, 2, 3, 1, 2])
    g = weft.Graph.from_edges(src, dst, np.ones(5, np.int64)).to(device)
    state = g.state(y=[0, 0, 1, 0], total=weft.scalar(0))
    seen = g.edge_state(seen=weft.full(0))
    found = advance(
        g, [0, 2, 3], None, state, cond=cond, apply=at_once, output=output, edge_state=seen
    )
    src, dst, _ = arcs_of(g)
    holds = dst != 2 if cond is closed else (dst != 2) & (src < dst)
    assert seen.seen.tolist() == holds.astype(int).tolist()
    assert (
        state.y.tolist()
        == (np.array([0, 0, 1, 0]) + 10 * np.bincount(dst[holds], minlength=4)).tolist()
    )
    assert state.total == (src[holds] + 1).sum()
    want = {"vertices": np.unique(dst[holds]), "arcs": np.flatnonzero(holds), None: []}[output]
    assert found.tolist() == list(want)


@on_devices
def test_a_pull_acts_at_unvisited_vertices_only(device):
    g = weft.generators.star(5, directed=True).to(device)
    state = g.state(y=weft.full(0))

    def touch(u, v, e):
        v.y.at(v.id).add(1)
        return True

    reached, left = advance(g, (g.frontier([0]), g.frontier([2, 3])), touch, state)
    assert (reached.tolist(), left.tolist()) == ([2, 3], [])
    assert state.y.tolist() == [0, 0, 1, 1, 0]


@on_devices
def test_a_pull_takes_two_frontiers_and_gives_two(device):
    g = weft.generators.rmat(6, 4, seed=2, directed=True).to(device)

    def label(u, v, e):
        v.level = u.level + 1
        return True

    state = g.state(level=weft.full(-1).but(0, 0))
    active, unvisited = g.frontier([0]), g.frontier(range(1, g.num_vertices))
    sizes = [len(unvisited)]
    while active:
        active, unvisited = advance(g, (active, unvisited), label, state, idempotent=True)
        sizes.append(len(unvisited))
    want = weft.bfs(g.to("reference"), 0).level
    assert state.level.tolist() == want.tolist()
    assert sizes == sorted(sizes, reverse=True)
    assert unvisited.tolist() == np.flatnonzero(want < 0).tolist()
    assert list(state.fields) == ["level"]
    state.level = weft.full(-1).but(0, 0)
    active, unvisited = advance(
        g, ([0], range(1, g.num_vertices)), label, state, idempotent=True, direction="pull"
    )
    assert (
        len(unvisited) == sizes[1]
        and unvisited.tolist() == np.flatnonzero(state.level < 0).tolist()
    )
    with pytest.raises(TraceError, match="Expected 'pull'"):
        advance(g, (active, unvisited), label, state, idempotent=True, direction="push")
    with pytest.raises(TraceError, match="Expected 'vertices'"):
        advance(g, (active, unvisited), label, state, idempotent=True, output="arcs")


def test_edge_state_edge_functions_and_the_iteration():
    g = awkward("parallel").to("reference")
    seen = g.edge_state(seen=weft.full(0))
    state = g.state(dist=[0, 9, 9, 9], parent=weft.full(-1))

    def visit(u, v, e, iteration):
        e.seen = iteration + 1
        return True

    first = advance(g, [0], visit, state, edge_state=seen)
    second = advance(g, first, visit, state, edge_state=seen, output="arcs")
    assert (first.iteration, second.iteration) == (1, 2)
    assert seen.seen.tolist() == [1, 1, 2, 2] and second.tolist() == [2, 3]
    step = weft.edge(lambda u, v, e: (u.dist + 1, u.id), into=("dist", "parent"),
                     reduce=weft.argmin)  # fmt: skip
    assert advance(g, [0], step, state).tolist() == [1]
    assert state.parent.tolist() == [-1, 0, -1, -1]


def test_directions_and_devices():
    g = weft.generators.rmat(5, 4, seed=3, weights="int", directed=True)
    want = start(g)
    before = advance(g.to("reference"), range(0, 32, 2), add, want, output="arcs").tolist()
    want.y[...] = start(g).y
    for direction in ("push", "pull"):
        here = g.to("emulated")
        state = start(here)
        found = advance(here, range(0, 32, 2), add, state, direction=direction)
        _, dst, _ = arcs_of(g)
        assert found.tolist() == np.unique(dst[before]).tolist()
        assert state.x.tolist() == want.x.tolist()


def test_schedules():
    g = weft.generators.star(300, weights="int", directed=True)
    state = start(g)
    x = state.x.copy()
    for schedule in ("auto", "input", "output", "vertex"):
        state.x[...] = x
        with weft.profile() as p:
            found = advance(g, [0], relax, state, schedule=schedule)
        assert (state.x < x).sum() == len(found) > 0
        chosen = {"auto": "merge", "output": "merge"}.get(schedule, "vertex")
        assert p.records[0].config["schedule"] == chosen
    sides = {"push": "twc", "pull": "vertex"}
    with pytest.raises(ConfigError, match="not possible on a CPU: it takes one for all sides"):
        advance(g, [0], relax, state, schedule=sides)
    with pytest.raises(ConfigError, match="schedule='outputs' is not known"):
        advance(g, [0], relax, state, schedule="outputs")


def test_an_idempotent_advance_needs_no_atomics():
    g = awkward("hub").to("emulated")

    def atomics(fn, idempotent):
        with weft.profile() as p:
            advance(g, None, fn, start(g), output=None, idempotent=idempotent, direction="push")
        return p.facts[0]["atomics"]

    # Both runs have those that hand out work; one has an atomic more at every arc.
    assert atomics(count, False) - atomics(assign_seven, True) == g.topology.num_arcs


def assign_seven(u, v, e):
    v.y = 7


def test_misuse_is_told():
    g, other = awkward("parallel"), awkward("path")
    state = start(g)
    arcs = g.edge_frontier([0])
    with pytest.raises(GraphError, match="belongs to another graph: this one has 4 vertices"):
        advance(g, other.frontier([0]), relax, state)
    twin = awkward("parallel")
    with pytest.raises(GraphError, match="was made for another graph"):
        advance(g, twin.frontier([0]), relax, state)
    with pytest.raises(GraphError, match="was made for another graph"):
        advance(g, advance(twin, [0], relax, start(twin)), relax, state)
    with pytest.raises(FieldError, match="field 'x' has 61 rows, but this graph needs 4"):
        advance(g, [0], relax, start(other))
    with pytest.raises(TraceError, match=r"count returned nothing, but advance has output='arcs'"):
        advance(g, [0], count, state, output="arcs")
    with pytest.raises(TraceError, match="got a function and cond= or apply="):
        advance(g, [0], count, state, cond=closed)
    with pytest.raises(TraceError, match="got no function"):
        advance(g, [0], None, state)
    with pytest.raises(TraceError, match="as its state"):
        advance(g, [0], count, None)
    with pytest.raises(TraceError, match="pass idempotent=True"):
        advance(g, [0], assign, state, output=None)
    with pytest.raises(TraceError, match=r"returned messages. Expected a condition"):
        advance(g, [0], lambda u, v, e: weft.send(1), state)
    with pytest.raises(TraceError, match="takes a function of u, v, e"):
        advance(g, [0], weft.vertex(lambda v: True), state)
    with pytest.raises(ConfigError, match="output='edges' is not known"):
        advance(g, [0], count, state, output="edges")
    with pytest.raises(TraceError, match="pairs go to intersect"):
        advance(g, g.pairs([0], [1]), count, state)
    with pytest.raises(TraceError, match=r"\(cond=\) returned nothing"):
        advance(g, [0], None, state, cond=lambda u, v, e: None, apply=count)
    with pytest.raises(GraphError, match="vertex 4 does not exist"):
        advance(g, [4], relax, state)
    g.update(add=([0], [3], [1]))
    with pytest.raises(GraphError, match="renumbered its arcs"):
        advance(g, arcs, relax, start(g))
