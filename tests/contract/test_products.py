"""Products of vectors and large parameters, against the interpreter: by arc, by row, by vertex."""

import numpy as np
import pytest

import weft
from contract.test_features import N, compare, graph, whole

WIDTH, HEIGHT = 11, 9  # of a matrix that is large enough to stay in memory


def fields(dtype):
    """Vectors to multiply and to add up, and matrices that fit them."""
    return {
        "x": whole((N, WIDTH), dtype, 1), "z": whole((N, HEIGHT), dtype, 2),
        "to_z": weft.parameter(whole((HEIGHT, WIDTH), dtype, 3)),
        "square": weft.parameter(whole((HEIGHT, HEIGHT), dtype, 4)),
    }  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_products_of_all_arcs(dtype):
    @weft.edge(into="z", reduce=weft.sum, on="all")
    def send(u, v, e, to_z, square):
        made = to_z @ u.x  # a column of vectors, by the matrix as it lies in memory, and turned
        again = made @ square + square.T @ made
        return weft.where(u.id < v.id, again, made + weft.matvec(square, u.z, reduce=weft.max))

    compare(graph(), send, fields(dtype), directions=("pull", "push"))


def test_products_that_are_kept_by_arcs():
    @weft.edge(into="z", reduce=weft.sum, on="all")
    def send(u, v, e, square):
        made = square @ (u.z - e.reverse.kept)
        e.kept = 0.5 * made + e.kept
        weft.reduce("most", weft.max(made), weft.max)
        return made + e.kept

    g = graph(directed=False)
    kept = {"kept": whole((g.topology.num_arcs, HEIGHT), float, 5)}
    first = fields(float) | {"most": weft.scalar(0.0)}
    compare(g, send, first, edges=kept, directions=("pull", "push"), close=("z", "kept"))


def test_products_of_rows_and_of_neighbours():
    @weft.vertex
    def mix(v, to_z, square):
        near = v.gather(lambda u, e: e.weight * (to_z @ u.x), weft.sum)
        v.z = square @ near + v.z @ square

    compare(graph(), mix, fields(float))


def test_products_of_a_frontier():
    @weft.edge(into="z", reduce=weft.sum)
    def send(u, v, e, to_z):
        return e.near[0] * (to_z @ u.x)

    compare(graph(), send, fields(float), [1, 5, 7, 20], directions=("pull", "push"))


def test_a_matrix_that_is_needed_otherwise_too():
    @weft.edge(into="z", reduce=weft.sum, on="all")
    def send(u, v, e, square):
        return square @ u.z + (2 * square)[3]

    compare(graph(), send, fields(float), directions=("pull", "push"))
