"""Configurations, explanations and profiles of real runs in the emulation."""

import numpy as np
import pytest

import weft
from weft.graph.execution import scratch_bytes
from weft.plan.directions import RULES

pytestmark = pytest.mark.usefixtures("compile_cuda")  # skips where there is no compiler


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@pytest.fixture(scope="module")
def g():
    return weft.generators.rmat(6, 6, seed=3, directed=True).to("emulated")


def search(g, **config):
    state = g.state(level=weft.full(-1, weft.int32))
    state.level[0] = 0
    g.iterate(discover, state, [0], config=weft.Config(**config))
    return state.level


@pytest.mark.parametrize("rule", sorted(RULES))
def test_rules_turn_as_on_a_cpu(g, rule):
    with weft.profile() as here:
        mine = search(g.to("cpu"), direction=rule)
    with weft.profile() as there:
        assert search(g, direction=rule).tolist() == mine.tolist()
    assert [r.direction for r in here.records] == [r.direction for r in there.records]
    assert [r.frontier for r in here.records] == [r.frontier for r in there.records]


@pytest.mark.parametrize(
    "config",
    [
        {"schedule": "row", "lanes": "block"},
        {"schedule": "row", "lanes": 4, "format": "coo"},
        {"schedule": "merge", "items_per_thread": 3, "block_size": 96},
        {"frontier_in": "reverse_queue", "frontier_out": "bytemap", "bin_size": 1},
        {"frontier_in": "bytemap"},
        {"frontier_out": "bitmap", "frontier_in": "bytemap", "schedule": "edge"},
        {"compaction": "jit", "bin_size": 1, "dedup": "warp", "width": "block"},
        {"width": "grid", "fuse": "direction", "dedup": "none"},
    ],
    ids=lambda config: "-".join(map(str, config.values())),
)
def test_options_do_not_change_results(g, config):
    assert search(g, **config).tolist() == search(g.to("cpu")).tolist()


def test_a_profile_tells_supersteps_and_launches(g):
    with weft.profile() as p:
        search(g, fuse="all")
    assert [r.step for r in p.records] == list(range(len(p.records)))
    assert p.records[0].frontier == 1 and p.records[0].edges == int(g.out_degree[0])
    assert all(r.ms > 0 for r in p.records), "the first record too"
    (facts,) = p.facts
    assert facts["device"] == "host emulation" and facts["launches"] == 1
    assert {"grid", "block", "cluster", "push", "pull", "fuse"} <= set(facts)
    assert facts["registers"] == "not known"
    assert facts["atomics"] > 0 and facts["block_barriers"] > 0 and facts["votes"] > 0
    assert "launches=1" in str(p) and "host emulation" in p.to_json()


def test_a_profile_tells_how_busy_lanes_were(g):
    """Every arc of a gather is taken once; who shares rows has fewer iterations than a row each."""
    told = {}
    for schedule in ("vertex", "warp", "block"):
        with weft.profile() as p:
            weft.pagerank(g, max_iter=1, on_unconverged="return",
                          config=weft.Config(schedule=schedule))  # fmt: skip
        told[schedule] = p.facts[0]
        assert p.facts[0]["arcs"] == g.topology.num_arcs
        assert p.facts[0]["peak_bytes"] > g.memory_bytes
        assert p.records[0].arcs_share == p.records[0].edges / g.topology.num_arcs
    least = -(-g.topology.num_arcs // 32)
    assert least <= told["warp"]["warp_iterations"] < told["vertex"]["warp_iterations"]
    for facts in told.values():
        share = facts["arcs"] / (32 * facts["warp_iterations"])
        assert facts["lane_utilisation"] == pytest.approx(share, abs=1e-3)
    assert told["vertex"]["searches"] == 0 < told["block"]["searches"]


def test_a_profile_tells_the_sides_that_sweeps_go_by(g):
    """A gather has a schedule of its own; a pull through whole rows has the same."""
    with weft.profile() as p:
        weft.pagerank(
            g, max_iter=1, on_unconverged="return", config=weft.Config(schedule={"gather": "row"})
        )
        weft.core_number(g)
    assert [set(facts) & {"push", "pull", "gather"} for facts in p.facts] == [
        {"gather"}, {"push", "gather"},
    ]  # fmt: skip
    assert p.facts[0]["gather"] == "row/csr bitmap->bitmap"


def test_edges_that_decide_nothing_are_counted_for_a_record_alone(g):
    config = weft.Config(direction="push", width="grid")
    state = g.state(level=weft.full(-1, weft.int32))
    state.level[0] = 0
    told = weft.explain(discover, g, state, [0], config=config)
    assert "NoDegree{}" in told.source and "OutDegree{" not in told.source
    levels = search(g, direction="push", width="grid")
    with weft.profile() as p:
        assert search(g, direction="push", width="grid").tolist() == levels.tolist()
    assert sum(r.edges for r in p.records) == int(g.out_degree[levels >= 0].sum()) > 0


def test_an_explanation_runs_nothing(g):
    state = g.state(level=np.full(g.num_vertices, -1))
    state.level[0] = 0
    told = weft.explain(discover, g, state, [0])
    assert (state.level < 0).sum() == g.num_vertices - 1
    assert "__global__" in told.source and told.kernels[0].registers is None


def test_workspaces_are_counted():
    g = weft.generators.path(9).to("emulated")
    before = g.memory_bytes
    search(g)
    assert scratch_bytes(g.topology) > 0
    assert g.memory_bytes >= before + scratch_bytes(g.topology)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_every_record_of_a_long_run_has_a_time(monkeypatch, device):
    monkeypatch.setattr("weft.backends.cpu.host.workspace.RECORDS", 8)
    monkeypatch.setattr("weft.backends.cpu.host.workspace._blocks", [])
    monkeypatch.setattr("weft.backends.cuda.host.run.RECORDS", 8)
    path = weft.generators.path(40).to(device)
    with weft.profile() as p:
        assert search(path)[39] == 39
    steps = [record.step for record in p.records]
    assert steps == list(range(steps[-1] - 6, steps[-1] + 1)) and p.dropped == steps[0]
    assert all(record.ms > 0 for record in p.records)
