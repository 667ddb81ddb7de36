"""Compiled: forces between vertices in space."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.storage.compiled import njit


@njit(cache=True, nogil=True)
def attract(
    offsets: Any, targets: Any, weights: Any, place: Any, logarithmic: bool, force: Any
) -> None:
    """Add the pull of the neighbours to the force on each vertex."""
    for u in range(offsets.size - 1):
        for slot in range(offsets[u], offsets[u + 1]):
            v = targets[slot]
            if u == v:
                continue
            pull = weights[slot]
            if logarithmic:
                square = 0.0
                for d in range(place.shape[1]):
                    square += (place[u, d] - place[v, d]) ** 2
                distance = np.sqrt(square)
                pull *= np.log(1 + distance) / distance
            for d in range(place.shape[1]):
                force[u, d] -= pull * (place[u, d] - place[v, d])


@njit(cache=True, nogil=True)
def repel(place: Any, mass: Any, size: Any, sized: bool, ratio: float, force: Any) -> None:
    """Add the push of all other vertices to the force on each."""
    n = mass.size
    for u in range(n):
        for v in range(n):
            if u == v:
                continue
            square = 0.0
            for d in range(place.shape[1]):
                square += (place[u, d] - place[v, d]) ** 2
            if sized:
                square = (np.sqrt(square) - size[u] - size[v]) ** 2
            push = ratio * mass[u] * mass[v] / square
            for d in range(place.shape[1]):
                force[u, d] += push * (place[u, d] - place[v, d])
