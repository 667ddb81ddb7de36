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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from weft.blocks.manifest import BlockEntry
from weft.errors import FileFormatError

Array = np.ndarray[Any, Any]

MAGIC: Final = b"\x89WBLK\r\n\x1a"
VERSION: Final = 1
PAGE: Final = 4096
_PREAMBLE: Final = struct.Struct("<8sIIQQ")
_PIECE: Final = 1 << 23  # bytes that one system call reads


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
    room: mmap.mmap | None = field(default=None, repr=False)  # the memory that it was read into

    def __reduce__(self) -> tuple[Any, ...]:
        return Block, (self.first, self.offsets, self.targets, dict(self.columns))

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return int(self.offsets.size - 1)


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


class BlockReader:
    """Reads the block files of a folder; each one's checksums are compared the first time.

    Parameters
    ----------
    folder : Path
    direct : bool
        Whether to read past the page cache where the system allows that.
    """

    def __init__(self, folder: Path, direct: bool = True) -> None:
        self.folder = folder
        self.direct = direct and hasattr(os, "O_DIRECT")
        self._verified: set[str] = set()
        self.bytes_read = 0
        self._rooms: list[mmap.mmap] = []  # of blocks that are done with: fresh pages are dear

    def read(self, entry: BlockEntry, first: int, rows: int) -> Block:
        """Return a block.

        Raises
        ------
        FileFormatError
            If the file is missing, truncated or damaged; it names the file and what differs.
        """
        path = self.folder / entry.file
        data, room = self._contents(path, entry)
        begin, head = self._head(path, data, entry)
        if (head["first"], head["rows"], head["arcs"]) != (first, rows, entry.arcs):
            raise _damaged(path, f"it holds {head['rows']} rows from vertex {head['first']} on, "
                           f"not {rows} from {first} on", PAGE)  # fmt: skip
        arrays = {}
        for part in head["arrays"]:
            at = begin + part["at"]
            dtype, shape = np.dtype(part["dtype"]), tuple(part["shape"])
            count = int(np.prod(shape, dtype=np.int64))
            raw = data[at : at + count * dtype.itemsize]
            if entry.file not in self._verified and zlib.crc32(raw) != part["crc32"]:
                raise _damaged(path, f"the checksum of {part['name']!r} does not match", at)
            arrays[part["name"]] = np.frombuffer(raw, dtype).reshape(shape)
        self._verified.add(entry.file)
        columns = {name[5:]: held for name, held in arrays.items() if name.startswith("edge/")}
        return Block(first, arrays["offsets"], arrays["targets"], columns, room)

    def recycle(self, block: Block) -> None:
        """Let a later block take the memory of one that is not looked at any more."""
        if block.room is not None:
            self._rooms.append(block.room)
            block.room = None

    def _contents(self, path: Path, entry: BlockEntry) -> tuple[memoryview, mmap.mmap]:
        """Return the bytes of a file, in memory that begins at a page."""
        try:
            found = path.stat().st_size
            if found != entry.bytes:
                raise _damaged(path, f"it has {found} bytes, not {entry.bytes}", 0)
            read = self._read_whole(path, entry.bytes)
        except FileNotFoundError:
            raise FileFormatError(
                path, "the block is missing. Expected every block that the manifest lists; "
                "partition the graph again, or restore the file."
            ) from None  # fmt: skip
        self.bytes_read += entry.bytes
        return read

    def _read_whole(self, path: Path, size: int) -> tuple[memoryview, mmap.mmap]:
        room = self._rooms.pop() if self._rooms else None
        if room is None or len(room) < size:
            room = mmap.mmap(-1, max(_paged(size), PAGE))
        view = memoryview(room)
        if self.direct:
            try:
                return self._fill(os.open(path, os.O_RDONLY | os.O_DIRECT), view, size), room
            except OSError:  # a file system in memory, for instance
                self.direct = False
        return self._fill(os.open(path, os.O_RDONLY), view, size), room

    def _fill(self, handle: int, view: memoryview, size: int) -> memoryview:
        try:
            done = 0
            while done < size:
                end = min(done + _PIECE, len(view))
                got = os.preadv(handle, [view[done:end]], done)
                if got == 0:
                    break
                done += got
        finally:
            os.close(handle)
        return view[:size]

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
