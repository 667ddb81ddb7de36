"""Neighbours in either direction, each once, for orders that decide vertex by vertex."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def neighbors_of(offsets: Array, targets: Array, directed: bool) -> tuple[Array, Array]:
    """Return rows of the neighbours of each vertex, rising, without itself.

    Parameters
    ----------
    offsets, targets : ndarray
        The adjacency, in host memory.
    directed : bool
        Whether opposite arcs must be added.

    Examples
    --------
    >>> rows, ends = neighbors_of(np.array([0, 3, 4, 4]), np.array([1, 1, 2, 1]), True)
    >>> rows.tolist(), ends.tolist()
    ([0, 2, 3, 4], [1, 2, 0, 0])
    """
    from scipy.sparse import csr_array

    n = offsets.size - 1
    graph: Any = csr_array((np.ones(targets.size, bool), targets, offsets), shape=(n, n))
    graph = graph + graph.T if directed else graph.copy()
    graph.sum_duplicates()
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    other = graph.indices != rows
    found = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows[other], minlength=n), out=found[1:])
    return found, graph.indices[other].astype(np.int64)
