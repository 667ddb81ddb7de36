"""The store of tunings: what is found again, what is set aside, and who may use it at once."""

import os
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import fake_cupy
import weft
from weft.algorithms.bfs import discover
from weft.backends.limits import TimeLimit
from weft.engine import tuned as remembered
from weft.engine import watch as watching
from weft.engine.fingerprint import Fingerprint, fingerprint_of
from weft.engine.tuning_store import Store, Tuning, config_from, config_text
from weft.errors import ConfigError, TimeLimitError
from weft.storage.cache_dir import tunings_path

SOURCE = Path(__file__).parents[2] / "src"
CPU = weft.generators.path(2).topology.device
CONFIG = weft.Config(schedule="merge", passes_off="early_exit")


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "tunings.sqlite"
    monkeypatch.setenv("WEFT_TUNINGS", str(path))
    remembered.forget_remembered()
    yield Store(path)
    remembered.forget_remembered()


@pytest.fixture(scope="module")
def graph():
    return weft.generators.rmat(7, 6, seed=4)


def programs_of(call):
    with watching.watching(watching.Watch(keeping=True)) as watch:
        call()
    return list(watch.requests)


def tuning(g, program, config=CONFIG, algorithm="bfs", **more):
    device = remembered.device_name(g.topology.device)
    given = {"ms": 1.0, "default_ms": 2.0, "tried": 5, "weft": remembered.version(), **more}
    return Tuning(fingerprint_of(g.topology), program, algorithm, device, config=config, **given)


# -- fingerprints and names ----------------------------------------------------------------------


def test_equal_graphs_have_equal_fingerprints_wherever_they_are(graph):
    again = weft.generators.rmat(7, 6, seed=4).to("emulated")
    assert fingerprint_of(graph.topology) == fingerprint_of(again.topology)


def test_graphs_on_a_gpu_have_the_same_fingerprints(graph, monkeypatch):
    with fake_cupy.installed(monkeypatch):
        found = fingerprint_of(graph.to("cuda").topology)
    assert found.digest == fingerprint_of(graph.topology).digest


def test_graphs_of_the_same_sizes_differ():
    degrees = [
        weft.Graph.from_edges([0, 0, 1], [1, 2, 2]),
        weft.Graph.from_edges([0, 1, 2], [1] * 3),
    ]
    ends = [weft.Graph.from_edges([0, 1, 2], at, num_vertices=3) for at in ([1, 2, 0], [2, 0, 1])]
    digests = {fingerprint_of(g.topology).digest for g in degrees + ends}
    assert len(digests) == 4


@pytest.mark.parametrize("n", [0, 1])
def test_graphs_without_arcs_have_fingerprints(n):
    found = fingerprint_of(weft.Graph.from_edges([], [], num_vertices=n).topology)
    assert (found.vertices, found.arcs, found.variation, found.skew) == (n, 0, 0.0, 0.0)


def test_graphs_of_one_family_are_nearer_than_those_of_another():
    kron = [fingerprint_of(weft.generators.rmat(s, 8, seed=1).topology, 6) for s in (8, 9)]
    road = fingerprint_of(weft.generators.road(20, seed=1).topology, 60)
    assert kron[0].distance(kron[1]) < kron[0].distance(road)


def test_programs_have_the_same_name_in_every_process(graph):
    script = (
        "import weft\nfrom weft.engine import watch as watching\n"
        "g = weft.generators.rmat(7, 6, seed=4).to('emulated')\n"
        "w = watching.Watch(keeping=True)\n"
        "import weft.backends.cuda.host.run as e\n"
        "e.compile_program = lambda request: (_ for _ in ()).throw(SystemExit)\n"
        "with watching.watching(w):\n"
        "    for call in (lambda: weft.bfs(g, 0), lambda: weft.pagerank(g)):\n"
        "        try:\n            call()\n        except SystemExit:\n            pass\n"
        "print(*w.requests)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    here = programs_of(lambda: weft.bfs(graph, 0)) + programs_of(lambda: weft.pagerank(graph))
    assert done.stdout.split() == here


def test_constants_do_not_change_a_programs_name(graph):
    assert programs_of(lambda: weft.pagerank(graph, 0.5)) == programs_of(
        lambda: weft.pagerank(graph, 0.85)
    )


# -- the file ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        weft.Config(),
        CONFIG,
        weft.Config(schedule={"push": "twc", "pull": "row"}, lanes="block", ordering=False),
        weft.Config(delta=0.25, passes_off={"early_exit", "write_once"}, block_size=96),
    ],
)
def test_configurations_survive_as_text(config):
    assert config_from(config_text(config)) == config


@pytest.mark.parametrize("text", ["{", "[]", '{"speed": 9}', '{"direction": "up"}'])
def test_configurations_of_another_version_are_refused(text):
    with pytest.raises(ConfigError):
        config_from(text)


