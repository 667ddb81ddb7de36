"""The benchmark's checks find wrong results, and its protocol treats all contestants alike."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.checks import Paths, Reference, Search
from benchmarks.defaults_list import CONFIGURATIONS
from benchmarks.racing import as_ready

import weft
from benchmarks import (
    checks,
    cpu,
    defaults,
    formats,
    formats_report,
    gpu_tasks,
    graphs,
    peers,
    protocol,
    report,
)
from weft.config import each_choice
from weft.schedules import schedules


@pytest.fixture(autouse=True)
def no_collections(monkeypatch):
    """Skip the collections before timed runs: they take a second each in a long test run."""
    monkeypatch.setattr(protocol.gc, "collect", lambda: 0)


@pytest.fixture
def reference() -> Reference:
    """A square with a diagonal and a tail, a separate edge, and an isolated vertex 7.

    0 - 1 - 2 - 3 - 0, diagonal 0 - 2, tail 3 - 4; then 5 - 6. Searches start at 0.
    """
    weight = {(0, 1): 1, (1, 2): 1, (2, 3): 1, (0, 3): 5, (0, 2): 4, (3, 4): 2, (5, 6): 3}
    u, v = np.array(list(weight)).T
    half = sp.coo_array((np.array(list(weight.values()), float), (u, v)), shape=(8, 8))
    return Reference(graphs.canonical_matrix(half + half.T), source=0)


LEVEL = np.array([0, 1, 1, 1, 2, -1, -1, -1])
LEVEL_PARENT = np.array([0, 0, 0, 0, 3, -1, -1, -1])
DIST = np.array([0, 1, 2, 3, 5, np.inf, np.inf, np.inf], dtype=np.float32)
DIST_PARENT = np.array([0, 0, 1, 2, 3, -1, -1, -1])
LABEL = np.array([0, 0, 0, 0, 0, 5, 5, 7])
CORE = np.array([2, 2, 2, 2, 1, 1, 1, 0])


def changed(array, at, value):
    other = array.copy()
    other[at] = value
    return other


RIGHT = {
    "bfs": Search(LEVEL, LEVEL_PARENT),
    "sssp": Paths(DIST, DIST_PARENT),
    "components": LABEL,
    "triangles": 2,
    "cores": CORE,
}


@pytest.mark.parametrize("task", RIGHT)
def test_right_answers_pass(reference, task):
    assert checks.CHECKS[task](reference, RIGHT[task]) is None


def test_every_task_has_a_check():
    assert tuple(checks.CHECKS) == peers.TASKS


def test_labels_may_be_any_numbers(reference):
    assert checks.check_components(reference, np.array([9, 9, 9, 9, 9, 2, 2, 4])) is None


def test_answers_may_leave_out_levels_or_parents(reference):
    assert checks.check_bfs(reference, Search(level=LEVEL)) is None
    assert checks.check_bfs(reference, Search(parent=LEVEL_PARENT)) is None
    assert checks.check_sssp(reference, Paths(DIST)) is None


WRONG = {
    "altered level": ("bfs", Search(changed(LEVEL, 4, 3), LEVEL_PARENT), "vertex 4 has 3"),
    "missed vertex": ("bfs", Search(changed(LEVEL, 4, -1)), "expected 2"),
    "short levels": ("bfs", Search(LEVEL[:-1]), "shape"),
    "parent not a neighbour": (
        "bfs",
        Search(LEVEL, changed(LEVEL_PARENT, 4, 1)),
        "vertex 4 has a parent that is not its neighbour",
    ),
    "parent on the same level": (
        "bfs",
        Search(LEVEL, changed(LEVEL_PARENT, 1, 2)),
        "not one level up",
    ),
    "parent cycle in a search": (
        "bfs",
        Search(LEVEL, changed(LEVEL_PARENT, [1, 2], [2, 1])),
        "cycle",
    ),
    "parent of an unreached vertex": (
        "bfs",
        Search(LEVEL, changed(LEVEL_PARENT, 5, 6)),
        "vertex 5 has a parent but was not reached",
    ),
    "no parent": ("bfs", Search(LEVEL, changed(LEVEL_PARENT, 4, -1)), "or the reverse"),
    "parent outside": ("bfs", Search(LEVEL, changed(LEVEL_PARENT, 4, 8)), "outside"),
    "source without itself": ("bfs", Search(LEVEL, changed(LEVEL_PARENT, 0, 1)), "own parent"),
    "altered distance": ("sssp", Paths(changed(DIST, 3, 4)), "vertex 3 has a wrong distance"),
    "nan distance": ("sssp", Paths(changed(DIST, 3, np.nan)), "vertex 3"),
    "unreached is reached": ("sssp", Paths(changed(DIST, 7, 0)), "vertex 7"),
    "loose parent": ("sssp", Paths(DIST, changed(DIST_PARENT, 2, 0)), "vertex 2 has a parent"),
    "cyclic parents": (
        "sssp",
        Paths(DIST, changed(DIST_PARENT, [1, 2, 3], [2, 3, 2])),
        "cycle",
    ),
    "wrong label": ("components", changed(LABEL, 4, 5), "vertex 4"),
    "merged components": ("components", changed(LABEL, 7, 5), "2 components, expected 3"),
    "triangle too many": ("triangles", 3, "3 triangles, expected 2"),
    "wrong core number": ("cores", changed(CORE, 3, 3), "vertex 3 has 3, expected 2"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_answers_are_found(reference, case):
    task, answer, words = WRONG[case]
    assert words in checks.CHECKS[task](reference, answer)


def test_a_cycle_over_zero_weights_is_found():
    ends = np.array([[0, 1], [1, 0], [1, 2], [2, 1]]).T
    matrix = sp.coo_array((np.array([1.0, 1.0, 0.0, 0.0]), ends), shape=(3, 3))
    reference = Reference(graphs.canonical_matrix(matrix), source=0)
    assert reference.dist.tolist() == [0.0, 1.0, 1.0]
    tight_but_cyclic = Paths(reference.dist, np.array([0, 2, 1]))
    assert "cycle" in checks.check_sssp(reference, tight_but_cyclic)


def test_ranks_are_compared_in_l1(reference):
    rank = reference.rank
    assert rank.sum() == pytest.approx(1.0)
    assert checks.check_pagerank(reference, rank.astype(np.float32)) is None
    assert "allowed" in checks.check_pagerank(reference, changed(rank, 2, rank[2] + 2e-6))
    assert "differ" in checks.check_pagerank(reference, changed(rank, 2, np.nan))
    other = checks.power_iteration(reference.matrix, checks.ITERATIONS - 15)
    assert checks.check_pagerank(reference, other) is not None


@pytest.mark.parametrize("seed", range(3))
def test_references_agree_with_networkx(seed, monkeypatch):
    monkeypatch.setattr(checks, "WEDGES_AT_ONCE", 50)
    graph = nx.gnp_random_graph(60, 0.1, seed=seed)
    matrix = graphs.canonical_matrix(nx.to_scipy_sparse_array(graph, format="csr"))
    reference = Reference(matrix, source=3)
    level = nx.single_source_shortest_path_length(graph, 3)
    assert reference.level.tolist() == [level.get(v, -1) for v in range(60)]
    assert reference.triangles == sum(nx.triangles(graph).values()) // 3
    assert reference.core.tolist() == [nx.core_number(graph)[v] for v in range(60)]
    rank = nx.pagerank(graph, tol=1e-12, max_iter=500)
    found = checks.power_iteration(matrix, 200)
    assert found == pytest.approx([rank[v] for v in range(60)], abs=1e-9)


def test_sources(reference):
    assert graphs.busiest_vertex(reference.matrix) == 0
    assert graphs.giant_vertex(reference.matrix, 2) == 2


class Clock:
    """A clock that only moves when a contestant works."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_contestants_take_turns_and_another_one_starts_each_round():
    log = []
    calls = {name: (lambda name=name: log.append(name)) for name in "abc"}
    protocol.alternate(calls, runs=4, pause_s=0.0)
    assert "".join(log) == "abc" + "abc" + "bca" + "cab" + "abc"


