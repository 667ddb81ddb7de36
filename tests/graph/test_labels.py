"""Labels: ids that are not vertex numbers, look-up by label, and operations that keep labels."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_cupy
import weft
from graphs import graphs
from weft.errors import GraphError
from weft.graph.labels import Labels, encode, label_array

NAMES = st.one_of(
    st.text(max_size=4),
    st.integers(-(2**70), 2**70),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
    st.binary(max_size=3),
)
KINDS = (
    NAMES,
    st.text(max_size=4),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.datetimes(),
)


@st.composite
def named_edges(draw):
    """Draw the ids of some vertices, and edges between these."""
    ids = draw(st.lists(draw(st.sampled_from(KINDS)), min_size=1, max_size=8, unique=True))
    ends = st.lists(st.sampled_from(ids), min_size=0, max_size=20)
    src = draw(ends)
    dst = draw(st.lists(st.sampled_from(ids), min_size=len(src), max_size=len(src)))
    return ids, src, dst


def friends() -> weft.Graph:
    return weft.Graph.from_edges(["Ada", "Bob", "Bob"], ["Bob", "Eve", "Dan"], [3.0, 1.0, 2.0])


# -- where labels come from ----------------------------------------------------------------------


@given(named_edges(), st.booleans())
def test_ids_become_labels_and_come_back(edges, directed):
    _, src, dst = edges
    g = weft.Graph.from_edges(src, dst, directed=directed, labels=True)
    expected = list(dict.fromkeys([*src, *dst]))
    assert g.labels.tolist() == expected
    again = g.to_edges(labels=True)
    got = list(zip(again.src.tolist(), again.dst.tolist(), strict=True))
    order = {x: i for i, x in enumerate(expected)}
    wanted = list(zip(src, dst, strict=True))
    if not directed:
        wanted = [tuple(sorted(pair, key=order.get)) for pair in wanted]
    assert sorted(got, key=lambda e: (order[e[0]], order[e[1]])) == sorted(
        wanted, key=lambda e: (order[e[0]], order[e[1]])
    )
    assert [g.vertex_of(x) for x in expected] == list(range(len(expected)))
    assert g.vertex_of(g.labels).tolist() == list(range(len(expected)))


@given(named_edges())
def test_given_labels_keep_isolated_vertices_and_their_order(edges):
    ids, src, dst = edges
    numbers = {x: i for i, x in enumerate(ids)}
    by_number = weft.Graph.from_edges(
        [numbers[x] for x in src], [numbers[x] for x in dst], labels=ids
    )
    assert by_number.num_vertices == len(ids)
    assert by_number.labels.tolist() == ids
    if not all(type(x) is int for x in [*src, *dst]):  # integers alone are vertex numbers
        by_label = weft.Graph.from_edges(src, dst, labels=ids)
        assert all(map(np.array_equal, by_label.to_edges()[:2], by_number.to_edges()[:2]))


@given(st.lists(NAMES, max_size=30))
def test_encoding_is_the_same_with_and_without_pandas(names):
    pytest.importorskip("pandas")
    values = np.empty(len(names), object)
    values[:] = names
    codes, different = encode(values)
    pandas = sys.modules.pop("pandas")
    try:
        other_codes, other = encode(values)
    finally:
        sys.modules["pandas"] = pandas
    assert codes.tolist() == other_codes.tolist()
    assert list(different) == list(other)
    assert [other[i] for i in codes] == names


@pytest.mark.parametrize("with_pandas", [True, False])
def test_encoding_of_numbers_and_gaps(with_pandas, monkeypatch):
    if with_pandas:
        pytest.importorskip("pandas")
    else:
        monkeypatch.delitem(sys.modules, "pandas", raising=False)
    for values, codes, different in (
        (np.array([7, -1, 7, 2**62]), [0, 1, 0, 2], [7, -1, 2**62]),
        (np.array([2.5, np.nan, 2.5]), [0, -1, 0], [2.5]),
        (np.array(["b", None, "a", "b"], object), [0, -1, 1, 0], ["b", "a"]),
    ):
        got = encode(values)
        assert got[0].tolist() == codes
        assert got[1].tolist() == different


def test_numbers_stay_numbers():
    for src, dst in (([5, 3], [3, 0]), (np.array([5, 3], object), [3, 0]), ([], [])):
        g = weft.Graph.from_edges(src, dst)
        assert g.labels is None
    assert weft.Graph.from_edges([3], [1], labels=True).labels.tolist() == [3, 1]
    assert weft.Graph.from_edges([3], [1], labels=True).num_vertices == 2


def test_sparse_numbers_become_labels():
    g = weft.Graph.from_edges([2**40, 7], [7, 2**62])
    assert g.labels.tolist() == [2**40, 7, 2**62]
    assert weft.bfs(g, 2**40).level.tolist() == [0, 1, 2]
    with pytest.raises(GraphError, match=r"^0 is not the label of a vertex"):
        weft.bfs(g, 0)
    mixed = weft.Graph.from_edges(np.array([2**63 + 1], np.uint64), np.array([1], np.int64))
    assert mixed.labels.tolist() == [2**63 + 1, 1]
    assert weft.Graph.from_edges([2**20], [7]).labels is None


def test_numbers_among_names_are_not_made_text():
    g = weft.Graph.from_edges(["a", 1], [1, "1"])
    assert g.labels.tolist() == ["a", 1, "1"]
    assert (g.vertex_of(1), g.vertex_of("1")) == (1, 2)
    assert weft.Graph.from_edges(np.array(["a"]), np.array([1])).labels.tolist() == ["a", 1]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["a", None], ["b", "c"]), {}, r"src\[1\] is missing.*drop incomplete"),
        (([["a"], "b"], ["b", "c"]), {}, "cannot be compared: unhashable.*Expected hashable"),
        (([0], [1]), {"labels": ["a", "a"]}, r"labels\[1\] = 'a' is a duplicate"),
        (([0], [1]), {"labels": [7, 7]}, r"labels\[1\] = 7 is a duplicate"),
        (([0], [1]), {"labels": ["a", None]}, r"labels\[1\] = None is missing"),
        (([0], [1]), {"labels": [0.5, np.nan]}, r"labels\[1\] = .*nan.* is missing"),
        (([0], [1]), {"labels": ["a", np.nan]}, r"labels\[1\] = nan is missing"),
        (([0], [1]), {"labels": [[1], [2]]}, "labels cannot be compared: unhashable"),
        (([0], [1]), {"labels": np.zeros((2, 2))}, "labels have 2 dimensions"),
        (([0], [2]), {"labels": ["a", "b"]}, r"dst\[0\] = 2 is out of range for num_vertices=2"),
        (([0], [1]), {"labels": ["a", "b"], "num_vertices": 3}, "num_vertices=3 .* 2 labels"),
        ((["a"], ["b"]), {"num_vertices": 3}, "num_vertices=3 .* 2 distinct ids.*isolated"),
        (
            (["a"], ["x"]),
            {"labels": ["a", "b"]},
            r"dst\[0\] = 'x' is not the label.*\('a', 'b'\)\.",
        ),
        (([0.5], [1.5]), {}, "src has dtype float64.*labels=True"),
        (([-1], [1]), {}, "negative.*labels=True"),
    ],
)
def test_wrong_labels_are_explained(arguments, options, message):
    with pytest.raises(GraphError, match=message):
        weft.Graph.from_edges(*arguments, **options)


def test_a_graph_has_as_many_labels_as_vertices():
    with pytest.raises(GraphError, match="Got 2 labels for 3 vertices"):
        weft.Graph(weft.generators.path(3).topology, labels=["a", "b"])


# -- looking up ----------------------------------------------------------------------------------


@given(st.sampled_from(KINDS).flatmap(lambda k: st.lists(k, unique=True, max_size=20)), st.data())
def test_find(names, data):
    labels = Labels(label_array(names))
    wanted = data.draw(st.lists(st.one_of(NAMES, *([st.sampled_from(names)] if names else []))))
    expected = {x: i for i, x in enumerate(names)}
    assert labels.find(wanted).tolist() == [expected.get(x, -1) for x in wanted]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64, np.float64])
def test_find_among_numbers_of_every_kind(dtype):
    labels = Labels(label_array(np.array([5, 100, 7], dtype)))
    for wanted in ([7, 5], [7.0, 5.0], np.array([7, 5], np.uint64), np.array([7, 5], np.int8)):
        assert labels.find(wanted).tolist() == [2, 0]
    assert labels.find([261, -1, 7.5, np.inf, np.nan, 2**63]).tolist() == [-1] * 6
    assert labels.find(["7", None]).tolist() == [-1, -1]
    assert labels.find(np.array(["2020-01-01"], "M8[D]")).tolist() == [-1]


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_are_labels(unit):
    days = np.array(["2020-01-01", "2020-02-01"], f"M8[{unit}]")
    g = weft.Graph.from_edges(days, days[::-1])
    day = days[0].astype("M8[us]").item() if unit != "D" else days[0].item()
    assert g.labels[0] == day
    assert g.vertex_of(day) == 0
    assert g.vertex_of(days).tolist() == [0, 1]


def test_vertex_of():
    g = friends()
    assert g.vertex_of("Eve") == 2
    assert g.vertex_of(np.array(["Eve", "Ada"])).tolist() == [2, 0]
    assert g.vertex_of([]).tolist() == []
    assert g.vertex_of(3) == 3
    assert g.vertex_of([3, 0]).tolist() == [3, 0]
    with pytest.raises(
        GraphError,
        match=r"'Bab' is not the label.*\('Ada', 'Bob', 'Eve', \.\.\.\)\. Did you mean 'Bob'\?$",
    ):
        g.vertex_of(["Ada", "Bab"])
    with pytest.raises(GraphError, match=r"Vertex 4 does not exist. Expected 0 to 3"):
        g.vertex_of(4)
    with pytest.raises(GraphError, match="cannot be looked up: unhashable"):
        g.vertex_of([{}])
    grid = weft.Graph.from_edges([(0, 0)], [(0, 1)])
    assert grid.vertex_of((0, 1)) == 1
    assert grid.vertex_of([(0, 1), (0, 0)]).tolist() == [1, 0]
    plain = weft.generators.path(3)
    assert plain.vertex_of(2) == 2
    with pytest.raises(GraphError, match=r"'a' is not a vertex. Expected integers"):
        plain.vertex_of("a")


def test_label_of():
    g = friends()
    assert g.label_of(1) == "Bob"
    assert g.label_of([3, -1]).tolist() == ["Dan", None]
    assert g.label_of(-1) is None
    assert g.label_of([]).size == 0
    assert weft.generators.path(3).label_of([2, 0]).tolist() == [2, 0]
    for wrong in (4, -2, [0, 9]):
        with pytest.raises(GraphError, match=r"does not exist. Expected 0 to 3, or -1"):
            g.label_of(wrong)
    with pytest.raises(GraphError, match="not a vertex number"):
        g.label_of(["Ada"])


def test_labels_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        friends().labels[0] = "Zoe"


# -- algorithms ----------------------------------------------------------------------------------


def test_sources_are_labels():
    g = friends()
    assert weft.bfs(g, "Bob").level.tolist() == weft.bfs(g, 1).level.tolist() == [-1, 0, 1, 1]
    assert weft.sssp(g, "Ada").dist.tolist() == [0, 3, 4, 5]
    by_label = weft.betweenness(g, sources=["Ada", "Bob"])
    assert np.array_equal(by_label, weft.betweenness(g, sources=[0, 1]))
    with pytest.raises(GraphError, match=r"'Eva' is not the label of a vertex.*'Eve'\?"):
        weft.bfs(g, "Eva")
    several = weft.bfs(g, ["Ada", "Bob"]).level
    assert several.tolist() == weft.bfs(g, [0, 1]).level.tolist()
    with pytest.raises(GraphError, match=r"'Eva' is not the label of a vertex"):
        weft.bfs(g, ["Ada", "Eva"])
    with pytest.raises(GraphError, match="not a list of vertices"):
        weft.betweenness(g, sources="Ada")


# -- operations that keep labels ------------------------------------------------------------------


def test_derived_graphs_keep_labels():
    g = friends()
    for other in (
        g.reverse(),
        g.to_undirected(),
        g.to("emulated"),
        copy.deepcopy(g),
        pickle.loads(pickle.dumps(g)),
    ):
        assert other.labels.tolist() == ["Ada", "Bob", "Eve", "Dan"]
        assert other.vertex_of("Dan") == 3
    assert weft.Graph.from_scipy(g.to_scipy(), labels=g.labels).vertex_of("Dan") == 3


def test_memory_counts_labels():
    assert friends().memory_bytes == weft.Graph.from_edges(*friends().to_edges()).memory_bytes + 32


@given(graphs(keep=None), st.data())
def test_subgraph(g, data):
    n = g.num_vertices
    chosen = data.draw(st.lists(st.integers(0, n - 1), max_size=8) if n else st.just([]))
    labels = [f"v{i}" for i in range(n)]
    src, dst, weight = g.to_edges()
    g = weft.Graph.from_edges(
        src, dst, weight, directed=g.directed, labels=labels, keep=g.topology.keep
    )
    g.vertex["origin"] = np.arange(n)
    g.edge["pair"] = np.stack((g.to_edges().src, g.to_edges().dst), axis=1)
    mask = np.zeros(n, bool)
    mask[chosen] = True
    kept = sorted(set(chosen))
    for given_ in (mask, chosen, [labels[i] for i in chosen], g.frontier(chosen), set(chosen)):
        part = g.subgraph(given_)
        assert part.labels.tolist() == [labels[i] for i in kept]
        assert part.vertex["origin"].tolist() == kept
        inside = mask[src] & mask[dst]
        assert part.edge["pair"].tolist() == g.edge["pair"][inside].tolist()
        ends = part.to_edges()
        origin = part.vertex["origin"]
        assert np.array_equal(np.stack((origin[ends.src], origin[ends.dst]), 1), part.edge["pair"])
        if weight is not None:
            assert np.array_equal(ends.weight, g.edge["weight"][inside])
        assert (part.directed, part.topology.keep) == (g.directed, g.topology.keep)
        assert part.topology.index_dtype == g.topology.index_dtype


def test_subgraph_of_a_graph_without_labels():
    g = weft.generators.cycle(5)
    assert g.subgraph(range(3)).num_edges == 2
    assert g.subgraph([]).num_vertices == 0
    assert g.subgraph([True, False, False, False, True]).num_edges == 1
    assert g.subgraph(3).num_vertices == 1
    assert g.subgraph((0, 1)).labels is None
    with pytest.raises(GraphError, match=r"mask has shape \(2,\). Expected \(5,\)"):
        g.subgraph([True, False])
    with pytest.raises(GraphError, match=r"Vertex 7 does not exist. Expected 0 to 4"):
        g.subgraph([0, 7])
    with pytest.raises(GraphError, match="does not fit this graph"):
        g.subgraph(weft.generators.cycle(6).frontier([0]))


def test_subgraph_on_devices(monkeypatch):
    host = weft.Graph.from_edges(["a", "b", "c", "a"], ["b", "c", "d", "c"], [1, 2, 3, 4])
    host.vertex["x"] = np.arange(4)
    expected = host.subgraph(["a", "c", "d"])
    with fake_cupy.installed(monkeypatch) as cupy:
        for g in (host.to("cuda"), host.to("emulated")):
            mask = g.topology.xp.asarray(np.array([True, False, True, True]))
            for given_ in (["a", "c", "d"], [3, 0, 2], mask, np.array([True, False, True, True])):
                part = g.subgraph(given_)
                assert part.device == g.device
                assert isinstance(part.out_degree, cupy.ndarray) == (g.device == "cuda")
                back = part.to("cpu")
                assert all(map(np.array_equal, back.to_edges(), expected.to_edges()))
                assert back.vertex["x"].tolist() == [0, 2, 3]
                assert back.labels.tolist() == ["a", "c", "d"]
            assert g.to_edges(labels=True).src.tolist() == ["a", "a", "b", "c"]
        keys = cupy.asarray([2**40, 5]), cupy.asarray([5, 2**41])
        sparse = weft.Graph.from_edges(*keys)
        assert (sparse.device, sparse.labels.tolist()) == ("cuda", [2**40, 5, 2**41])


# -- labels in programs --------------------------------------------------------------------------


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax(u, v, e):
    return u.dist + e.weight


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_labels_stand_for_vertices_in_programs(device):
    g = friends().to(device)
    state = g.state(dist=weft.full(np.inf).but("Ada", 0.0))
    assert g.iterate(relax, state, ["Ada"], until=weft.settled("Dan")).converged
    assert state.dist[g.vertex_of("Dan")] == 5
    state.dist = weft.full(np.inf).but("Bob", 1.0)
    assert g.run(relax, state, "Bob").tolist() == [2, 3]
    assert state.dist.tolist() == [np.inf, 1, 2, 3]


@pytest.mark.parametrize(
    "members", [["Eve", "Ada"], {"Eve", "Ada"}, np.array(["Eve", "Ada"]), [2, 0], (2, 0)]
)
def test_frontiers_take_labels(members):
    assert friends().frontier(members).tolist() == [0, 2]


def test_frontiers_of_integer_labels_take_numbers():
    g = weft.Graph.from_edges([70, 80], [80, 90], labels=True)
    assert g.frontier([2, 0]).tolist() == [0, 2]
    assert g.frontier(g.vertex_of([90])).tolist() == [2]


@pytest.mark.parametrize(
    "use",
    [
        lambda g: g.frontier(["Zoe"]),
        lambda g: g.frontier("Zoe"),
        lambda g: g.state(x=weft.full(0).but("Zoe", 1)),
        lambda g: setattr(g.state(x=weft.full(0)), "x", weft.full(0).but("Zoe", 1)),
        lambda g: g.iterate(
            relax, g.state(dist=weft.full(0.0)), ["Ada"], until=weft.settled("Zoe")
        ),
        lambda g: g.pairs(["Ada"], ["Zoe"]),
    ],
)  # fmt: skip
def test_unknown_labels_are_named_in_programs(use):
    with pytest.raises(GraphError, match="'Zoe' is not the label of a vertex"):
        use(friends())


def test_pairs_by_labels():
    pairs = friends().pairs(["Ada", "Eve"], ["Dan", "Bob"])
    assert [end.tolist() for end in pairs.pairs] == [[0, 2], [3, 1]]


def test_frames_show_parents_by_label():
    g = friends()
    frame = g.frame(weft.bfs(g, "Bob"))
    assert frame.parent.isna().tolist() == [True, False, False, False]
    assert frame.parent[1:].tolist() == ["Bob", "Bob", "Bob"]
    assert frame.level.tolist() == [-1, 0, 1, 1]
    assert g.frame(parent=np.array([9, 9, 9, 9])).parent.tolist() == [9, 9, 9, 9]


def test_states_of_labelled_graphs_can_be_pickled():
    state = pickle.loads(pickle.dumps(friends().state(x=weft.full(0))))
    state.x = weft.full(1).but("Ada", 5)
    assert state.x.tolist() == [5, 1, 1, 1]
