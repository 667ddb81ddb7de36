"""Compiled parsers of rows of numbers in text files.

The kernels parse regular lines only and stop before any other. `weft.io.text` then parses that line
itself: it accepts rare but valid forms, and raises the errors.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from weft.io.decimals import nearest_double
from weft.io.weights import REAL, UNSIGNED
from weft.storage.compiled import njit

DONE: Final = 0  # the end of the data
FULL: Final = 1  # one more row than there is room for
ODD: Final = 2  # an irregular line, or a weight of another kind

_NEWLINE, _SPACE, _TAB, _RETURN = 10, 32, 9, 13
_PLUS, _MINUS, _POINT, _ZERO = 43, 45, 46, 48
_E_SMALL, _E_LARGE, _QUOTE = 101, 69, 34
_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_LIMIT = 922337203685477579  # ten times this and a digit up to 9 may pass 2**63
_UNSIGNED_LIMIT, _LAST_DIGIT = np.uint64((2**64 - 1) // 10), (2**64 - 1) % 10
_SIGN = np.uint64(1 << 63)
_TEN = np.uint64(10)
_INFINITE, _NAN = np.uint64(0x7FF << 52), np.uint64(0xFFF << 51)


class Layout(NamedTuple):
    """The syntax of a file's lines; bytes as numbers, -1 for none.

    Parameters
    ----------
    separator
        The byte between two fields, in addition to blanks; -1 for blanks only.
    comment, other_comment
        The first bytes of lines to skip.
    prefix
        The first byte of all other lines.
    num_fields
        The number of fields in a line.
    src, dst, weight
        The positions of these fields; -1 for no weight.
    low, high
        The smallest and the largest id; `low` is subtracted from each.
    named
        1 if ids are names: each is then returned as a position in the file and a length.
    """

    separator: int
    comment: int
    other_comment: int
    prefix: int
    num_fields: int
    src: int
    dst: int
    weight: int
    low: int
    high: int
    named: int


@njit(cache=True)
def count_lines(data, begin):
    """Return the number of lines from a position on."""
    lines = 1
    for position in range(begin, data.size):
        lines += data[position] == _NEWLINE
    return lines


@njit(cache=True, inline="always")
def _skip_blanks(data, at):
    while at < data.size and (data[at] == _SPACE or data[at] == _TAB or data[at] == _RETURN):
        at += 1
    return at


@njit(cache=True, inline="always")
def _skip_line(data, at):
    while at < data.size and data[at] != _NEWLINE:
        at += 1
    return at


@njit(cache=True, inline="always")
def _ends_field(data, at, separator):
    if at >= data.size:
        return True
    c = data[at]
    return c in (_SPACE, _NEWLINE, _TAB, _RETURN, separator)


@njit(cache=True)
def _natural(data, at):
    """Return the non-negative integer that begins here (-1 if there is none) and where it ends."""
    value, begin = np.int64(0), at
    while at < data.size:
        digit = np.int64(data[at]) - _ZERO
        if digit < 0 or digit > 9:
            break
        if value >= _LIMIT:
            return -1, at
        value = value * 10 + digit
        at += 1
    return (value if at > begin else -1), at


@njit(cache=True)
def _unsigned(data, at):
    """Return whether an integer from 0 to 2**64 - 1 begins here, its value, and where it ends."""
    value, begin = np.uint64(0), at
    while at < data.size:
        digit = np.int64(data[at]) - _ZERO
        if digit < 0 or digit > 9:
            break
        if value >= _UNSIGNED_LIMIT and (value > _UNSIGNED_LIMIT or digit > _LAST_DIGIT):
            return False, value, at
        value = value * _TEN + np.uint64(digit)
        at += 1
    return at > begin, value, at


@njit(cache=True)
def _name(data, at, separator):
    """Return the spot of the name that begins here (-1 if it is irregular) and where it ends.

    A spot is the position, shifted by 16 bits, plus the length.
    """
    begin = at
    while at < data.size and data[at] != _NEWLINE and data[at] != separator:
        if separator < 0 and _ends_field(data, at, -1):
            break
        at += 1
    end = at
    while end > begin and _ends_field(data, end - 1, -1):
        end -= 1
    length = end - begin
    if length == 0 or length >= 65536:
        return np.int64(-1), at
    return np.int64(begin << 16 | length), at


@njit(cache=True)
def number_spots(data, spots):
    """Return a number for each name, in order of appearance, and one spot of each distinct name.

    A hash table with open addresses, at most half full; hashes are FNV-1a.
    """
    size = 16
    while size < 2 * spots.size:
        size *= 2
    table = np.full(size, -1, np.int64)
    numbers = np.empty(spots.size, np.int64)
    different = np.empty(spots.size, np.int64)
    count = 0
    for k in range(spots.size):
        begin, length = spots[k] >> 16, spots[k] & 65535
        code = _FNV_START
        for at in range(begin, begin + length):
            code = (code ^ np.uint64(data[at])) * _FNV_PRIME
        slot = np.int64((code ^ (code >> np.uint64(32))) & np.uint64(size - 1))
        while table[slot] >= 0:
            other = different[table[slot]]
            if other & 65535 == length:
                same, at = True, other >> 16
                for step in range(length):
                    if data[at + step] != data[begin + step]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = count
            different[count] = spots[k]
            count += 1
        numbers[k] = table[slot]
    return numbers, different[:count].copy()


@njit(cache=True)
def _integer(data, at):
    """Return whether an integer begins here, its value, and where it ends."""
    negative = at < data.size and data[at] == _MINUS
    value, end = _natural(data, at + 1 if negative else at)
    return value >= 0, (-value if negative else value), end


@njit(cache=True)
def _special(data, at):
    """Return the bits of infinity or NaN for "inf" or "nan" in any case, else 0."""
    if at + 3 > data.size or data[at] < 65:
        return np.uint64(0)
    first, second, third = data[at] | 32, data[at + 1] | 32, data[at + 2] | 32
    if first == 105 and second == 110 and third == 102:
        return _INFINITE
    if first == 110 and second == 97 and third == 110:
        return _NAN
    return np.uint64(0)


@njit(cache=True)
def _decimal(data, at):
    """Return whether a decimal number begins here, the bits of its double, and where it ends."""
    sign = np.uint64(0)
    if at < data.size and (data[at] == _MINUS or data[at] == _PLUS):
        if data[at] == _MINUS:
            sign = _SIGN
        at += 1
    word = _special(data, at)
    if word != 0:
        return True, sign | word, at + 3
    digits, kept, power, seen_point = 0, 0, 0, False
    w, cut = np.uint64(0), False
    while at < data.size:
        c = np.int64(data[at])
        if c == _POINT and not seen_point:
            seen_point = True
        elif _ZERO <= c <= _ZERO + 9:
            digits += 1
            if kept < 19:
                w = w * _TEN + np.uint64(c - _ZERO)
                kept += w != 0
                power -= seen_point
            else:
                cut = cut or c != _ZERO
                power += not seen_point
        else:
            break
        at += 1
    if digits == 0:
        return False, sign, at
    if at < data.size and (data[at] == _E_SMALL or data[at] == _E_LARGE):
        at += 1
        negative = at < data.size and data[at] == _MINUS
        if at < data.size and (data[at] == _MINUS or data[at] == _PLUS):
            at += 1
        exponent, at = _natural(data, at)
        if exponent < 0 or exponent > 100000:
            return False, sign, at
        power += -exponent if negative else exponent
    bits = nearest_double(w, power)
    # Digits were dropped: the number lies between w and w + 1.
    if cut and nearest_double(w + np.uint64(1), power) != bits:
        return False, sign, at
    return True, sign | bits, at


@njit(cache=True, nogil=True)
def scan_rows(data, layout, kind, cursor, src, dst, weight):  # noqa: C901, PLR0915 -- see below
    """Read lines of two ids and an optional weight into arrays, from a cursor on.

    Parameters
    ----------
    data : uint8 array
    layout : Layout
    kind : int
        `SIGNED`, `UNSIGNED` or `REAL` of `weft.io.weights`: the type whose bits `weight` receives.
    cursor : int64 array
        Position, line (from 1) and row; afterwards at the first unread line.
    src, dst, weight : int64 arrays

    Returns
    -------
    int
        `DONE`, `FULL` or `ODD`.
    """
    # A single function: with a call per field it takes four times as long.
    at, line, row = cursor[0], cursor[1], cursor[2]
    separator, status = layout.separator, DONE
    while at < data.size:
        cursor[0], cursor[1], cursor[2] = at, line, row
        at = _skip_blanks(data, at)
        if at >= data.size:
            break
        c = data[at]
        if c == _NEWLINE or c == layout.comment or c == layout.other_comment:
            at = _skip_line(data, at) + 1
            line += 1
            continue
        if row == src.size:
            return FULL
        if layout.prefix >= 0:
            if c != layout.prefix or not _ends_field(data, at + 1, -1):
                return ODD
            at = _skip_blanks(data, at + 1)
        for field in range(layout.num_fields):
            if field > 0:
                at = _skip_blanks(data, at)
                if separator >= 0:
                    if at >= data.size or data[at] != separator:
                        return ODD
                    at = _skip_blanks(data, at + 1)
            quoted = separator >= 0 and at < data.size and data[at] == _QUOTE
            if quoted:
                at += 1
            ending = _QUOTE if quoted else separator
            if field == layout.src or field == layout.dst:
                if layout.named == 1:
                    value, at = _name(data, at, ending)
                else:
                    value, at = _natural(data, at)
                if value < layout.low or value > layout.high:
                    return ODD
                if field == layout.src:
                    src[row] = value - layout.low
                else:
                    dst[row] = value - layout.low
            elif field == layout.weight:
                if kind == REAL:
                    fine, bits, at = _decimal(data, at)
                    if not fine:
                        return ODD
                    weight[row] = np.int64(bits)
                elif kind == UNSIGNED:
                    fine, bits, at = _unsigned(data, at)
                    if not fine or not _ends_field(data, at, ending):
                        return ODD
                    weight[row] = np.int64(bits)
                else:
                    fine, value, at = _integer(data, at)
                    if not fine or not _ends_field(data, at, ending):
                        return ODD
                    weight[row] = value
            else:
                begin = at
                while at < data.size and data[at] != _NEWLINE and data[at] != ending:
                    if separator < 0 and _ends_field(data, at, -1):
                        break
                    at += 1
                if at == begin and not quoted:
                    return ODD
            if quoted:
                if at >= data.size or data[at] != _QUOTE:
                    return ODD
                at = _skip_blanks(data, at + 1)
            if not _ends_field(data, at, separator):
                return ODD
        at = _skip_blanks(data, at)
        if at < data.size and data[at] != _NEWLINE:
            return ODD
        at += 1
        line += 1
        row += 1
    cursor[0], cursor[1], cursor[2] = data.size, line, row
    return status


@njit(cache=True, nogil=True)
def scan_adjacency(data, cursor, num_vertex_numbers, weighted, numbers, degree, dst, weight):
    """Read METIS lines: vertex numbers, then neighbours (from 1) with optional weights.

    Parameters
    ----------
    data : uint8 array
    cursor : int64 array
        Position, line, vertex and arc; afterwards at the first unread line.
    num_vertex_numbers : int
        The number of vertex numbers at the start of each line.
    weighted : bool
        Whether a weight follows each neighbour.
    numbers, degree : int64 arrays
        Per vertex; `numbers` has `num_vertex_numbers` entries for each.
    dst, weight : int64 arrays
        Per arc. Weights and numbers are stored as the bits of unsigned integers.

    Returns
    -------
    int
        `DONE`, `FULL` (more neighbours than there is room for) or `ODD`.
    """
    at, line, row, arc = cursor[0], cursor[1], cursor[2], cursor[3]
    while at < data.size and row < degree.size:
        cursor[0], cursor[1], cursor[2], cursor[3] = at, line, row, arc
        at = _skip_blanks(data, at)
        if at < data.size and data[at] == 37:
            at = _skip_line(data, at) + 1
            line += 1
            continue
        position, first = 0, arc
        awaits_weight = False
        while at < data.size and data[at] != _NEWLINE:
            fine, bits, at = _unsigned(data, at)
            if not fine or not _ends_field(data, at, -1):
                return ODD
            value = np.int64(bits)
            if position < num_vertex_numbers:
                numbers[row * num_vertex_numbers + position] = value
                position += 1
            elif awaits_weight:
                weight[arc] = value
                awaits_weight = False
                arc += 1
            else:
                if value < 1 or value > degree.size:
                    return ODD
                if arc == dst.size:
                    return FULL
                dst[arc] = value - 1
                awaits_weight = weighted
                arc += not weighted
            at = _skip_blanks(data, at)
        if awaits_weight or position < num_vertex_numbers:
            return ODD
        degree[row] = arc - first
        at += 1
        line += 1
        row += 1
    cursor[0], cursor[1], cursor[2], cursor[3] = min(at, data.size), line, row, arc
    return DONE
