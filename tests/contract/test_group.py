"""Collaborative functions: features that exchange values, against NumPy and the interpreter."""

import numpy as np
import pytest

import weft
from agreement import placed
from oracle import run_interpreted
from weft.errors import FaultError, TraceError

N = 9


@weft.collaborative
def ranked(x):
    """Sort by counting: every feature goes to the place that its rank gives."""
    lane = weft.group.lane()

    def count(other, place):
        y = weft.group.shuffle(x, other)
        return place + weft.where((y < x) | ((y == x) & (other < lane)), 1, 0)

    place = weft.for_range(0, weft.group.size(), count, 0 * lane)
    s = weft.scratch(weft.group.size() + 1)
    s[place] = x
    s[weft.group.size()] = 7.0
    return s[lane], s[weft.group.size() - 1]


@weft.collaborative
def neighbours(x, shift):
    """What the feature a little further on has, and what all say about it."""
    near = weft.group.shuffle(x, (weft.group.lane() + shift) % weft.group.size())
    calm = weft.group.all(near >= 0) | ~weft.group.any(near > 3)
    return near, calm, weft.group.reduce(near, weft.max)


@weft.vertex
def work(v):
    v.sorted, v.last = ranked(v.x)
    v.near, v.calm, v.most = neighbours(v.x, v.shift)


@weft.edge(into="total", reduce=weft.sum)
def send(u, v, e):
    return neighbours(u.x, v.shift)[0]


@pytest.mark.parametrize("k", [1, 37])
def test_features_exchange_values(k):
    rng = np.random.default_rng(k)
    x, shift = rng.integers(-3, 9, (N, k)).astype(float), rng.integers(0, 50, N)
    g = weft.generators.path(N)
    fields = {"x": x, "shift": shift, "calm": np.zeros(N, bool)}
    fields |= {name: np.zeros((N, k)) for name in ("sorted", "near", "total")}
    fields |= {name: np.zeros(N) for name in ("last", "most")}
    steps = [send, weft.vertex(work.function, on="all")]
    copied = {name: np.array(values) for name, values in fields.items()}
    want = run_interpreted(g, steps, g.state(**copied), mode="run").state.fields
    g = placed(g)
    state = g.state(**fields)
    g.run(steps, state)
    places = (np.arange(k) + shift[:, None]) % k
    near = np.take_along_axis(x, places, 1)
    np.testing.assert_array_equal(state.sorted, np.sort(x))
    np.testing.assert_array_equal(state.near, near)
    np.testing.assert_array_equal(state.last, x.max(1))
    np.testing.assert_array_equal(state.most, near.max(1))
    np.testing.assert_array_equal(state.calm, (near >= 0).all(1) | ~(near > 3).any(1))
    for name, values in want.items():
        np.testing.assert_array_equal(getattr(state, name), values, name)


@weft.collaborative
def beyond(x):
    return weft.group.shuffle(x, weft.group.lane() + 1)


@weft.vertex
def look_beyond(v):
    v.x = beyond(v.x)


def test_a_position_out_of_range_is_a_fault():
    g = placed(weft.generators.path(2))
    state = g.state(x=np.zeros((2, 3)))
    with pytest.raises(FaultError, match="out of range"):
        g.run(look_beyond, state)


@weft.collaborative
def both(x, y):
    return x + y


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda v: weft.group.lane(), "inside a function made by @weft.collaborative"),
        (lambda v: weft.scratch(3), "inside a function made by @weft.collaborative"),
        (lambda v: both(v.a, v.b), r"vectors of \[3, 4\] features"),
        (lambda v: both(v.c, 1), "got no vector"),
        (lambda v: weft.collaborative(lambda x: weft.scratch((2, 2)))(v.a), "scratch of shape"),
        (lambda v: weft.collaborative(lambda x: weft.group.shuffle(x, 0.5))(v.a), "are integers"),
    ],
)
def test_misuse_is_told(function, reason):
    g = weft.generators.path(2)
    state = g.state(a=np.zeros((2, 3)), b=np.zeros((2, 4)), c=np.zeros(2))

    def use(v):
        function(v)

    with pytest.raises(TraceError, match=reason):
        g.run(weft.vertex(use), state)
