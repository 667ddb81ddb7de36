"""Graph: what it is built from, what comes back, columns, errors, memory."""

from __future__ import annotations

import copy
import pickle
from collections import Counter, defaultdict

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, EdgeList, edge_lists, graphs
from weft.errors import ConfigError, FieldError, GraphError

KEEPS = ("both", "out", "in")


def triples(g: weft.Graph) -> list[tuple]:
    src, dst, weight = g.to_edges()
    weight = np.ones(src.size, np.int64) if weight is None else weight
    return list(zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True))


def input_triples(edges: EdgeList) -> list[tuple]:
    weight = np.ones(edges.src.size, np.int64) if edges.weight is None else edges.weight
    rows = zip(edges.src.tolist(), edges.dst.tolist(), weight.tolist(), strict=True)
    if edges.directed:
        return list(rows)
    return [(min(u, v), max(u, v), w) for u, v, w in rows]


# -- building ------------------------------------------------------------------------------------


@given(edge_lists(), st.sampled_from(KEEPS), st.sampled_from([None, np.int64]))
def test_to_edges_gives_the_edges_sorted_by_their_ends(edges, keep, index_dtype):
    g = edges.build(keep=keep, index_dtype=index_dtype)
    by_ends = (lambda e: (e[1], e[0])) if keep == "in" and edges.directed else (lambda e: e[:2])
    assert triples(g) == sorted(input_triples(edges), key=by_ends)
    assert (g.num_vertices, g.num_edges) == (edges.num_vertices, edges.src.size)
    assert (g.directed, g.weighted) == (edges.directed, edges.weight is not None)
    assert g.to_edges().src.dtype == g.to_edges().dst.dtype == g.topology.index_dtype
    if g.weighted:
        assert g.to_edges().weight.dtype == edges.weight.dtype


@given(graphs(keep=None))
def test_to_edges_round_trip(g):
    again = weft.Graph.from_edges(
        *g.to_edges(), num_vertices=g.num_vertices, directed=g.directed, keep=g.topology.keep
    )
    assert triples(again) == triples(g)
    assert np.array_equal(again.out_degree, g.out_degree)
    assert np.array_equal(again.in_degree, g.in_degree)


@given(edge_lists(), st.sampled_from(["first", "sum", "min", "max"]), st.sampled_from(KEEPS))
def test_duplicates_are_merged(edges, duplicates, keep):
    g = edges.build(duplicates=duplicates, keep=keep)
    runs = defaultdict(list)
    for u, v, w in input_triples(edges):
        runs[u, v].append(w)
    merge = {"first": lambda run: run[0], "sum": sum, "min": min, "max": max}[duplicates]
    assert sorted(triples(g)) == sorted((u, v, merge(run)) for (u, v), run in runs.items())
    if edges.weight is None:
        assert g.weighted == (duplicates == "sum")
    else:
        assert g.edge["weight"].dtype == edges.weight.dtype


@given(edge_lists(), st.booleans())
def test_self_loops_are_dropped(edges, merge):
    g = edges.build(self_loops="drop", duplicates="first" if merge else "keep")
    expected = [e for e in input_triples(edges) if e[0] != e[1]]
    if merge:
        assert {e[:2] for e in triples(g)} == {e[:2] for e in expected}
    else:
        assert sorted(triples(g)) == sorted(expected)
    assert g.num_vertices == edges.num_vertices


@given(graphs(keep=None))
def test_degrees_agree_with_networkx(g):
    src, dst, _ = g.to_edges()
    other = nx.MultiDiGraph()
    other.add_nodes_from(range(g.num_vertices))
    other.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    if not g.directed:
        proper = src != dst
        other.add_edges_from(zip(dst[proper].tolist(), src[proper].tolist(), strict=True))
    assert g.out_degree.tolist() == [d for _, d in other.out_degree()]
    assert g.in_degree.tolist() == [d for _, d in other.in_degree()]
    for degree in (g.out_degree, g.in_degree):
        with pytest.raises(ValueError, match="read-only"):
            degree[:] = 0


def test_number_of_vertices():
    assert weft.Graph.from_edges([], []).num_vertices == 0
    assert weft.Graph.from_edges([3], [1]).num_vertices == 4
    assert weft.Graph.from_edges([3], [1], num_vertices=9).num_vertices == 9
    assert weft.Graph.from_edges([], [], num_vertices=np.int64(2)).num_vertices == 2


