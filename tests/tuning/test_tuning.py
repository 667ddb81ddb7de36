"""The tuner: its space, its timing by a clock of our own, what it believes, and what it tells."""

import json
import math
import signal
from dataclasses import replace

import numpy as np
import pytest

import fake_cupy
import weft
from partitioned import written
from weft.arrays.device import CPU
from weft.backends.cuda.drivers.elsewhere import Elsewhere
from weft.backends.cuda.host import run as execute
from weft.config import CHOICES, PASSES
from weft.engine import tuned as remembered
from weft.engine import watch as watching
from weft.engine.tuning_store import Store, config_text
from weft.errors import ConfigError, DeviceError, GraphError
from weft.formats import formats
from weft.graph.execution import topology_for
from weft.schedules import schedules
from weft.tuning.comparing import Reference
from weft.tuning.compiling import sources_of, under
from weft.tuning.measuring import Bench, Patience, Trial
from weft.tuning.report import chosen
from weft.tuning.space import Axis, ParameterAxis, Traits, make_space
from weft.tuning.tuner import find_algorithm, tune_on, unsuited_formats

GPU = Traits("emulated", ("push", "pull"))
GRASSEMBLER = 7 * 5 * 4 * 2**5


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "tunings.sqlite"
    monkeypatch.setenv("WEFT_TUNINGS", str(path))
    remembered.forget_remembered()
    yield Store(path)
    remembered.forget_remembered()


# -- the space -----------------------------------------------------------------------------------


def test_the_space_holds_every_registered_choice():
    space = make_space(GPU)
    for side in ("push", "pull"):
        assert space.axis(f"schedule.{side}").values == tuple(schedules())
        assert space.axis(f"format.{side}").values == tuple(formats())
    for name in ("compaction", "dedup", "fuse", "width", "direction"):
        assert set(space.axis(name).values) == set(CHOICES[name]) - {None}
    assert {axis.side for axis in space.of_field("passes_off")} == set(PASSES)
    # Parameters count where their format is chosen.
    shapes = {
        name: math.prod(len(p.choices) for p in format_.parameters if len(p.choices) > 1)
        for name, format_ in formats().items()
    }
    assert shapes["tigr"] == 4 and shapes["csr"] == 1 and shapes["block_csr"] == 3 * 3 * 2
    sizes = {name: count for name, count, _ in space.rows() if name.split(".")[0] not in shapes}
    sizes |= {f"format.{side}": sum(shapes.values()) for side in ("push", "pull")}
    assert space.size == math.prod(sizes.values())
    theirs = {"vertex", "edge", "warp", "block", "twc", "twce", "strict"}
    assert theirs <= set(space.axis("schedule.push").values)
    assert len(space.axis("format.push").values) >= 5
    assert len({v for axis in space.of_field("frontier_in") for v in axis.values}) >= 4
    assert len(space.of_field("passes_off")) >= 5
    assert space.size > GRASSEMBLER
    fixed = {"change_driven", "deterministic", "passes_off", "ordering", "delta", "threads"}
    assert set(space.fixed) == {*fixed, "weaver"}


def test_what_is_registered_later_is_in_the_space(monkeypatch):
    from weft.schedules import base

    monkeypatch.setattr(base, "_schedules", dict(schedules()))
    base.register(base.Schedule("mine", "", "Mine", refuse=lambda format, lanes: "it is young"))
    space = make_space(GPU)
    assert "mine" in space.axis("schedule.pull").values
    assert ({"schedule.pull": "mine", "format.pull": "coo"}, "it is young") in space.invalid
    assert "it is young" in space.why_not(weft.Config(schedule={"push": "mine"}, format="coo"))
    assert "it is young" in space.why_not(weft.Config(schedule={"push": "mine"}))
    assert "not possible" in str(space) and "it is young" in str(space)
    assert space.why_not(weft.Config(schedule={"push": "warp"})) == ""


def test_a_cpu_has_a_space_of_its_own():
    space = make_space(Traits("cpu", ("push", "pull"), threads=6))
    assert space.axis("threads").values == (1, 2, 4, 6)
    assert space.axis("schedule").values == ("vertex", "edge", "merge", "weaver")
    assert space.why_not(weft.Config(schedule="twc"))
    assert space.fixed["compaction"] == "means nothing on a CPU"
    assert not space.of_field("format")


