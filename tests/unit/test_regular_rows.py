"""Rows of regular degrees: every arc once, no gaps, an expand list that stays true under edits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import fake_cupy
import weft
from weft.errors import ConfigError, GraphError
from weft.formats.regular import CODES, Piece, cut, expand, local_dtype, rows
from weft.formats.regular.editing import RegularRows
from weft.formats.regular.expand import expand_list, number_bits


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


@pytest.mark.parametrize("bits", [0, -1, 17, 40])
def test_clusters_that_are_not_possible_are_refused(bits):
    with pytest.raises(ConfigError, match=rf"2\*\*{bits} vertices .* Expected 1 to 16 bits"):
        cut(np.zeros(2, np.int64), np.zeros(0, np.int32), bits, np)


def test_an_expand_list_that_cannot_be_counted_is_refused():
    class Many:
        dtype, size = np.dtype(np.int32), 2**31

    piece = Piece(True, 0, Many(), None)
    with pytest.raises(ConfigError, match="2147483648 entries, more than int32 counts"):
        expand_list([piece], 5, np)


# -- edits ---------------------------------------------------------------------------------------


class Edits(RuleBasedStateMachine):
    """Adds and removes arcs, and compares with a plain list of them."""

    n, bits = 11, 2

    def __init__(self):
        super().__init__()
        pairs = [(u, v) for u in range(4) for v in range(self.n)] + [(5, 6)] * 40
        self.rows = RegularRows(*adjacency(self.n, pairs), self.bits)
        self.arcs = dict(enumerate(sorted(pairs)))
        self.next = len(pairs)

    vertices = st.integers(0, n - 1)

    @rule(u=vertices, v=vertices, times=st.integers(1, 40))
    def add(self, u, v, times):
        for _ in range(times):
            self.rows.add(u, v, self.next)
            self.arcs[self.next] = (u, v)
            self.next += 1

    @precondition(lambda self: self.arcs)
    @rule(data=st.data(), times=st.integers(1, 20))
    def remove(self, data, times):
        for _ in range(min(times, len(self.arcs))):
            number = data.draw(st.sampled_from(sorted(self.arcs)))
            u, v = self.arcs.pop(number)
            assert self.rows.remove(u, v, number) == number

    @precondition(lambda self: self.arcs)
    @rule(data=st.data())
    def remove_any_parallel_arc(self, data):
        u, v = data.draw(st.sampled_from(sorted(self.arcs.values())))
        number = self.rows.remove(u, v)
        assert self.arcs.pop(number) == (u, v)

    @rule(u=vertices, v=vertices)
    def miss(self, u, v):
        if (u, v) not in self.arcs.values():
            with pytest.raises(GraphError, match=f"no arc {u} -> {v} to remove"):
                self.rows.remove(u, v)
        with pytest.raises(GraphError, match="with the number 999999"):
            self.rows.remove(u, v, 999999)

    @rule()
    def group(self):
        for piece in self.rows.grouped().pieces():
            if piece.code == CODES - 1:
                assert (np.diff(piece.vertices) >= 0).all()

    @invariant()
    def agrees(self):
        pieces = self.rows.pieces()
        check_pieces(pieces, self.bits)
        width = self.rows._number_bits
        check_expand(pieces, [(v, self.rows.entries(v), width) for v in range(self.n)])
        assert self.rows.num_arcs == len(self.arcs)
        ends = np.concatenate([np.stack(p.arcs(self.bits, np), 1) for p in pieces])
        numbers = self.rows.arc_numbers().tolist()
        assert dict(zip(numbers, map(tuple, ends.tolist()), strict=True)) == self.arcs
        for v in range(self.n):
            want = sorted(b for a, b in self.arcs.values() if a == v)
            assert self.rows.neighbors(v).tolist() == want


TestEdits = Edits.TestCase
TestEdits.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)


def test_entries_grow_when_a_number_needs_more_bits(monkeypatch):
    monkeypatch.setattr(expand, "NUMBER_BITS", 2)
    pairs = [(u, 0) for u in range(4)]
    held = RegularRows(*adjacency(9, pairs), 4)
    assert held.entries(0).dtype == np.uint32
    for u in range(4, 9):
        held.add(u, 0, u)
    assert held.entries(0).dtype == np.uint64
    check_expand(held.pieces(), [(v, held.entries(v), 60) for v in range(9)])
    assert [held.neighbors(v).tolist() for v in range(9)] == [[0]] * 9
