"""The store of tunings: what is found again, what is set aside, and who may use it at once."""

import contextlib
import functools
import json
import os
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path
from random import Random

import numpy as np
import pytest

import fake_cupy
import weft
from damage import damaged
from weft.algorithms.bfs import discover
from weft.backends.limits import TimeLimit
from weft.engine import tuned as remembered
from weft.engine import tuning_store as store_module
from weft.engine import watch as watching
from weft.engine.fingerprint import Fingerprint, fingerprint_of, sizes_of
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


NESTED = "[" * 60_000
FINGERPRINT = {"vertices": 1, "arcs": 2, "directed": True, "largest": 3, "variation": 0.5,
               "skew": 0.25, "digest": "x", "diameter": 4}  # fmt: skip
HOSTILE_VALUES = [
    ("config", NESTED),
    ("config", '{"format":' * 12_000),
    ("config", "9" * 5000),
    ("config", "{" * 100_000),
    ("config", b"\xff\xfe\x00"),
    ("config", "null"),
    ("config", ""),
    ("fingerprint", NESTED),
    ("fingerprint", "{}"),
    ("fingerprint", "[1, 2]"),
    *(
        ("fingerprint", json.dumps({**FINGERPRINT, **wrong}))
        for wrong in (
            {"vertices": "many"},
            {"vertices": -1},
            {"vertices": 10**30},
            {"arcs": 1.5},
            {"largest": [1]},
            {"variation": -5.0},
            {"variation": float("nan")},
            {"skew": float("inf")},
            {"directed": 1},
            {"digest": 5},
            {"diameter": "far"},
            {"more": 1},
        )
    ),
    ("program", b"\x00\x01"),
    ("algorithm", "\x1b[2J"),
    ("device", "a\nb"),
    ("weft", "\x07"),
    ("ms", "fast"),
    ("ms", 0.0),
    ("ms", -1.0),
    ("default_ms", float("inf")),
    ("tried", "some"),
    ("tried", 2**62),
    ("created", 1e300),
    ("created", -5.0),
]


@pytest.mark.parametrize(("column", "value"), HOSTILE_VALUES, ids=range(len(HOSTILE_VALUES)))
def test_damaged_rows_are_passed_over_with_a_warning(store, graph, column, value):
    store.put(tuning(graph, "a"))
    store.put(tuning(graph, "b"))
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"UPDATE tunings SET {column} = ? WHERE program = 'a'", (value,))
    with pytest.warns(RuntimeWarning, match="1 of 2 tunings in .* are damaged .* --forget all"):
        assert [t.program for t in store.all()] == ["b"]
    assert store.sizes() == {sizes_of(graph.topology)}, "told once"
    assert store.forget() == 2


@pytest.mark.parametrize(
    "config",
    [
        '{"threads": 1000000000}',
        '{"threads": 1e400}',
        '{"delta": 1' + "0" * 400 + "}",
        '{"block_size": 170141183460469231731687303715884105728}',
        '{"format": {"push": ["csr"]}}',
        '{"format": {"push": {"push": {}}}}',
        '{"passes_off": [[[]]]}',
        '{"passes_off": 5}',
        '{"lanes": {}}',
        '{"schedule": {"up": "merge"}}',
    ],
)
def test_hostile_configurations_are_not_known_here(store, graph, config):
    store.put(tuning(graph, "a"))
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE tunings SET config = ?", (config,))
    assert store.all() == []
    with pytest.raises(ConfigError):
        config_from(config)


HOSTILE_SCHEMAS = [
    "CREATE VIEW tunings AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT x AS id FROM n",
    "CREATE TABLE tunings (id INTEGER PRIMARY KEY, graph TEXT)",
    "CREATE TABLE others (id INTEGER)",
]


@pytest.mark.parametrize("schema", HOSTILE_SCHEMAS, ids=range(len(HOSTILE_SCHEMAS)))
def test_files_with_other_tables_are_set_aside(store, graph, schema):
    for use in (store.all, lambda: store.put(tuning(graph, "a"))):
        store.path.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute(schema)
            connection.execute("PRAGMA user_version = 1")
        with pytest.warns(RuntimeWarning, match="its tables were not created by weft.*was moved"):
            use()
    assert len(store.all()) == 1


def test_triggers_of_a_file_do_not_run(store, graph):
    store.put(tuning(graph, "a"))
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER t AFTER INSERT ON tunings BEGIN DELETE FROM tunings; END"
        )
    with pytest.warns(RuntimeWarning, match="not created by weft"):
        store.put(tuning(graph, "b"))
    assert [t.program for t in store.all()] == ["b"]