def test_directions_that_a_program_refuses_are_no_choice():
    space = make_space(Traits("cpu", ("push",), {"pull": "it writes edges"}, threads=2))
    assert not space.of_field("direction")
    assert space.why_not(weft.Config(direction="pull")) == "direction='pull': it writes edges"


def test_orders_that_take_long_are_not_tried_on_large_graphs():
    large = make_space(Traits("emulated", ("push",), arcs=1 << 26))
    assert "takes long to make for 67,108,864 arcs" in large.why_not(weft.Config(reorder="rcm"))
    assert not large.why_not(weft.Config(reorder="community"))  # which a GPU makes soon enough
    assert not make_space(GPU).why_not(weft.Config(reorder="rcm"))
    traits = Traits("emulated", ("push",), arcs=1 << 28)
    for arranged, why in (
        (False, "format.push='cr2': it is made for the community order"),
        (True, ""),
    ):
        space = make_space(replace(traits, arranged=arranged))
        told = space.why_not(weft.Config(format="cr2(bits=8)"))
        assert told.startswith(why) and bool(told) == bool(why)


def test_priorities_and_weights_bring_axes():
    space = make_space(Traits("emulated", ("push",), ordered=True, weight=2.0))
    assert space.axis("delta").values == (0.5, 2.0, 8.0, 32.0, 128.0)
    assert set(space.axis("ordering").values) == {
        True, False, "near_far", "buckets", "horizon",
    }  # fmt: skip


def test_choices_that_make_no_difference_do_not_apply():
    space = make_space(GPU)
    lanes, push = space.axis("lanes"), space.axis("schedule.push")
    assert not space.applies(lanes, weft.Config())
    assert space.applies(lanes, weft.Config(schedule={"push": "row"}))
    assert not space.applies(lanes, weft.Config(schedule={"push": "row"}, direction="pull"))
    assert make_space(replace(GPU, features=True)).applies(lanes, weft.Config())
    assert not space.applies(push, weft.Config(direction="pull"))
    narrow = space.axis("schedule.narrow")
    assert space.applies(narrow, weft.Config(direction="push"))
    for config in ({"direction": "pull"}, {"width": "grid"}, {"fuse": "none"}):
        assert not space.applies(narrow, weft.Config(**config))
    assert space.applies(push, weft.Config(direction="beamer"))


@pytest.mark.parametrize("traits", [GPU, Traits("cpu", ("gather",), threads=2)])
def test_axes_set_and_get(traits):
    space = make_space(traits)
    for axis in space.axes:
        start = weft.Config()
        if isinstance(axis, ParameterAxis):
            assert axis.set(start, axis.values[0]) == start and not space.applies(axis, start)
            start = space.axis(f"format.{axis.side}").set(start, axis.format)
        for value in axis.values:
            config = axis.set(start, value)
            assert axis.get(config) == value
            assert axis.unset(config) == start


def test_parameters_of_formats_are_choices_of_their_own():
    space = make_space(GPU)
    degree, format_ = space.axis("tigr.degree.push"), space.axis("format.push")
    config = degree.set(weft.Config(format={"push": "tigr", "pull": "cr2"}), 16)
    assert config.format == {"push": "tigr(degree=16)", "pull": "cr2"}
    assert space.applies(degree, config) and not space.applies(degree, format_.unset(config))
    assert format_.get(config) == "tigr" and format_.set(config, "tigr") == config
    tiles = space.axis("block_csr.tiles.push")
    config = space.axis("block_csr.axis.push").set(format_.set(config, "block_csr"), "both")
    assert tiles.set(config, 4).format["push"] == "block_csr(axis=both, tiles=4)"
    assert space.axis("cr2.bits.pull").get(config) == 16


# -- right and wrong -----------------------------------------------------------------------------


def test_results_are_compared_as_far_as_configurations_may_differ():
    levels = np.array([0, 1, 1, 2, -1], np.int32)
    right = weft.bfs(weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], num_vertices=5), 0)
    reference = Reference(right)
    assert reference.complaint(right) == ""
    assert reference.complaint(right._replace(parent=np.array([0, 0, 0, 2, -1]))) == ""
    trouble = reference.complaint(right._replace(level=levels + np.int32([0, 0, 0, 1, 0])))
    assert trouble == "level: 1 of 5 entries differ, the first at 3: 3, not 2"
    assert "-1 in one result only" in reference.complaint(
        right._replace(parent=np.array([0, 0, 0, 1, 1]))
    )
    assert "shape" in reference.complaint(right._replace(level=levels[:4]))
    assert "parts" in reference.complaint(levels)


