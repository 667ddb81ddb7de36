"""Config: what each field takes, what is refused and how, and that results do not depend on it."""

from dataclasses import fields

import numpy as np
import pytest

import weft
from weft.config import CHOICES, DIRECTION_RULES, GPU_ONLY, RANGES
from weft.engine.tuning_rows import config_from, config_text
from weft.errors import ConfigError
from weft.formats import base as formats
from weft.frontiers import base as frontiers
from weft.plan.directions import RULES
from weft.schedules import base as schedules


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.edge(into="label", reduce=weft.min)
def spread(u, v, e):
    return u.label


def levels(g, source=0):
    state = g.state(level=weft.full(-1, weft.int32))
    state.level[source] = 0
    return state


def search(g, **options):
    state = levels(g)
    g.iterate(discover, state, [0], config=weft.Config(**options))
    return state.level.tolist()


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, known in CHOICES.items() for v in known])
def test_every_listed_value_is_taken(name, value):
    assert getattr(weft.Config(**{name: value}), name) == value


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("direction", "bamer", r"'auto', 'push', 'pull', 'beamer'.* Did you mean 'beamer'\?"),
        ("lanes", 3, r"None, 1, 2, 4, 8, 16, 32, 'block'"),
        ("lanes", 2.0, r"is not known"),
        ("lanes", "blok", r"Did you mean 'block'\?"),
        ("width", "clutser", r"Did you mean 'cluster'\?"),
        ("width", None, r"Expected one of 'auto', 'block', 'cluster', 'grid'"),
        ("frontier_in", "counter", r"'queue', 'bitmap', 'bytemap', 'reverse_queue'"),
        ("frontier_out", "reverse_queue", r"'queue', 'bitmap', 'bytemap'"),
        ("compaction", "ballott", r"Did you mean 'ballot'\?"),
        ("dedup", "proven", r"'none', 'bitmask', 'history', 'warp', 'exact'"),
        ("combine", "by_targets", r"Did you mean 'by_target'\?"),
        ("ordering", "bucket", r"Did you mean 'buckets'\?"),
        ("ordering", 1, r"True, False, 'near_far', 'buckets'"),
        ("fuse", "some", r"'none', 'direction', 'all'"),
        ("fold", "no", r"Expected one of True, False"),
        ("change_driven", "yes", r"Expected one of False, True, 'auto'"),
        ("deterministic", 1, r"Expected one of True, False"),
        ("deterministic", ["yes"], r"Expected one of True, False"),
        ("passes_off", "early_exits", r"Did you mean 'early_exit'\?"),
        ("items_per_thread", 0, r"Expected an integer from 1 to 64"),
        ("items_per_thread", 65, r"Expected an integer from 1 to 64"),
        ("block_size", 100, r"Expected a multiple of 32 from 32 to 1024"),
        ("block_size", 2048, r"Expected a multiple of 32 from 32 to 1024"),
        ("bin_size", True, r"Expected an integer from 1 to 1024"),
        ("bin_size", "64", r"Expected an integer from 1 to 1024"),
        ("threads", 0, r"Expected an integer from 1 on"),
        ("threads", 2.0, r"Expected an integer from 1 on"),
        ("delta", 0, r"Expected a number above 0"),
        ("delta", float("nan"), r"Expected a number above 0"),
        ("delta", "1", r"Expected a number above 0"),
        ("delta", True, r"Expected a number above 0"),
        ("format", 3, r"is not a name"),
        ("schedule", ("vertex",), r"is not a name"),
        ("schedule", {"push": 3}, r"is not a name"),
        ("schedule", {}, r"chooses nothing. Expected some of 'push', 'pull', 'gather'"),
        ("frontier_in", {"push": "quue"}, r"Did you mean 'queue'\?"),
        ("frontier_in", {"push": "state"}, r"a push one of 'queue', 'bitmap', 'bytemap'\."),
        ("frontier_in", {"pull": "queue"}, r"a pull one of 'bitmap', 'bytemap', 'reverse_queue'"),
        ("passes_off", 3, r"Expected some of 'constant_folding'"),
        ("passes_off", [["early_exit"]], r"Expected one of 'constant_folding'"),
    ],
)
def test_what_is_refused_says_what_is_possible(name, value, words):
    with pytest.raises(ConfigError, match=f"{name}=.*{words}"):
        weft.Config(**{name: value})