def test_a_locked_file_is_left_in_place(store, graph, monkeypatch):
    monkeypatch.setattr(store_module, "PATIENCE_S", 0.0)
    store.put(tuning(graph, "a"))
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.warns(RuntimeWarning, match=r"cannot be read \(database is locked\)\. The def"):
            assert store.all() == []
        assert store.all() == [], "told once"
        with pytest.raises(OSError, match=r"cannot be written .*locked"):
            store.put(tuning(graph, "b"))
        connection.execute("ROLLBACK")
    assert len(store.all()) == 1


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", None)])
def test_what_is_not_a_file_is_left_alone(store, graph, make):
    make(store.path)
    with pytest.warns(RuntimeWarning, match="it is not a file"):
        assert store.all() == []
    with pytest.raises(OSError, match="it is not a file"):
        store.put(tuning(graph, "a"))
    assert store.path.exists()


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="root alone becomes another user"
)
def test_a_file_of_others_is_read_where_that_is_possible(store, graph, tmp_path):
    store.put(tuning(graph, "a"))
    for path in (tmp_path, *(p for p in tmp_path.parents if "pytest" in str(p))):
        path.chmod(0o755)
    store.path.chmod(0o644)
    os.seteuid(54321)
    try:
        assert [t.program for t in store.all()] == ["a"]
        with pytest.raises(OSError, match="cannot be written"):
            store.put(tuning(graph, "b"))
        os.seteuid(0)
        store.path.chmod(0o600)
        os.seteuid(54321)
        with pytest.warns(RuntimeWarning, match="cannot be read .*unable to open"):
            assert store.all() == []
        os.seteuid(0)
        tmp_path.chmod(0o700)
        os.seteuid(54321)
        remembered.forget_remembered()
        assert weft.generators.path(3).num_vertices == 3
        assert remembered._look_up(graph.topology) == {}
    finally:
        os.seteuid(0)


def test_random_damage_gives_what_is_sound_or_a_warning(store, graph):
    """Whatever SQLite makes of a page, only checked tunings come out, and the store works again."""
    rng = Random(1)
    for number in range(3):
        store.put(tuning(graph, f"program {number}"))
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = store.path.read_bytes()
    for _ in range(30):
        for path in store.path.parent.glob("tunings.sqlite*"):
            path.unlink()
        store.path.write_bytes(damaged(whole, rng))
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            for found in store.all():
                assert isinstance(found.config, weft.Config) and found.ms > 0
                assert found.graph.distance(found.graph) == 0
            store.put(tuning(graph, "new"))
            assert "new" in {found.program for found in store.all()}


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


def test_a_file_that_is_laid_out_between_two_looks_is_kept(store, monkeypatch):
    connect = sqlite3.connect
    store.path.touch()

    class Interrupted(sqlite3.Connection):
        def execute(self, statement, *values):
            if "sqlite_master" in statement:
                with (
                    contextlib.closing(connect(store.path, 0.0)) as other,
                    contextlib.suppress(sqlite3.OperationalError),  # locked, as it should be
                ):
                    other.execute(store_module._TABLES)
                    other.execute(f"PRAGMA user_version = {store_module.LAYOUT}")
            return super().execute(statement, *values)

    monkeypatch.setattr(sqlite3, "connect", functools.partial(connect, factory=Interrupted))
    assert store.all() == []  # and no warning that the file was moved
    assert [path.name for path in store.path.parent.iterdir()] == [store.path.name]


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
    with pytest.warns(RuntimeWarning, match="stored tuning of this graph is not used: .*='(of|wa)"):
        assert schedule_of(lambda: weft.bfs(graph, 0)) == {None}
    assert schedule_of(lambda: weft.bfs(graph, 0)) == {None}  # told once


@pytest.mark.parametrize(
    "choice",
    [{"format": "tigr(0)"}, {"format": "tigr(x=1)"}, {"format": "ell(100000)"}, {"format": "dia"}],
)
def test_winners_that_fail_are_replaced_by_the_default(store, graph, choice):
    """A format may refuse a graph only when it is built."""
    (program,) = programs_of(lambda: weft.bfs(graph, 0))
    want = weft.bfs(graph, 0).level
    store.put(tuning(graph, program, weft.Config(**choice)))
    remembered.forget_remembered()
    with pytest.warns(RuntimeWarning, match="the stored tuning of this graph is not used") as told:
        for _ in range(3):
            np.testing.assert_array_equal(weft.bfs(graph, 0).level, want)
    assert len(told) == 1
    with pytest.raises(ConfigError):
        weft.bfs(graph, 0, config=weft.Config(**choice))


def test_explanations_ignore_what_runs_ignore(store, graph):
    """Tuning never stores change_driven; a forged row must not make `explain` fail."""
    (program,) = programs_of(lambda: weft.bfs(graph, 0))
    store.put(tuning(graph, program, weft.Config(change_driven=True)))
    remembered.forget_remembered()
    assert weft.bfs(graph, 0).level[0] == 0
    state = graph.state(level=weft.full(-1, weft.int32), parent=weft.full(-1, weft.vertex_id))
    assert "discover" in str(weft.explain(discover, graph, state))


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