def test_floats_may_differ_a_little():
    values = np.array([0.25, 1e-12, np.inf, np.nan, 0.0])
    reference = Reference(values)
    assert reference.complaint(values * (1 + 1e-9)) == ""
    assert reference.complaint(values + np.array([0, 1e-11, 0, 0, 0])) == ""
    assert "1 of 5" in reference.complaint(values + np.array([1e-3, 0, 0, 0, 0]))
    assert "2 of 5" in reference.complaint(np.array([0.25, 1e-12, 1.0, 2.0, 0.0]))
    assert Reference(values[:0]).complaint(values[:0]) == ""
    assert Reference(3).complaint(4) == "the result: 4, not 3"
    assert Reference({"a": [1.0, 2]}).complaint({"a": [1.0, 2]}) == ""
    assert Reference(np.float32(1)).complaint(np.float32(1.00001)) == ""


def test_results_on_a_gpu_are_compared_there(monkeypatch):
    with fake_cupy.installed(monkeypatch) as cupy:
        values = cupy.asarray([0.25, np.inf, np.nan, -3.0])
        reference = Reference((values, cupy.asarray([1, -1])))
        assert reference.complaint((values * (1 + 1e-9), cupy.asarray([1, -1]))) == ""
        assert "1 of 4" in reference.complaint((values * cupy.asarray([1, 1, 1, 2]), values))
        assert "-1 in one" in reference.complaint((values, cupy.asarray([1, 2])))


def test_what_differs_between_right_results_is_not_compared():
    reference = Reference((np.array([1, 2]), np.array([3, 4])), [(np.array([1, 9]), [3, 4])])
    assert reference.complaint((np.array([5, 5]), np.array([3, 4]))) == ""
    assert reference.complaint((np.array([5, 5]), np.array([3, 5])))


# -- timing, by a clock of our own ---------------------------------------------------------------


class Fake:
    """An algorithm that takes the milliseconds that we say, and a clock that believes it."""

    def __init__(self, ms, result=lambda config: np.arange(4)):
        self.ms, self.result = ms, result
        self.now, self.calls = 0.0, []

    def __call__(self, config):
        self.calls.append(config)
        watch = watching.current.get()
        if watch is None:
            self.now += self.ms(config) / 1e3
            return self.result(config)
        with watch.limit.running():
            for _ in range(10):
                self.now += self.ms(config) / 1e4
                watch.limit.check()
        return self.result(config)

    def bench(self):
        bench = Bench(self, CPU, trusted=True, clock=lambda: self.now)
        assert bench.start().ms == pytest.approx(self.ms(weft.Config()))
        self.calls.clear()
        return bench


FAST, NEAR, SLOW = (weft.Config(threads=n) for n in (1, 2, 3))
MS = {FAST: 50.0, NEAR: 51.0, SLOW: 900.0, weft.Config(): 100.0}


def test_near_candidates_are_run_often_and_lost_ones_once():
    fake = Fake(lambda config: MS.get(config, 90.0))
    bench = fake.bench()
    trial = bench.measure(FAST)
    assert (trial.status, trial.runs, len(fake.calls)) == ("ok", 5, 6)
    assert trial.ms == pytest.approx(50.0)
    assert bench.measure(NEAR).runs == 5
    fake.calls.clear()
    lost = bench.measure(weft.Config(threads=9))
    assert (lost.status, lost.runs, len(fake.calls)) == ("stopped", 1, 2)
    assert lost.reason == "1.80 times the best"


def test_a_candidate_that_cannot_win_is_stopped_while_it_runs():
    fake = Fake(lambda config: MS.get(config, 90.0))
    bench = fake.bench()
    bench.measure(FAST)
    began = fake.now
    stopped = bench.measure(SLOW)
    assert stopped.status == "stopped" and stopped.ms == pytest.approx(Patience().warm_up * 50.0)
    assert fake.now - began < 0.3  # of 0.9 s