def test_a_choice_may_differ_by_side():
    config = weft.Config(schedule={"pull": "vertex", "push": "twc"}, frontier_in={"push": "bitmap"})
    assert config.schedule == {"push": "twc", "pull": "vertex"}
    same = weft.Config(schedule={"push": "twc", "pull": "vertex"}, frontier_in={"push": "bitmap"})
    assert config == same and hash(config) == hash(same)
    assert weft.Config(schedule={"push": "twc"}).given() == {"schedule": {"push": "twc"}}
    with pytest.raises(ConfigError, match=r"side of format='pul'.*Did you mean 'pull'\?"):
        weft.Config(format={"pul": "csr"})
    with pytest.raises(ConfigError, match=r"lanes={'push': 2} is not known"):
        weft.Config(lanes={"push": 2})
    g = weft.generators.path(4)
    with pytest.raises(ConfigError, match=r"not possible on a CPU: it takes one for all sides"):
        search(g, schedule={"push": "vertex"})
    with pytest.raises(ConfigError, match=r"schedule='wrap' is not known"):
        search(g.to("emulated"), schedule={"push": "wrap"})
    assert search(g, format={"push": "coo"}, frontier_out={"pull": "bytemap"}) == [0, 1, 2, 3]


def test_numbers_of_numpy_are_numbers():
    config = weft.Config(
        threads=np.int64(2), lanes=np.int32(4), block_size=np.uint16(64), delta=np.float32(0.5)
    )
    assert (config.threads, config.lanes, config.block_size) == (2, 4, 64)
    assert type(config.threads) is type(config.lanes) is int


def test_every_field_is_checked_and_documented():
    names = {f.name for f in fields(weft.Config)}
    assert names == {*CHOICES, *RANGES, "format", "schedule", "delta", "passes_off", "weaver"}
    for name in names:
        assert f"\n    {name}\n" in weft.Config.__doc__
    assert names >= set(GPU_ONLY)


def test_fixed_lists_are_those_of_the_engine():
    assert tuple(RULES) == DIRECTION_RULES
    assert set(CHOICES["compaction"]) == {None, *frontiers.COMPACTIONS}
    assert set(CHOICES["dedup"]) == {None, *frontiers.DEDUPS} - {"proven"}
    assert set(CHOICES["frontier_out"]) == {None, *frontiers.KINDS}


def test_a_config_knows_what_was_given():
    assert weft.Config().given() == {}
    config = weft.Config(schedule="merge", direction="auto", passes_off="early_exit")
    assert config.given() == {"schedule": "merge", "passes_off": frozenset({"early_exit"})}


def test_something_else_is_not_a_config():
    with pytest.raises(ConfigError, match=r"is not a weft.Config. Its fields are 'format', 'reord"):
        weft.bfs(weft.generators.path(3), 0, config={"direction": "push"})


# -- names that are looked up when a program runs ------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_names_are_looked_up_in_the_registries(device):
    g = weft.generators.path(4).to(device)
    with pytest.raises(ConfigError, match=r"schedule='wrap' is not known.*Did you mean 'warp'\?"):
        search(g, schedule="wrap")
    with pytest.raises(ConfigError, match=r"format='csx' is not known.*'coo', .*'csr'.*mean 'csr'"):
        search(g, format="csx")


def test_what_was_registered_later_is_known(monkeypatch):
    monkeypatch.setattr(schedules, "_schedules", dict(schedules.schedules()))
    schedules.register(
        schedules.Schedule("mine", "", "Mine", refuse=lambda format, lanes: "it is too young")
    )
    g = weft.generators.path(4)
    with pytest.raises(ConfigError, match=r"schedule='mine' is not possible on a CPU: .*'merge'"):
        search(g, schedule="mine")
    with pytest.raises(
        ConfigError, match=r"schedule='mine' is not possible over format='coo': it is too young\."
    ):
        search(g.to("emulated"), schedule="mine", format="coo")
    monkeypatch.setattr(formats, "_formats", dict(formats.formats()))
    known = formats.formats()["csr"]
    formats.register(formats.Format("own", "", known.kinds, known.build, known.to_coo))
    assert search(g, format="own") == [0, 1, 2, 3]
    formats.register(formats.Format("deaf", "", (*known.kinds, *known.kinds), *(print,) * 2))
    with pytest.raises(ConfigError, match="format='deaf' is not possible on a CPU: it does not"):
        search(g, format="deaf")


