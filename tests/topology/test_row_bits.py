"""The dense beginnings of rows as bits, against the rows themselves."""

import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from weft.topology.row_bits import BLOCK_BITS, BLOCK_WORDS, FIELDS, row_bits


def members(bits, row):
    """Return the vertices that the bits of a row stand for."""
    begin, first, blocks, _ = bits.rows[FIELDS * row : FIELDS * (row + 1)].tolist()
    words = bits.words[begin * BLOCK_WORDS : (begin + blocks) * BLOCK_WORDS]
    set_bits = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    return set_bits + (first << BLOCK_BITS)


def test_kernels_have_blocks_of_the_same_size():
    from weft.backends.cpu.runtime import row_bits as kernels

    assert kernels.BLOCK_WORDS == BLOCK_WORDS


def check(adjacency):
    bits = row_bits(adjacency)
    if bits is None:
        return None
    for row, (begin, end) in enumerate(zip(adjacency.offsets, adjacency.offsets[1:], strict=False)):
        covered = int(bits.rows[FIELDS * row + 3])
        head = adjacency.targets[begin : begin + covered]
        assert members(bits, row).tolist() == np.unique(head).tolist()
        rest = adjacency.targets[begin + covered : end]
        assert not np.intersect1d(head >> BLOCK_BITS, rest >> BLOCK_BITS).size
    return bits


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    check(AWKWARD[name]().topology.out)


@settings(max_examples=30, deadline=None)
@given(graphs(max_vertices=12, max_edges=120))
def test_drawn_graphs(g):
    check(g.topology.out)


def test_cliques_have_bits_and_paths_have_none():
    assert check(weft.generators.complete(40).topology.out) is not None
    assert weft.generators.path(100).topology.row_bits() is None


def test_sparse_ends_of_rows_are_left_out():
    near, far = np.arange(200), np.arange(1, 40) * 5000
    targets = np.concatenate((near, far))
    g = weft.Graph.from_edges(np.zeros_like(targets), targets, num_vertices=200_000)
    bits = check(g.topology.out)
    assert bits.rows[3] == 200


def test_memory_counts():
    g = weft.generators.complete(40)
    before = g.topology.memory_bytes
    bits = g.topology.row_bits()
    assert g.topology.memory_bytes == before + bits.nbytes
    assert g.topology.has_row_bits