def test_wrong_results_and_errors_never_win():
    def result(config):
        if config == NEAR:
            raise ConfigError("not possible here")
        if config == SLOW:
            raise ZeroDivisionError("a defect")
        return np.arange(4) + (config == FAST)

    bench = Fake(lambda config: 1.0 if config == FAST else 100.0, result).bench()
    assert bench.measure(FAST).status == "wrong"
    assert bench.measure(FAST).reason.startswith("the result: 4 of 4 entries differ")
    assert bench.best_ms == pytest.approx(100.0)
    assert bench.measure(NEAR) == Trial(NEAR, "refused", reason="not possible here")
    assert bench.measure(SLOW).status == "failed"


# -- the whole -----------------------------------------------------------------------------------

GRAPH = weft.generators.rmat(6, 4, seed=1)


def tuned(ms, result=lambda config: 7, *, budget_s=50.0, remember=False, same=None, progress=False):
    """Tune an algorithm that takes the time that we say, by a clock of our own."""
    fake = Fake(ms, result)
    bench = Bench(fake, CPU, same, trusted=True, clock=lambda: fake.now)
    with pytest.MonkeyPatch.context() as patch:
        traits = Traits("cpu", ("push", "pull"), threads=2)
        patch.setattr("weft.tuning.tuner.traits_of", lambda g, requests: traits)
        return tune_on(bench, GRAPH, "fake", budget_s, remember=remember, progress=progress)


def by_direction(config):
    return {"pull": 10.0, "push": 12.0}.get(config.direction, 40.0)


def test_the_best_is_found_told_and_kept(store):
    report = tuned(lambda c: 20.0 if c.schedule == "edge" else 40.0, remember=True)
    assert report.config == weft.Config(schedule="edge")
    assert report.speedup == pytest.approx(2.0)
    assert report.runner_up.ms >= report.best.ms
    assert report.trials[0].config == weft.Config() and not report.interrupted
    assert "edge" in str(report) and "2.00 times as long" in str(report)
    assert store.all() == []  # it ran no program that could be found again


def test_noise_does_not_replace_the_default():
    report = tuned(lambda c: 39.9 if c.schedule == "edge" else 40.0)
    assert report.config == weft.Config()


def test_a_wrong_winner_is_an_error(store):
    def result(config):
        return 8 if config.schedule == "edge" else 7

    report = tuned(lambda c: 1.0 if c.schedule == "edge" else 40.0, result)
    assert report.config.schedule != "edge"
    assert {t.status for t in report.errors} == {"wrong"}
    assert "error      schedule=edge: wrong, the result: 8, not 7" in str(report)
    assert "the result: 8, not 7" in report.html()


def test_who_knows_better_says_what_is_the_same():
    result = lambda config: 8 if config.schedule == "edge" else 7
    ms = lambda c: 1.0 if c.schedule == "edge" else 40.0
    report = tuned(ms, result, same=lambda a, b: abs(a - b) < 2)
    assert report.config.schedule == "edge" and not report.errors


def test_an_interrupt_keeps_what_was_found():
    count = [0]

    def result(config):
        count[0] += 1
        if count[0] == 14:
            raise KeyboardInterrupt
        return 7

    report = tuned(lambda c: 20.0 if c.schedule == "vertex" else 40.0, result)
    assert report.interrupted and "(interrupted)" in str(report)
    assert report.config == weft.Config(schedule="vertex")


def test_a_lost_device_ends_the_search(monkeypatch):
    def result(config):
        if config.schedule == "edge":
            raise RuntimeError("an illegal address")
        return 7

    def check(bench, error):
        raise DeviceError(f"the GPU was lost: {error}") from error

    monkeypatch.setattr(Bench, "_check_device", check)
    report = tuned(lambda c: 20.0 if c.schedule == "vertex" else 40.0, result)
    assert [t.status for t in report.trials] == ["ok", "ok", "failed"]
    assert report.config == weft.Config(schedule="vertex")
    assert "the GPU was lost: an illegal address" in str(report)


def test_a_bar_shows_the_best_so_far(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "rich.progress.Progress.update", lambda bar, task, **given: shown.append(given)
    )
    tuned(lambda c: 20.0 if c.schedule == "edge" else 40.0, progress=True)
    assert "best 20.000 ms (2.00× the default) schedule=edge" in shown[-1]["description"]
    assert all(0 <= given["completed"] <= 50.0 for given in shown)


