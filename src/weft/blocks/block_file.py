"""Block files: the rows of some vertices in CSR form, with a checksum for every array.

=========== ======================================================================================
bytes       meaning
=========== ======================================================================================
0-7         ``89 57 42 4C 4B 0D 0A 1A``
8-11        version of the format
12-15       CRC-32 of the head
16-23       length of the head
24-31       length of the file
4096-       the head: JSON with first row, rows and arcs; name, dtype, shape, position and CRC-32 of
            each array
...         the arrays, each from a multiple of 4096 on, to be read past the page cache
=========== ======================================================================================

The arrays are `offsets` (local: row r of the block owns the slots ``offsets[r]`` to
``offsets[r + 1]``), `targets`, and `edge/<name>` for every column.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from weft.blocks.manifest import BlockEntry
from weft.errors import FileFormatError

Array = np.ndarray[Any, Any]

MAGIC: Final = b"\x89WBLK\r\n\x1a"
VERSION: Final = 1
PAGE: Final = 4096
_PREAMBLE: Final = struct.Struct("<8sIIQQ")
_PIECE: Final = 1 << 23  # bytes that one system call reads
_GAP: Final = 1 << 17  # bytes that are read rather than skipped: a further call costs as much
MOST_PARTIAL: Final = 0.6  # of a file, above which all of it is read


@dataclass
class Block:
    """The rows of some vertices in one direction.

    Attributes
    ----------
    first
        The vertex of the first row.
    offsets, targets
        The rows in CSR form, slots counted from 0.
    columns
        Edge columns in slot order.
    """

    first: int
    offsets: Array
    targets: Array
    columns: Mapping[str, Array]
    room: memoryview | None = field(default=None, repr=False)  # the memory that it was read into

    def __reduce__(self) -> tuple[Any, ...]:
        return Block, (self.first, self.offsets, self.targets, dict(self.columns))

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return int(self.offsets.size - 1)


Known = tuple[int, dict[str, Any]]  # where the arrays of a file begin, and its head
Range = tuple[int, int]


class Rows(NamedTuple):
    """Some rows of a block whose offsets are known.

    Attributes
    ----------
    first
        The vertex of the first row of the block.
    members
        The vertices whose rows are wanted, sorted.
    offsets
        The offsets of all rows; the first and the last one may be those of a neighbouring block.
    """

    first: int
    members: Array
    offsets: Array

    def bounds(self, arcs: int) -> tuple[Array, Array]:
        """Return the range of the rows with arcs."""
        rows = self.members - self.first
        lows, highs = self.offsets[rows].astype(np.int64), self.offsets[rows + 1].astype(np.int64)
        lows[rows == 0] = 0
        highs[rows == self.offsets.size - 2] = arcs
        kept = highs > lows
        return lows[kept], highs[kept]


def write_block(path: Path, block: Block) -> BlockEntry:
    """Write a block file, which appears when it is complete; return its entry."""
    arrays = {"offsets": _narrow(block.offsets), "targets": block.targets}
    arrays |= {f"edge/{name}": values for name, values in block.columns.items()}
    described: list[dict[str, Any]] = []
    at = 0
    for name, array in arrays.items():
        plain = np.ascontiguousarray(array)
        arrays[name] = plain
        described.append({
            "name": name, "dtype": plain.dtype.str, "shape": list(plain.shape), "at": at,
            "crc32": zlib.crc32(_raw(plain)),
        })  # fmt: skip
        at = _paged(at + plain.nbytes)
    arcs = int(block.targets.size)
    head = {"first": block.first, "rows": block.num_rows, "arcs": arcs, "arrays": described}
    text = json.dumps(head).encode()
    begin = _paged(PAGE + len(text))
    crc = zlib.crc32(text)
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(_PREAMBLE.pack(MAGIC, VERSION, crc, len(text), begin + at))
            file.seek(PAGE)
            file.write(text)
            for part, array in zip(described, arrays.values(), strict=True):
                file.seek(begin + part["at"])
                file.write(_raw(array))
            file.truncate(begin + at)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    return BlockEntry(path.name, arcs, begin + at, crc)


def anonymous(size: int) -> memoryview:
    """Return memory of the process."""
    return memoryview(mmap.mmap(-1, size))


class BlockReader:
    """Reads the block files of a folder; each one's checksums are compared the first time.

    Parameters
    ----------
    folder : Path
    direct : bool
        Whether to read past the page cache where the system allows that.
    allocate : callable
        Returns memory of a number of bytes that begins at a page.
    """

    def __init__(
        self, folder: Path, direct: bool = True, allocate: Callable[[int], memoryview] = anonymous
    ) -> None:
        self.folder, self.allocate = folder, allocate
        self.direct = direct and hasattr(os, "O_DIRECT")
        self._heads: dict[str, Known] = {}  # of files found to be whole
        self.bytes_read = 0
        self._rooms: list[memoryview] = []  # of blocks that are done with: fresh pages are dear

    def read(self, entry: BlockEntry, first: int, rows: int, some: Rows | None = None) -> Block:
        """Return a block.

        With `some` the arcs of other rows may be missing; this is for blocks whose checksums were
        compared before.

        Raises
        ------
        FileFormatError
            If the file is missing, truncated or damaged; it names the file and what differs.
        """
        path = self.folder / entry.file
        known = self._heads.get(entry.file)
        if known is not None and some is not None:
            ranges = _ranges_of(known, some.bounds(entry.arcs))
            if sum(stop - start for start, stop in ranges) < MOST_PARTIAL * entry.bytes:
                return self._read_some(path, entry, known, some, ranges)
        data, room = self._contents(path, entry, [(0, entry.bytes)])
        begin, head = known or self._head(path, data, entry)
        if (head["first"], head["rows"], head["arcs"]) != (first, rows, entry.arcs):
            raise _damaged(path, f"it holds {head['rows']} rows from vertex {head['first']} on, "
                           f"not {rows} from {first} on", PAGE)  # fmt: skip
        arrays = {}
        for part in head["arrays"]:
            raw, dtype = _part(data, begin, part)
            if known is None and zlib.crc32(raw) != part["crc32"]:
                at = begin + part["at"]
                raise _damaged(path, f"the checksum of {part['name']!r} does not match", at)
            arrays[part["name"]] = np.frombuffer(raw, dtype).reshape(part["shape"])
        self._heads[entry.file] = begin, head
        return _block(first, arrays, room)

    def _read_some(
        self, path: Path, entry: BlockEntry, known: Known, some: Rows, ranges: list[Range]
    ) -> Block:
        data, room = self._contents(path, entry, ranges)
        begin, head = known
        arrays = {"offsets": some.offsets}
        for part in head["arrays"][1:]:
            raw, dtype = _part(data, begin, part)
            arrays[part["name"]] = np.frombuffer(raw, dtype).reshape(part["shape"])
        return _block(some.first, arrays, room)

    def recycle(self, block: Block) -> None:
        """Reuse the memory of a block that is no longer read."""
        if block.room is not None:
            self._rooms.append(block.room)
            block.room = None

    def _contents(
        self, path: Path, entry: BlockEntry, ranges: list[Range]
    ) -> tuple[memoryview, memoryview]:
        """Return some bytes of a file at their places, in memory that begins at a page."""
        try:
            found = path.stat().st_size
            if found != entry.bytes:
                raise _damaged(path, f"it has {found} bytes, not {entry.bytes}", 0)
            return self._read_into(path, entry.bytes, ranges)
        except FileNotFoundError:
            raise FileFormatError(
                path, "the block is missing. Expected every block that the manifest lists; "
                "partition the graph again, or restore the file."
            ) from None  # fmt: skip

    def _read_into(
        self, path: Path, size: int, ranges: list[Range]
    ) -> tuple[memoryview, memoryview]:
        room = self._rooms.pop() if self._rooms else None
        if room is None or len(room) < size:
            room = self.allocate(max(_paged(size), PAGE))
        if self.direct:
            try:
                self.bytes_read += _read_ranges(path, os.O_RDONLY | os.O_DIRECT, room, ranges)
                return room[:size], room
            except OSError:  # a file system in memory, for instance
                self.direct = False
        self.bytes_read += _read_ranges(path, os.O_RDONLY, room, ranges)
        return room[:size], room

    def _head(self, path: Path, data: memoryview, entry: BlockEntry) -> tuple[int, dict[str, Any]]:
        if len(data) < PAGE:
            raise _damaged(path, "it is shorter than its head", 0)
        magic, version, crc, length, total = _PREAMBLE.unpack(data[: _PREAMBLE.size])
        if magic != MAGIC or version != VERSION:
            raise _damaged(path, f"it begins with {magic!r}, version {version}", 0)
        if crc != entry.crc:
            raise _damaged(path, "it belongs to another partition", 12)
        text = bytes(data[PAGE : PAGE + length])
        if total != len(data) or zlib.crc32(text) != crc:
            raise _damaged(path, "its head does not match its checksum", PAGE)
        return _paged(PAGE + length), json.loads(text)


def _read_ranges(path: Path, flags: int, view: memoryview, ranges: list[Range]) -> int:
    """Read ranges of a file to the same places of a view; return how many bytes there were."""
    handle, total = os.open(path, flags), 0
    try:
        for begin, end in ranges:
            done, end = begin, min(_paged(end), len(view))
            while done < end:
                got = os.preadv(handle, [view[done : min(done + _PIECE, end)]], done)
                if got == 0:
                    break
                done += got
            total += done - begin
    finally:
        os.close(handle)
    return total


def _ranges_of(known: Known, bounds: tuple[Array, Array]) -> list[Range]:
    """Return the pages that hold some stretches of arcs, in every array but the offsets."""
    begin, head = known
    lows, highs = bounds
    ranges: list[Range] = []
    if not lows.size:
        return ranges
    for part in head["arrays"][1:]:
        each = _bytes_of(part) // head["arcs"]
        at = begin + part["at"]
        starts, ends = (at + lows * each) // PAGE * PAGE, -(-(at + highs * each) // PAGE) * PAGE
        apart = np.flatnonzero(starts[1:] - ends[:-1] > _GAP)
        begins = starts[np.concatenate(([0], apart + 1))]
        stops = ends[np.concatenate((apart, [ends.size - 1]))]
        ranges += zip(begins.tolist(), stops.tolist(), strict=True)
    return ranges


def _block(first: int, arrays: Mapping[str, Array], room: memoryview) -> Block:
    columns = {name[5:]: held for name, held in arrays.items() if name.startswith("edge/")}
    return Block(first, arrays["offsets"], arrays["targets"], columns, room)


def _bytes_of(part: dict[str, Any]) -> int:
    return int(np.prod(part["shape"], dtype=np.int64)) * np.dtype(part["dtype"]).itemsize


def _part(data: memoryview, begin: int, part: dict[str, Any]) -> tuple[memoryview, Any]:
    """Return the bytes of an array in a file, and its dtype."""
    at = begin + part["at"]
    return data[at : at + _bytes_of(part)], np.dtype(part["dtype"])


def _damaged(path: Path, what: str, byte: int) -> FileFormatError:
    return FileFormatError(
        path, f"the block is damaged: {what}. Expected the file that weft.partition wrote; "
        "partition the graph again, or restore the file.", byte=byte,
    )  # fmt: skip


def _narrow(offsets: Array) -> Array:
    """Return offsets as 32 bits where they fit: they are read with every block."""
    return offsets.astype(np.uint32 if offsets[-1] < 2**32 else np.int64)


def _raw(array: Array) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _paged(size: int) -> int:
    return -(-size // PAGE) * PAGE
