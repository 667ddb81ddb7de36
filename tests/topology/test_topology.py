"""Adjacency, arc order, edge ids, degrees: against plain Python on drawn edges."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import AWKWARD, EdgeList, edge_lists
from weft.errors import ConfigError, GraphError
from weft.topology import adjacency
from weft.topology.topology import Adjacency, Topology

KEEPS = ("both", "out", "in")


def build(edges: EdgeList, **options) -> tuple[Topology, np.ndarray]:
    return Topology.from_arcs(
        edges.src, edges.dst, edges.num_vertices, directed=edges.directed, **options
    )


def sorted_edges(edges: EdgeList, keep: str = "both") -> list[tuple[int, int, int]]:
    """The edges (u, v, input position) in the order of their ids."""
    rows = [(int(u), int(v), i) for i, (u, v) in enumerate(zip(edges.src, edges.dst, strict=True))]
    if not edges.directed:
        rows = [(min(u, v), max(u, v), i) for u, v, i in rows]
    elif keep == "in":
        return sorted(rows, key=lambda e: (e[1], e[0], e[2]))
    return sorted(rows)


def arcs_of(edges: EdgeList, keep: str = "both") -> list[tuple[int, int, int]]:
    """All arcs (u, v, edge id), without an order."""
    arcs = []
    for edge, (u, v, _) in enumerate(sorted_edges(edges, keep)):
        arcs.append((u, v, edge))
        if not edges.directed and u != v:
            arcs.append((v, u, edge))
    return arcs


def slots_of(adj: Adjacency) -> list[tuple[int, int]]:
    return [
        (row, int(adj.targets[slot]))
        for row in range(adj.offsets.size - 1)
        for slot in range(adj.offsets[row], adj.offsets[row + 1])
    ]


@pytest.fixture(params=["comparison sort", "counting sort"])
def any_sort(request, monkeypatch):
    """Run with the method for small inputs, and with the one for large inputs."""
    if request.param == "counting sort":
        monkeypatch.setattr(adjacency, "_COUNTING_SORT_ARCS", 1)
        monkeypatch.setattr(adjacency, "_BLOCK", 4)


def with_both_sorts(check):
    """Call `check` with either sorting method."""
    small, block = adjacency._COUNTING_SORT_ARCS, adjacency._BLOCK
    try:
        for limit, size in ((small, block), (1, 4)):
            adjacency._COUNTING_SORT_ARCS, adjacency._BLOCK = limit, size
            check()
    finally:
        adjacency._COUNTING_SORT_ARCS, adjacency._BLOCK = small, block


@given(edge_lists(weights=None), st.sampled_from([None, np.int32, np.int64]))
def test_both_directions_hold_every_arc_in_sorted_rows(edges, index_dtype):
    def check():
        topology, order = build(edges, index_dtype=index_dtype)
        arcs = arcs_of(edges)
        assert slots_of(topology.out) == sorted((u, v) for u, v, _ in arcs)
        assert slots_of(topology.in_) == sorted((v, u) for u, v, _ in arcs)
        assert [i for _, _, i in sorted_edges(edges)] == order.tolist()
        assert topology.num_arcs == len(arcs)
        assert topology.num_edges == edges.src.size
        assert topology.num_vertices == edges.num_vertices
        assert topology.directed == edges.directed
        for adj in (topology.out, topology.in_):
            assert adj.offsets.dtype == np.int64
            assert adj.targets.dtype == topology.index_dtype == np.dtype(index_dtype or np.int32)
            assert adj.rows().dtype == topology.index_dtype
            assert adj.nbytes == adj.offsets.nbytes + adj.targets.nbytes

    with_both_sorts(check)


@given(edge_lists(weights=None), st.sampled_from(KEEPS))
def test_slots_canonical_arcs_and_edge_ids_agree(edges, keep):
    def check():
        topology, _ = build(edges, keep=keep)
        src, dst = topology.endpoints()
        ids = sorted_edges(edges, keep)
        assert [e[:2] for e in ids] == list(
            zip(*(ends.tolist() for ends in topology.edge_endpoints()), strict=True)
        )
        for direction in ("out", "in"):
            if edges.directed and keep not in ("both", direction):
                continue
            slots = slots_of(topology.adjacency(direction))
            arcs, edge = topology.arcs(direction), topology.edges(direction)
            arcs = np.arange(len(slots)) if arcs is None else arcs
            edge = np.arange(len(slots)) if edge is None else edge
            assert arcs.dtype.kind == edge.dtype.kind == "i"
            assert sorted(arcs.tolist()) == list(range(topology.num_arcs))
            for (row, target), arc, e in zip(slots, arcs, edge, strict=True):
                u, v = (row, target) if direction == "out" else (target, row)
                assert (src[arc], dst[arc]) == (u, v)
                assert ids[e][:2] == ((u, v) if edges.directed else (min(u, v), max(u, v)))
            uses = Counter(edge.tolist())
            for e, (u, v, _) in enumerate(ids):
                assert uses[e] == (1 if edges.directed or u == v else 2)

    with_both_sorts(check)


@given(edge_lists(weights=None), st.sampled_from(KEEPS), st.booleans())
def test_slot_values_bring_the_value_of_each_edge_to_its_slots(edges, keep, maps_first):
    def check():
        topology, _ = build(edges, keep=keep)
        values = np.arange(edges.src.size) * 1.5
        matrices = np.arange(edges.src.size * 4.0).reshape(-1, 2, 2)
        for direction in ("out", "in"):
            if edges.directed and keep not in ("both", direction):
                continue
            if maps_first:
                topology.edges(direction)
            before = topology.memory_bytes
            slots = topology.slot_values(values, direction)
            blocks = topology.slot_values(matrices, direction)
            assert topology.memory_bytes == before
            edge = topology.edges(direction)
            assert np.array_equal(slots, values if edge is None else values[edge])
            assert np.array_equal(blocks, matrices if edge is None else matrices[edge])

    with_both_sorts(check)


@given(edge_lists(directed=False, weights=None))
def test_reverse_arcs_of_an_undirected_graph_pair_the_arcs_of_each_edge(edges):
    def check():
        topology, _ = build(edges)
        reverse = topology.reverse_arcs()
        src, dst = topology.endpoints()
        edge = topology.edges("out")
        arcs = np.arange(topology.num_arcs)
        assert np.array_equal(reverse[reverse], arcs)
        assert np.array_equal(src[reverse], dst)
        assert np.array_equal(edge[reverse], edge)
        assert np.array_equal(reverse == arcs, src == dst)
        assert np.array_equal(topology.arcs("in"), reverse)

    with_both_sorts(check)


@given(edge_lists(directed=True, weights=None), st.sampled_from(KEEPS), st.booleans())
def test_reverse_arcs_of_a_directed_graph_pair_parallel_arcs_in_order(edges, keep, arcs_first):
    proper = edges.src != edges.dst
    src = np.concatenate((edges.src, edges.dst[proper]))
    dst = np.concatenate((edges.dst, edges.src[proper]))

    def check():
        topology, _ = Topology.from_arcs(src, dst, edges.num_vertices, keep=keep)
        if arcs_first and keep == "both":
            topology.arcs("in")
        reverse = topology.reverse_arcs()
        s, d = topology.endpoints()
        between = defaultdict(list)
        for arc, ends in enumerate(zip(s.tolist(), d.tolist(), strict=True)):
            between[ends].append(arc)
        for (u, v), arcs in between.items():
            assert reverse[arcs].tolist() == between[v, u]
        assert topology.reverse_arcs() is reverse
        if keep == "both":
            assert topology.arcs("in") is reverse

    with_both_sorts(check)


@given(edge_lists(directed=True, weights=None), st.sampled_from(KEEPS))
def test_an_arc_without_opposite_is_named(edges, keep):
    topology, _ = build(edges, keep=keep)
    count = Counter(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    lacking = {(u, v) for (u, v), k in count.items() if k > count[v, u]}
    if not lacking:
        assert topology.unpaired_arc() is None
        topology.reverse_arcs()
        return
    assert topology.unpaired_arc() in lacking
    with pytest.raises(GraphError, match=r"The arc \d+ -> \d+ has no opposite.*undirected"):
        topology.reverse_arcs()


@given(edge_lists(weights=None), st.sampled_from(KEEPS), st.booleans())
def test_degrees_in_every_keep_mode(edges, keep, in_first):
    def check():
        topology, _ = build(edges, keep=keep)
        if in_first and keep == "both":
            topology.in_
        arcs = arcs_of(edges)
        n = edges.num_vertices
        for degree, end in ((topology.out_degree, 0), (topology.in_degree, 1)):
            expected = Counter(arc[end] for arc in arcs)
            assert degree.tolist() == [expected[v] for v in range(n)]
            assert degree.dtype == topology.index_dtype

    with_both_sorts(check)


@given(edge_lists(weights=None), st.sampled_from(KEEPS))
def test_reversed_turns_every_arc(edges, keep):
    def check():
        topology, _ = build(edges, keep=keep)
        turned = topology.reversed()
        for mine, other in zip(topology.endpoints(), reversed(turned.endpoints()), strict=True):
            assert sorted(mine.tolist()) == sorted(other.tolist())
        if keep == "both":
            assert slots_of(turned.out) == slots_of(topology.in_)
            assert slots_of(turned.in_) == slots_of(topology.out)
            back = turned.reversed()
            assert slots_of(back.out) == slots_of(topology.out)

    with_both_sorts(check)


def test_reversed_shares_arrays():
    for keep, other in (("both", "both"), ("out", "in"), ("in", "out")):
        topology, _ = Topology.from_arcs(np.array([0, 1]), np.array([1, 2]), 3, keep=keep)
        turned = topology.reversed()
        assert turned.keep == other
        mine = topology.adjacency("out" if keep != "in" else "in")
        theirs = turned.adjacency("in" if keep != "in" else "out")
        assert mine.targets is theirs.targets
    topology, _ = Topology.from_arcs(np.array([0]), np.array([1]), 2, directed=False)
    assert topology.reversed() is topology


def test_undirected_graphs_store_one_direction():
    topology, _ = Topology.from_arcs(
        np.array([0, 1]), np.array([1, 2]), 3, directed=False, keep="in"
    )
    assert topology.in_ is topology.out
    assert topology.keep == "both"
    assert topology.arcs("out") is None
    assert topology.edges("in") is topology.edges("out")


def test_a_direction_that_is_not_kept_says_what_to_do():
    src, dst = np.array([0, 1]), np.array([1, 2])
    outward, _ = Topology.from_arcs(src, dst, 3, keep="out")
    inward, _ = Topology.from_arcs(src, dst, 3, keep="in")
    with pytest.raises(GraphError, match=r"in-arcs are not stored.*keep='out'.*keep='in'"):
        outward.in_
    with pytest.raises(GraphError, match=r"out-arcs are not stored.*keep='in'.*keep='out'"):
        inward.out
    for ask in (outward.arcs, outward.edges, lambda d: outward.slot_values(np.zeros(2), d)):
        with pytest.raises(GraphError, match="not stored"):
            ask("in")
    assert outward.arcs("out") is None
    assert inward.arcs("in") is None
    with pytest.raises(ConfigError, match=r"direction='inn' is not known.*Did you mean 'in'"):
        outward.adjacency("inn")


def test_index_dtype():
    one = np.array([0])
    for bad in (np.int16, np.uint32, float, "nonsense"):
        with pytest.raises(
            GraphError, match=r"index_dtype=.* cannot hold vertex ids.*int32 or int64"
        ):
            Topology.from_arcs(one, one, 1, index_dtype=bad)
    assert adjacency.index_dtype_for(2**31 - 1) == np.int32
    assert adjacency.index_dtype_for(2**31) == np.int64
    with pytest.raises(GraphError, match="int32 is too narrow for 2147483648 vertices"):
        adjacency.index_dtype_for(2**31, np.int32)


def test_keys_of_huge_ids_do_not_overflow(monkeypatch):
    monkeypatch.setattr(adjacency, "_INT32_LIMIT", 4)  # as if there were 2**31 vertices
    row, column = np.array([5, 0, 5, 0]), np.array([1, 7, 0, 7])
    offsets, columns, order = adjacency.sort_arcs(row, column, 8, np.arange(4))
    assert offsets.tolist() == [0, 2, 2, 2, 2, 2, 4, 4, 4]
    assert columns.tolist() == [7, 7, 0, 1]
    assert order.tolist() == [1, 3, 2, 0]
    topology, _ = Topology.from_arcs(row, column, 8)
    assert topology.arcs("in").dtype == topology.out.targets.dtype == np.int64


def test_sorting_never_gives_back_its_input(any_sort):
    for row in (np.array([0, 1, 2], np.int32), np.array([2, 1, 0], np.int32)):
        column, payload = np.array([0, 1, 2], np.int32), np.array([1.0, 2.0, 3.0])
        _, columns, carried = adjacency.sort_arcs(row, column, 3, payload)
        assert not np.shares_memory(columns, column)
        assert not np.shares_memory(carried, payload)


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i4", "u8", "f4", "f8"])
def test_payload_keeps_its_dtype(any_sort, dtype):
    payload = np.array([1, 0, 1], dtype)
    _, _, carried = adjacency.sort_arcs(np.array([2, 1, 0]), np.array([0, 0, 0]), 3, payload)
    assert carried.dtype == dtype
    assert carried.tolist() == payload[::-1].tolist()


def test_derived_arrays_are_made_once_and_counted():
    src, dst = np.array([0, 1, 3, 3]), np.array([1, 2, 0, 2])
    topology, _ = Topology.from_arcs(src, dst, 4)
    offsets, targets = 5 * 8, 4 * 4
    assert topology.memory_bytes == offsets + targets
    topology.in_degree
    assert topology.memory_bytes == offsets + targets + 16
    assert topology.in_ is topology.in_
    assert topology.memory_bytes == 2 * (offsets + targets) + 16
    assert topology.arcs("in") is topology.arcs("in") is topology.edges("in")
    assert topology.memory_bytes == 2 * (offsets + targets) + 16 + 16

    pairs, _ = Topology.from_arcs(src, dst, 4, directed=False)
    assert pairs.memory_bytes == offsets + 2 * targets
    pairs.reverse_arcs()
    pairs.arcs("in")
    pairs.edges("in")
    pairs.edges("out")
    assert pairs.memory_bytes == offsets + 2 * targets + 2 * 32
    pairs.in_degree
    pairs.out_degree
    assert pairs.memory_bytes == offsets + 2 * targets + 2 * 32 + 16


def test_threads_see_one_second_direction():
    topology, _ = Topology.from_arcs(*np.random.default_rng(0).integers(0, 500, (2, 5000)), 500)
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(topology.in_)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert all(adj is topology.in_ for adj in seen)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_and_pickles(duplicate):
    topology = AWKWARD["parallel edges"]().topology
    twin = duplicate(topology)
    assert slots_of(twin.in_) == slots_of(topology.in_)
    assert twin.out.targets is not topology.out.targets


def test_a_small_graph_needs_no_scipy():
    code = (
        "import sys; from weft.graph import Graph;"
        "g = Graph.from_edges([2, 1, 0], [0, 2, 1], [1.0, 2.0, 3.0], directed=False);"
        "g.topology.reverse_arcs(); g.edge.in_slots('weight', 'in'); g.reverse();"
        "assert 'scipy' not in sys.modules"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize("directed", [True, False])
def test_large_graphs_agree_with_scipy(directed):
    from scipy.sparse import coo_array

    n, m = 5000, 300_000
    src, dst = np.random.default_rng(1).integers(0, n, (2, m))
    topology, order = Topology.from_arcs(src, dst, n, directed=directed)
    a = coo_array((np.ones(m), (src, dst)), shape=(n, n)).tocsr()
    if not directed:
        loops = a.diagonal()
        a = a + a.T
        a.setdiag(loops)
        a.eliminate_zeros()
    merged = coo_array((np.ones(topology.num_arcs), topology.endpoints()), shape=(n, n)).tocsr()
    assert (a != merged).nnz == 0
    assert (np.diff(topology.out.targets) >= 0).sum() >= topology.num_arcs - n
    ends = np.sort([src[order], dst[order]], axis=0) if not directed else [src[order], dst[order]]
    assert np.array_equal(ends, topology.edge_endpoints())
