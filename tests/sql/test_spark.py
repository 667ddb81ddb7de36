"""Programs in Spark SQL, against the interpreter; `make test-spark` runs them."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import Phase, given, settings

import weft
from agreement import compare, interpreted, on_device, run
from oracle import assert_same, run_interpreted, run_on
from programs import cases
from weft.backends.relational.backend import BACKEND
from weft.errors import ConfigError

PHASES = (Phase.generate,)  # shrinking takes hours
pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


def session():
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings_ = {
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1",
        "spark.driver.memory": "1g", "spark.driver.host": "127.0.0.1",
        "spark.default.parallelism": "1",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings_.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


@pytest.fixture(scope="module")
def spark():
    made = session()
    yield made
    weft.sql.close(made)
    made.stop()


G = weft.Graph.from_edges(
    [0, 0, 1, 2, 2, 2, 4], [1, 1, 2, 2, 0, 1, 1], [3.0, np.nan, -1.0, 0.0, np.inf, 2.0, np.nan],
    num_vertices=6,
)  # fmt: skip


def agreed(spark, g, functions, fields, frontier=None, **options):
    want = interpreted(g, functions, fields, frontier, **options)
    with on_device(spark):
        result = run(g, functions, fields, frontier, **options)
    compare(result, want)


def test_drawn_programs_agree(spark):
    refused = []

    @given(case=cases())
    @settings(max_examples=3, derandomize=True, deadline=None, phases=PHASES)
    def check(case):
        arguments = {"mode": case.mode, **case.options()}
        given_ = (case.functions(), case.state(), case.frontier)
        want = run_interpreted(case.graph(), *given_, **arguments)
        try:
            got = run_on(BACKEND, case.graph().to(spark), *given_, **arguments)
        except ConfigError as error:
            refused.append(str(error))
            return
        assert_same(want, got)

    check()
    assert len(refused) <= 1, refused


def test_integers_and_floats(spark):
    ints = np.array([0, 1, -1, 2, 7, -8, 2**31 - 1, -(2**31), 33])
    floats = np.array([0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, 1e300, -7.0, 2.0**31])
    n = len(ints) ** 2
    fields = {"x": np.repeat(ints, len(ints)).astype(np.int32)}
    fields["y"] = np.tile(ints, len(ints)).astype(np.int32)
    fields["p"], fields["q"] = np.repeat(floats, len(floats)), np.tile(floats, len(floats))
    fields |= {f"i{k}": np.zeros(n, np.int32) for k in range(9)}
    fields |= {f"b{k}": np.zeros(n, bool) for k in range(4)}
    fields |= {f"f{k}": np.zeros(n) for k in range(5)}
    g = weft.Graph.from_edges([], [], num_vertices=n)

    @weft.vertex
    def step(v):
        v.i0, v.i1, v.i2 = v.x + v.y, v.x * v.y, v.x // v.y
        v.i3, v.i4, v.i5 = v.x % v.y, v.x << v.y, v.x >> v.y
        v.i6, v.i7, v.i8 = abs(v.x), weft.popcount(v.x), weft.cast(v.p, weft.int32)
        v.b0, v.b1, v.b2, v.b3 = v.p < v.q, v.p <= v.q, v.p == v.q, v.p != v.q
        v.f0, v.f1, v.f2 = v.p / v.q, weft.minimum(v.p, v.q), weft.floor(v.p)
        v.f3, v.f4 = weft.round(v.p), weft.cast(weft.cast(v.p, weft.float32), weft.float64)

    agreed(spark, g, step, fields)


def test_monoids(spark):
    @weft.vertex
    def step(v):
        v.a = v.gather(lambda u, e: u.a, weft.mode, direction="both")
        low, total = v.gather(lambda u, e: (e.weight, u.a), (weft.min, weft.prod))
        v.x, v.b = low, total

    fields = {"a": np.array([3, 3, 1, 1, 2, 0]), "b": np.zeros(6, np.int64), "x": np.zeros(6)}
    agreed(spark, G, step, fields)


def test_tables_of_a_session(spark):
    rows = [("Ada", "Bob`'\"", 1.5), ("Bob`'\"", "Eve", 2.0), ("Ada", "Eve", 9.0)]
    spark.createDataFrame(rows, ["a`1", "b 2", "w;"]).createOrReplaceTempView("follows")
    g = weft.sql.graph(spark, "follows", src="a`1", dst="b 2", weight="w;")
    assert g.labels.tolist() == ["Ada", "Bob`'\"", "Eve"]
    assert weft.sssp(g, "Ada").dist.tolist() == [0.0, 1.5, 3.5]
    assert g.to("cpu").edge["weight"].tolist() == [1.5, 9.0, 2.0]
    want = weft.pagerank(g.to("cpu"), tol=1e-3)
    np.testing.assert_allclose(weft.pagerank(g, tol=1e-3), want)
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


SCRIPT = """
import sys, json
sys.path.insert(0, sys.argv[2])
import weft
from test_spark import session
spark = session()
spark.createDataFrame([(k, k + 1) for k in range(5)], ["a", "b"]).createOrReplaceTempView("e")
g = weft.sql.graph(spark, "e", src="a", dst="b", resume=True, directory=sys.argv[1])
engine = weft.backends.relational.connections.engine_of(g.topology.device)
before = engine.note
def note(run, facts):
    before(run, facts)
    if "superstep" in facts:
        print(facts["superstep"], flush=True)
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
    here = os.path.dirname(__file__)
    path = os.pathsep.join([here, os.path.dirname(here), *sys.path])
    arguments = [sys.executable, "-c", SCRIPT, str(tmp_path), here]
    environment = {**os.environ, "PYTHONPATH": path}
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
    assert [int(process.stdout.readline()) for _ in range(2)] == [1, 2]
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    lines = done.stdout.splitlines()
    assert int(lines[0]) > 2
    assert json.loads(lines[-1]) == [6, True, list(range(6))]