def test_times_are_those_of_the_runs_without_the_warm_up():
    clock = Clock()
    durations = iter([100.0, 3.0, 1.0, 2.0])

    def work():
        duration = next(durations)
        clock.now += duration
        return duration

    outcome = protocol.alternate({"a": work}, runs=3, pause_s=0.0, clock=clock)["a"]
    assert outcome.times_ms == [3000.0, 1000.0, 2000.0]
    assert (outcome.median_ms, outcome.min_ms, outcome.spread) == (2000.0, 1000.0, 1.0)
    assert outcome.results == [100.0, 2.0]


def test_a_failing_contestant_leaves_the_others_alone():
    turns = iter(range(2))

    def stumble():
        return next(turns)

    outcomes = protocol.alternate({"a": stumble, "b": lambda: 5}, runs=3, pause_s=0.0)
    assert isinstance(outcomes["a"].error, StopIteration)
    assert outcomes["a"].times_ms == []
    assert len(outcomes["b"].times_ms) == 3


def test_there_may_be_no_contestants():
    assert protocol.alternate({}, runs=2) == {}


def row(contestant, median_ms, min_ms=1.0, spread=0.1, **more):
    return report.Row("kron18", "bfs", contestant, [median_ms], median_ms, min_ms, spread, **more)


def test_ratios_and_targets():
    rows = [row("weft", 2.0), row("scipy", 18.0, min_ms=6.0), row("igraph", 1.0)]
    report.compare(rows)
    assert [r.weft_speedup for r in rows] == [None, 9.0, 0.5]
    assert [r.weft_speedup_of_minima for r in rows] == [None, 6.0, 1.0]
    assert [r.target for r in rows] == [None, 8.0, None]
    assert [r.target_met for r in rows] == [None, True, None]


