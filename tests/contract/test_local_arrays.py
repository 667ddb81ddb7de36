"""Short arrays of a function's own, and what is asked for instead of nested gathers."""

import numpy as np
import pytest

import weft
from agreement import on_device, run
from weft.errors import FaultError, TraceError


@weft.vertex(on="all")
def sort_three(v):
    """Keep the three least neighbours in order, by insertion."""

    def insert(i, kept):
        def sift(k, kept, x):
            low = weft.minimum(kept[k], x)
            return kept.replaced(k, low), weft.maximum(kept[k], x)

        return weft.for_range(0, 3, sift, kept, weft.neighbor(v.id, i))[0]

    v.least = weft.for_range(0, v.out_degree, insert, weft.local((3,), weft.int64, fill=99))


@pytest.mark.parametrize("device", ["reference", "cpu", "emulated"])
def test_arrays_are_carried_through_loops(device):
    src, dst = np.random.default_rng(1).integers(0, 7, (2, 20))
    g = weft.Graph.from_edges(src, dst, num_vertices=8)
    with on_device(device):
        done = run(g, sort_three, {"least": weft.full(0, weft.int64, shape=(3,))})
    for v, row in enumerate(done.least.tolist()):
        assert row == (sorted(dst[src == v].tolist()) + [99] * 3)[:3]


def test_places_are_checked():
    g = weft.generators.path(2)
    outside = weft.vertex(lambda v: setattr(v, "x", weft.local(2).replaced(v.id + 1, 5.0)[0]))
    with pytest.raises(FaultError, match="out of range"):
        g.run(outside, g.state(x=[0.0, 0.0]))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda v: weft.local(0), "shape 0"),
        (lambda v: weft.local((2, 2)), "length from 1 on"),
        (lambda v: weft.local(2, fill=v.spin), "array of weft.local has shape"),
        (lambda v: v.x.replaced(0, 1), "works on vectors"),
        (lambda v: v.spin.replaced(0, v.spin), "a feature of the vector has shape"),
        (
            lambda v: v.gather(lambda u, e: v.gather(lambda w, f: 1, weft.sum), weft.sum),
            "for_range",
        ),
    ],
)
def test_what_cannot_be_is_told(function, message):
    g = weft.generators.path(2)
    with pytest.raises(TraceError, match=message):
        g.run(weft.vertex(lambda v: [function(v), None][1]), g.state(x=[0, 0], spin=np.eye(2)))
