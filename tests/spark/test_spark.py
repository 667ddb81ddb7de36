"""Graphs on Spark: results as in memory, any keys, refusals, killed drivers and executors."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.errors import ConfigError, GraphError

pytestmark = [  # pyspark leaves sockets to the garbage collector
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(1)
    return *rng.integers(0, 60, (2, 300)), rng.random(300)


@pytest.fixture(scope="module")
def directed(session, arrays):
    import pyarrow as pa

    src, dst, weight = arrays
    edges = session.createDataFrame(pa.table({"a": src, "b": dst, "w": weight}))
    blocks = weft.spark.graph(session, edges, src="a", dst="b", weight="w", blocks=3)
    return blocks, weft.Graph.from_edges(src, dst, weight)


@pytest.fixture(scope="module")
def named(session, arrays):
    """An undirected simple graph of names, with one vertex that has no edges."""
    import pyarrow as pa

    pairs = sorted({(min(a, b), max(a, b)) for a, b in zip(*arrays[:2], strict=True) if a != b})
    src, dst = ([f"v{end:03d}" for end in ends] for ends in zip(*pairs, strict=True))
    edges = session.createDataFrame(pa.table({"src": src, "dst": dst}))
    names = sorted({*src, *dst, "zz alone"})
    vertices = session.createDataFrame(pa.table({"id": names}))
    g = weft.spark.graph(session, edges, vertices=vertices, directed=False, blocks=3)
    whole = weft.Graph.from_edges(src, dst, directed=False, labels=names)
    return g, whole


def test_the_arcs_are_those_of_the_edges(directed, named):
    for blocks, whole in (directed, named):
        loaded = blocks.to("cpu")
        for ours, theirs in zip(loaded.to_edges(), whole.to_edges(), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(blocks.in_degree, whole.in_degree)
    assert list(named[0].labels) == list(named[1].labels)


def test_algorithms_agree(directed, named):
    blocks, whole = directed
    np.testing.assert_allclose(weft.pagerank(blocks), weft.pagerank(whole), rtol=1e-12)
    np.testing.assert_array_equal(weft.bfs(blocks, 0).level, weft.bfs(whole, 0).level)
    np.testing.assert_array_equal(weft.sssp(blocks, 0).dist, weft.sssp(whole, 0).dist)
    np.testing.assert_array_equal(
        weft.connected_components(blocks), weft.connected_components(whole)
    )
    blocks, whole = named
    np.testing.assert_array_equal(
        weft.label_propagation(blocks, 3), weft.label_propagation(whole, 3)
    )
    np.testing.assert_array_equal(weft.core_number(blocks), weft.core_number(whole))
    np.testing.assert_allclose(weft.betweenness(blocks, 2), weft.betweenness(whole, 2))


@weft.edge(into=("least", "total"), reduce=(weft.min, weft.sum), active=lambda v, old: v.total > 2)
def offer(u, v, e):
    weft.reduce("sent", u.value, weft.sum)
    return weft.send((u.value + weft.superstep(), e.weight), when=u.value != v.value)


def test_own_programs_agree(directed):
    results = []
    for g in (directed[0], directed[1].to("reference")):
        state = g.state(
            value=np.arange(g.num_vertices) % 7, least=weft.full(100), total=weft.full(0.0),
            sent=weft.scalar(0),
        )  # fmt: skip
        run = g.iterate(offer, state, range(40), max_iter=3)
        results.append((run.frontier.tolist(), int(state.sent), state.least, state.total))
    assert results[0][:2] == results[1][:2]
    np.testing.assert_array_equal(results[0][2], results[1][2])
    np.testing.assert_allclose(results[0][3], results[1][3])


def test_results_become_frames(named):
    blocks, whole = named
    rows = weft.spark.frame(blocks, core=weft.core_number(whole)).collect()
    assert {row["id"]: row["core"] for row in rows} == dict(
        zip(whole.labels, weft.core_number(whole).tolist(), strict=True)
    )


def test_what_is_wrong_is_told(session, directed):
    edges = session.createDataFrame([(0, 1, None)], "src long, dst long, w double")
    with pytest.raises(GraphError, match="edges has no column 'source'"):
        weft.spark.graph(session, edges, src="source")
    with pytest.raises(GraphError, match="has 1 nulls"):
        weft.spark.graph(session, edges, weight="w")
    with pytest.raises(ConfigError, match="resume=True needs checkpoint="):
        weft.spark.graph(session, edges, resume=True)


def test_triangles_are_counted_across_blocks(named):
    blocks, whole = named
    assert weft.triangle_count(blocks) == weft.triangle_count(whole) > 0


def driver(folder, *arguments):
    """Start a driver that ranks a graph, with checkpoints."""
    command = [sys.executable, str(HERE / "driver.py"), str(folder), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_killed_driver_resumes_after_its_last_superstep(tmp_path):
    first = driver(tmp_path, "local[2]", "slow")
    try:
        deadline = time.monotonic() + 300
        while not list((tmp_path / "kept").glob("run-*.npz")):
            assert first.poll() is None, first.stdout.read()
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    second = driver(tmp_path, "local[2]", "resume")
    out, _ = second.communicate(timeout=300)
    assert second.returncode == 0, out
    told = dict(line.split("=") for line in out.splitlines() if line.startswith("weft."))
    assert 0 < int(told["weft.taken"]) < int(told["weft.steps"])
    assert float(told["weft.error"]) < 1e-12


def test_a_killed_executor_is_replaced(tmp_path):
    run = driver(tmp_path, "local-cluster[2,1,1024]", "kill")
    out, _ = run.communicate(timeout=500)
    assert run.returncode == 0, out
    told = dict(line.split("=") for line in out.splitlines() if line.startswith("weft."))
    assert int(told["weft.killed"]) == 1
    assert float(told["weft.error"]) < 1e-12
    assert os.path.exists(tmp_path)
