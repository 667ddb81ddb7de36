"""Layered label propagation: vertices with the same label are stored together, layer by layer.

(P. Boldi, M. Rosa, M. Santini, S. Vigna, Layered label propagation, WWW 2011.) On each layer a
vertex takes the label l that maximizes k - gamma (s - k), where k of its neighbours and s vertices
in all have l: the larger gamma, the smaller and denser the clusters. Layers go from fine to coarse,
and each sorts the order before it by its labels, so that clusters lie within clusters. Directions
are ignored; vertices come in a random order with a fixed seed.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.storage.compiled import njit
from weft.topology.orders.neighbors import neighbors_of

Array = np.ndarray[Any, Any]

GAMMAS: Final = (1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024, 0.0)
SWEEPS: Final = 10  # maximum number of sweeps over all vertices per layer
FEW: Final = 0.01  # a layer ends once no more than this fraction of the vertices changes its label
SEED: Final = 0x11A


def llp_order(offsets: Array, targets: Array, directed: bool) -> Array:
    """Return a permutation of the vertices that places clusters together, at several scales.

    Parameters
    ----------
    offsets, targets : ndarray
        The adjacency, in host memory.
    directed : bool
        Whether opposite arcs must be added.
    """
    rows, ends = neighbors_of(offsets, targets, directed)
    n = rows.size - 1
    visits = np.random.default_rng(SEED)
    place = np.arange(n)
    for gamma in GAMMAS:
        label, size = np.arange(n), np.ones(n, np.int64)
        count = np.zeros(n, np.int64)
        for _ in range(SWEEPS):
            changed = _swept(rows, ends, visits.permutation(n), gamma, label, size, count)
            if changed <= FEW * n:
                break
        # A label is a vertex; where that one is says where its cluster goes.
        order = np.lexsort((place, place[label]))
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
    order = np.empty(n, np.int64)
    order[place] = np.arange(n)
    return order


@njit(cache=True, nogil=True)
def _swept(rows, ends, visited, gamma, label, size, count):  # type: ignore[no-untyped-def]
    """Move each vertex in turn to the best label; `count` is all zeros before and after."""
    changed = 0
    for v in visited:
        own = label[v]
        size[own] -= 1
        for slot in range(rows[v], rows[v + 1]):
            count[label[ends[slot]]] += 1
        best = own
        most = count[own] - gamma * (size[own] - count[own])
        for slot in range(rows[v], rows[v + 1]):
            other = label[ends[slot]]
            gain = count[other] - gamma * (size[other] - count[other])
            if gain > most or (gain == most and best != own and other < best):
                best, most = other, gain
        for slot in range(rows[v], rows[v + 1]):
            count[label[ends[slot]]] = 0
        size[best] += 1
        if best != own:
            label[v] = best
            changed += 1
    return changed