# -- results -------------------------------------------------------------------------------------


def test_a_cpu_ignores_what_only_a_gpu_has():
    given = {
        "lanes": "block", "items_per_thread": 3, "block_size": 96, "width": "grid",
        "frontier_out": "bytemap", "compaction": "jit",
        "best_neighbor": True, "bin_size": 7, "dedup": "warp", "fuse": "none", "hub_table": True,
    }  # fmt: skip
    assert sorted(given) == sorted(GPU_ONLY)
    g = weft.generators.rmat(7, 4, seed=5)
    assert search(g, **given) == search(g)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_gives_the_same_result_on_a_cpu(rule):
    g = weft.generators.rmat(9, 16, seed=2, directed=True)
    assert search(g, direction=rule) == search(g)
    label = np.arange(g.num_vertices)[::-1].copy()
    found = []
    for direction in (rule, "push"):
        state = g.state(label=label)
        g.iterate(spread, state, max_iter=50, direction=direction)
        found.append(state.label.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("rule", sorted(RULES))
def test_rules_turn_as_published(rule):
    """The directions of a search are those of the rule's own words, computed here."""
    g = weft.generators.rmat(10, 16, seed=2, directed=True)
    source = int(np.argmax(g.out_degree))
    with weft.profile() as p:
        state = levels(g, source)
        g.iterate(discover, state, [source], direction=rule)
    degree, n, m = g.out_degree.astype(int), g.num_vertices, int(g.out_degree.sum())
    pulling, seen, before, used = False, 0, 0, []
    for depth in range(len(p.records)):
        frontier = np.flatnonzero(state.level == depth)
        size, edges = frontier.size, int(degree[frontier].sum())
        seen += edges
        left, fresh = m - seen, n * (m - seen) / m
        backward = fresh * n / (n - fresh)
        turn_to_pull, turn_to_push = {
            "beamer": (
                edges > left / 14 and size > before, size < n / 24 and size < before
            ),
            "ligra": (size + edges > m / 20, size + edges <= m / 20),
            "gunrock": (size * m / n > backward / 1000, size * m / n < backward / 5),
            "graphblast": (
                size > n / 10 and size > before, size <= n / 10 and size < before
            ),
            "simdx": (edges > 0.3 * m, edges <= 0.3 * m),
        }[rule]  # fmt: skip
        before = size
        pulling = not turn_to_push if pulling else bool(turn_to_pull)
        used.append("pull" if pulling else "push")
    assert [record.direction for record in p.records] == used
    assert "pull" in used and used[0] == "push"


def directions(rule):
    g = weft.generators.rmat(10, 16, seed=2, directed=True)
    source = int(np.argmax(g.out_degree))
    with weft.profile() as p:
        g.iterate(discover, levels(g, source), [source], direction=rule)
    return [record.direction for record in p.records]


@pytest.mark.parametrize(
    ("rule", "published"),
    [
        (("beamer", 14, 24), "beamer"),
        (["ligra", 1 / 20], "ligra"),
        (("gunrock", 1 / 1000, 1 / 5), "gunrock"),
        (("graphblast", np.float32(0.1)), "graphblast"),
        (("simdx", 0.3), "simdx"),
    ],
)
def test_thresholds_of_rules(rule, published):
    assert directions(tuple(rule)) == directions(published)
    assert weft.Config(direction=rule).direction[0] == published
    assert hash(weft.Config(direction=rule)) == hash(weft.Config(direction=tuple(rule)))


@pytest.mark.parametrize(
    ("own", "published"),
    [
        (lambda s: s.edges > 0.3 * s.m, "simdx"),
        (
            lambda s: (
                ~((s.frontier / 0.1 <= s.n) & s.shrinking)
                if s.pulling
                else (s.frontier / 0.1 > s.n) & s.growing
            ),
            "graphblast",
        ),
        (lambda s: (s.frontier + s.edges) * 20 > s.m, "ligra"),
        (
            lambda s: (
                (s.frontier * 24 >= s.n) | ~s.shrinking
                if s.pulling
                else (s.edges * 14 > s.unexplored) & s.growing
            ),
            "beamer",
        ),
        (lambda s: ~(s.edges <= s.m - 0.7 * s.m) & True, "simdx"),
    ],
)
def test_rules_of_ones_own(own, published):
    assert directions(own) == directions(published)


def test_a_rule_of_ones_own_may_be_constant():
    assert set(directions(lambda s: True)) == {"pull"}
    assert set(directions(lambda s: (s.n < 0) | False)) == {"push"}


def test_rules_of_ones_own_decide_on_a_gpu():
    g = weft.generators.rmat(7, 8, seed=2)
    config = weft.Config(direction=lambda s: (s.edges * 5 > s.unexplored) & (s.frontier > 3))
    want = weft.bfs(g, 0).level
    assert (weft.bfs(g.to("emulated"), 0, config=config).level == want).all()


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (lambda s: s.frontier, "returned .*Expected a condition"),
        (lambda s: None, "returned None"),
        (lambda s: s.frontier > 3 and s.edges > 4, r"Use & \| ~"),
        (lambda s: s.frontier / s.n > 0.1, "divides by a number that may be 0"),
        (lambda s: s.frontier == 3, "known only when the program runs"),
        (lambda s: s.frontier > "x", "'x' cannot be used in a rule"),
        (lambda s: s.frontier > float("nan"), "a finite number"),
    ],
)
def test_rules_that_cannot_be(own, words):
    with pytest.raises(ConfigError, match=words):
        directions(own)


