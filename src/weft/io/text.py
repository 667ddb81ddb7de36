"""Parses rows of numbers in text files: by compiled kernels, and irregular lines in Python.

The kernels stop at a line that they cannot parse. `read_row` then parses it in Python: it defines
what a line may be, and raises the errors.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

import numpy as np

from weft.io.compression import Source
from weft.io.quoting import plain, shown
from weft.io.weights import Weights, read_weight
from weft.topology.adjacency import Array

LARGEST_ID: Final = 2**63 - 2
_CHUNK_ROWS: Final = 1 << 15
_BLANKS: Final = re.compile(rb"[ \t\r]+")
_INTEGER: Final = re.compile(rb"[+-]?[0-9]+")


@dataclass(frozen=True)
class Rows:
    """The syntax of a file's lines, for both the kernels and the messages.

    Parameters
    ----------
    fields : tuple of str
        The names of the fields: `"src"`, `"dst"` and `"weight"` are read, others skipped.
    separator : bytes
        The separator of fields; empty for blanks.
    comments : bytes
        First characters of lines to skip: up to two.
    prefix : bytes
        The first character of all other lines, followed by a blank.
    low, high : int
        The smallest id, which becomes 0, and the largest.
    bound : str
        Where the largest id is defined, for messages.
    named : bool
        Whether ids are names; see `weft.io.names`.
    weights : {"auto", "integer", "real"}
        The type of weights; with "auto" they are integers if all are. Integers are int64, or uint64
        if needed.
    """

    fields: tuple[str, ...]
    separator: bytes = b""
    comments: bytes = b"#%"
    prefix: bytes = b""
    low: int = 0
    high: int = LARGEST_ID
    bound: str = "the largest possible"
    weights: str = "auto"
    named: bool = False

    @property
    def weighted(self) -> bool:
        """Whether each line has a weight."""
        return "weight" in self.fields

    def layout(self) -> Any:
        """Return the syntax as the kernels take it."""
        from weft.io.kernels import Layout

        def byte(text: bytes, position: int = 0) -> int:
            return text[position] if len(text) > position else -1

        return Layout(
            byte(self.separator),
            byte(self.comments),
            byte(self.comments, 1),
            byte(self.prefix),
            len(self.fields),
            self.fields.index("src"),
            self.fields.index("dst"),
            self.fields.index("weight") if self.weighted else -1,
            self.low,
            self.high,
            int(self.named),
        )

    def split(self, line: bytes) -> list[bytes]:
        """Return the fields of a line, without the prefix."""
        text = line.strip(b" \t\r\n")
        if self.prefix and text[:1] == self.prefix and text[1:2] in (b" ", b"\t"):
            text = text[1:].lstrip(b" \t")
        if not self.separator:
            return _BLANKS.split(text)
        parts = text.split(self.separator)
        if b'"' in text:
            # Latin-1 maps every byte to one character and back.
            decoded, mark = text.decode("latin-1"), self.separator.decode()
            with contextlib.suppress(csv.Error):
                (row,) = csv.reader([decoded], delimiter=mark, skipinitialspace=True)
                parts = [part.encode("latin-1") for part in row]
        return [part.strip(b" \t") for part in parts]


def parse_rows(
    source: Source, data: Array, rows: Rows, begin: int, line: int, expected: int | None = None
) -> tuple[Array, Array, Array | None, int]:
    """Return the ends and the weights of all edges from a position on, and the last line.

    Parameters
    ----------
    source : Source
        The file, for messages.
    data : ndarray of uint8
        Its contents.
    rows : Rows
        The syntax of its lines.
    begin, line : int
        Where to begin: position and line (from 1).
    expected : int, optional
        The required number of rows.

    Raises
    ------
    FileFormatError
        At the first invalid line.
    """
    from weft.io.kernels import FULL, count_lines

    room = int(count_lines(data, begin))
    room = room if expected is None else min(room, expected)
    status, cursor, src, dst, weight = _fill(source, data, rows, begin, line, room)
    at, last, row = cursor.tolist()
    if status == FULL:
        raise source.error(
            f"there are more than {room} edges; the next line is {shown(line_at(data, at)[0])}. "
            f"Expected {expected}, as the head of the file says; correct it or drop the rest.",
            line=last,
        )
    if expected is not None and row < expected:
        raise source.error(
            f"the file ends after {row} edges. Expected {expected}, the number in the head of "
            "the file; fetch it again or correct the number.",
            line=max(last - 1, 1),
        )
    return src[:row], dst[:row], weight[:row] if rows.weighted else None, last


def line_of_row(source: Source, data: Array, rows: Rows, begin: int, line: int, row: int) -> int:
    """Return the line of a row, for errors that are found after all rows were read."""
    return int(_fill(source, data, rows, begin, line, row)[1][1])


def _fill(
    source: Source, data: Array, rows: Rows, begin: int, line: int, room: int
) -> tuple[int, Array, Array, Array, Array]:
    """Return the kernel's last status and cursor, and arrays with `room` for that many rows."""
    from weft.io.kernels import DONE, FULL, scan_rows
    from weft.io.names import read_named_row

    def read_line(text: bytes, at: int, line: int) -> tuple[int, int, Any]:
        if rows.named:
            return read_named_row(source, text, at, line, rows)
        return read_row(source, text, line, rows)

    src, dst = np.empty(room, np.int64), np.empty(room, np.int64)
    weights = Weights(source, rows.weights, room if rows.weighted else 0)
    cursor, layout = np.array([begin, line, 0], np.int64), rows.layout()
    while True:
        status = scan_rows(data, layout, weights.kind, cursor, src, dst, weights.bits)
        if status == FULL:
            return status, cursor, src, dst, weights.values()
        if status == DONE:
            weights.check()
            return status, cursor, src, dst, weights.values()
        at, number, row = cursor.tolist()
        text, after = line_at(data, at)
        u, v, w = read_line(text, at, number)
        src[row], dst[row] = u - rows.low, v - rows.low
        if w is not None and not weights.put(row, w, number):
            cursor[:] = begin, line, 0
            continue
        cursor[:] = after, number + 1, row + 1


