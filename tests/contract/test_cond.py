"""`weft.cond`: only one of two functions is evaluated."""

import numpy as np
import pytest

import weft
from agreement import on_device, run
from weft.errors import FaultError, TraceError

DEVICES = ("reference", "cpu", "emulated")


@weft.vertex(on="all")
def choose(v):
    v.next = weft.cond(v.out_degree > 0, lambda: weft.neighbor(v.id, 0), lambda: -1)
    a, b = weft.cond(
        v.x > 2, lambda: (v.x * 2, v.spin + 1), lambda: (weft.cast(7, weft.float32), v.x)
    )
    v.x, v.spin = a, b
    v.y = weft.cond(v.x > 20, lambda: 1, lambda: weft.cond(v.id % 2 == 0, lambda: v.y, lambda: 0.5))


def arguments(n):
    x = np.linspace(0, 20, n).astype(np.float32)
    return {
        "next": weft.full(9, weft.vertex_id), "x": x, "y": np.full(n, 3, np.float32),
        "spin": np.arange(2.0 * n).reshape(n, 2),
    }  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_one_branch_is_evaluated(device):
    g = weft.Graph.from_edges([0, 0, 1, 3], [2, 1, 3, 4], num_vertices=6)
    fields = arguments(6)
    with on_device(device):
        done = run(g, choose, fields)
    x, small = fields["x"], fields["x"] <= 2
    np.testing.assert_array_equal(done.next, [1, 3, -1, 4, -1, -1])
    np.testing.assert_array_equal(done.x, np.where(small, np.float32(7), x * 2))
    spin = np.where(small[:, None], np.repeat(x[:, None], 2, 1), fields["spin"] + 1)
    np.testing.assert_array_equal(done.spin, spin)
    np.testing.assert_array_equal(
        done.y, np.where(done.x > 20, 1, np.where(np.arange(6) % 2 == 0, 3, 0.5))
    )


@pytest.mark.parametrize("device", DEVICES)
def test_live_updates_happen_in_the_branch_that_runs(device):
    @weft.edge(into="sum", reduce=weft.sum)
    def step(u, v, e):
        weft.cond(u.id > v.id, lambda: v.count.at(0).add(1) * 0, lambda: v.count.at(1).add(1) * 0)
        return weft.cond(u.id > v.id, lambda: u.id, lambda: 100)

    @weft.edge
    def quiet(u, v, e):
        weft.cond(u.id > v.id, lambda: note(v), lambda: None)

    def note(v):
        v.count.at(3).max(v.id)

    g = weft.Graph.from_edges([0, 3, 2, 2], [1, 1, 0, 3])
    with on_device(device):
        done = run(g, step, {"sum": [0] * 4, "count": [0] * 4})
        assert (done.sum.tolist(), done.count.tolist()) == ([2, 103, 0, 100], [2, 2, 0, 0])
        assert run(g, quiet, {"count": [0] * 4}).count.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("device", DEVICES)
def test_loops_and_tests_hold_conditionals(device):
    @weft.vertex(active=lambda v, old: weft.cond(v.x > 5, lambda: old.x < 5, lambda: False))
    def collatz(v):
        v.x = weft.while_loop(
            lambda x, k: (x > 1) & (k < 10),
            lambda x, k: (weft.cond(x % 2 == 0, lambda: x // 2, lambda: 3 * x + 1), k + 1),
            v.x,
            0,
        )[0]

    g = weft.generators.path(8)
    with on_device(device):
        done = run(g, collatz, {"x": np.arange(8) * 7 + 1})
    want = np.arange(8) * 7 + 1
    for _ in range(10):
        want = np.where(want <= 1, want, np.where(want % 2 == 0, want // 2, 3 * want + 1))
    np.testing.assert_array_equal(done.x, want)


def test_without_it_the_neighbour_is_asked_for():
    @weft.vertex
    def step(v):
        v.next = weft.where(v.out_degree > 0, weft.neighbor(v.id, 0), -1)

    g = weft.Graph.from_edges([0], [1])
    with pytest.raises(FaultError):
        run(g, step, {"next": weft.full(0, weft.vertex_id)})


def assign(v):
    v.x = 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda v: weft.cond(v.x > 0, lambda: 1, lambda: (1, 2)), "return 1 and 2 value"),
        (lambda v: weft.cond(v.x > 0, 1, lambda: 2), "`then` of weft.cond is 1"),
        (lambda v: weft.cond(v.x > 0, lambda x: 1, lambda: 2), "`then` of weft.cond takes 1"),
        (lambda v: weft.cond(v.f, lambda: 1, lambda: 2), "must be a condition"),
        (lambda v: weft.cond(v.x > 0, lambda: assign(v), lambda: None), "inside a loop, a branch"),
        (
            lambda v: weft.cond(
                v.x > 0, lambda: v.gather(lambda u, e: 1, weft.sum), lambda: 0
            ),
            "a gather cannot stand inside",
        ),
        (
            lambda v: weft.cond(
                v.x > 0, lambda: weft.stack([1, 2]), lambda: weft.stack([1, 2, 3])
            ),
            "shapes",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(function, message):
    g = weft.generators.path(3)
    with pytest.raises(TraceError, match=message):
        g.run(weft.vertex(lambda v: [function(v), None][1]), g.state(x=[0] * 3, f=[0.5] * 3))