def test_input_is_copied():
    src, dst, weight = np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.array([1.0, 2.0])
    g = weft.Graph.from_edges(src, dst, weight)
    edges = g.to_edges()
    for given_, back in zip((src, dst, weight), edges, strict=True):
        given_[:] = 0
        back[:] = 0
    assert triples(g) == [(0, 1, 1.0), (1, 2, 2.0)]


def test_unusual_arrays_are_taken():
    src = np.arange(10, dtype=">i8")[::2]
    weight = np.arange(10, dtype=">f4")[::2]
    g = weft.Graph.from_edges(src, tuple(range(5)), weight)
    assert triples(g)[1] == (2, 1, 2.0)
    assert g.edge["weight"].dtype == np.dtype("=f4")
    assert g.edge["weight"].flags.c_contiguous
    assert weft.Graph.from_edges(range(3), range(3)).num_edges == 3


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i4", "i8", "u8", "f4", "f8"])
def test_weights_keep_their_dtype(dtype):
    g = weft.Graph.from_edges([1, 0], [0, 1], np.array([3, 4], dtype), directed=False)
    assert g.edge["weight"].dtype == dtype
    assert g.to_scipy().dtype == dtype
    assert g.edge.in_slots("weight", "in").dtype == dtype


def test_weights_may_be_nan_and_infinite():
    g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2], [np.nan, np.inf, -np.inf])
    assert np.array_equal(g.edge["weight"], [np.nan, np.inf, -np.inf], equal_nan=True)


def test_merging_ignores_nan_in_min_and_max_only():
    edges = [0, 0, 0, 1, 1], [1, 1, 1, 0, 0], [np.nan, 2.0, 1.0, np.inf, -np.inf]
    for how, expected in (
        ("min", [1.0, -np.inf]),
        ("max", [2.0, np.inf]),
        ("first", [np.nan, np.inf]),
        ("sum", [np.nan, np.nan]),
    ):
        weight = weft.Graph.from_edges(*edges, duplicates=how).edge["weight"]
        assert np.array_equal(weight, expected, equal_nan=True)


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [1]), {}, "src and dst differ in length: got 2 and 1"),
        (([0.0], [1]), {}, r"src has dtype float64. Expected integers.*astype"),
        (([0], [True]), {}, "dst has dtype bool. Expected integers"),
        ((["a"], ["b"]), {"labels": False}, "src has dtype object.*pass labels=True"),
        (([None], [0]), {}, r"src\[0\] is missing.*drop incomplete"),
        (([[0, 1]], [0]), {}, "src has 2 dimensions. Expected a one-dimensional"),
        ((0, [0]), {}, "src has 0 dimensions"),
        (([0, -3], [1, 1]), {}, r"src\[1\] = -3 is negative.*ids from 0"),
        (([0, 1], [1, -1]), {}, r"dst\[1\] = -1 is negative"),
        (
            ([0, 5], [1, 1]),
            {"num_vertices": 3},
            r"src\[1\] = 5 is out of range for num_vertices=3.*num_vertices=6 or more",
        ),
        (([0], [3]), {"num_vertices": 3}, r"dst\[0\] = 3 is out of range"),
        (([0], [2**62]), {"labels": False}, r"would have 4611686018427387905 .* labels=True"),
        (
            (np.array([2**63 + 1], np.uint64), [0]),
            {"labels": False, "num_vertices": 3},
            r"would have 9223372036854775810 vertices.*at most 281474976710656",
        ),
        (([0], [3]), {"num_vertices": 2**60}, r"would have 1152921504606846976 vertices"),
        (([0], [0]), {"num_vertices": -1}, "num_vertices=-1 is not a count"),
        (([0], [0]), {"num_vertices": 1.5}, "num_vertices=1.5 is not a count"),
        (([0], [0]), {"num_vertices": True}, "num_vertices=True is not a count"),
        (([0], [0], [1.0, 2.0]), {}, r"weight has shape \(2,\). Expected \(1,\)"),
        (([0], [0], 3.0), {}, r"weight has shape \(\).*np.full\(1, value\)"),
        (([0], [0], [True]), {}, "weight has dtype bool.*astype"),
        (([0], [0], [1j]), {}, "weight has dtype complex128. Expected"),
        (([0], [0], np.ones(1, np.float16)), {}, "weight has dtype float16"),
        (([0], [0], ["x"]), {}, "weight has dtype <U1"),
        (([0], [0]), {"index_dtype": np.int16}, "index_dtype=.*int32 or int64"),
        (
            ([0, 0], [1, 1], np.array([100, 100], np.int8)),
            {"duplicates": "sum"},
            "sum to 200, which is out of range for int8.*wider dtype",
        ),
    ],
)
def test_wrong_edges_are_explained(arguments, options, message):
    with pytest.raises(GraphError, match=message):
        weft.Graph.from_edges(*arguments, **options)


