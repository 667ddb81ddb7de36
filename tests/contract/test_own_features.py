"""Own vectors and matrices of a vertex: exchanged, old, folded, carried by loops, in scratch."""

import numpy as np
import pytest

import weft
from agreement import placed
from contract.test_features import N, compare, graph, whole
from weft.backends.cpu.host import run as execute


def test_own_vectors_are_exchanged():
    @weft.vertex
    def turn(v):
        v.a, v.b, v.c = v.b, v.c, v.a
        v.m = weft.stack([v.m[1], v.m[0]])
        v.x = v.m[0]
        v.same = v.same

    fields = {name: whole((N, 3), float, i) for i, name in enumerate("abcx")}
    fields |= {"m": whole((N, 2, 3), float, 5), "same": whole((N, 3), bool, 6)}
    compare(graph(), turn, fields, range(0, N, 3))


def test_old_vectors_and_vectors_read_by_others():
    @weft.vertex(wake="changed")
    def blur(v):
        v.before = v.old.x
        v.x = v.x + v.gather(lambda u, e: weft.minimum(u.x, u.old.x), weft.max)
        v.changed = weft.any(v.x != v.old.x) & (v.x[0] < 50)

    fields = {"x": whole((N, 3), "int64", 1, 0), "before": np.zeros((N, 3), int)}
    compare(graph(), blur, fields, mode="iterate", max_iter=3)


def test_folds_of_vertex_functions_on_vectors():
    @weft.vertex
    def first(v):
        go = v.x[0] > 0
        v.x, v.y = v.y, v.x
        return go

    @weft.vertex
    def second(v):
        v.x = v.x + v.gather(lambda u, e: u.x, weft.sum)
        v.y = v.y * 2 + v.old.x

    fields = {"x": whole((N, 3), "int64", 1), "y": whole((N, 3), "int64", 2)}
    compare(graph(), weft.fold(first, second), fields, mode="iterate", max_iter=3)


def test_loops_carry_vectors():
    @weft.vertex
    def powers(v):
        v.a, v.b = weft.for_range(0, 3, lambda i, a, b: (b + i, a), v.a, v.b)
        v.m, v.row = weft.while_loop(
            lambda m, row: weft.dot(row, row) < 100,
            lambda m, row: (m * 2 + v.b, m[0] + row + 1),
            v.m, v.row, bound=200,
        )  # fmt: skip
        v.k, v.c = weft.for_range(
            0, v.row[1] % 4, lambda i, k, c: (k + c[0], weft.stack([c[1], c[2], c[0] + k])), 1, v.a
        )

    fields = {name: whole((N, 3), "int64", i) for i, name in enumerate(["a", "b", "c", "row"])}
    fields |= {"m": whole((N, 2, 3), "int64", 8), "k": np.zeros(N, int)}
    compare(graph(), powers, fields)


def test_active_sees_vectors_before_and_after():
    def rises(v, old):
        return weft.sum(v.x) > weft.sum(old.x)

    @weft.edge(into="x", reduce=weft.sum, active=rises)
    def send(u, v, e):
        return u.x + e.near

    @weft.vertex(active=rises)
    def flip(v):
        v.x = v.x * weft.where(v.x[1] > 0, 2, -1)

    fields = {"x": whole((N, 3), float, 1)}
    compare(graph(), [send, flip], fields, directions=["push", "pull"])


def parity(v, old):
    return (v.old.x[1] + v.old.y + old.y + old.x[0]) % 5 != 0


@weft.edge(into=("x", "y"), reduce=weft.sum, active=parity)
def exchange_parts(u, v, e):
    return weft.stack([u.y % 3 - 1, 1]), u.x[1] % 5 - 2


@weft.vertex(active=parity)
def own_parts(v):
    v.x = weft.stack([v.x[0] + v.y, v.x[1] - v.y % 2])
    v.y = v.y - v.x[0] % 2


@weft.vertex(active=parity)
def gathered_parts(v):
    v.x = v.x + v.gather(lambda u, e: u.x + u.old.x, weft.sum) % 7
    v.y = v.y + 1


@pytest.mark.parametrize("functions", [
    exchange_parts, own_parts, [exchange_parts, own_parts], weft.fold(own_parts, gathered_parts),
    weft.fold(gathered_parts, own_parts),
], ids=["edge", "vertex", "both", "fold", "other fold"])  # fmt: skip
def test_active_sees_old_values_of_this_step(functions):
    fields = {"x": np.arange(2 * N).reshape(N, 2), "y": np.arange(N)}
    directions = ["push", "pull"] if functions is exchange_parts else ["auto"]
    compare(graph(), functions, fields, mode="iterate", max_iter=4, directions=directions)


def test_threads_have_scratch_of_their_own(monkeypatch):
    monkeypatch.setattr(execute, "SMALL_GRAPH", 0)
    g = weft.generators.rmat(11, 8, seed=2, directed=True)
    n = g.num_vertices
    rng = np.random.default_rng(0)

    @weft.vertex
    def fit(v):
        gram, right = v.gather(lambda u, e: (weft.outer(u.x, u.x), u.x), weft.sum)
        v.y = weft.solve(gram + 2 * weft.eye(3), right)

    @weft.edge(into="z", reduce=weft.sum)
    def send(u, v, e):
        return weft.outer(u.y, u.x) @ v.x

    fields = {"x": rng.normal(size=(n, 3)), "y": np.zeros((n, 3)), "z": np.zeros((n, 3))}
    results = []
    for threads in (1, 2):
        state = g.state(**{name: array.copy() for name, array in fields.items()})
        g.run([fit, send], state, config=weft.Config(threads=threads))
        results.append(state)
    for name in fields:
        first, second = (getattr(state, name) for state in results)
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)


def test_long_rows_of_float32_vectors_keep_their_precision():
    g = placed(weft.generators.star(60_000))

    @weft.vertex
    def gather(v):
        v.total = v.gather(lambda u, e: u.x, weft.sum)

    x = np.random.default_rng(0).random((60_000, 2), np.float32)
    state = g.state(x=x, total=weft.full(0, weft.float32, 2))
    g.run(gather, state, [0])
    exact = x[1:].sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(state.total[0], exact, rtol=1e-6)
