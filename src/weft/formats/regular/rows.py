"""Cuts the arcs of an adjacency into rows of regular degrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from weft.topology.adjacency_gpu import offsets_of, row_of_slots

CODES: Final = 6  # a row of code k has 2**k arcs
WIDEST: Final = CODES - 1
MOST_BITS: Final = 16  # of a number within a cluster
_COMPILED_ARCS: Final = 1 << 18  # from here on compiled loops in threads pay on the host


@dataclass
class Piece:
    """All rows of one degree, of the arcs inside clusters or of those between them.

    Parameters
    ----------
    inside : bool
        Whether the arcs stay within a cluster.
    code : int
        The logarithm of the degree.
    vertices : array
        The vertex of each row, rising; a vertex has several rows only under the largest code.
    targets : array
        The far end of each slot; row r has the slots from ``r << code`` on. Inside a cluster they
        are numbers within it.
    """

    inside: bool
    code: int
    vertices: Any
    targets: Any

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.vertices.size)

    @property
    def slots(self) -> int:
        """The number of arcs."""
        return self.rows << self.code

    def arcs(self, bits: int, xp: Any) -> tuple[Any, Any]:
        """Return vertex and far end of every slot."""
        vertices = xp.repeat(self.vertices, 1 << self.code)
        if not self.inside:
            return vertices, self.targets
        first = (vertices >> bits) << bits
        return vertices, first + self.targets.astype(vertices.dtype)


def local_dtype(bits: int) -> np.dtype[Any]:
    """Return the dtype of numbers within a cluster."""
    return np.dtype(np.uint8 if bits <= 8 else np.uint16)


def cut(
    offsets: Any, targets: Any, bits: int, xp: Any, names: Any = None
) -> tuple[list[Piece], Callable[[], Any]]:
    """Return the arcs of an adjacency as rows of regular degrees.

    Its rows are those of the vertices `names`, which rise, or of all vertices.

    Returns
    -------
    pieces : list of Piece
        Inside clusters by rising code, then between them.
    places : function
        Gives the slot of the adjacency at each slot of the pieces, one piece after another.
    """
    on_host = isinstance(targets, np.ndarray)
    if on_host and names is None and targets.size >= _COMPILED_ARCS:
        from weft.formats.regular.kernels import cut_compiled, places_compiled

        return (
            cut_compiled(offsets, targets, bits),
            lambda: places_compiled(offsets, targets, bits),
        )
    pieces = []
    for inside, code, vertices, slots in _laid_out(offsets, targets, bits, xp, names):
        ends = targets[slots]
        if inside:
            ends = (ends & ((1 << bits) - 1)).astype(local_dtype(bits))
        pieces.append(Piece(inside, code, vertices, ends))

    def places() -> Any:
        laid_out = _laid_out(offsets, targets, bits, xp, names)
        return xp.concatenate([slots for _, _, _, slots in laid_out])

    return pieces, places


def _laid_out(
    offsets: Any, targets: Any, bits: int, xp: Any, names: Any
) -> list[tuple[bool, int, Any, Any]]:
    """Return of each piece its vertices and the slots of the adjacency that it takes, in order."""
    n, arcs = int(offsets.size) - 1, int(targets.size)
    rows = row_of_slots(offsets, arcs, targets.dtype)
    if names is not None:
        rows = names[rows]
    inside = (rows >> bits) == (targets >> bits)
    del rows
    before = xp.zeros(arcs + 1, np.int64)
    before[1:] = xp.cumsum(inside, dtype=np.int64)
    first_inside = before[offsets[:-1]]
    degree_inside = before[offsets[1:]] - first_inside
    del before
    found = []
    for is_inside in (True, False):
        slots = xp.flatnonzero(inside if is_inside else ~inside)
        first = first_inside if is_inside else offsets[:-1] - first_inside
        degree = degree_inside if is_inside else offsets[1:] - offsets[:-1] - degree_inside
        for code in range(CODES):
            vertices, starts = _rows_of_code(first, degree, code, n, xp)
            vertices = vertices if names is None else names[vertices]
            each = (starts[:, None] + xp.arange(1 << code, dtype=np.int64)[None, :]).reshape(-1)
            found.append((is_inside, code, vertices.astype(targets.dtype), slots[each]))
    return found


def _rows_of_code(first: Any, degree: Any, code: int, n: int, xp: Any) -> tuple[Any, Any]:
    """Return the vertex of each row of a code, and where its arcs begin among those of a side."""
    if code < WIDEST:
        vertices = xp.flatnonzero((degree >> code) & 1)
        return vertices, first[vertices] + ((degree[vertices] >> (code + 1)) << (code + 1))
    full = degree >> WIDEST
    bounds = offsets_of(full)
    count = int(bounds[-1])
    vertices = row_of_slots(bounds, count, np.int64)
    at = xp.arange(count, dtype=np.int64) - bounds[vertices]
    return vertices, first[vertices] + (at << WIDEST)