@pytest.mark.parametrize(
    ("option", "value", "near"),
    [
        ("duplicates", "mean", "'min'|'max'|'sum'"),
        ("self_loops", "dorp", "'drop'"),
        ("keep", "inn", "'in'"),
    ],
)
def test_unknown_options_are_explained(option, value, near):
    with pytest.raises(
        ConfigError, match=f"{option}='{value}' is not known. Expected one of.*{near}"
    ):
        weft.Graph.from_edges([0], [1], **{option: value})


def test_devices():
    g = AWKWARD["disconnected"]()
    assert g.to("cpu") is g
    assert g.device == "cpu"
    with pytest.raises(ConfigError, match=r"device='cpuu' is not known.*Did you mean 'cpu'"):
        g.to("cpuu")


# -- matrices ------------------------------------------------------------------------------------


@given(graphs(keep=None))
def test_scipy_round_trip(g):
    matrix = g.to_scipy()
    assert matrix.format == "csr"
    assert matrix.nnz == g.topology.num_arcs
    again = weft.Graph.from_scipy(
        matrix, directed=g.directed, weighted=g.weighted, duplicates="keep"
    )
    assert again.weighted == g.weighted
    assert sorted(triples(again)) == sorted(triples(g))


@given(graphs(weights="signed", keep=None))
def test_to_scipy_sums_parallel_edges(g):
    dense = np.zeros((g.num_vertices, g.num_vertices), np.int64)
    for u, v, w in triples(g):
        dense[u, v] += w
        if not g.directed and u != v:
            dense[v, u] += w
    assert np.array_equal(g.to_scipy().toarray(), dense)
    merged = weft.Graph.from_scipy(g.to_scipy(), directed=g.directed)
    assert np.array_equal(merged.to_scipy().toarray(), dense)
    assert merged.num_edges == len({e[:2] for e in triples(g)})


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_sparse_layout(layout, kind):
    dense = np.array([[0, 2.0, 0], [0, 0, 3.0], [1.0, 0, 4.0]])
    matrix = getattr(sp, f"{layout}_{kind}")(dense)
    expected = dense != 0 if layout != "bsr" else matrix.tocoo().toarray() != 0
    g = weft.Graph.from_scipy(matrix)
    assert np.array_equal(g.to_scipy().toarray(), dense)
    assert g.num_edges >= expected.sum()


def test_explicit_zeros_are_edges():
    matrix = sp.csr_array(([0.0, 5.0], [1, 0], [0, 1, 2]), shape=(2, 2))
    assert triples(weft.Graph.from_scipy(matrix)) == [(0, 1, 0.0), (1, 0, 5.0)]


def test_matrices_of_bool_are_structure():
    g = weft.Graph.from_scipy(sp.csr_array([[False, True], [True, False]]), directed=False)
    assert (g.num_edges, g.weighted) == (1, False)


def test_to_scipy_is_independent_of_the_graph():
    g = AWKWARD["parallel edges"]()
    before = triples(g)
    matrix = g.to_scipy()
    matrix.sum_duplicates()
    matrix.data[:] = -1
    assert triples(g) == before


def test_wrong_matrices_are_explained():
    with pytest.raises(GraphError, match=r"ndarray is not a sparse matrix.*csr_array"):
        weft.Graph.from_scipy(np.eye(3))
    with pytest.raises(GraphError, match=r"shape \(2, 3\). Expected a square one"):
        weft.Graph.from_scipy(sp.csr_array((2, 3)))
    with pytest.raises(GraphError, match="weight has dtype complex128"):
        weft.Graph.from_scipy(sp.csr_array([[1j]]))
    with pytest.raises(GraphError, match=r"not symmetric.*\(0, 1\) has no counterpart at \(1, 0\)"):
        weft.Graph.from_scipy(sp.csr_array([[0, 1], [0, 0]]), directed=False)
    with pytest.raises(GraphError, match=r"not symmetric.*\(0, 1\) is 1, entry \(1, 0\) is 2"):
        weft.Graph.from_scipy(sp.csr_array([[0, 1], [2, 0]]), directed=False)
    nan = sp.csr_array([[0, np.nan], [np.nan, 0]])
    assert weft.Graph.from_scipy(nan, directed=False).num_edges == 1


