"""Wrong uses of the public API get an error of weft that names what to write."""

import copy
import pickle

import numpy as np
import pytest

import weft
from weft.errors import FaultError, WeftError

GRAPH = weft.generators.path(5)
LABELLED = weft.Graph.from_edges([("a", "b"), ("b", "c")])


def assigned(value):
    return weft.vertex(lambda v: setattr(v, "x", value(v)))


def ran(function, **fields):
    return GRAPH.run(function, GRAPH.state(**(fields or {"x": weft.full(0.0)})), [0])


def searched(until, g=GRAPH):
    relax = weft.edge(into="dist", reduce=weft.min)(lambda u, v, e: u.dist + 1)
    return g.iterate(relax, g.state(dist=weft.full(9.0).but(0, 0.0)), [0], until=until)


CALLS = {
    "two lists": (lambda: weft.Graph([0], [1]), "from_edges"),
    "no edges": (lambda: weft.Graph(), "from_edges"),
    "keywords": (lambda: weft.Graph(src=[0], dst=[1]), r"Graph\(src=..., dst=...\).*from_edges"),
    "no list": (lambda: weft.Graph.from_edges(None), "not a list of pairs"),
    "text for a bool": (lambda: weft.Graph.from_edges([0], [1], directed="no"), "Expected a bool"),
    "nodes": (lambda: GRAPH.nodes, r"range\(g.num_vertices\)"),
    "weight": (lambda: GRAPH.weight, r'g.edge\["weight"\]'),
    "near miss": (lambda: GRAPH.num_vertex, "Did you mean 'num_vertices'"),
    "subscript": (lambda: GRAPH["x"], r'g.vertex\["name"\]'),
    "iteration": (lambda: list(GRAPH), "not a container"),
    "membership": (lambda: 0 in GRAPH, "not a container"),
    "target": (lambda: weft.bfs(GRAPH, 0, target=9), "^target=9"),
    "generator": (lambda: weft.generators.erdos, "has no 'erdos'"),
    "path": (lambda: weft.read(5), "not the path of a file"),
    "unnamed field": (lambda: GRAPH.state([0] * 5), r"g.state\(x=...\)"),
    "dtype for a field": (lambda: GRAPH.state(x=weft.int32), r"weft.full\(0, "),
    "object for a field": (lambda: GRAPH.state(x=None), "Python objects"),
    "subscripted state": (lambda: GRAPH.state(x=weft.full(0))["x"], "state.level"),
    "assigned subscript": (lambda: GRAPH.state().__setitem__("x", 0), "state.level"),
    "no monoid": (lambda: ran(assigned(lambda v: v.gather(lambda u, e: u.x))), "weft.sum"),
    "swapped": (
        lambda: ran(assigned(lambda v: v.gather(weft.sum, lambda u, e: u.x))),
        r"v.gather\(lambda u, e",
    ),
    "no monoid by key": (
        lambda: ran(assigned(lambda v: v.gather_by(lambda u, e: u.id))),
        "v.gather_by",
    ),
    "modulus": (lambda: ran(assigned(lambda v: pow(v.x, 2, 3))), r"x \*\* y % z"),
    "call": (lambda: ran(assigned(lambda v: v.x())), "without brackets"),
    "attribute": (lambda: ran(assigned(lambda v: v.x.clip(0, 1))), "no attribute 'clip'"),
    "del": (lambda: ran(weft.vertex(lambda v: delattr(v, "x"))), "cannot be deleted"),
    "parts of a stack": (lambda: ran(assigned(lambda v: weft.stack(v.x, v.x))), r"\[a, b\]"),
    "dtype first": (lambda: ran(assigned(lambda v: weft.cast(weft.int32, v.x))), "comes second"),
    "one bound": (
        lambda: ran(assigned(lambda v: weft.for_range(5, lambda i, x: x, v.x))),
        "both bounds",
    ),
    "value first": (
        lambda: ran(weft.vertex(lambda v: weft.reduce(v.x, "e", weft.sum))),
        "name of a scalar first",
    ),
    "label": (lambda: searched(lambda dist: dist["c"] < 9, LABELLED), r"g.vertex_of\('c'\)"),
    "several": (lambda: searched(lambda dist: dist[[1, 2]] < 9), "combine the tests"),
    "set": (lambda: searched(lambda dist: dist[GRAPH.frontier([1])] < 9), "combine the tests"),
    "from the end": (lambda: searched(lambda dist: dist[-1] < 9), "from 0 on"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_says_what_to_write(name):
    call, words = CALLS[name]
    with pytest.raises(WeftError, match=words):
        call()


def test_a_fault_of_until_is_not_blamed_on_a_function():
    with pytest.raises(FaultError, match=r"out of range in `until`: 7, of 5, at test_wrong_uses"):
        searched(lambda dist: dist[7] < 9)


def test_what_is_asked_of_every_object_still_works():
    for g in (copy.copy(GRAPH), copy.deepcopy(GRAPH)):
        assert g.num_edges == 4
    assert not hasattr(GRAPH, "nodes") and getattr(GRAPH, "weights", None) is None
    assert np.asarray(GRAPH, dtype=object).shape == ()
    assert pickle.loads(pickle.dumps(GRAPH.state(x=weft.full(1)).x)).tolist() == [1] * 5
    state = GRAPH.state(x=weft.full(7))
    GRAPH.run(assigned(lambda v: divmod(v.x, 3)[0] + divmod(20, v.x)[1]), state)
    assert state.x.tolist() == [7 // 3 + 20 % 7] * 5


def test_edges_are_added_and_removed_as_pairs():
    more = GRAPH.add_edges([(0, 4), (1, 3)])
    assert more.num_edges == 6
    assert more.remove_edges([(4, 0)]).num_edges == 5