def test_a_wide_spread_is_called_noisy():
    rows = [row("weft", 2.0), row("scipy", 18.0, spread=0.9), row("igraph", 1.0)]
    report.compare(rows)
    assert [r.noisy for r in rows] == [False, True, False]


def test_a_wrong_result_has_no_ratio():
    rows = [row("weft", 2.0, fault="bad"), row("scipy", 18.0)]
    report.compare(rows)
    assert rows[1].weft_speedup is None
    rows = [row("weft", 2.0), row("scipy", 18.0, fault="bad")]
    report.compare(rows)
    assert rows[1].weft_speedup is None


def test_a_library_that_is_not_installed_is_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "igraph", None)
    monkeypatch.delitem(sys.modules, "benchmarks.peers.igraph_peer", raising=False)
    assert peers.load("igraph") is None
    assert peers.load("scipy").name == "scipy"


class FakeWeft(peers.Peer):
    """Gives SciPy's answers under weft's name, with one altered level if `spoil` is set."""

    name = "weft"
    version = "fake"
    spoil = False

    def __init__(self, workload, threads):
        from benchmarks.peers.scipy_peer import Contestant

        self.real = Contestant(workload, threads)

    def bfs(self):
        return self.real.bfs()

    def read_bfs(self, native):
        search = self.real.read_bfs(native)
        search.level[0] += self.spoil
        return search


@pytest.fixture
def fake_contest(monkeypatch, reference):
    """The command on the small graph above, with SciPy and a weft that only searches."""
    load = peers.load
    workload = graphs.Workload("kron3", reference.matrix, 0, graph=SizedGraph())
    monkeypatch.setattr(graphs, "make", lambda name: workload)
    monkeypatch.setattr(peers, "load", lambda name: FakeWeft if name == "weft" else load(name))
    monkeypatch.setattr(protocol, "PAUSE_S", 0.0)
    monkeypatch.setenv("WEFT_NUM_THREADS", "1")


class SizedGraph:
    memory_bytes = 1400


def run_command(*arguments):
    import typer
    from typer.testing import CliRunner

    app = typer.Typer()
    app.command()(cpu.main)
    return CliRunner().invoke(app, arguments)


def test_the_command_prints_a_table_and_writes_json(fake_contest, tmp_path):
    path = tmp_path / "found.json"
    ran = run_command("--graphs", "kron3", "--peers", "weft,scipy", "--json", str(path))
    assert ran.exit_code == 0, ran.output
    assert "peer / weft" in ran.output
    assert "100.0 bytes per arc" in ran.output
    found = json.loads(path.read_text())
    assert [(r["task"], r["contestant"]) for r in found["rows"]] == [
        ("bfs", "weft"),
        ("bfs", "scipy"),
        ("sssp", "scipy"),
        ("pagerank", "scipy"),
        ("components", "scipy"),
    ]
    assert all(len(r["times_ms"]) == 7 and r["fault"] is None for r in found["rows"])


def test_the_command_ends_with_1_on_a_wrong_result(fake_contest, monkeypatch):
    monkeypatch.setattr(FakeWeft, "spoil", True)
    ran = run_command("--graphs", "kron3", "--peers", "weft,scipy", "--runs", "1")
    assert ran.exit_code == 1
    assert "WRONG" in ran.output


@pytest.mark.parametrize(
    ("option", "value"), [("--peers", "boost"), ("--tasks", "sort"), ("--graphs", "grid5")]
)
def test_the_command_names_what_it_does_not_know(option, value):
    ran = run_command(option, value)
    assert ran.exit_code == 2
    assert value in ran.output


@pytest.mark.parametrize("task", CONFIGURATIONS)
def test_defaults_are_compared_with_at_least_60_configurations(task):
    configs = {weft.Config(**options) for options in CONFIGURATIONS[task]}
    assert len(configs) == len(CONFIGURATIONS[task]) >= 60
    known = {schedule for c in configs for schedule in each_choice(c.schedule)} - {None}
    assert known == set(schedules())


