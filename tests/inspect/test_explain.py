"""weft.explain reports how a program is compiled, and changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

import weft
from weft.backends.cuda.codegen.machine import Options, Side
from weft.backends.cuda.codegen.program_text import KERNELS
from weft.backends.cuda.drivers.base import Limits, Multiprocessor, Resources
from weft.backends.cuda.host import describe as describing
from weft.backends.cuda.host.options import STATIC_BYTES, Launching
from weft.errors import ConfigError, FieldError, TraceError
from weft.formats import formats
from weft.schedules import schedule


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax(u, v, e):
    return u.dist + e.weight


@weft.edge(into="total", reduce=weft.sum)
def arrive(u, v, e):
    return u.total * 0.25


@weft.vertex
def refresh(v):
    v.rank = 0.1 + v.gather(lambda u, e: u.rank / u.out_degree, weft.sum)


@pytest.fixture
def g():
    return weft.generators.star(6, weights="float")


def levels(g):
    state = g.state(level=weft.full(-1, weft.int32))
    state.level[0] = 0
    return state


def test_a_search_is_written_once(g):
    report = weft.explain(discover, g, levels(g), [0])
    assert "edge discover into level by any" in report.ir
    assert {"write_once", "early_exit"} <= set(report.passes)
    (sweep,) = report.sweeps
    assert (sweep.functions, sweep.kind, sweep.mode) == (("discover",), "edge", "once")
    assert sweep.refused == {} and sweep.buffered == ()
    assert "@njit" in report.source and "atomic_cas(f_level" in report.source


def test_the_first_frontier_decides_about_write_once(g):
    report = weft.explain(discover, g, levels(g))
    assert report.sweeps[0].mode == "deferred"
    assert "dead_fields" in report.passes and "write_once" not in report.passes


def test_second_buffers_and_hoisted_expressions_are_reported(g):
    report = weft.explain([arrive, refresh], g, g.state(total=np.zeros(6), rank=np.ones(6)))
    first, second = report.sweeps
    assert first.mode == "deferred" and first.buffered == ("total",)
    assert "source_hoisting" in report.passes
    assert any("computed once per vertex" in note for note in second.notes)
    assert "constant" in report.rewritten and "0.25" in report.ir


def test_nothing_is_computed_ahead_for_a_frontier_of_some_vertices(g):
    @weft.vertex
    def look(v):
        v.rank = v.gather(lambda u, e: u.total * 2 + 1, weft.sum)

    state = g.state(total=np.zeros(6), rank=np.ones(6))
    for steps, hoists in (([look, arrive], False), ([arrive, look], True), (look, True)):
        assert ("source_hoisting" in weft.explain(steps, g, state).passes) == hoists


def test_ordering_and_relaxation_are_reported(g):
    state = g.state(dist=np.full(6, np.inf))
    assert {"async_relaxation", "ordering"} <= set(weft.explain(relax, g, state).passes)
    bounded = weft.explain(relax, g, state, max_iter=3)
    assert {"async_relaxation", "ordering"} <= set(bounded.passes)
    for config, reason in (
        (weft.Config(deterministic=True), "deterministic run"),
        (weft.Config(ordering=False), "ordering=False"),
    ):
        report = weft.explain(relax, g, state, max_iter=3, config=config)
        assert not {"async_relaxation", "ordering"} & set(report.passes)
        (note,) = [note for note in report.sweeps[0].notes if "priority is not used" in note]
        assert reason in note
    off = weft.explain(relax, g, state, config=weft.Config(passes_off="async_relaxation"))
    assert "async_relaxation" not in off.passes


def test_refused_directions_come_with_a_reason(g):
    def pull_refused(graph, functions, **options):
        report = weft.explain(functions, graph, graph.state(total=np.zeros(6)), **options)
        return report.sweeps[0].refused

    @weft.edge(into="total", reduce=weft.sum)
    def again(u, v, e):
        return u.total

    assert "fold" in pull_refused(g, weft.fold(arrive, again))["pull"]
    assert "'push'" in pull_refused(g, arrive, direction="push")["pull"]
    kept = weft.Graph.from_edges([0, 1], [1, 2], num_vertices=6, keep="out")
    assert "in-edges" in pull_refused(kept, arrive)["pull"]


def test_everything_is_printed(g):
    report = weft.explain(arrive, g, g.state(total=np.zeros(6)), mode="run")
    text = str(report)
    assert report.ir in text + "\n" and report.source.strip() in text
    assert "mode deferred" in text and "second buffers: total" in text
    assert "push: yes" in text
    assert repr(report) == text


def test_refill_is_reported(g):
    @weft.vertex
    def seed(v):
        return v.total < 3

    report = weft.explain(arrive, g, g.state(total=np.zeros(6)), max_iter=3, refill=seed)
    assert [sweep.role for sweep in report.sweeps] == ["", "refill"]
    assert "sweep of refill" in str(report)


def test_nothing_is_changed_or_run(g):
    @weft.vertex
    def step(v):
        v.rank = v.old.rank + 1

    state = g.state(rank=np.zeros(6))
    weft.explain(step, g, state)
    assert not state.rank.any() and not state.old
    state.rank[:] = 4
    g.run(step, state)
    assert (state.rank == 5).all()


def test_programs_that_share_a_kernel_keep_their_names(g):
    def renamed(u, v, e):
        return u.level + 1

    twin = weft.edge(renamed, into="level", reduce=weft.any, accept=lambda v: v.level < 0)
    for function, name in ((discover, "discover"), (twin, "renamed")):
        report = weft.explain(function, g, levels(g), [0])
        assert (
            report.sweeps[0].functions == (name,) and name in report.ir and name in report.rewritten
        )


def test_without_a_state_fields_are_floats(g):
    report = weft.explain(discover, g)
    assert "float64" in report.ir and "level" in report.ir and "def kernel(" in report.source


def test_wrong_arguments_are_errors(g):
    with pytest.raises(FieldError, match=r"expected a state made by g\.state"):
        weft.explain(discover, g, {"level": 1})
    with pytest.raises(TraceError, match="needs a graph"):
        weft.explain(discover, levels(g))
    with pytest.raises(ConfigError, match="mode='loop' is not known"):
        weft.explain(discover, g, levels(g), mode="loop")
    with pytest.raises(FieldError, match="has no field 'rank'"):
        weft.explain(refresh, g, levels(g))


# -- on a GPU ------------------------------------------------------------------------------------

H200 = Limits(
    "Fake H200", 132, 232_448, 8, "sm_90", Multiprocessor(65_536, 233_472, 1024, 32, 2048)
)


class FakeDriver:
    """A stand-in for a GPU that compiles nothing and reports the resources of each kernel."""

    def __init__(self, limits=H200, resources=None, a_multiprocessor=4):
        self.limits = limits
        self.resources = resources
        self.a_multiprocessor = a_multiprocessor

    def compile(self, source, kernels, headers):
        assert set(kernels) <= {name for names in KERNELS.values() for name in names}
        return self

    def kernel(self, name):
        return FakeKernel(self)


class FakeKernel:
    def __init__(self, driver):
        self.driver = driver

    def resources(self):
        return self.driver.resources

    def blocks_at_once(self, block, shared_bytes, cluster=1):
        return self.driver.a_multiprocessor * self.driver.limits.multiprocessors


def told_on(driver, g, monkeypatch, **config):
    monkeypatch.setattr(describing, "driver_of", lambda kind, index: driver)
    there = g.to("emulated")
    return weft.explain(discover, there, levels(there), [0], config=weft.Config(**config))


def test_a_gpu_gets_cuda(g, monkeypatch):
    driver = FakeDriver(resources=Resources(60, 16, 600))
    small = told_on(driver, g, monkeypatch, block_size=256).kernels[0]
    assert (small.grid, small.cluster) == (8, 8)  # so few vertices are left to one cluster
    report = told_on(driver, g, monkeypatch, block_size=256, fuse="all", width="cluster")
    assert {"write_once", "early_exit"} <= set(report.passes)
    assert report.sweeps[0].mode == "once" and report.device == "emulated"
    assert "__global__" in report.source and "@njit" not in report.source
    names = [name for name, _ in report.phases]
    assert any(name.startswith("push_0") for name in names) and "set_map" in names
    run = report.kernels[0]
    assert (run.name, run.phases) == ("run_all", tuple(names))
    assert (run.registers, run.spilled_bytes, run.block, run.cluster) == (60, 16, 256, 8)
    assert (run.blocks_per_multiprocessor, run.grid, run.limit) == (4, 528, "registers")
    assert run.shared_bytes > 600
    assert report.launches.startswith("1 a run")
    text = str(report)
    assert "60 registers and 16 bytes of local memory (spills) a thread" in text
    assert run.occupancy == 0.5
    assert "4 blocks a multiprocessor (occupancy 50%), limited by registers" in text
    assert "launches: 1 a run" in text and "push_0" in text


def test_a_profile_tells_what_a_gpu_holds_at_once():
    how = Launching(
        grid=528, block=256, shared_bytes=4096, cluster=8, fuse="all", knobs={"hubs": 0}
    )
    side = Side(schedule("warp"), formats()["csr"])
    options = Options(("push",), side, side, side)
    driver = FakeDriver(resources=Resources(60, 16, 600))
    report = describing.run_facts(H200, driver, how, options, [], launches=1)
    assert (report["registers"], report["spilled_bytes"], report["grid"]) == (60, 16, 528)
    assert (report["blocks_per_multiprocessor"], report["occupancy"]) == (4, 0.5)
    assert (report["limited_by"], report["launches"]) == ("registers", 1)


def test_kernels_follow_fuse(g, monkeypatch):
    driver = FakeDriver(resources=Resources(32, 0, 0), a_multiprocessor=8)
    report = told_on(driver, g, monkeypatch, fuse="direction", block_size=256)
    push, pull, *_ = report.kernels
    assert (push.name, pull.name) == ("run_push", "run_pull")
    assert not any(name.startswith("pull") for name in push.phases)
    assert not any(name.startswith("push") for name in pull.phases)
    assert set(push.phases) | set(pull.phases) == {name for name, _ in report.phases}
    assert push.limit == "threads" and "by turns" in report.launches
    report = told_on(driver, g, monkeypatch, fuse="none")
    one, turn = report.kernels
    assert (one.name, one.cluster, turn.name, turn.grid, turn.phases) == (
        "run_one",
        1,
        "run_turn",
        1,
        (),
    )
    assert turn.limit is None
    assert "2 a phase" in report.launches


@weft.vertex
def add_up(v):
    v.level = v.gather(lambda u, e: u.level, weft.sum)


def test_supersteps_of_a_full_run_have_a_kernel_of_their_own(g, monkeypatch):
    monkeypatch.setattr(describing, "driver_of", lambda kind, index: FakeDriver())
    there = g.to("emulated")
    report = weft.explain(add_up, there, levels(there), config=weft.Config(change_driven=True))
    wide, anew, few = report.kernels
    assert (wide.name, anew.name, few.name) == ("run_wide", "run_anew", "run_few")
    assert "gather_2" in wide.phases and "push_0" in few.phases
    assert anew.phases == ("gather_3",)
    held = [name for kernel in report.kernels for name in kernel.phases]
    assert len(held) == len(set(held)), "what is compiled into one is not compiled into another"
    assert report.launches.startswith("run_wide, run_anew, run_few and run_anew by turns")


@pytest.mark.parametrize(
    ("schedule_", "format_", "cause"),
    [
        ("vertex", "csr", ""),
        ("edge", "coo", "the schedule 'edge' splits rows"),
        ("twc", "csr", "the schedule 'twc' splits some rows"),
        ("vertex", "ell", "the format 'ell' splits rows"),
    ],
)
def test_what_makes_messages_meet_by_atomics(g, monkeypatch, schedule_, format_, cause):
    (sweep,) = told_on(FakeDriver(), g, monkeypatch, schedule=schedule_, format=format_).sweeps
    assert sweep.atomics == {"push": "rows share targets", "pull": cause}
    assert f"pull: yes, {'with atomics: ' + cause if cause else 'without atomics'}" in str(sweep)
    (sweep,) = weft.explain(add_up, g, levels(g)).sweeps  # of a CPU, where threads own rows
    assert sweep.atomics == {"gather": ""} and str(sweep).endswith("gather: without atomics")


@weft.vertex
def add_up_quietly(v):
    v.level = v.gather(lambda u, e: u.level, weft.sum)
    v.changed = False


def test_a_function_without_output_has_no_queue(g, monkeypatch):
    monkeypatch.setattr(describing, "driver_of", lambda kind, index: FakeDriver())
    there = g.to("emulated")
    for function, queued in ((add_up, True), (add_up_quietly, False)):
        report = weft.explain(function, there, levels(there), mode="run")
        assert ("Kind::queue" in report.source) == queued
    state = there.state(level=1.0)
    assert len(there.run(add_up_quietly, state)) == 0
    np.testing.assert_array_equal(state.level, g.in_degree)


def test_what_is_not_known_in_the_emulation_is_said(g, monkeypatch):
    limits = Limits("host emulation", 4, 98_304, 2, "sm_90")
    report = told_on(FakeDriver(limits), g, monkeypatch)
    run = report.kernels[0]
    assert run.registers is run.spilled_bytes is run.blocks_per_multiprocessor is run.limit is None
    assert "registers are not known in the emulation" in str(report)


def test_blocks_are_smaller_where_shared_memory_is_short(g, monkeypatch):
    usual = told_on(FakeDriver(), g, monkeypatch).kernels[0]
    short = FakeDriver(replace(H200, shared_bytes=STATIC_BYTES + usual.shared_bytes - 1))
    run = told_on(short, g, monkeypatch).kernels[0]
    assert run.block == usual.block // 2 and run.shared_bytes < usual.shared_bytes
    asked = f"block_size={usual.block} with bin_size=64 needs .* bytes of shared memory a block"
    with pytest.raises(ConfigError, match=asked):
        told_on(short, g, monkeypatch, block_size=usual.block)
    none = FakeDriver(replace(H200, shared_bytes=STATIC_BYTES))
    with pytest.raises(ConfigError, match="block_size=32 with bin_size=64 needs"):
        told_on(none, g, monkeypatch)


def test_a_cpu_has_no_kernels(g):
    report = weft.explain(discover, g, levels(g), [0])
    assert report.phases is report.kernels is report.launches is None and report.device == "cpu"
    assert "-- kernels" not in str(report)


def test_a_direction_rule_refuses_no_direction(g):
    report = weft.explain(discover, g, levels(g), [0], direction="beamer")
    assert report.sweeps[0].refused == {} and "turns = " in report.source


@pytest.mark.parametrize(
    ("registers", "shared", "block", "held", "limit"),
    [
        (32, 0, 256, 8, "threads"),
        (33, 0, 256, 6, "registers"),
        (255, 0, 256, 1, "registers"),
        (32, 60_000, 256, 3, "shared memory"),
        (16, 0, 32, 32, "blocks"),
        (32, 0, 256, 7.5, "clusters"),
    ],
)
def test_the_limit_of_the_grid(registers, shared, block, held, limit):
    resources = Resources(registers, 0, 0)
    assert describing.limit_of(H200.multiprocessor, resources, block, shared, held) == limit


def test_too_large_a_bin_is_refused(g, monkeypatch):
    driver = FakeDriver(resources=Resources(32, 0, 0))
    with pytest.raises(
        ConfigError, match=r"block_size=1024 with bin_size=1024 needs .* has 232448"
    ):
        told_on(driver, g, monkeypatch, block_size=1024, bin_size=1024)