# -- derived graphs ------------------------------------------------------------------------------


@given(graphs(keep=None))
def test_reverse(g):
    g.vertex["mark"] = np.arange(g.num_vertices)
    g.edge["name"] = np.arange(g.num_edges * 2).reshape(-1, 2)
    turned = g.reverse()
    assert np.array_equal(turned.out_degree, g.in_degree)
    assert np.array_equal(turned.in_degree, g.out_degree)

    def named(h, swap):
        rows = [(*e, *name) for e, name in zip(triples(h), h.edge["name"].tolist(), strict=True)]
        return sorted(
            (v, u, *rest) if swap and h.directed else (u, v, *rest) for u, v, *rest in rows
        )

    assert named(turned, True) == named(g, False)
    assert np.array_equal(turned.vertex["mark"], g.vertex["mark"])
    assert named(turned.reverse(), False) == named(g, False)
    turned.vertex["mark"] = np.zeros(g.num_vertices)
    turned.edge["only here"[:4]] = np.zeros(g.num_edges)
    assert np.array_equal(g.vertex["mark"], np.arange(g.num_vertices))
    assert "only" not in g.edge


@given(graphs(keep=None), st.sampled_from(["keep", "first", "sum", "min", "max"]))
def test_to_undirected(g, duplicates):
    g.edge["position"] = np.arange(g.num_edges)
    flat = g.to_undirected(duplicates)
    assert not flat.directed
    assert flat.num_vertices == g.num_vertices
    assert flat.topology.index_dtype == g.topology.index_dtype
    if not g.directed:
        assert triples(flat) == triples(g)
        return
    runs = defaultdict(list)
    for i, (u, v, w) in enumerate(triples(g)):
        runs[min(u, v), max(u, v)].append((w, i))
    expected = []
    for ends, run in runs.items():
        weights = [w for w, _ in run]
        if duplicates == "keep":
            expected += [(*ends, w, i) for w, i in run]
        else:
            merged = {
                "first": weights[0],
                "sum": sum(weights),
                "min": min(weights),
                "max": max(weights),
            }
            expected.append((*ends, merged[duplicates], run[0][1]))
    got = zip(triples(flat), flat.edge["position"].tolist(), strict=True)
    assert sorted((*e, i) for e, i in got) == sorted(expected)


def test_to_undirected_of_an_undirected_graph_has_its_own_columns():
    g = AWKWARD["parallel edges undirected"]()
    twin = g.to_undirected()
    twin.edge["weight"] = np.zeros(g.num_edges)
    assert g.edge["weight"].any()


# -- columns -------------------------------------------------------------------------------------


@given(graphs(keep=None), st.sampled_from(["out", "in"]))
def test_in_slots_agrees_with_edge_ids(g, direction):
    if g.topology.keep not in ("both", direction):
        return
    g.edge["flag"] = np.arange(g.num_edges) % 3 == 0
    g.edge["vec"] = np.arange(g.num_edges * 3.0).reshape(-1, 3)
    ids = g.topology.edges(direction)
    for name in g.edge:
        column = g.edge[name]
        slots = g.edge.in_slots(name, direction)
        assert np.array_equal(slots, column if ids is None else column[ids])
        assert g.edge.in_slots(name, direction) is slots


def test_columns_behave_like_a_dictionary():
    g = AWKWARD["disconnected"]()
    g.vertex["x"] = np.arange(11)
    g.vertex["y"] = np.ones((11, 3), np.float32)
    g.vertex["z"] = np.zeros((11, 2, 2))
    assert list(g.vertex) == ["x", "y", "z"]
    assert len(g.vertex) == 3
    assert "x" in g.vertex and "q" not in g.vertex and 3 not in g.vertex
    assert g.vertex.get("q") is None
    assert dict(g.vertex)["y"].shape == (11, 3)
    assert g.vertex.pop("x").size == 11
    assert repr(g.vertex) == "VertexColumns(y: float32[3], z: float64[2, 2])"
    del g.vertex["y"]
    g.vertex.clear()
    assert not g.vertex


def test_columns_are_copied_and_read_only():
    g = AWKWARD["disconnected"]()
    values = np.arange(11)
    g.vertex["x"] = values
    values[:] = 0
    assert g.vertex["x"][3] == 3
    with pytest.raises(ValueError, match="read-only"):
        g.vertex["x"][3] = 4
    with pytest.raises(ValueError, match="read-only"):
        g.edge["weight"][0] = 4


