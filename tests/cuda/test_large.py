"""Graphs with more than 2**31 arcs, whose results have a closed form.

The vertices stand in a circle and know those up to `REACH` places away: rows are written as they
are, so that building takes no memory but theirs (about 9 GB each; runs need little more).
"""

import numpy as np
import pytest

import weft
from weft.arrays.device import open_device, to_host
from weft.topology.adjacency import Adjacency
from weft.topology.topology import Topology

pytestmark = pytest.mark.cuda

VERTICES, REACH = 1 << 20, 1056  # 2 * 1056 * 2**20 arcs are 2.2e9
NEEDED_BYTES = 24 << 30


@pytest.fixture
def circle(device, sized):
    """Return a function that makes a circle: its graph, the number of vertices and the reach."""
    place = open_device(device)
    if device.startswith("cuda"):
        with place.current():
            free, _ = place.xp.cuda.runtime.memGetInfo()
        if free < NEEDED_BYTES:
            pytest.skip(f"needs {NEEDED_BYTES >> 30} GB of free device memory, got {free >> 30}")
    n, reach = sized((VERTICES, REACH), (300, 7))

    def make(directed):
        steps = np.arange(1, (2 * reach if directed else reach) + 1)
        with place.current():
            rows = _circle(place, n, steps if directed else np.concatenate([-steps, steps]))
        keep, edges = ("out", 2 * n * reach) if directed else ("both", n * reach)
        topology = Topology(rows, directed=directed, keep=keep, num_edges=edges, device=place)
        assert not device.startswith("cuda") or topology.num_arcs > 2**31
        return weft.Graph(topology), n, reach

    return make


def _circle(place, n, steps):
    """Return the rows of a circle: vertex v has arcs to v + step (mod n), sorted."""
    xp = place.xp
    offsets = xp.arange(n + 1, dtype=np.int64) * steps.size
    targets = xp.empty(n * steps.size, np.int32)
    rows = targets.reshape(n, steps.size)
    steps = np.sort(steps).astype(np.int32)
    at_once = max(1, (1 << 26) // steps.size)
    for first in range(0, n, at_once):
        part = xp.arange(first, min(first + at_once, n), dtype=np.int32)
        some = (part[:, None] + xp.asarray(steps)[None, :]) % n
        if first + steps[0] < 0 or first + part.size + steps[-1] > n:  # a row goes round
            some = xp.sort(some, axis=1)
        rows[first : first + at_once] = some
    return Adjacency(offsets, targets)


def _distance(n):
    """Return how far each vertex is from vertex 0 along the circle."""
    v = np.arange(n)
    return np.minimum(v, n - v)


@weft.edge(into="sum", reduce=weft.sum)
def send_id(u, v, e):
    return weft.cast(u.id, weft.int64)


@weft.edge(into="sum", reduce=weft.sum)
def send_edge(u, v, e):
    return weft.cast(e.id, weft.int64)


@weft.vertex
def gather_ids(v):
    v.sum = v.gather(lambda u, e: weft.cast(u.id, weft.int64), weft.sum)


def test_searches_and_sums_over_undirected_arcs(circle):
    g, n, reach = circle(False)
    level = to_host(weft.bfs(g, 0).level)
    np.testing.assert_array_equal(level, -(-_distance(n) // reach))
    for direction in ("push", "pull"):
        found = weft.bfs(g, 0, config=weft.Config(direction=direction))
        np.testing.assert_array_equal(to_host(found.level), level)
    # The ids around v sum up to 2 * reach * v, where none of them goes round the circle.
    v = np.arange(n)
    want = 2 * reach * v + n * np.maximum(reach - v, 0) - n * np.maximum(v + reach - n + 1, 0)
    for functions, config in (
        (send_id, weft.Config(direction="push")),
        (send_id, weft.Config(direction="pull")),
        (send_id, weft.Config(direction="push", schedule="edge", format="coo")),
        (send_id, weft.Config(direction="pull", schedule="merge")),
        (gather_ids, weft.Config(schedule="strict")),
        (gather_ids, weft.Config(schedule="block")),
    ):
        state = g.state(sum=weft.full(0, np.int64))
        g.run(functions, state, config=config)
        np.testing.assert_array_equal(to_host(state.sum), want, err_msg=str(config.given()))
    rank = weft.pagerank(g, tol=0, max_iter=2, on_unconverged="return")
    np.testing.assert_allclose(to_host(rank), 1 / n, rtol=1e-12)


def test_arcs_have_numbers_of_their_own(circle):
    g, n, reach = circle(True)
    degree = 2 * reach
    level = to_host(weft.bfs(g, 0).level)
    np.testing.assert_array_equal(level, -(-np.arange(n) // degree))
    state = g.state(sum=weft.full(0, np.int64))
    g.run(send_edge, state)
    # Vertex v hears from v - i by the edge (v - i) * degree + i - 1, where rows do not go round.
    v = np.arange(degree, n - degree)
    i = np.arange(1, degree + 1)
    want = degree * degree * v - degree * i.sum() + (i - 1).sum()
    np.testing.assert_array_equal(to_host(state.sum)[degree : n - degree], want)
