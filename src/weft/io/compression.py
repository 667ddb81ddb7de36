"""Reads and writes files, compressed or not: mapped if possible, written atomically."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import mmap
import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np

from weft.arrays.device import bytes_text
from weft.errors import ConfigError, FileFormatError
from weft.topology.adjacency import Array

_OPENERS: Final[dict[str, Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
COMPRESSIONS: Final = tuple(_OPENERS)

# Edge lists rarely compress below a thirtieth; a far larger ratio suggests a decompression bomb.
LEAST_UNPACK_LIMIT: Final = 1 << 30
MOST_UNPACK_RATIO: Final = 200
_LIMIT_VARIABLE: Final = "WEFT_UNPACK_LIMIT"
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_CHUNK_BYTES: Final = 1 << 20
_LONGEST_MESSAGE: Final = 1500

# First bytes of file types that often have the wrong suffix.
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
        The suffix that chose the format, without that of the compression.
    compression : str
        `".gz"`, `".xz"`, `".bz2"` or nothing.
    unpack_limit : int, optional
        The maximum number of bytes that the file may unpack to; see `max_unpacked`.
    """

    path: Path
    suffix: str
    compression: str
    unpack_limit: int | None = None

    def load(self) -> Array:
        """Return the contents as read-only bytes: memory-mapped, or unpacked into memory.

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
        if not data.size:
            raise self.error("nothing is in the compressed file. Expected a graph.", byte=0)
        return data

    def max_unpacked(self) -> int:
        """Return the maximum number of bytes that the file may unpack to.

        The limit is the argument of `read` or the environment variable ``WEFT_UNPACK_LIMIT``, or
        else 200 times the size of the file, but at least 1 GiB.

        Raises
        ------
        ConfigError
            If ``WEFT_UNPACK_LIMIT`` is not a size.
        """
        if self.unpack_limit is not None:
            return self.unpack_limit
        text = os.environ.get(_LIMIT_VARIABLE, "").strip()
        if not text:
            return max(LEAST_UNPACK_LIMIT, MOST_UNPACK_RATIO * self.path.stat().st_size)
        found = re.fullmatch(r"([0-9]{1,18})\s*([KMGT]?)B?", text, flags=re.IGNORECASE)
        if found is None:
            raise ConfigError(
                f"{_LIMIT_VARIABLE}={text!r} is not a size. Expected bytes, such as 500M or 8G."
            )
        return int(found[1]) * _UNITS[found[2].upper()]

    def too_large(self, contents: str) -> FileFormatError:
        """Return the error about contents that exceed `max_unpacked`."""
        size = self.path.stat().st_size
        return self.error(
            f"{contents}, but the file has {bytes_text(size)}. Expected at most "
            f"{bytes_text(self.max_unpacked())}. If you trust the file, pass unpack_limit= (bytes) "
            f"to weft.read or set {_LIMIT_VARIABLE}.",
            byte=0,
        )

    def _unpacked(self) -> Array:
        """Return the unpacked contents; stops as soon as they exceed the limit."""
        kind, limit = self.compression[1:], self.max_unpacked()
        contents = io.BytesIO()
        try:
            with _OPENERS[self.compression](self.path, "rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    contents.write(chunk)
                    if contents.tell() > limit:
                        raise self.too_large(f"the {kind} data unpack to more than {limit} bytes")
            data = np.frombuffer(contents.getbuffer(), np.uint8)
            data.flags.writeable = False
            return data
        except FileFormatError:
            raise
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
        """Return an error about this file; long quotes from the file are shortened."""
        if len(message) > _LONGEST_MESSAGE:
            half = _LONGEST_MESSAGE // 2
            message = f"{message[:half]} ... {message[-half:]}"
        return FileFormatError(self.path, message, line=line, byte=byte)

    def other_kind(self, data: Array) -> str:
        """Return a sentence about the type that the contents look like, or an empty string."""
        start = data[:16].tobytes()
        for magic, meaning in _MAGIC:
            if start.startswith(magic):
                return f" The file {meaning}."
        return ""


@contextlib.contextmanager
def replacing(path: Path, compression: str) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` once it is written completely, and only then.

    Of a symbolic link, the target is replaced. An existing file keeps its permissions. Devices and
    pipes are written to directly.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("wb") as device, _packing(device, compression) as file:
            yield file
        return
    temporary = target.with_name(f".weft-{secrets.token_hex(8)}.tmp")
    try:
        with _created(temporary, mode) as raw, _packing(raw, compression) as file:
            yield file
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _created(path: Path, mode: int | None) -> IO[bytes]:
    """Open a new file with the permissions of `mode`, or the default ones."""
    if mode is None:
        return path.open("xb")
    descriptor = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
    )
    try:
        os.chmod(path, stat.S_IMODE(mode))
        return os.fdopen(descriptor, "wb")
    except BaseException:
        os.close(descriptor)
        raise


@contextlib.contextmanager
def _packing(raw: IO[bytes], compression: str) -> Iterator[IO[bytes]]:
    """Yield a file that compresses its contents into `raw`."""
    if compression == ".gz":
        # Neither name nor time, so that the same graph always gives the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
            yield cast(IO[bytes], packed)
    elif compression:
        with _OPENERS[compression](raw, "wb") as packed:
            yield packed
    else:
        yield raw