@pytest.mark.parametrize("wrong", [3, None, 1.5, {"push": 1}])
def test_directions_that_cannot_be(wrong):
    with pytest.raises(ConfigError, match="direction="):
        weft.Config(direction=wrong)


def test_a_rule_sees_whether_frontiers_grow():
    g = weft.generators.path(8).to("cpu")
    for device in ("cpu", "emulated"):
        with weft.profile() as p:
            rule = lambda s: ~s.growing & ~s.shrinking
            g.to(device).iterate(discover, levels(g.to(device), 3), [3], direction=rule)
        # Vertex 3, then one on each side three times, then one alone: frontiers of 1, 2, 2, 2, 1.
        assert [record.direction for record in p.records] == [
            "push",
            "push",
            "pull",
            "pull",
            "push",
        ]


def test_thresholds_move_the_turns():
    assert set(directions(("simdx", 1e-9))) == {"pull"}
    assert set(directions(("simdx", 1.0))) == {"push"}
    assert directions(("beamer", 1e-9, 24)) == ["push"] * len(directions("beamer"))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (("bamer", 14, 24), "Did you mean 'beamer'"),
        ((), "the rule of direction"),
        (("beamer",), r"2 number\(s\) above 0: alpha, beta"),
        (("beamer", 14, 0), "above 0"),
        (("beamer", "x", 2), "above 0"),
        (("beamer", True, 2), "above 0"),
        (("ligra", float("nan")), "share of the edges"),
        (("simdx", 10**400), "above 0"),
    ],
)
def test_thresholds_that_cannot_be(rule, words):
    with pytest.raises(ConfigError, match=words):
        weft.Config(direction=rule)


@pytest.mark.parametrize("ordering", [True, False, "near_far", "buckets", "horizon"])
def test_orderings_give_the_same_distances(ordering):
    g = weft.generators.road(12, weights="float", seed=1)
    got = weft.sssp(g, 0, config=weft.Config(ordering=ordering))
    assert got.dist.tolist() == weft.sssp(g, 0).dist.tolist()


def test_the_table_of_the_schedule_weaver():
    config = weft.Config(schedule="weaver", weaver={"entries": 64})
    assert config == weft.Config(schedule="weaver", weaver=weft.config.WeaverTable(64))
    assert hash(config) != hash(weft.Config(schedule="weaver"))
    assert config_from(config_text(config)) == config
    for wrong, words in (
        ({"entries": 33}, "a multiple of 32 from 32 to 65536"),
        ({"table": "global"}, "Expected one of 'shared'"),
        ({"rows": 3}, r"'rows' is not known. Expected one of 'entries', 'table'"),
        (64, "Expected a mapping with some of 'entries', 'table'"),
    ):
        with pytest.raises(ConfigError, match=words):
            weft.Config(weaver=wrong)
