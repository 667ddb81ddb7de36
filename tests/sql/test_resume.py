"""A run whose process is killed goes on after its last superstep, to the same result."""

import json
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import weft

duckdb = pytest.importorskip("duckdb")

SCRIPT = """
import sys, json, duckdb, weft
con = duckdb.connect(sys.argv[1])
con.execute("SET threads = 1")
g = weft.sql.graph(con, "e", src="a", dst="b", resume=True)
engine = weft.backends.relational.connections.engine_of(g.topology.device)
before = engine.note
def note(run, facts):
    if "superstep" in facts:
        print(facts["superstep"], flush=True)
    before(run, facts)
engine.note = note

@weft.edge(into="dist", reduce=weft.min)
def relax(u, v, e):
    return u.dist + 1

state = g.state(dist=weft.full(10**6, weft.int32))
state.dist[0] = 0
done = g.iterate(relax, state, [0])
print(json.dumps([done.steps, done.converged, state.dist.tolist()]))
"""


def test_killed_runs_are_resumed(tmp_path):
    path = str(tmp_path / "graph.duckdb")
    n = 40
    with duckdb.connect(path) as con:
        con.execute(f"CREATE TABLE e AS SELECT range AS a, range + 1 AS b FROM range({n - 1})")
    draw = random.Random(3)
    first = []
    for wait in (draw.randrange(3, 12) for _ in range(2)):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, path], stdout=subprocess.PIPE, text=True
        )
        seen = [int(process.stdout.readline()) for _ in range(wait)]
        time.sleep(draw.random() / 100)
        process.send_signal(signal.SIGKILL)
        process.wait()
        first.append(seen[0])
        process.stdout.close()
    assert first[0] == 1
    assert first[1] > 1  # it went on
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path], stdout=subprocess.PIPE, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert int(lines[0]) > first[1]
    assert json.loads(lines[-1]) == [n, True, list(range(n))]
    with duckdb.connect(path) as con:
        left = [row[0] for row in con.execute("SHOW TABLES").fetchall()]
    assert not [name for name in left if name.startswith(("weft_state", "weft_frontier"))]


def test_a_failed_run_leaves_nothing_to_resume():
    con = duckdb.connect()
    con.execute("CREATE TABLE e AS SELECT range AS a, range + 1 AS b FROM range(3)")
    g = weft.sql.graph(con, "e", src="a", dst="b", resume=True)

    @weft.vertex
    def fail(v):
        v.x = v.x.at(v.x + 9).load()

    state = g.state(x=np.zeros(4, np.int64))
    with pytest.raises(weft.errors.FaultError):
        g.iterate(fail, state)
    facts = con.execute("SELECT run FROM weft_runs WHERE run NOT LIKE 'weft_%'").fetchall()
    assert facts == []
    weft.sql.close(con)
