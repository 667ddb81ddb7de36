"""Graphs written to a file and read again, and how they are compared."""

import tempfile
from pathlib import Path

import numpy as np

import weft


def equal(one: weft.Graph, other: weft.Graph) -> None:
    """Assert that two graphs have the same vertices, edges and weights, in the same order."""
    assert (one.num_vertices, one.directed) == (other.num_vertices, other.directed)
    for mine, theirs in zip(one.to_edges(), other.to_edges(), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs)


def through(g: weft.Graph, name: str, **options) -> weft.Graph:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        weft.write(g, path)
        assert list(Path(folder).iterdir()) == [path]
        return weft.read(path, **options)
