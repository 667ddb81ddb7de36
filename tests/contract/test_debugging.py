"""Functions called on plain objects, tracebacks, and what errors of a first program say."""

import math
import traceback
from types import SimpleNamespace as Plain

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import weft
from weft.errors import ConfigError, FaultError, GraphError, TraceError


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.vertex
def update(v, factor):
    v.x = weft.where(v.x > 1, weft.sqrt(v.x), weft.minimum(v.x, 0.5)) * factor
    weft.reduce("total", v.x, weft.sum)
    v.y = weft.cond(v.x > 1, lambda: weft.exp(0.0), lambda: 2)


def test_functions_take_plain_objects():
    assert discover(Plain(level=3), Plain(level=-1), Plain()) == 4
    v = Plain(x=9.0, y=0)
    update(v, factor=2)
    assert (v.x, v.y) == (6.0, 1.0)


def test_functions_of_weft_take_numbers():
    assert weft.where(True, 1, 2) == 1 and isinstance(weft.where(True, 1, 2), int)
    assert weft.cast(2.9, weft.int32) == 2
    assert weft.while_loop(lambda x: x < 50, lambda x: 2 * x, 1) == 64
    assert weft.for_range(0, 4, lambda i, a, b: (a + i, b * 2), 0, 1) == (6, 16)
    np.testing.assert_array_equal(weft.stack([1, 2, 3]), [1, 2, 3])
    assert weft.sum(np.array([1.0, 2.0])) == 3.0
    assert 0 <= weft.random(3, 4) < 1
    assert weft.cond(False, lambda: 1 // 0, lambda: (3, 4)) == (3, 4)
    with pytest.raises(FaultError, match="loop bound"):
        weft.while_loop(lambda x: x < 9, lambda x: x, 1, bound=5)
    with pytest.raises(TraceError, match="belongs inside a traced function"):
        weft.neighbor(0, 0)


def test_numbers_and_runs_agree():
    g = weft.generators.path(4)
    x = np.array([0.2, 1.0, 2.25, 9.0])
    state = g.state(x=x, y=weft.full(0.0), factor=weft.scalar(3.0), total=weft.scalar(0.0))
    g.run(update, state)
    for k in range(4):
        v = Plain(x=float(x[k]))
        update(v, 3.0)
        assert (state.x[k], state.y[k]) == (v.x, v.y)


def told(function, error=TraceError, **fields):
    g = weft.generators.path(3)
    with pytest.raises(error) as caught:
        g.run(weft.vertex(lambda v: setattr(v, "x", function(v))), g.state(x=[0.0] * 3, **fields))
    return str(caught.value)


def test_messages_name_the_way_round():
    table = np.arange(3)
    assert "math.sqrt takes plain numbers" in told(lambda v: math.sqrt(v.x))
    assert "Use weft.sqrt" in told(lambda v: math.sqrt(v.x))
    assert "weft.parameter" in told(lambda v: table[v.id])
    assert "weft.parameter" in told(lambda v: [1, 2][v.id])
    assert "v.gather" in told(lambda v: [u for u in v])  # noqa: C416


def test_values_that_leak_are_told():
    kept = []

    def gathers(v):
        v.gather(lambda u, e: kept.append(u.x) or 1, weft.sum)
        return kept[-1] + 1

    assert "outside of the function, gather, loop or branch that made it" in told(gathers)
    assert "test_debugging.py" in told(gathers)
    assert "left through a variable of Python" in told(lambda v: kept[0])


def test_vertices_that_leak_are_told():
    kept = []

    def gathers(v):
        v.gather(lambda u, e: kept.extend((u, e)) or 1, weft.sum)
        return kept[-2].x + 1

    assert "u is used outside of the function or gather" in told(gathers)
    assert "test_debugging.py" in told(gathers)
    assert "e is used outside" in told(lambda v: kept[1].weight)
    told_again = told(lambda v: kept[0].x)
    assert "u is used outside" in told_again and "Return values from there" in told_again


@pytest.mark.parametrize(
    "device", ["cpu", "reference", "emulated", pytest.param("cuda", marks=pytest.mark.cuda)]
)
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda v: weft.neighbor(v.id, 5), ("5", "of 1", "weft.neighbor(v.id, 5)")),
        (lambda v: v.x.at(v.id + 7).load(), ("7", "of 3", ".at(v.id + 7)")),
        (lambda v: weft.stack([1.0, 2.0])[v.id + 4], ("4", "of 2", "[v.id + 4]")),
        (lambda v: weft.while_loop(lambda k: k < 9, lambda k: k, 1.0, bound=3), ("bound=3",)),
    ],
)
def test_faults_name_line_index_and_bound(device, function, words):
    g = weft.generators.path(3, directed=True).to(device)
    with pytest.raises(FaultError) as caught:
        g.run(weft.vertex(lambda v: setattr(v, "x", function(v))), g.state(x=[0.0] * 3), [0])
    message = str(caught.value)
    assert "at vertex 0" in message and "test_debugging.py:" in message
    assert all(word in message for word in words), message


