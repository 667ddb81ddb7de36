"""Vertex ids keep their type: gathers, loops and counts of them fit fields of `weft.vertex_id`."""

import numpy as np
import pytest

import weft
from agreement import on_device, run

ID = weft.full(-5, weft.vertex_id)


@weft.vertex(on="all")
def collect(v):
    v.least = v.gather(lambda u, e: u.id, weft.min)
    v.some = v.gather(lambda u, e: weft.maximum(u.id, 0), weft.any)
    _, v.best = v.gather(lambda u, e: (e.weight, u.id), weft.argmax)
    v.lowest, v.heavy = v.gather(lambda u, e: (u.id, e.weight), (weft.min, weft.max))
    v.often = v.gather(lambda u, e: u.id, weft.mode)
    v.count = v.gather(lambda u, e: 1, weft.sum)
    v.far = v.gather(lambda u, e: weft.where(e.weight > 2, 1, 0), weft.sum)


@weft.vertex(on="all")
def walk(v):
    v.least = weft.for_range(0, 5, lambda i, x: weft.neighbor(x, i % weft.degree(x)), v.id)
    v.some, _ = weft.while_loop(
        lambda x, k: (v.parent.at(x).load() != x) & (k < 9),
        lambda x, k: (v.parent.at(x).load(), k + 1),
        v.id,
        0,
    )
    v.best = weft.cond(v.id > 2, lambda: v.parent, lambda: v.id)
    two = lambda x: weft.for_range(0, 2, lambda k, y: weft.neighbor(y, 0), x)
    _, v.lowest = weft.for_range(0, 2, lambda i, a, b: (b, two(b)), v.id, v.id)


@pytest.mark.parametrize("device", ["reference", "cpu", "emulated"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_ids_fit_fields_of_ids(device, index):
    src, dst = [1, 2, 3, 3, 0], [0, 0, 0, 1, 3]
    weight = [3.0, 1.0, 4.0, 2.0, 5.0]
    g = weft.Graph.from_edges(src, dst, weight, num_vertices=5, index_dtype=index)
    fields = {"least": ID, "some": ID, "best": ID, "lowest": ID, "often": ID, "heavy": [0.0] * 5}
    fields |= {"count": weft.full(0, weft.int32), "far": weft.full(0, weft.int32)}
    with on_device(device):
        done = run(g, collect, fields)
        assert done.count.tolist() == [3, 1, 0, 1, 0]
        assert done.far.tolist() == [2, 0, 0, 1, 0]
        none = np.iinfo(index).max
        assert done.least.tolist() == [1, 3, none, 0, none] == done.lowest.tolist()
        assert done.best.tolist() == [3, 3, -1, 0, -1]
        assert done.often.tolist() == [1, 3, 0, 0, 0]
        assert done.least.dtype == done.best.dtype == index
        assert done.heavy[:2].tolist() == [4.0, 2.0]
        cycle = weft.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], index_dtype=index)
        parent = np.array([0, 0, 1, 2], index)
        done = run(
            cycle, walk, {"least": ID, "some": ID, "best": ID, "lowest": ID, "parent": parent}
        )
        assert done.least.tolist() == [1, 2, 3, 0]
        assert done.some.tolist() == [0, 0, 0, 0]
        assert done.best.tolist() == [0, 1, 2, 2]
        assert done.lowest.tolist() == [0, 1, 2, 3]


def test_sums_of_ids_stay_wide():
    @weft.vertex(on="all")
    def add(v):
        v.total = v.gather(lambda u, e: u.id, weft.sum)

    g = weft.Graph.from_edges([1, 2], [0, 0])
    assert run(g, add, {"total": weft.full(0, weft.int64)}).total.tolist() == [3, 0, 0]
    with pytest.raises(weft.errors.TraceError, match="'total' is int32, but got int64"):
        run(g, add, {"total": weft.full(0, weft.int32)})