def test_a_later_tuning_replaces_the_earlier(store, graph):
    store.put(tuning(graph, "a"))
    store.put(tuning(graph, "a", weft.Config(direction="pull"), ms=0.5))
    store.put(tuning(graph, "b", algorithm="sssp"))
    assert [(t.program, t.ms) for t in store.all()] == [("b", 1.0), ("a", 0.5)]
    assert store.all()[1].graph == fingerprint_of(graph.topology)
    assert store.forget("sssp") == 1
    assert store.forget() == 1
    assert store.all() == []


def test_nothing_is_made_by_reading(store):
    assert store.all() == [] and store.forget() == 0
    assert not store.path.exists()


def test_a_broken_file_is_set_aside(store, graph):
    store.path.write_bytes(b"this is not a database, whatever it is called" * 50)
    with pytest.warns(RuntimeWarning, match="was moved to 'tunings.sqlite.aside-"):
        assert store.all() == []
    store.path.write_bytes(b"nor is this" * 500)
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        store.put(tuning(graph, "a"))
    assert len(store.all()) == 1
    assert len(list(store.path.parent.glob("*.aside-*"))) == 2


def test_a_damaged_file_is_set_aside(store, graph):
    for number in range(40):
        store.put(tuning(graph, f"program {number}"))
    content = bytearray(store.path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    store.path.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        assert store.all() == []


@pytest.mark.parametrize("layout", [0, 99])
def test_the_file_of_another_version_is_set_aside(store, layout):
    with sqlite3.connect(store.path) as connection:
        connection.execute("CREATE TABLE tunings (x)")
        connection.execute(f"PRAGMA user_version = {layout}")
    connection.close()
    with pytest.warns(RuntimeWarning, match=f"its layout is {layout}, not 1"):
        assert store.all() == []
    assert store.all() == []


def test_rows_that_are_not_known_here_are_passed_over(store, graph):
    store.put(tuning(graph, "a"))
    store.put(tuning(graph, "b"))
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE tunings SET config = '{\"speed\": 9}' WHERE program = 'a'")
    connection.close()
    assert [t.program for t in store.all()] == ["b"]


def test_a_file_that_cannot_be_written_says_so(store, graph, tmp_path):
    (tmp_path / "file").touch()
    elsewhere = Store(tmp_path / "file" / "below")
    with pytest.raises(OSError):
        elsewhere.put(tuning(graph, "a"))
    assert elsewhere.all() == []


def test_the_environment_says_where_the_store_is(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_TUNINGS", "OFF")
    assert tunings_path() is None
    monkeypatch.setenv("WEFT_TUNINGS", "")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "cache"))
    assert tunings_path() == tmp_path / "cache" / "tunings.sqlite"
    assert not (tmp_path / "cache").exists()


WRITER = """
import sys
import weft
from pathlib import Path
from weft.engine.fingerprint import Fingerprint
from weft.engine.tuning_store import Store, Tuning
store, mine = Store(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
graph = Fingerprint(1, 2, True, 3, 0.5, 0.5, "g")
for number in range(40):
    store.put(Tuning(graph, f"{mine} {number}", "bfs", "d", "w", weft.Config(), 1.0, 2.0, 1))
    assert any(t.program == f"{mine} {number}" for t in store.all())
"""