def test_a_default_is_measured_against_the_best_of_its_list():
    row = defaults.Row("kron8", "bfs", default_ms=3.0)
    assert row.ratio == 1.0  # nothing else was timed
    row.times = {"schedule=edge": math.inf, "fuse=none": 4.0, "schedule=twc": 2.0}
    assert row.fastest == "schedule=twc: 2; fuse=none: 4"
    row.best_ms = 2.0
    assert row.ratio == 1.5
    assert defaults.same(3, 3) and not defaults.same(3, 4)
    assert defaults.same(np.array([0.25, 0.75]), np.array([0.25, 0.75]))
    assert not defaults.same(np.array([1, 2]), np.array([1, 3]))


def test_formats_take_turns_and_the_first_that_is_ready_runs():
    cases = [
        formats.Case(formats_report.Row("kron8", name, "none"), task, schedule, "auto")
        for name, task, schedule in (
            ("ell", "pagerank", "twc"), ("csr", "bfs", "merge"), ("csr", "sssp", "row"),
            ("tigr", "bfs", formats.OWN), ("csr", "bfs", formats.OWN),
        )
    ]  # fmt: skip
    cases.sort(key=lambda case: case.rank)
    told = [(case.row.format, case.schedule) for case in cases]
    # What promises are about comes early; short rows have an order of their own.
    assert told == [
        ("csr", "own"),
        ("tigr", "own"),
        ("csr", "row"),
        ("ell", "twc"),
        ("csr", "merge"),
    ]
    assert cases[0].config == weft.Config(format="csr")
    assert cases[2].config == weft.Config(format="csr", schedule="row")
    taken = [next(as_ready(cases, lambda case: case.row.format == "ell", math.inf))]
    taken += as_ready(cases, lambda case: True, math.inf)
    assert [case.row.format for case in taken] == ["ell", "csr", "tigr", "csr", "csr"]
    assert list(as_ready([1], lambda number: True, -1.0)) == []


def test_formats_are_compared_with_cr2(capsys):
    def row(graph, name, order, size=8.0, **times):
        found = formats_report.Row(graph, name, order, 2.0, size, build_ms=7.0)
        found.times = {"bfs": times}
        return found

    rows = [
        row("planted9", "csr", "none", row=6.0, edge=1.0), row("planted9", "tigr", "none", row=3.0),
        row("planted9", "cr2", "community", 6.0, row=2.0, vertex=5.0),
        row("planted9", "cr2_bare", "community"), row("b", "coo", "none", edge=9.0),
        row("b", "csr", "none", row=4.0), row("b", "cr2", "community", merge=3.0),
        row("b", "block_coo", "none", edge=3.0),
    ]  # fmt: skip
    assert rows[2].best("bfs") == (2.0, "row")
    assert math.isinf(rows[3].best("bfs")[0])
    found = formats_report.ratios(rows, "bfs", "csr under row")
    assert found == {"planted9": (3.0, False), "b": (4 / 3, False)}
    assert formats_report.ratios(rows, "sssp", "tigr") == {}
    formats_report.report(rows, ["bfs"])
    told = capsys.readouterr().out
    assert "planted9: 0.75 of csr's bytes: holds (promised: at most 0.8)" in told
    assert "planted9: built in 3.50 × csr: DOES NOT HOLD (promised: at most 3.0)" in told
    assert "bfs: csr under row takes 2.00 × cr2's time (planted9 3.00, b 1.33): holds" in told
    assert "block_coo beside coo, both under edge: bfs b 3.00 ×" in told
    del rows[5].times["bfs"]["row"]
    rows[5].stopped("bfs", "row", 12.0)
    assert formats_report.ratios(rows, "bfs", "csr under row")["b"] == (4.0, True)
    formats_report.report(rows, ["bfs"])
    assert "takes more than 3.46 × cr2's time (planted9 3.00, b >4.00)" in capsys.readouterr().out
    rows[2].stopped("bfs", "row", 9.0, "pull")
    rows[3].stopped("bfs", "row", 7.0)
    assert rows[3].times_text("bfs").endswith("cr2_bare (community): >7")
    assert rows[2].sides == {"bfs": {"pull": ">9"}} and rows[2].best("bfs") == (2.0, "row")
    assert {"csr", "cr2", "cr2_bare"} == set(formats.formats_of("community"))
    assert {"csr", "coo", "tigr", "ell"} <= set(formats.formats_of(""))


def test_the_chosen_configuration_is_reported():
    g = weft.generators.path(9).to("emulated")
    told, steps = gpu_tasks.chosen(lambda: weft.bfs(g, 0, config=weft.Config(schedule="warp")))
    assert (
        told == "push warp/csr queue->queue, pull warp/csr bitmap->bitmap, online, exact, fuse all"
    )
    assert steps.startswith("9: ")