@pytest.mark.parametrize(
    "dtype", ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
)
def test_columns_keep_their_dtype(dtype):
    g = AWKWARD["disconnected"]()
    g.vertex["x"] = np.zeros(11, dtype)
    assert g.vertex["x"].dtype == dtype


def test_weights_come_and_go():
    g = weft.Graph.from_edges([0, 1], [1, 2])
    assert not g.weighted
    g.edge["weight"] = [1, 2]
    assert g.weighted
    assert g.to_edges().weight.tolist() == [1, 2]
    del g.edge["weight"]
    assert not g.weighted
    assert g.to_edges().weight is None


def test_slot_copies_follow_assignment():
    g = weft.Graph.from_edges([0, 0, 1], [2, 1, 0], [1.0, 2.0, 3.0], directed=False)
    assert g.edge.in_slots("weight", "out").sum() == 12
    assert g.edge.in_slots("weight", "in") is g.edge.in_slots("weight", "out")
    g.edge["weight"] = [0.0, 0.0, 1.0]
    assert g.edge.in_slots("weight", "out").sum() == 2
    del g.edge["weight"]
    with pytest.raises(FieldError, match="edge column 'weight' does not exist"):
        g.edge.in_slots("weight", "out")
    with pytest.raises(ConfigError, match="direction='up' is not known"):
        g.edge["x"] = [1, 2, 3]
        g.edge.in_slots("x", "up")


@pytest.mark.parametrize(
    ("name", "values", "error", "message"),
    [
        ("x", [1, 2], GraphError, "vertex column 'x' has 2 entries. Expected 11, one per vertex"),
        ("x", 3, GraphError, r"single value 3.*np.full\(11, value\)"),
        ("x", np.zeros((11, 2, 3)), GraphError, r"shape \(11, 2, 3\).*square matrix"),
        ("x", np.zeros((11, 2, 2, 2)), GraphError, "square matrix"),
        ("x", np.zeros((11, 0)), GraphError, "vector"),
        ("x", np.zeros(11, complex), GraphError, "dtype complex128. Expected bool, integers"),
        ("x", np.zeros(11, np.float16), GraphError, "dtype float16"),
        ("x", ["a"] * 11, GraphError, "dtype <U1"),
        ("two words", np.zeros(11), FieldError, "'two words' cannot name a column.*identifier"),
        ("_x", np.zeros(11), FieldError, "underscore"),
        (3, np.zeros(11), FieldError, "3 cannot name a column"),
        ("id", np.zeros(11), FieldError, "'id' cannot name a column.*another name"),
        ("out_degree", np.zeros(11), FieldError, "built-in attribute of every vertex"),
    ],
)
def test_wrong_columns_are_explained(name, values, error, message):
    g = AWKWARD["disconnected"]()
    with pytest.raises(error, match=message):
        g.vertex[name] = values


def test_wrong_weight_columns_are_explained():
    g = AWKWARD["disconnected"]()
    with pytest.raises(GraphError, match="weight has dtype bool"):
        g.edge["weight"] = np.ones(6, bool)
    with pytest.raises(GraphError, match=r"weight has shape \(6, 2\)"):
        g.edge["weight"] = np.ones((6, 2))
    with pytest.raises(FieldError, match=r"'rank' cannot name a column.*of every edge"):
        g.edge["rank"] = np.ones(6)
    assert g.edge["weight"].tolist() == [1.0, 2.0, 3.0, 0.5, 0.25, 4.0]


def test_unknown_columns_are_explained():
    g = AWKWARD["disconnected"]()
    with pytest.raises(
        FieldError, match=r"'wieght' does not exist. There are 'weight'.*'weight'\?$"
    ):
        g.edge["wieght"]
    with pytest.raises(FieldError, match=r"vertex column 'x' does not exist. There are none yet"):
        g.vertex["x"]
    with pytest.raises(KeyError):
        del g.edge["x"]


# -- whole graphs --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    assert g.out_degree.sum() == g.in_degree.sum() == g.topology.num_arcs
    loops = Counter(u == v for u, v, _ in triples(g))[True]
    assert g.topology.num_arcs == (g.num_edges if g.directed else 2 * g.num_edges - loops)
    assert repr(g).startswith(f"Graph({g.num_vertices} vertices, {g.num_edges} edges, ")
    assert sorted(triples(g.reverse().reverse())) == sorted(triples(g))
    again = weft.Graph.from_scipy(
        g.to_scipy(), directed=g.directed, duplicates="keep", weighted=g.weighted
    )
    assert triples(again) == triples(g)