def test_the_budget_ends_the_search():
    report = tuned(lambda c: 100.0, budget_s=2.0)
    assert 1 < len(report.trials) < 12


def test_reports_are_tables_pages_pictures_and_json(tmp_path):
    report = tuned(lambda c: 20.0 if c.schedule == "edge" else by_direction(c))
    page = report.html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert page.count("<svg") == 2 and "<script" not in page and "http" not in page
    assert "Generated kernel" in page and f"{report.space.size:,} combinations" in page
    report.plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
    told = json.loads(report.to_json(tmp_path / "told.json"))
    assert told["config"] == json.loads(config_text(report.config))
    assert len(told["trials"]) == len(report.trials)
    assert "configuration" in report.to_text() and "<table" in report._repr_html_()
    assert len(report.rows(3)) == 3
    assert "configurations, best" in repr(report)


def test_effects_compare_what_differs_in_one_axis_alone():
    report = tuned(lambda c: by_direction(c) * (2 if c.threads == 1 else 1))
    effects = {effect.axis: effect for effect in report.effects()}
    assert effects["direction"].ratio == pytest.approx(4.0)
    assert (effects["direction"].fastest, effects["direction"].slowest) == ("pull", "auto")
    down, across, cells = report.grid()
    assert (down, across) == ("direction", "schedule")
    assert min(cells.values()) == pytest.approx(report.best.ms)


@pytest.mark.parametrize(
    ("algorithm", "more", "error", "words"),
    [
        ("bsf", {}, ConfigError, "Did you mean 'bfs'"),
        (3, {}, ConfigError, "cannot be called"),
        (lambda g: 0, {}, ConfigError, "takes no configuration. Give it a keyword config=None"),
        (weft.bfs, {"source": 0, "config": weft.Config()}, ConfigError, "chooses config= itself"),
        (weft.bfs, {"source": 0, "budget_s": 0}, ConfigError, "Expected seconds above 0"),
        (weft.bfs, {"source": 999}, GraphError, "999"),
    ],
)
def test_what_cannot_be_tuned_says_why(algorithm, more, error, words):
    with pytest.raises(error, match=words):
        weft.tune(GRAPH, algorithm, **more)


def test_something_else_is_not_a_graph():
    with pytest.raises(GraphError, match="needs a graph first"):
        weft.tune("karate", "bfs", 0)


