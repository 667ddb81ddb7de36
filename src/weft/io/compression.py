"""Bytes from and to files, compressed or not: mapped where possible, written atomically."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import mmap
import os
import secrets
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from weft.errors import FileFormatError
from weft.topology.adjacency import Array

_OPENERS: Final[dict[str, Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
COMPRESSIONS: Final = tuple(_OPENERS)

# How files begin that are often met under the wrong name.
_MAGIC: Final = (
    (b"\x1f\x8b", "is compressed with gzip; let its name end with .gz"),
    (b"\xfd7zXZ\x00", "is compressed with xz; let its name end with .xz"),
    (b"BZh", "is compressed with bzip2; let its name end with .bz2"),
    (b"PK\x03\x04", "is a zip archive; unpack it first"),
    (b"PAR1", "is a Parquet file; let its name end with .parquet"),
    (b"\x89WEFT", "is a .weft file; let its name end with .weft"),
    (b"%%MatrixMarket", "is a MatrixMarket file; let its name end with .mtx"),
    (b"\xff\xfe", "is UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16 text; save it as UTF-8"),
)


@dataclass(frozen=True)
class Source:
    """A file that is being read.

    Parameters
    ----------
    path : Path
    suffix : str
        The suffix that chose the format, without that of a compression.
    compression : str
        `".gz"`, `".xz"`, `".bz2"` or nothing.
    """

    path: Path
    suffix: str
    compression: str

    def load(self) -> Array:
        """Return the contents as bytes that cannot be written to: mapped, or unpacked into memory.

        Raises
        ------
        FileFormatError
            If the file is empty, or not compressed as its suffix says.
        """
        with self.path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise self.error("the file is empty. Expected a graph; write it again.", byte=0)
            if not self.compression:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                return np.frombuffer(mapped, np.uint8)
        data = self._unpacked()
        if not data:
            raise self.error("nothing is in the compressed file. Expected a graph.", byte=0)
        return np.frombuffer(data, np.uint8)

    def _unpacked(self) -> bytes:
        kind = self.compression[1:]
        try:
            with _OPENERS[self.compression](self.path, "rb") as file:
                return file.read()
        except EOFError:
            end = self.path.stat().st_size
            raise self.error(
                f"the {kind} data end too early. Expected a complete file; fetch it again.",
                byte=end,
            ) from None
        except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            with self.path.open("rb") as file:
                start = file.read(8)
            raise self.error(
                f"the file is not sound {kind} data ({error}); it begins with {start!r}. Expected "
                f"what {kind} writes; fetch it again, or drop {self.compression} from the name "
                "if it is not compressed.",
                byte=0,
            ) from None

    def error(
        self, message: str, *, line: int | None = None, byte: int | None = None
    ) -> FileFormatError:
        """Return the error about this file."""
        return FileFormatError(self.path, message, line=line, byte=byte)

    def other_kind(self, data: Array) -> str:
        """Return a sentence if the contents are those of another kind of file, or nothing."""
        start = data[:16].tobytes()
        for magic, meaning in _MAGIC:
            if start.startswith(magic):
                return f" The file {meaning}."
        return ""


@contextlib.contextmanager
def replacing(path: Path, compression: str) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` once all is written, and not otherwise."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with contextlib.ExitStack() as stack:
            raw = stack.enter_context(temporary.open("xb"))
            if compression == ".gz":
                # Neither name nor time: the same graph gives the same bytes.
                packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0)
                file: Any = stack.enter_context(packed)
            elif compression:
                file = stack.enter_context(_OPENERS[compression](raw, "wb"))
            else:
                file = raw
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