def test_repr():
    assert repr(AWKWARD["empty"]()) == "Graph(0 vertices, 0 edges, directed, 8 B)"
    g = AWKWARD["two cliques"]()
    assert repr(g) == "Graph(12 vertices, 31 edges, undirected, 352 B)"
    g.vertex["x"] = np.zeros((12, 10))
    assert repr(g) == "Graph(12 vertices, 31 edges, undirected, 1.3 kB)"
    g.vertex["x"] = np.zeros((12, 100_000))
    assert repr(g).endswith("9.6 MB)")
    assert "directed, weighted, " in repr(AWKWARD["disconnected"]())


def test_memory_counts_columns_and_their_slot_copies():
    g = weft.Graph.from_edges([0, 2], [1, 0], np.ones(2, np.float32), directed=False)
    base = g.memory_bytes
    assert base == 4 * 8 + 4 * 4 + 2 * 4
    g.edge.in_slots("weight", "in")
    g.edge.in_slots("weight", "out")
    assert g.memory_bytes == base + 4 * 4
    g.edge["weight"] = np.ones(2, np.float32)
    assert g.memory_bytes == base
    g.vertex["x"] = np.zeros((3, 2))
    assert g.memory_bytes == base + 48
    assert g.out_degree.size == 3
    assert g.memory_bytes == base + 48 + 12

    h = weft.Graph.from_edges([0, 2], [1, 0], np.ones(2, np.float32))
    base = h.memory_bytes
    h.edge.in_slots("weight", "out")
    assert h.memory_bytes == base
    h.edge.in_slots("weight", "in")
    assert h.memory_bytes == base + 8


def test_bytes_per_arc():
    """Everything a weighted program can ask for, on a graph with m >= 8 n."""
    n, m = 1000, 8000
    src, dst = np.random.default_rng(0).integers(0, n, (2, m))
    weight = np.ones(m, np.float32)
    g = weft.Graph.from_edges(src, dst, weight)
    g.topology.in_
    g.edge.in_slots("weight", "in")
    g.out_degree
    assert g.memory_bytes / m < 20
    u = weft.Graph.from_edges(src, dst, weight, directed=False)
    u.edge.in_slots("weight", "out")
    u.out_degree
    assert u.memory_bytes / u.topology.num_arcs < 12


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_and_pickles(duplicate):
    g = AWKWARD["self-loops undirected"]()
    g.vertex["x"] = np.arange(4)
    twin = duplicate(g)
    twin.edge["weight"] = twin.edge["weight"] * 2
    assert triples(g) == [(u, v, w // 2) for u, v, w in triples(twin)]
    assert twin.vertex["x"].tolist() == [0, 1, 2, 3]
    assert twin.edge.in_slots("weight", "in").sum() == 2 * g.edge.in_slots("weight", "in").sum()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_a_graph_on_which_programs_ran_is_copied_without_them(duplicate):
    g = weft.generators.path(5)
    g.vertex["age"] = np.arange(5)
    want = weft.bfs(g, 1).level
    twin = duplicate(g)
    assert weft.bfs(twin, 1).level.tolist() == want.tolist()
    twin.update(remove=([0], [1]))
    assert weft.bfs(twin, 1).level[0] == -1 and weft.bfs(g, 1).level.tolist() == want.tolist()


def test_a_frontier_is_made_of_ids_a_set_a_mask_or_nothing():
    g = weft.generators.path(5)
    for members in ([3, 1, 3], (1, 3), {3, 1}, frozenset({1, 3}), np.array([1, 3], np.uint8)):
        assert g.frontier(members).tolist() == [1, 3]
    assert g.frontier([False, True, False, True, False]).tolist() == [1, 3]
    assert g.frontier(2).tolist() == [2] and g.frontier().tolist() == [0, 1, 2, 3, 4]
    assert g.frontier([]).tolist() == g.frontier(set()).tolist() == []
    assert g.edge_frontier({7, 0}).tolist() == [0, 7]
    for wrong, message in (
        ([5], "vertex 5 does not exist. Expected numbers from 0 to 4"),
        ({-1}, "vertex -1 does not exist"),
        ([0.5], "takes integers, a mask or nothing"),
        ([True, False], "a mask must have 5 booleans"),
    ):
        with pytest.raises(GraphError, match=message):
            g.frontier(wrong)
