"""Rows of regular degrees that change: arcs are added and removed in place.

A vertex with d arcs of a side has one row for each bit of d % 32. An arc more carries like the
addition of one to a binary number: the rows of the low set bits and the new arc become one row of
the next bit. An arc less borrows. A row that leaves its piece is replaced by the last one of it, so
that pieces stay without gaps; the expand list is kept true by every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from weft.errors import GraphError
from weft.formats.regular.expand import entry_dtype, expand_list, key_of, number_bits
from weft.formats.regular.rows import CODES, WIDEST, Piece, check_bits, cut

Array = np.ndarray[Any, Any]

_SLACK: Final = 4  # entries that a vertex may get before its list is moved


class _Rows:
    """The rows of one piece, in arrays with room for more."""

    def __init__(self, piece: Piece, arcs: Array) -> None:
        self.code, self.count = piece.code, piece.rows
        self.vertices = piece.vertices.copy()
        self.targets = piece.targets.copy()
        self.arcs = arcs.copy()

    @property
    def used(self) -> int:
        """How many slots are in use."""
        return self.count << self.code

    def slots(self, row: int) -> slice:
        """Return where the slots of a row lie."""
        return slice(row << self.code, (row + 1) << self.code)

    def append(self, vertex: int, targets: Array, arcs: Array) -> int:
        """Add a row; returns its number."""
        if self.count == self.vertices.size:
            room = max(4, self.count)
            self.vertices = np.append(self.vertices, np.empty(room, self.vertices.dtype))
            wide = room << self.code
            self.targets = np.append(self.targets, np.empty(wide, self.targets.dtype))
            self.arcs = np.append(self.arcs, np.empty(wide, self.arcs.dtype))
        row = self.count
        self.vertices[row] = vertex
        self.targets[self.slots(row)] = targets
        self.arcs[self.slots(row)] = arcs
        self.count += 1
        return row

    def take_out(self, row: int) -> int:
        """Remove a row by moving the last one to its place; returns the vertex of that one."""
        last = self.count - 1
        moved = int(self.vertices[last])
        if row != last:
            self.vertices[row] = self.vertices[last]
            self.targets[self.slots(row)] = self.targets[self.slots(last)]
            self.arcs[self.slots(row)] = self.arcs[self.slots(last)]
        self.count -= 1
        return moved


class RegularRows:
    """The arcs of one direction in rows of regular degrees, which can be changed.

    Parameters
    ----------
    offsets, targets : ndarray
        An adjacency in host memory.
    bits : int
        A cluster has 2**bits vertices.
    arcs : ndarray of int, optional
        A number for each slot of the adjacency that travels with the arc; by default the slot.

    Examples
    --------
    >>> import numpy as np
    >>> rows = RegularRows(np.array([0, 2, 3, 3]), np.array([1, 2, 0], np.int32), bits=4)
    >>> rows.add(0, 0, arc=7)
    >>> rows.neighbors(0)
    array([0, 1, 2], dtype=int32)
    >>> rows.remove(0, 2)
    1
    >>> rows.neighbors(0)
    array([0, 1], dtype=int32)
    """

    def __init__(
        self, offsets: Array, targets: Array, bits: int = 16, arcs: Array | None = None
    ) -> None:
        self.bits = check_bits(bits)
        self.num_vertices = int(offsets.size) - 1
        self.index_dtype = targets.dtype
        pieces, places = cut(offsets, targets, bits, np)
        numbers = places() if arcs is None else arcs[places()]
        ends = np.cumsum([0, *(piece.slots for piece in pieces)])
        self._pieces = [
            _Rows(piece, numbers[ends[k] : ends[k + 1]]) for k, piece in enumerate(pieces)
        ]
        self._relist(entry_dtype(max(piece.rows for piece in pieces)))

    # -- the expand list

    def _relist(self, dtype: np.dtype[Any]) -> None:
        """Make the expand list anew, with room for each vertex."""
        packed, begins = expand_list(self.pieces(), self.num_vertices, np, dtype=dtype)
        counts = np.diff(begins).astype(np.int64)
        self._count = counts
        self._room = counts + _SLACK
        self._begin = np.concatenate(([0], np.cumsum(self._room)))[:-1]
        self._entries = np.zeros(int(self._room.sum()), dtype)
        at = np.arange(packed.size) - np.repeat(begins[:-1], counts)
        self._entries[np.repeat(self._begin, counts) + at] = packed
        self._end = self._entries.size
        self._number_bits = number_bits(dtype)

    def entries(self, vertex: int) -> Array:
        """Return the entries of a vertex, rising; a view."""
        begin = int(self._begin[vertex])
        return self._entries[begin : begin + int(self._count[vertex])]

    def _entry(self, piece: int, row: int) -> Any:
        key = key_of(piece < CODES, piece % CODES)
        return self._entries.dtype.type((key << self._number_bits) | row)

    def _insert(self, vertex: int, entry: Any) -> None:
        if self._count[vertex] == self._room[vertex]:
            self._move_list(vertex)
        begin, count = int(self._begin[vertex]), int(self._count[vertex])
        at = int(np.searchsorted(self._entries[begin : begin + count], entry))
        held = self._entries[begin : begin + count + 1]
        held[at + 1 :] = held[at:-1].copy()
        held[at] = entry
        self._count[vertex] += 1

    def _drop(self, vertex: int, entry: Any) -> None:
        held = self.entries(vertex)
        at = int(np.searchsorted(held, entry))
        held[at:-1] = held[at + 1 :].copy()
        self._count[vertex] -= 1

    def _move_list(self, vertex: int) -> None:
        """Give a vertex a larger stretch at the end of the list."""
        held = self.entries(vertex).copy()
        room = 2 * held.size + _SLACK
        if self._end + room > self._entries.size:
            grown = np.zeros(2 * (self._entries.size + room), self._entries.dtype)
            grown[: self._end] = self._entries[: self._end]
            self._entries = grown
        self._begin[vertex], self._room[vertex] = self._end, room
        self._entries[self._end : self._end + held.size] = held
        self._end += room

    # -- rows

    def _rows(self, vertex: int, inside: bool) -> Iterator[tuple[int, int]]:
        """Yield piece and row of the rows of a vertex on one side, by rising degree."""
        for entry in self.entries(vertex).tolist():
            key, row = entry >> self._number_bits, entry & ((1 << self._number_bits) - 1)
            if (key < 8) == inside:
                yield (key if inside else CODES + key - 8), row

    def _add_row(self, piece: int, vertex: int, targets: Array, arcs: Array) -> None:
        row = self._pieces[piece].append(vertex, targets, arcs)
        if row >> self._number_bits:  # an entry is too narrow for it now
            self._relist(np.dtype(np.uint64))
        else:
            self._insert(vertex, self._entry(piece, row))

    def _remove_row(self, piece: int, row: int) -> tuple[Array, Array]:
        """Take a row out; returns its far ends and arcs."""
        rows = self._pieces[piece]
        targets, arcs = rows.targets[rows.slots(row)].copy(), rows.arcs[rows.slots(row)].copy()
        vertex, last = int(rows.vertices[row]), rows.count - 1
        moved = rows.take_out(row)
        self._drop(vertex, self._entry(piece, row))
        if row != last:
            self._drop(moved, self._entry(piece, last))
            self._insert(moved, self._entry(piece, row))
        return targets, arcs

    def _is_inside(self, vertex: int, target: int) -> bool:
        return vertex >> self.bits == target >> self.bits

    def _stored(self, target: int, inside: bool) -> int:
        return target & ((1 << self.bits) - 1) if inside else target

    # -- arcs

    def add(self, vertex: int, target: int, arc: int) -> None:
        """Add an arc; takes time in the degree of a row, not of the vertex."""
        inside = self._is_inside(vertex, target)
        first = 0 if inside else CODES
        ends = [np.array([self._stored(target, inside)], self._pieces[first].targets.dtype)]
        numbers = [np.array([arc], self._pieces[first].arcs.dtype)]
        held = dict(self._narrow_rows(vertex, inside))
        code = 0
        while code < WIDEST and code in held:
            # Looked up again: taking a row out may have moved another one.
            row = dict(self._narrow_rows(vertex, inside))[code]
            targets, arcs = self._remove_row(first + code, row)
            ends.append(targets)
            numbers.append(arcs)
            code += 1
        self._add_row(first + code, vertex, np.concatenate(ends), np.concatenate(numbers))

    def _narrow_rows(self, vertex: int, inside: bool) -> Iterator[tuple[int, int]]:
        """Yield code and row of the rows of a vertex that are not of the widest code."""
        for piece, row in self._rows(vertex, inside):
            if piece % CODES == WIDEST:
                return
            yield piece % CODES, row

    def remove(self, vertex: int, target: int, arc: int | None = None) -> int:
        """Remove an arc; returns its number.

        Parameters
        ----------
        vertex, target : int
            Its ends.
        arc : int, optional
            Its number, to tell parallel arcs apart; without it, any of them is removed.

        Raises
        ------
        GraphError
            If there is no such arc.
        """
        inside = self._is_inside(vertex, target)
        first, wanted = 0 if inside else CODES, self._stored(target, inside)
        smallest: tuple[int, int] | None = None
        for piece, row in self._rows(vertex, inside):
            smallest = smallest or (piece, row)
            rows = self._pieces[piece]
            part = rows.slots(row)
            fits = rows.targets[part] == wanted
            if arc is not None:
                fits &= rows.arcs[part] == arc
            if fits.any():
                break
        else:
            which = "" if arc is None else f" with the number {arc}"
            raise GraphError(
                f"There is no arc {vertex} -> {target}{which} to remove. Expected one that is "
                "there."
            )
        slot = (row << rows.code) + int(np.argmax(fits))
        gone = int(rows.arcs[slot])
        assert smallest is not None
        # The last arc of the smallest row fills the gap; what is left of that row is cut anew.
        spare = self._pieces[smallest[0]]
        last = ((smallest[1] + 1) << spare.code) - 1
        rows.targets[slot], rows.arcs[slot] = spare.targets[last], spare.arcs[last]
        targets, arcs = self._remove_row(*smallest)
        at = 0
        for code in reversed(range(spare.code)):
            part = slice(at, at + (1 << code))
            self._add_row(first + code, vertex, targets[part], arcs[part])
            at = part.stop
        return gone

    def neighbors(self, vertex: int) -> Array:
        """Return the far ends of the arcs of a vertex, rising; parallel ones come repeatedly."""
        found = [np.empty(0, self.index_dtype)]
        for inside in (True, False):
            for piece, row in self._rows(vertex, inside):
                rows = self._pieces[piece]
                ends = rows.targets[rows.slots(row)].astype(self.index_dtype)
                found.append(ends + ((vertex >> self.bits) << self.bits) if inside else ends)
        return np.sort(np.concatenate(found))

    @property
    def num_arcs(self) -> int:
        """How many arcs there are."""
        return sum(rows.used for rows in self._pieces)

    def pieces(self) -> list[Piece]:
        """Return the rows as they are now; views."""
        return [
            Piece(k < CODES, rows.code, rows.vertices[: rows.count], rows.targets[: rows.used])
            for k, rows in enumerate(self._pieces)
        ]

    def arc_numbers(self) -> Array:
        """Return the number of the arc at each slot, one piece after another."""
        return np.concatenate([rows.arcs[: rows.used] for rows in self._pieces])

    def grouped(self) -> RegularRows:
        """Let the wide rows of each vertex follow each other, as they did when it was built."""
        for k in (WIDEST, CODES + WIDEST):
            rows = self._pieces[k]
            order = np.argsort(rows.vertices[: rows.count], kind="stable")
            if (np.diff(order) == 1).all():
                continue
            targets, arcs = (
                slots[: rows.used].reshape(rows.count, -1)[order].reshape(-1)
                for slots in (rows.targets, rows.arcs)
            )
            piece = Piece(k < CODES, rows.code, rows.vertices[order], targets)
            self._pieces[k] = _Rows(piece, arcs)
        self._relist(self._entries.dtype)
        return self
