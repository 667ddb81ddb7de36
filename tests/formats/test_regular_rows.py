"""Rows of regular degrees: every arc once, no gaps, a true expand list, also after edits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fake_cupy
import weft
from weft.arrays.device import to_host
from weft.backends import layouts
from weft.errors import ConfigError
from weft.formats import choose, cr2
from weft.formats.regular import CODES, Piece, cut, local_dtype, rows
from weft.formats.regular.editing import recut
from weft.formats.regular.expand import expand_list, number_bits
from weft.graph.execution import arrangement
from weft.topology import merge as merging
from weft.topology import orders
from weft.topology.topology import Topology


def adjacency(n: int, pairs: list[tuple[int, int]], dtype=np.int32):
    """Return offsets and targets of arcs."""
    ordered = sorted(pairs)
    counts = np.bincount([u for u, _ in ordered], minlength=n) if ordered else np.zeros(n, int)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return offsets, np.array([v for _, v in ordered], dtype)


@st.composite
def arcs(draw):
    """Draw vertices and arcs, with one that has many."""
    n = draw(st.integers(1, 60))
    ids = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(ids, ids), max_size=80))
    hub = draw(ids)
    pairs += [(hub, k % n) for k in range(draw(st.integers(0, 150)))]
    return n, pairs


def arcs_of(pieces: list[Piece], bits: int) -> Counter:
    found: Counter = Counter()
    for piece in pieces:
        sources, targets = piece.arcs(bits, np)
        found.update(zip(sources.tolist(), targets.tolist(), strict=True))
    return found


def check_pieces(pieces: list[Piece], bits: int) -> None:
    """Check what is promised of rows, whatever arcs they hold."""
    degree: Counter = Counter()
    for k, piece in enumerate(pieces):
        assert (piece.inside, piece.code) == (k < CODES, k % CODES)
        assert piece.targets.size == piece.vertices.size << piece.code
        if piece.inside:
            assert piece.targets.dtype == local_dtype(bits)
            assert piece.targets.size == 0 or int(piece.targets.max()) < 1 << bits
        else:
            sources, targets = piece.arcs(bits, np)
            assert (sources >> bits != targets >> bits).all()
        if piece.code < CODES - 1:
            assert len(set(piece.vertices.tolist())) == piece.rows  # one row of a vertex at most
        for vertex in piece.vertices.tolist():
            degree[piece.inside, vertex] += 1 << piece.code
    # A row for every bit of a degree, and no other.
    for (inside, vertex), count in degree.items():
        side = pieces[:CODES] if inside else pieces[CODES:]
        held = [int((piece.vertices == vertex).sum()) for piece in side]
        assert held == [(count >> code) & 1 for code in range(CODES - 1)] + [count >> CODES - 1]


def check_expand(pieces: list[Piece], entries_of) -> None:
    """Check that the entries of each vertex name its rows and no others."""
    named: Counter = Counter()
    for vertex, entries, width in entries_of:
        assert entries.tolist() == sorted(set(entries.tolist()))
        for entry in entries.tolist():
            key, row = entry >> width, entry & ((1 << width) - 1)
            piece = pieces[key if key < 8 else CODES + key - 8]
            assert piece.vertices[row] == vertex
            named[key, row] += 1
    assert sum(named.values()) == len(named) == sum(piece.rows for piece in pieces)


@given(arcs(), st.sampled_from([1, 3, 8, 9, 16]), st.sampled_from([np.int32, np.int64]))
def test_rows_hold_every_arc_once(drawn, bits, dtype):
    n, pairs = drawn
    offsets, targets = adjacency(n, pairs, dtype)
    pieces, places = cut(offsets, targets, bits, np)
    check_pieces(pieces, bits)
    assert arcs_of(pieces, bits) == Counter(pairs)
    for piece in pieces:
        assert (np.diff(piece.vertices) >= 0).all()
    taken = np.concatenate([piece.arcs(bits, np)[1] for piece in pieces])
    np.testing.assert_array_equal(taken, targets[places()])
    assert sorted(places().tolist()) == list(range(len(pairs)))
    entries, begins = expand_list(pieces, n, np)
    width = number_bits(entries.dtype)
    check_expand(pieces, [(v, entries[begins[v] : begins[v + 1]], width) for v in range(n)])
    wide, same = expand_list(pieces, n, np, dtype=np.dtype(np.uint64))
    np.testing.assert_array_equal(begins, same)
    check_expand(pieces, [(v, wide[begins[v] : begins[v + 1]], 60) for v in range(n)])


@settings(max_examples=10)
@given(arcs(), st.sampled_from([3, 16]))
def test_compiled_loops_and_arrays_agree(drawn, bits):
    offsets, targets = adjacency(*drawn)
    pieces, places = cut(offsets, targets, bits, np)
    from weft.formats.regular.kernels import cut_compiled, places_compiled

    for got, want in zip(cut_compiled(offsets, targets, bits), pieces, strict=True):
        np.testing.assert_array_equal(got.vertices, want.vertices)
        np.testing.assert_array_equal(got.targets, want.targets)
        assert got.targets.dtype == want.targets.dtype
    np.testing.assert_array_equal(places_compiled(offsets, targets, bits), places())


def test_large_graphs_are_cut_by_threads(monkeypatch):
    g = weft.generators.planted(3000, 100, seed=2)
    monkeypatch.setattr(rows, "_COMPILED_ARCS", 1000)
    offsets, targets = g.topology.out.offsets, g.topology.out.targets
    pieces, _ = cut(offsets, targets, 8, np)
    check_pieces(pieces, 8)
    src, dst = g.topology.endpoints()
    assert arcs_of(pieces, 8) == Counter(zip(src.tolist(), dst.tolist(), strict=True))


def test_rows_are_cut_on_a_gpu(monkeypatch):
    g = weft.generators.powerlaw(80, 10, seed=4)
    want, slots = cut(g.topology.out.offsets, g.topology.out.targets, 4, np)
    with fake_cupy.installed(monkeypatch):
        there = g.to("cuda").topology.out
        import cupy

        got, places = cut(there.offsets, there.targets, 4, cupy)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a.vertices.get(), b.vertices)
            np.testing.assert_array_equal(a.targets.get(), b.targets)
        np.testing.assert_array_equal(places().get(), slots())
        for a, b in zip(expand_list(got, 80, cupy), expand_list(want, 80, np), strict=True):
            np.testing.assert_array_equal(a.get(), b)


def test_an_expand_list_that_cannot_be_counted_is_refused():
    class Many:
        dtype, size = np.dtype(np.int32), 2**31

    piece = Piece(True, 0, Many(), None)
    with pytest.raises(ConfigError, match="2147483648 entries, more than int32 counts"):
        expand_list([piece], 5, np)


# -- edits ---------------------------------------------------------------------------------------


def same_pieces(got: list[Piece], want: list[Piece]) -> None:
    for a, b in zip(got, want, strict=True):
        assert (a.inside, a.code, a.targets.dtype) == (b.inside, b.code, b.targets.dtype)
        np.testing.assert_array_equal(to_host(a.vertices), to_host(b.vertices))
        np.testing.assert_array_equal(to_host(a.targets), to_host(b.targets))


@given(arcs(), arcs(), st.sampled_from([1, 3, 9]), st.data())
def test_rows_follow_a_change_of_the_arcs(drawn, more, bits, data):
    (n, pairs), (larger, added) = drawn, more
    gone = set(
        data.draw(st.lists(st.sampled_from(range(len(pairs))), max_size=40)) if pairs else []
    )
    left = [pair for k, pair in enumerate(pairs) if k not in gone]
    changed = [pairs[k][0] for k in gone] + [u for u, _ in added]
    n = max(n, larger)
    after = adjacency(n, left + added)
    pieces, _ = cut(*adjacency(n, pairs), bits, np)
    got = recut(pieces, *after, np.array(changed, np.int64), bits, np)
    same_pieces(got, cut(*after, bits, np)[0])


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_updates_change_the_rows_of_a_graph_in_place(monkeypatch, directed, named):
    g = weft.generators.planted(400, 40, mean_degree=20, seed=3, directed=directed, weights="int")
    if named:
        g = g.reorder("community")
    held = arrangement(g) if named else orders.arranged(g.topology, "community")
    for direction in ("out", "in"):
        layouts.ordered(held, choose("cr2(bits=6)"), direction)
    src, dst, _ = g.to_edges()
    cut_before = []
    monkeypatch.setattr(cr2, "cut", lambda *a: cut_before.append(a) or cut(*a))
    monkeypatch.setattr(Topology, "arranged", None)  # nothing is sorted again
    for k in range(3):
        add = ([401 + k, 7, 5], [9, 401 + k, 5], [2, 1, 3])
        more = {"src": add[0], "dst": add[1], "weight": add[2], "num_vertices": 404}
        g.update(add=more, remove=(src[k : k + 9], dst[k : k + 9]), missing="ignore")
    now = arrangement(g) if named else orders.arranged(g.topology, "community")
    assert now is not held and not cut_before
    for direction in ("out", "in"):
        found = layouts.ordered(now, choose("cr2(bits=6)"), direction).layout
        arcs = now.adjacency(direction)
        want = choose("cr2(bits=6)").make(arcs.offsets, arcs.targets, np, direction == "in")
        assert found.facts == want.facts
        np.testing.assert_array_equal(found.places(), want.places())
        for got, part in zip(found.parts, want.parts, strict=True):
            assert (got.rows, got.slots, got.numbers) == (part.rows, part.slots, part.numbers)
            for name, array in part.arrays.items():
                np.testing.assert_array_equal(got.arrays[name], array)
    fresh = weft.Graph.from_edges(*g.to_edges(), num_vertices=404, directed=directed)
    monkeypatch.undo()
    for arranged in (now, fresh.topology.arranged(now.numbering.order)):
        assert arranged.num_edges == g.num_edges and arranged.num_vertices == 404
        np.testing.assert_array_equal(arranged.in_.targets, now.in_.targets)
        np.testing.assert_array_equal(arranged.edges("out"), now.edges("out"))


def test_large_changes_build_formats_anew():
    g = weft.generators.path(20)
    layouts.ordered(g.topology, choose("cr2"), "out")
    g.update(add=([0], [5]))
    assert g.topology in layouts._built
    g.update(add=([0, 1, 2], [5, 6, 7]))
    assert g.topology not in layouts._built


def test_rows_follow_a_change_on_a_gpu(monkeypatch):
    g = weft.generators.powerlaw(80, 10, seed=4)
    before = cut(g.topology.out.offsets, g.topology.out.targets, 4, np)[0]
    after = g.add_edges([3, 3, 9], [70, 71, 12]).topology.out
    with fake_cupy.installed(monkeypatch):
        import cupy

        there = [
            Piece(p.inside, p.code, cupy.asarray(p.vertices), cupy.asarray(p.targets))
            for p in before
        ]
        arrays = [cupy.asarray(a) for a in (after.offsets, after.targets)]
        rows = cupy.asarray(np.array([3, 9, 70, 71, 12]))
        got = recut(there, *arrays, rows, 4, cupy)
        same_pieces(got, cut(after.offsets, after.targets, 4, np)[0])


@given(st.data())
@settings(max_examples=40)
def test_values_are_replaced_by_stretches_as_by_masks(data):
    size = data.draw(st.integers(0, 12))
    values = np.arange(2 * size).reshape(size, 2)
    gone = np.array(
        sorted(data.draw(st.sets(st.integers(0, max(size - 1, 0)), max_size=size))), int
    )
    left = size - gone.size
    at = np.array(sorted(data.draw(st.lists(st.integers(0, left), max_size=6))), int)
    new = -1 - np.arange(2 * at.size).reshape(-1, 2)
    want = merging.insert_values(merging.remove_values(values, gone), at, new)
    np.testing.assert_array_equal(merging.replace_values(values, gone, at, new), want)