def read_row(source: Source, line: bytes, number: int, rows: Rows) -> tuple[int, int, Any]:
    """Return source, destination and weight (or None) of one line; raise if it is invalid."""
    text = line.strip(b" \t\r\n")
    if rows.prefix and (text[:1] != rows.prefix or text[1:2] not in (b" ", b"\t", b"")):
        raise source.error(
            f"the line is {shown(text)}. Expected one that begins with {plain(rows.prefix)!r}.",
            line=number,
        )
    parts = rows.split(line)
    if len(parts) != len(rows.fields):
        raise source.error(
            f"there {_fields(len(parts))} in {shown(text)}. Expected {len(rows.fields)} "
            f"({' '.join(rows.fields)}) {_separated(rows, text)}.",
            line=number,
        )
    found: dict[str, Any] = {"weight": None}
    for name, part in zip(rows.fields, parts, strict=True):
        if name in ("src", "dst"):
            found[name] = read_id(source, part, number, rows, name)
        elif name == "weight":
            found[name] = read_weight(source, part, number, rows.weights)
    return found["src"], found["dst"], found["weight"]


def read_id(source: Source, part: bytes, line: int, rows: Rows, name: str) -> int:
    """Return a vertex id; raise if it is invalid."""
    what = f"{name} is {shown(part)}"
    if not _INTEGER.fullmatch(part):
        raise source.error(
            f"{what}, which is not an integer. Expected a vertex id from {rows.low} on; correct "
            f"the line{', or pass labels=True if ids are names' if rows.low == 0 else ''}.",
            line=line,
        )
    if len(part) > 40 or not rows.low <= int(part) <= rows.high:
        raise source.error(
            f"{what}, which is out of range. Expected a vertex id from {rows.low} to {rows.high} "
            f"({rows.bound}); renumber the vertices or correct the line.",
            line=line,
        )
    return int(part)


def line_at(data: Array, begin: int) -> tuple[bytes, int]:
    """Return the line that begins at a position, and the position of the next one."""
    step = 1 << 12
    end = begin
    while end < data.size:
        newlines = np.flatnonzero(data[end : end + step] == 10)
        if newlines.size:
            end += int(newlines[0])
            break
        end = min(end + step, data.size)
    return data[begin:end].tobytes(), min(end + 1, data.size)


def lines_from(data: Array, begin: int, number: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield lines without their newline: text, number and position."""
    while begin < data.size:
        text, after = line_at(data, begin)
        yield text, number, begin
        begin, number = after, number + 1


def first_line(data: Array, comment: bytes) -> tuple[bytes, int, int]:
    """Return the first line that is neither empty nor a comment; empty if there is none.

    Also return its number (or that of the last line) and the position of the next line.
    """
    number = 0
    for number, (text, _, at) in enumerate(lines_from(data, skip_mark(data), 1), 1):
        stripped = text.strip()
        if stripped and stripped[:1] != comment:
            return text, number, at + len(text) + 1
    return b"", max(number, 1), data.size


def skip_mark(data: Array) -> int:
    """Return where the text begins, after the byte order mark of UTF-8 if there is one."""
    return 3 if data[:3].tobytes() == b"\xef\xbb\xbf" else 0


def head_counts(
    source: Source, parts: Sequence[bytes], line: int, names: Sequence[str]
) -> list[int]:
    """Return the counts in the head of a file, each from 0 on and below 2**63."""
    if len(parts) != len(names):
        raise source.error(
            f"the head has {len(parts)} numbers ({shown(b' '.join(parts))}). Expected "
            f"{len(names)}: {', '.join(names)}.",
            line=line,
        )
    for part, name in zip(parts, names, strict=True):
        if not part.isdigit() or len(part) > 18:
            raise source.error(
                f"the number of {name} is {shown(part)}. Expected an integer from 0 on.", line=line
            )
    return [int(part) for part in parts]


def write_rows(
    file: IO[bytes], columns: Sequence[Array], separator: str = " ", prefix: str = ""
) -> None:
    """Write one line per entry of the columns; numbers that are not integers in full precision."""
    if not columns[0].size:
        return
    kinds = ["%d" if column.dtype.kind in "iub" else "%r" for column in columns]
    row = prefix + separator.join(kinds) + "\n"
    for begin in range(0, columns[0].size, _CHUNK_ROWS):
        parts = [column[begin : begin + _CHUNK_ROWS].tolist() for column in columns]
        values = tuple(itertools.chain.from_iterable(zip(*parts, strict=True)))
        file.write((row * len(parts[0]) % values).encode("ascii"))


def _fields(count: int) -> str:
    return "is 1 field" if count == 1 else f"are {count} fields"


def _separated(rows: Rows, text: bytes) -> str:
    """Return a phrase about the expected separator, and the one this line has instead."""
    own = f"by {plain(rows.separator)!r}" if rows.separator else "by blanks"
    others = [c for c in (b",", b";", b"\t", b" ") if c != rows.separator and c in text]
    if not rows.separator:
        others = [c for c in others if c in b",;"]
    hint = f"; this line has {plain(others[0])!r}" if others else ""
    return f"separated {own}, as in the lines before{hint}"