def test_two_processes_write_at_once(store):
    """They begin together, on a file that neither has made."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error"}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store.path), name],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("left", "right")
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    errors = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], errors
    assert len(store.all()) == 80


# -- ordinary calls ------------------------------------------------------------------------------


def schedule_of(call):
    with weft.profile() as told:
        call()
    return {run.config.get("schedule") for run in told.records}


def test_ordinary_calls_use_what_was_found(store, graph):
    (program,) = programs_of(lambda: weft.bfs(graph, 0))
    assert schedule_of(lambda: weft.bfs(graph, 0)) == {None}
    store.put(tuning(graph, program))
    assert schedule_of(lambda: weft.bfs(graph, 0)) == {None}  # known to this process as untuned
    remembered.forget_remembered()
    assert schedule_of(lambda: weft.bfs(graph, 0)) == {"merge"}
    same = weft.generators.rmat(7, 6, seed=4)
    assert schedule_of(lambda: weft.bfs(same, 3)) == {"merge"}
    assert np.array_equal(weft.bfs(same, 3).level, weft.bfs(same, 3, config=weft.Config()).level)


def test_explain_tells_what_would_run(store, graph):
    (program,) = programs_of(lambda: weft.bfs(graph, 0))
    store.put(tuning(graph, program))
    remembered.forget_remembered()
    state = graph.state(level=weft.full(-1, weft.int32), parent=weft.full(-1, weft.vertex_id))
    assert "early_exit" not in weft.explain(discover, graph, state, [0]).passes
    assert "early_exit" in weft.explain(discover, graph, state, [0], config=weft.Config()).passes


@pytest.mark.parametrize("config", [weft.Config(), weft.Config(deterministic=True)])
def test_who_gives_a_configuration_is_not_overruled(store, graph, config, monkeypatch):
    monkeypatch.setattr("weft.graph.execution.remembered", lambda *_: pytest.fail("looked it up"))
    weft.bfs(graph, 0, config=config)


def test_who_gives_a_direction_is_not_overruled(store, graph):
    (program,) = programs_of(lambda: weft.bfs(graph, 0))
    store.put(tuning(graph, program, weft.Config(schedule="merge", direction="pull")))
    remembered.forget_remembered()
    state = graph.state(level=weft.full(-1, weft.int32), parent=weft.full(-1, weft.vertex_id))
    state.level[0] = state.parent[0] = 0
    with weft.profile() as told:
        graph.iterate(discover, state, [0], direction="push")
    assert {record.direction for record in told.records} == {"push"}
    assert {record.config["schedule"] for record in told.records} == {"merge"}


def test_other_graphs_programs_and_versions_do_not_use_it(store, graph):
    (program,) = programs_of(lambda: weft.bfs(graph, 0))
    store.put(tuning(graph, program, weft="0.0.1"))
    remembered.forget_remembered()
    assert schedule_of(lambda: weft.bfs(graph, 0)) == {None}
    store.put(tuning(graph, program))
    remembered.forget_remembered()
    assert schedule_of(lambda: weft.pagerank(graph)) == {None}
    other = weft.generators.rmat(7, 6, seed=5)
    assert schedule_of(lambda: weft.bfs(other, 0)) == {None}


@pytest.mark.parametrize("choice", [{"format": "of my own"}, {"schedule": "warp"}])
def test_winners_that_are_not_possible_here_are_left_out(store, graph, choice):
    (program,) = programs_of(lambda: weft.bfs(graph, 0))
    store.put(tuning(graph, program, weft.Config(**choice)))
    remembered.forget_remembered()
    with pytest.warns(RuntimeWarning, match="tuning found for this graph is not used: .*='(of|wa)"):
        assert schedule_of(lambda: weft.bfs(graph, 0)) == {None}
    assert schedule_of(lambda: weft.bfs(graph, 0)) == {None}  # told once


def test_programs_of_the_other_front_end_use_what_was_found(store, graph):
    (program,) = programs_of(lambda: weft.acc.bfs(graph, 0))
    store.put(tuning(graph, program))
    remembered.forget_remembered()
    assert schedule_of(lambda: weft.acc.bfs(graph, 0)) == {"merge"}
    assert schedule_of(lambda: weft.acc.bfs(graph, 0, config=weft.Config())) == {None}


def test_a_broken_store_does_not_disturb_a_run(store, graph):
    store.path.write_bytes(b"not a database" * 100)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert weft.bfs(graph, 0).level[0] == 0
    assert len(told) == 1 and "was moved" in str(told[0].message)


# -- limits --------------------------------------------------------------------------------------


def test_a_limit_counts_running_alone():
    now = [0.0]
    limit = TimeLimit(2.0, clock=lambda: now[0])
    now[0] = 50.0  # compiling
    limit.check()
    with limit.running():
        now[0] += 1.5
        limit.check()
    now[0] = 100.0
    assert limit.left_s == 0.5
    with limit.running():
        now[0] += 0.6
        with pytest.raises(TimeLimitError, match="longer than 2 s"):
            limit.check()
    assert limit.spent_s == pytest.approx(2.1)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_on_a_cpu_stops_at_its_limit(threads):
    g = weft.generators.rmat(13, 8, seed=1)
    config = weft.Config(threads=threads)
    endless = {"tol": 0, "max_iter": 10**9, "on_unconverged": "return", "config": config}
    watch = watching.Watch(TimeLimit(0.01))
    with watching.watching(watch), pytest.raises(TimeLimitError):
        weft.pagerank(g, **endless)
    before = weft.pagerank(g, config=config)
    with watching.watching(watching.Watch(TimeLimit(60))):
        assert np.allclose(weft.pagerank(g, config=config), before)


def test_a_run_in_the_emulation_is_told_that_it_was_late(graph):
    g = graph.to("emulated")
    with watching.watching(watching.Watch(TimeLimit(1e-9))), pytest.raises(TimeLimitError):
        weft.bfs(g, 0)


def test_a_fingerprint_knows_its_fields():
    found = Fingerprint(1, 2, True, 3, 0.5, 0.25, "x", 4)
    assert Fingerprint(**found.as_dict()) == found