def test_graphs_of_other_libraries_name_what_takes_them():
    matrix, network = scipy.sparse.eye_array(3), nx.path_graph(3)
    for given, maker in ((matrix, "from_scipy"), (network, "from_networkx")):
        for make in (weft.Graph.from_edges, weft.Graph):
            with pytest.raises(GraphError, match=maker):
                make(given)


def test_what_is_sent_can_be_read():
    sends = weft.edge(into="x", reduce=weft.min)(lambda u, v, e: weft.send(u.x + 1, when=u.x > 2))
    assert repr(sends(Plain(x=3), Plain(), Plain())) == "send(4, when=True)"
    assert repr(weft.send((1, 2))) == "send((1, 2))"


def test_names_that_are_close_are_named():
    with pytest.raises(AttributeError, match=r"Use weft.bool_"):
        weft.bool
    with pytest.raises(AttributeError, match=r"Did you mean 'pagerank'"):
        weft.pagerang
    with pytest.raises(ConfigError, match=r"'shedule' is not known.*Did you mean 'schedule'"):
        weft.Config(shedule="vertex")


def test_pairs_make_a_graph():
    for pairs in ([(0, 1), (1, 2)], [[0, 1], [1, 2]], np.array([[0, 1], [1, 2]]), {(0, 1), (1, 2)}):
        g = weft.Graph.from_edges(pairs)
        assert sorted(zip(*(x.tolist() for x in g.to_edges()[:2]), strict=True)) == [(0, 1), (1, 2)]
    g = weft.Graph.from_edges([("a", "b", 0.5), ("b", "c", 2.5)])
    assert g.labels.tolist() == ["a", "b", "c"] and g.edge["weight"].tolist() == [0.5, 2.5]
    assert weft.Graph.from_edges([], num_vertices=2).num_edges == 0
    for wrong in ([1, 2], [(1, 2), (1, 2, 3)], [(1,)]):
        with pytest.raises(GraphError, match="one list of pairs"):
            weft.Graph.from_edges(wrong)
    with pytest.raises(GraphError, match=r"Build a graph with Graph.from_edges"):
        weft.Graph([(0, 1)])


def frames(monkeypatch, full):
    monkeypatch.setenv("WEFT_TRACEBACK", "full" if full else "")
    g = weft.generators.path(3)
    try:
        g.run(weft.vertex(lambda v: math.sqrt(v.x)), g.state(x=[0] * 3))
    except TraceError as error:
        return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def test_tracebacks_of_algorithms_show_the_users_frames(monkeypatch):
    lengths = {}
    for full in (False, True):
        monkeypatch.setenv("WEFT_TRACEBACK", "full" if full else "")
        with pytest.raises(GraphError) as caught:
            weft.bfs(weft.generators.path(3), 9)
        lengths[full] = len(traceback.extract_tb(caught.value.__traceback__))
    assert lengths == {False: 2, True: lengths[True]} and lengths[True] > 3


def test_tracebacks_show_the_users_frames(monkeypatch):
    short = frames(monkeypatch, full=False)
    assert len([name for name in short if "/weft/" in name and "/tests/" not in name]) <= 1
    assert short[-1].endswith("test_debugging.py")
    assert len(frames(monkeypatch, full=True)) > len(short) + 3
