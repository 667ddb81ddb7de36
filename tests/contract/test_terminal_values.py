"""Reductions that end at a value which no message changes: equal results, fewer arcs."""

import numpy as np
import pytest

import weft
from agreement import agreed, on_device
from weft.errors import TraceError

capped = weft.monoid(lambda a, b: weft.minimum(a + b, 3), 0, name="capped", terminal=3)


@weft.vertex
def look(v):
    v.few = v.gather(lambda u, e: weft.cast(1, weft.int64), capped)
    v.some = v.gather(lambda u, e: u.x > 2, weft.or_, direction="both")
    v.all = v.gather(lambda u, e: u.x > 0, weft.and_, direction="out")


@weft.edge
def meet(u, v, e):
    e.few = weft.common(u, v, lambda w: weft.cast(1, weft.int64), capped)
    e.some = weft.common(u, v, lambda w, ea, eb: w.x > 2, weft.or_)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_results_are_those_of_whole_rows(device):
    g = weft.generators.rmat(6, 6, seed=2)
    n, arcs = g.num_vertices, g.topology.num_arcs
    x = np.arange(n) * 7 % 5
    fields = {"x": x, "few": np.zeros(n, np.int64), "some": np.zeros(n, bool)}
    edges = {"few": np.zeros(arcs, np.int64), "some": np.zeros(arcs, bool)}
    with on_device(device):
        found = agreed(g, look, fields | {"all": np.zeros(n, bool)})
        agreed(g, meet, fields, edges=edges)
    assert found.few.tolist() == np.minimum(np.asarray(g.in_degree), 3).tolist()


def test_a_terminal_value_must_fit():
    g = weft.generators.path(3)
    wrong = weft.monoid(lambda a, b: a | b, 0, terminal=2**40)
    step = weft.vertex(lambda v: setattr(v, "x", v.gather(lambda u, e: u.x, wrong)))
    with pytest.raises(TraceError, match="terminal value 1099511627776"):
        g.run(step, g.state(x=weft.full(0, weft.int32)))
    with pytest.raises(TraceError, match="terminal must be a number"):
        weft.monoid(lambda a, b: a, 0, terminal="stop")
