"""The rules of the engine that one device can show (rules 35 to 37 and 42 to 45)."""

import re
from pathlib import Path

import numpy as np
import pytest

import weft
from agreement import agreed, assert_bits_equal, run
from weft.errors import ConfigError, FaultError, TraceError

SCHEDULES = ("vertex", "edge", "merge", "weaver")


@weft.edge(into=("count", "total", "least"), reduce=(weft.sum, weft.sum, weft.min))
def visit(u, v, e):
    return 1, u.x, e.id


@weft.vertex(on="all")
def reach_back(v):
    v.sent = v.gather(lambda u, e: 1, weft.sum, direction="out")


def _hub(turned):
    """A vertex with 9000 edges among many with one or none, and 500 parallel edges."""
    rng = np.random.default_rng(4)
    src = np.concatenate([np.full(9000, 17), rng.integers(0, 3000, 4000), np.full(500, 2999)])
    dst = np.concatenate(
        [rng.integers(0, 12_000, 9000), rng.integers(0, 3000, 4000), np.full(500, 5)]
    )
    return weft.Graph.from_edges(*((dst, src) if turned else (src, dst)), num_vertices=12_000)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_rule_35_every_schedule_visits_each_active_arc_once(direction, schedule):
    for turned in (False, True):
        g = _hub(turned)
        n = g.num_vertices
        src, dst, _ = g.to_edges()
        fields = {"count": np.zeros(n, int), "total": np.zeros(n), "sent": np.zeros(n, int)}
        fields |= {"x": np.arange(n, dtype=float), "least": np.full(n, 10**6)}
        for members in (None, np.arange(0, n, 3), [17], [2999, 11_999]):
            active = np.ones(src.size, bool) if members is None else np.isin(src, members)
            count, least = np.zeros(n, int), np.full(n, 10**6)
            np.add.at(count, dst[active], 1)
            np.minimum.at(least, dst[active], np.flatnonzero(active))
            total = np.bincount(dst[active], src[active].astype(float), n)
            for threads in (1, 3):
                config = weft.Config(direction=direction, schedule=schedule, threads=threads)
                result = run(g, [visit, reach_back], fields, members, config=config)
                assert_bits_equal(result.count, count)
                assert_bits_equal(result.total, total)
                assert_bits_equal(result.least, least)
                assert_bits_equal(result.sent, g.out_degree.astype(int))


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.edge(into="label", reduce=weft.min)
def spread(u, v, e):
    return u.label


def test_rule_36_the_direction_is_the_one_that_looks_at_fewer_edges():
    g = weft.generators.rmat(12, 16, seed=2)
    n = g.num_vertices
    source = int(np.argmax(g.out_degree))
    level = np.full(n, -1)
    level[source] = 0
    edges = {}
    for direction in ("push", "pull", "auto"):
        with weft.profile() as p:
            found = run(
                g, discover, {"level": level}, [source], mode="iterate", direction=direction
            )
        edges[direction] = sum(record.edges for record in p.records)
        used = [record.direction for record in p.records]
        assert direction == "auto" or set(used) == {direction}
        level_of = weft.bfs(g, source).level
        assert found.level.tolist() == level_of.tolist()
    assert used[0] == "push" and "pull" in used
    assert edges["auto"] < 0.5 * edges["push"] and edges["auto"] <= edges["pull"]
    # Vertices that come back: a small frontier is pushed however many were seen before.
    label = np.full(n, n)
    label[7] = 0
    with weft.profile() as p:
        run(g, spread, {"label": label}, [7], mode="iterate", direction="auto", max_iter=n)
    last = p.records[-1]
    assert last.frontier < n / 16 and last.direction == "push"


@pytest.mark.parametrize("schedule", ["warp", "block", "twc", "twce", "strict", "row"])
def test_rule_37_a_schedule_that_a_cpu_does_not_have_gives_its_reason(g, schedule):
    with pytest.raises(ConfigError, match=r"not possible on a CPU: .*warps.*'vertex', 'edge'"):
        g.run(discover, g.state(level=np.zeros(6, int)), config=weft.Config(schedule=schedule))
    with pytest.raises(ConfigError, match="is not known"):
        g.run(discover, g.state(level=np.zeros(6, int)), config=weft.Config(schedule="wrap"))


@weft.vertex
def average(v, damping):
    share = v.gather(lambda u, e: damping * u.rank / (u.out_degree + 1) + 0.375, weft.sum)
    v.rank = share + v.gather(lambda u, e: weft.sqrt(u.rank) * e.weight, weft.sum)