def test_devices_without_choices_are_refused(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    g = weft.generators.path(4)
    partitioned, con = written(g, tmp_path), duckdb.connect()
    for there, words in (
        (g.to(con), r"relational.*plan='auto' chooses.*weft\.sql\.graph"),
        (g.to("reference"), r"on reference: no choice of a configuration"),
        (partitioned, r"on blocks: its carrier decides.*g\.to\('cpu'\)"),
    ):
        with pytest.raises(ConfigError, match=words):
            weft.tune(there, "bfs", 0)
    weft.sql.close(con)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_bfs_is_tuned_on_every_device(store, device):
    g = weft.generators.rmat(7, 6, seed=4).to(device)
    report = weft.tune(g, weft.bfs, 0, budget_s=0.3)
    assert report.algorithm == "bfs" and not report.errors
    assert report.best.ms <= report.default.ms
    assert report.kernel and report.graph.diameter >= 2
    (kept,) = store.all()
    assert (kept.config, kept.algorithm, kept.tried) == (report.config, "bfs", len(report.trials))
    with weft.profile() as told:
        weft.bfs(g, 3)
    options = told.records[0].config
    assert all(options[name] == value for name, value in report.config.given().items())
    assert kept.device == report.device and device in kept.device


def test_winners_of_similar_graphs_are_tried_first(store):
    g = weft.generators.rmat(7, 6, seed=4)
    first = weft.tune(g, "bfs", 0, budget_s=0.01)
    (kept,) = store.all()
    other = weft.Config(passes_off="early_exit", schedule="merge")
    store.put(type(kept)(**{**kept.__dict__, "config": other}))
    similar = weft.generators.rmat(7, 6, seed=5)
    weft.bfs(similar, 0, config=other)  # compiled: what takes long to compile is tried later
    second = weft.tune(similar, "bfs", 0, budget_s=0.3)
    assert second.trials[1].config == other
    assert len(store.all()) == 2 and first.graph != second.graph


def test_a_program_may_refuse_a_direction(store):
    @weft.edge(into="total", reduce=weft.sum)
    def give(u, v, e):
        e.sent = u.total
        return u.total

    def algorithm(g, *, config=None):
        state, sent = g.state(total=weft.full(1)), g.edge_state(sent=weft.full(0))
        g.run(give, state, edge_state=sent, config=config)
        return state.total

    g = weft.Graph.from_edges([0, 1, 2], [1, 2, 0], keep="out")
    report = weft.tune(g, algorithm, budget_s=0.01, remember=False, same=np.array_equal)
    assert report.space.why_not(weft.Config(direction="pull"))
    assert not report.space.of_field("direction")


def test_what_is_compiled_ahead_is_what_runs():
    g = weft.generators.rmat(6, 5, seed=2).to("emulated")
    with watching.watching(watching.Watch(keeping=True)) as watch:
        weft.bfs(g, 0)
    (request,) = watch.requests.values()
    for given in ({}, {"reorder": "degree"}, {"schedule": {"push": "row"}, "compaction": "jit"}):
        config = weft.Config(**given)
        topology = topology_for(g, request.program, config)
        assert (topology.numbering is not None) == ("reorder" in given)
        real = replace(under(request, config), topology=topology)
        assert execute.compile_program(real)[0].rendered.source == sources_of([request], config)[0]


# -- other processes -----------------------------------------------------------------------------


def test_sources_are_compiled_elsewhere(tmp_path, monkeypatch):
    pytest.importorskip("cuda.core")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    compiler = Elsewhere("sm_90")
    try:
        source = 'extern "C" __global__ void fill(int* x) { x[threadIdx.x] = 1; }'
        compiler.compile(source, ("fill",), {})
        assert len(list((tmp_path / "cubin").glob("*.cubin"))) == 1
        with pytest.raises(DeviceError, match="does not compile"):
            compiler.compile("nonsense", ("fill",), {})
        (process,) = compiler._idle
        process.send_signal(signal.SIGKILL)
        process.wait()
        with pytest.raises(DeviceError, match="has ended"):
            compiler.compile(source, ("fill",), {})
    finally:
        compiler.close()


def test_configurations_are_told_in_words():
    config = weft.Config(schedule={"push": "twc"}, passes_off={"early_exit", "dead_fields"})
    assert chosen(config) == "schedule={'push': 'twc'}, passes_off=dead_fields+early_exit"
    assert chosen(weft.Config()) == "the default"
    assert Axis("format", ("coo",), "push").name == "format.push"


def test_what_pushes_and_pulls_choose_differently_is_a_choice():
    result = lambda config: (7, {"push": 1, "pull": 2}.get(config.direction, 3))
    fake = Fake(lambda config: 40.0, result)
    bench = Bench(fake, CPU, clock=lambda: fake.now)
    bench.start()
    assert weft.Config(direction="push") in fake.calls
    fake.result = lambda config: (7, 9)
    assert bench.measure(FAST).status == "ok"
    fake.result = lambda config: (8, 3)
    assert bench.measure(NEAR).status == "wrong"


@pytest.mark.parametrize("name", ["bfs", "als", "gcn_propagate"])
def test_algorithms_are_found_by_name(name):
    function, told = find_algorithm(name)
    assert told == name == function.__name__
    with pytest.raises(ConfigError, match=r"'Factors' is not known.*'als'"):
        find_algorithm("Factors")


def test_formats_that_refuse_a_graph_are_not_tried_on_it(monkeypatch):
    grid, wild = (g.to("emulated") for g in (weft.generators.grid(9, 9), weft.generators.rmat(6)))
    assert unsuited_formats(grid, ("push", "gather")) == {}
    found = unsuited_formats(wild, ("push", "pull"))
    assert (
        set(found) == {("push", "dia"), ("pull", "dia")} and "waste memory" in found["push", "dia"]
    )
    space = make_space(replace(GPU, unsuited=found))
    for order in (None, "none"):
        refused = weft.Config(format={"pull": "dia"}, reorder=order)
        assert "would waste memory" in space.why_not(refused)
    assert not space.why_not(weft.Config(format={"pull": "dia"}, reorder="rcm"))  # where it may do
    monkeypatch.setitem(
        vars(formats()["dia"]), "build", lambda *_, **__: pytest.fail("built again")
    )
    assert unsuited_formats(wild, ("push", "pull")) == found
