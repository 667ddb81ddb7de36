"""`weft.mode` of keys with weights: the key of the greatest total weight."""

from collections import defaultdict

import numpy as np
import pytest

import weft
from agreement import on_device, run
from weft.errors import TraceError

DEVICES = ("reference", "cpu", "emulated")


def vote(direction):
    @weft.vertex(on="all")
    def step(v):
        v.won = v.gather(lambda u, e: (u.label, e.weight), weft.mode, direction=direction)

    return step


def expected(g, labels, direction):
    """Return the label of the greatest total weight of each vertex, 0 where nobody votes."""
    src, dst, weight = (np.asarray(x).tolist() for x in g.to_edges())
    arcs = list(zip(src, dst, weight, strict=True))
    if not g.directed:
        arcs += [(b, a, w) for a, b, w in arcs if a != b]
    totals = [defaultdict(float) for _ in range(g.num_vertices)]
    for a, b, w in arcs:
        if direction in ("in", "both"):
            totals[b][labels[a]] += w
        if direction in ("out", "both"):
            totals[a][labels[b]] += w
    return [min(t, key=lambda k, t=t: (-t[k], k), default=0) for t in totals]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_the_heaviest_label_wins(device, dtype):
    rng = np.random.default_rng(2)
    sizes = [(7, 20, True), (7, 20, False)]
    sizes += [(60, 900, True)] * (device != "reference")
    with on_device(device):
        for n, m, directed in sizes:
            src, dst = rng.integers(0, n, m), rng.integers(0, max(1, n // 9), m)
            weight = rng.integers(-3, 6, m).astype(dtype)
            g = weft.Graph.from_edges(src, dst, weight, num_vertices=n, directed=directed)
            labels = rng.integers(-4, 5, n)
            for direction in ("in", "both"):
                done = run(g, vote(direction), {"label": labels, "won": np.full(n, 99)})
                assert done.won.tolist() == expected(g, labels.tolist(), direction)


@pytest.mark.parametrize("device", DEVICES)
def test_totals_that_are_not_numbers_lose(device):
    nan, inf = float("nan"), float("inf")
    g = weft.Graph.from_edges(
        [1, 2, 3, 1, 2, 1, 2, 3], [0, 0, 0, 4, 4, 5, 5, 5],
        [nan, -1.0, -2.0, nan, nan, inf, 2.0, inf], num_vertices=6,
    )  # fmt: skip
    with on_device(device):
        done = run(g, vote("in"), {"label": [0, 3, 9, 1, 0, 0], "won": [7] * 6})
    assert done.won.tolist() == [9, 0, 0, 0, 3, 1]


def test_conditions_and_other_gathers_go_beside_it():
    @weft.vertex(on="all")
    def step(v):
        v.won = v.gather(lambda u, e: weft.send((u.label, e.weight), when=e.weight > 1), weft.mode)
        v.count = v.gather(lambda u, e: 1, weft.sum)

    g = weft.Graph.from_edges([1, 2, 3], [0, 0, 0], [1.0, 2.0, 3.0])
    for device in DEVICES:
        with on_device(device):
            done = run(g, step, {"label": [0, 7, 5, 5], "won": [0] * 4, "count": [0] * 4})
        assert (done.won.tolist(), done.count.tolist()) == ([5, 0, 0, 0], [3, 0, 0, 0])


def test_the_mode_of_each_message_is_asked_for_by_two_monoids():
    @weft.vertex(on="all")
    def step(v):
        key, weight = v.gather(lambda u, e: (u.label, e.weight), (weft.mode, weft.mode))
        v.won, v.often = key, weight

    g = weft.Graph.from_edges([1, 2, 3], [0, 0, 0], [2.0, 2.0, 9.0])
    done = run(g, step, {"label": [0, 5, 6, 6], "won": [0] * 4, "often": [0.0] * 4})
    assert (done.won[0], done.often[0]) == (6, 2.0)


def test_keys_are_integers():
    g = weft.Graph.from_edges([1], [0])
    with pytest.raises(TraceError, match="by weight takes an integer key"):
        run(g, vote("in"), {"label": [0.5, 0.5], "won": [0.0, 0.0]})