def test_rule_42_source_hoisting_and_constant_lifting_are_passes(g):
    fields = {"rank": np.array([4.0, 1.0, 9.0, 16.0, 0.25, 1.0]), "damping": weft.scalar(0.5)}
    told = weft.explain(average, g, g.state(**fields))
    assert {"source_hoisting", "gather_folding"} <= set(told.passes)
    assert "0.375" not in told.source
    results = []
    for off in ((), "source_hoisting", ("constant_lifting", "gather_folding", "equal_expressions")):
        config = weft.Config(passes_off=off)
        told = weft.explain(average, g, g.state(**fields), config=config)
        assert not set(told.passes) & {*off, off}
        assert ("0.375" in told.source) == ("constant_lifting" in off)
        options = {"mode": "iterate", "max_iter": 3, "config": config}
        for frontier in (None, [0, 2, 3]):
            results.append(run(g, average, fields, frontier, **options).rank)
    for whole, part in zip(results[::2], results[1::2], strict=True):
        np.testing.assert_allclose(whole, results[0], rtol=1e-14)
        np.testing.assert_allclose(part, results[1], rtol=1e-14)


def _chase(name):
    def chase(v):
        v.x = v.x.at(v.x)

    chase.__name__ = name
    return weft.vertex(chase)


def test_rule_43_a_fault_tells_cause_function_and_vertex(g):
    good = np.array([1, 2, 3, 4, 5, 0])
    for name in ("chase", "hunt"):  # one kernel, two names
        with pytest.raises(FaultError, match=f"index was out of range in '{name}' at vertex 4"):
            run(g, _chase(name), {"x": [1, 2, 3, 4, 6, 0]})
        result = agreed(g, _chase(name), {"x": np.arange(6)})  # and nothing is left of it
        assert result.x.tolist() == [0, 1, 2, 3, 4, 5]

    @weft.edge(into="x", reduce=weft.sum)
    def first(u, v, e):
        return weft.while_loop(lambda k: k > 0, lambda k: k - v.pace, u.x, bound=50)

    @weft.vertex(on="all")
    def second(v):
        v.m = weft.inverse(v.m)

    fields = {"x": good, "pace": np.ones(6, int), "m": np.tile(np.eye(2), (6, 1, 1))}
    assert agreed(g, [first, second], fields).x.tolist() == good.tolist()
    stuck = fields | {"pace": np.array([1, 1, 1, 0, 1, 1])}
    with pytest.raises(FaultError, match="bound in 'first' at vertex 3"):
        run(g, [first, second], stuck)
    flat = fields | {"m": fields["m"] * np.array([1, 1, 1, 1, 1, 0])[:, None, None]}
    with pytest.raises(FaultError, match="singular in 'second' at vertex 5"):
        run(g, [first, second], flat)


@weft.edge(into="x", reduce=weft.sum)
def arrive(u, v, e):
    return u.x


@weft.vertex
def halve(v):
    v.x = v.x // 2


def test_rule_44_profile_records_every_sweep(g):
    with weft.profile() as p:
        run(g, [arrive, halve], {"x": np.arange(6)}, [1, 2], mode="iterate", max_iter=3)
    assert [(r.step, r.phase, r.direction) for r in p.records][1::2] == [
        (step, 1, "vertex") for step in range(3)
    ]
    first = p.records[0]
    assert (first.frontier, first.edges) == (2, 4) or first.direction == "pull"
    assert first.run == "arrive, halve" and all(record.ms >= 0 for record in p.records)
    assert p.records[2].frontier == len(
        run(g, [arrive, halve], {"x": np.arange(6)}, [1, 2]).frontier
    )


def test_rule_45_proxies_fail_loudly_where_python_would_mislead(g):
    state = g.state(x=np.arange(6.0), vector=np.zeros((6, 2)))
    misuses = {
        "truth": lambda v: 1.0 if v.x > 0 else 2.0,
        "iterated": lambda v: sum(part for part in v.vector),
        r"len\(\)": lambda v: len(v.vector) + v.x,
        "`in`": lambda v: 1.0 if v.x in v.vector else 2.0,
        "formatted": lambda v: float(f"{v.x}"),
        "no traced form": lambda v: np.logaddexp(v.x, 1.0),
    }
    for words, misuse in misuses.items():
        with pytest.raises(TraceError, match=words):
            g.run(weft.vertex(lambda v, misuse=misuse: setattr(v, "x", misuse(v))), state)

    @weft.edge(into="x", reduce=weft.sum)
    def forgets(u, v, e):
        u.x + 1

    with pytest.raises(TraceError, match="returned nothing, but must return a message"):
        g.run(forgets, state)

    @weft.vertex
    def maps(v):
        v.x = np.sqrt(v.x) + np.maximum(v.x, 2.0)
        v.vector = np.array([1.0, 2.0]) * v.x

    result = agreed(g, maps, {"x": np.arange(6.0) ** 2, "vector": np.zeros((6, 2))})
    assert result.x.tolist() == [2.0, 3.0, 6.0, 12.0, 20.0, 30.0]
    assert result.vector[2].tolist() == [6.0, 12.0]


def test_every_rule_has_a_test_named_after_it():
    tests = Path(__file__).parents[1]
    named = {
        int(number)
        for path in tests.rglob("test_*.py")
        for number in re.findall(r"^def test_rule_(\d\d)_", path.read_text(), re.MULTILINE)
    }
    assert named == set(range(1, 46))
