"""Every format gives what the adjacency does: columns, edge ids, edge state, features, old values.

Every format meets every program here in one direction or schedule; `simt/test_configs.py` goes on.
"""

import numpy as np
import pytest

import weft
from agreement import agreed, run
from graphs import AWKWARD
from small_formats import FORMATS

SPLIT = [text for name, text in FORMATS.items() if name not in ("csr", "coo")]
NAMES = ("empty", "one vertex", "self-loops undirected", "parallel edges", "hub", "disconnected")


@weft.edge(into=("cost", "way"), reduce=weft.argmin)
def choose(u, v, e):
    e.sent += 1
    return u.cost + e.weight, e.id


@weft.vertex
def refresh(v):
    sent = v.gather(lambda u, e: e.weight * u.rank, weft.sum)
    weft.reduce("total", sent, weft.sum)
    v.rank = sent % 1000 + v.id % 3


def weighted(name):
    g = AWKWARD[name]()
    g.edge["weight"] = (np.arange(g.num_edges) * 7 % 11).astype(np.int64)
    return g


@pytest.mark.parametrize("text", SPLIT)
def test_messages_edge_ids_and_edge_state(text):
    for name in NAMES:
        g = weighted(name)
        n = g.num_vertices
        fields = {"cost": np.arange(n) * 5 % 17 + 50, "way": np.full(n, -1)}
        config = weft.Config(format=text, direction=("push", "pull")[SPLIT.index(text) % 2])
        agreed(g, choose, fields, edges={"sent": 0}, configs=[config])


@pytest.mark.parametrize("text", SPLIT)
def test_gathers_of_weights(text):
    for name in NAMES:
        g = weighted(name)
        fields = {"rank": np.arange(g.num_vertices) % 9 + 1, "total": weft.scalar(0)}
        agreed(g, refresh, fields, mode="iterate", max_iter=3, configs=[weft.Config(format=text)])


def test_formats_of_sides_and_deterministic_runs():
    g = weighted("hub")
    fields = {"cost": np.arange(g.num_vertices) + 50, "way": np.full(g.num_vertices, -1)}
    apart = weft.Config(format={"push": "tigr(3)", "pull": "ell(2)", "gather": "coo"})
    agreed(g, choose, fields, edges={"sent": 0}, configs=[apart])
    fixed = weft.Config(format="gshard", deterministic=True)
    agreed(g, choose, fields, edges={"sent": 0}, configs=[fixed])


def test_a_column_that_is_assigned_anew_is_seen():
    g = weighted("parallel edges")
    fields = {"cost": np.full(g.num_vertices, 50), "way": np.full(g.num_vertices, -1)}
    config = weft.Config(format="ell(1)", direction="push")
    options = {"edges": {"sent": 0}, "config": config}
    first = run(g, choose, fields, **options).cost
    g.edge["weight"] = np.full(g.num_edges, -40)
    assert (run(g, choose, fields, **options).cost != first).any()


def test_what_would_waste_memory_is_refused():
    g = weft.generators.rmat(7, 8, seed=1)
    with pytest.raises(weft.errors.ConfigError, match=r"dia.*would waste memory.*grids and bands"):
        run(g, refresh, {"rank": 1, "total": weft.scalar(0)}, config=weft.Config(format="dia"))
