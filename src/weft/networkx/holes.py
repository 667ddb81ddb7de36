"""Structural holes: how much of a node's attention goes to neighbours that know each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.networkx.matrices import adjacency_matrix
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def _mutual(G: Network, nodes: Any, weight: Any) -> tuple[Any, Array]:
    """Return the weights of both directions as a sparse matrix, and which rows are alone."""
    if nodes is not None:
        raise NotImplementedError("the holes around some nodes are looked up by NetworkX")
    matrix = adjacency_matrix(G, weight=weight).astype(float)
    mutual = (matrix + matrix.T).tocsr()
    alone = mutual.sum(axis=1) - mutual.diagonal() == 0
    return mutual, alone


def _shares(mutual: Any, whole: Array) -> Any:
    """Return every entry as a part of a number for its row."""
    shares = mutual.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        shares.data = shares.data / np.repeat(whole, np.diff(shares.indptr))
    return shares


def effective_size(G: Network, nodes: Any = None, weight: Any = None) -> dict[Any, float]:
    """The number of neighbours less what they share."""
    mutual, alone = _mutual(G, nodes, weight)
    parts = _shares(mutual, mutual.sum(axis=1))
    strongest = mutual.copy()  # by the strongest tie of the other end, as in NetworkX
    most = mutual.max(axis=1).toarray().ravel()
    strongest.data = strongest.data / most[strongest.indices]
    shared = (parts @ strongest.T).tocsr()
    there = (parts > 0).tocsr()
    found = there.sum(axis=1) - there.multiply(shared).sum(axis=1)
    values = np.asarray(found, np.float64).ravel()
    values[alone] = np.nan
    return G.named(values)


def constraint(G: Network, nodes: Any = None, weight: Any = None) -> dict[Any, float]:
    """Return Burt's constraint of each node, through direct and indirect ties."""
    mutual, _ = _mutual(G, nodes, weight)
    total = mutual.sum(axis=1)
    parts = _shares(mutual, total)
    bound = (parts + parts @ parts).tocsr()
    found = (parts > 0).multiply(bound.multiply(bound)).sum(axis=1)
    values = np.asarray(found, np.float64).ravel()
    values[total - 2 * parts.diagonal() == 0] = np.nan
    return G.named(values)
