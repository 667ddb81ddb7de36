"""The graph cache: arrays computed from the arcs of a graph (orders, formats), kept on disk.

An entry is a directory of NumPy arrays and a description, named by a hash of its content and its
source. Arrays are memory-mapped, not copied. When the cache exceeds ``WEFT_CACHE_LIMIT`` (bytes, or
with a suffix K, M, G or T; 8G by default; 0 disables the cache), the least recently used entries
are evicted.

Kernels use these arrays as unchecked indices, so every file has a checksum that is verified before
use. An entry with any damage is removed and rebuilt.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from weft.arrays.device import module_of
from weft.arrays.random import GAMMA, STEP, mix
from weft.errors import ConfigError
from weft.storage.cache_dir import cache_dir, owner_problem, used_dir
from weft.storage.sealed import read_own, remove

FOLDER: Final = "graphs"
DEFAULT_LIMIT: Final = 8 << 30
FORMAT: Final = 3  # version of the entries; changes whenever the meaning of the arrays does
DAMAGED: Final = "damaged"  # shown for an entry whose description cannot be read
_DESCRIPTION: Final = "entry.json"
_CHUNK: Final = 1 << 16
_DEVICE_CHUNK: Final = 1 << 24
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Array = Any


@dataclass(frozen=True)
class Entry:
    """One entry of the cache.

    Attributes
    ----------
    what
        A description for display.
    nbytes
        Size on disk.
    used
        Time of last use, in seconds since 1970.
    path
        Its directory.
    """

    what: str
    nbytes: int
    used: float
    path: Path


def content_hash(*arrays: Array) -> str:
    """Return a 128-bit hash of integer arrays that covers every element and its position.

    NumPy and CuPy arrays of any integer dtype have the same hash if their values are equal.

    Examples
    --------
    >>> import numpy as np
    >>> content_hash(np.array([1, 2])) == content_hash(np.array([1, 2], np.int32))
    True
    >>> content_hash(np.array([1, 2])) == content_hash(np.array([2, 1]))
    False
    """
    sums = [0, 0]
    for number, array in enumerate(arrays):
        xp = module_of(array)
        size = _CHUNK if xp is np else _DEVICE_CHUNK
        for begin in range(0, int(array.size), size):
            part = array[begin : begin + size].astype(np.uint64)
            places = xp.arange(begin + 1, begin + 1 + int(part.size), dtype=np.uint64)
            for k, step in enumerate((GAMMA, STEP)):
                words = mix(part ^ mix(places * np.uint64(step) + np.uint64(number)))
                sums[k] = (sums[k] + int(words.sum(dtype=np.uint64))) & ((1 << 64) - 1)
    sizes = ":".join(str(int(array.size)) for array in arrays)
    text = f"{sizes}:{sums[0]:016x}{sums[1]:016x}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def stored(
    what: str,
    content: str,
    make: Callable[[], Mapping[str, Array]],
    check: Callable[[dict[str, Array]], Any] = lambda arrays: None,
) -> dict[str, Array]:
    """Return cached arrays in host memory; compute and store them if they are missing.

    Parameters
    ----------
    what
        What the arrays are, with all parameters; part of the entry's key.
    content
        Hash of the data that they are computed from.
    make
        Computes them.
    check
        Raises any exception if arrays from disk are unusable; they are then computed again.
    """
    limit = limit_bytes()
    if limit == 0:
        return dict(make())
    version = getattr(sys.modules.get("weft"), "__version__", "")
    name = hashlib.sha256(f"{FORMAT}:{version}:{what}:{content}".encode()).hexdigest()[:32]
    folder = cache_dir(FOLDER) / name
    known = _opened(folder, what, content, check)
    if known is not None:
        return known
    made = dict(make())
    try:
        if sum(int(array.nbytes) for array in made.values()) <= limit // 2:
            _write(folder, what, content, made)
            _evict(limit, keep=folder)
    except OSError as error:
        warnings.warn(f"{what} was not cached: {error}", RuntimeWarning, stacklevel=2)
    return made


def limit_bytes() -> int:
    """Return the size limit of the cache in bytes.

    Raises
    ------
    ConfigError
        If ``WEFT_CACHE_LIMIT`` is not a size.
    """
    text = os.environ.get("WEFT_CACHE_LIMIT", "").strip()
    if not text:
        return DEFAULT_LIMIT
    found = re.fullmatch(r"(\d+)\s*([KMGT]?)B?", text, flags=re.IGNORECASE)
    if found is None:
        raise ConfigError(
            f"WEFT_CACHE_LIMIT={text!r} is not a size. Expected bytes, such as 500M or 8G; 0 "
            "disables the cache."
        )
    return int(found[1]) * _UNITS[found[2].upper()]


def entries() -> list[Entry]:
    """Return all entries, the most recently used first; creates nothing."""
    found = []
    for path in _folders():
        try:
            what = str(_description(path)["what"])
            used = (path / _DESCRIPTION).stat().st_mtime
        except (OSError, _DamagedError):
            what, used = DAMAGED, 0.0
        found.append(Entry(what, _size(path), used, path))
    return sorted(found, key=lambda entry: -entry.used)


def clear() -> int:
    """Remove all entries; return the number of bytes freed."""
    freed = 0
    for path in _folders():
        freed += _size(path)
        remove(path)
    return freed


def _folders() -> list[Path]:
    with contextlib.suppress(OSError):
        return [path for path in used_dir(FOLDER).iterdir() if path.is_dir()]
    return []


def _size(path: Path) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for file in path.iterdir():
            with contextlib.suppress(OSError):
                total += file.stat().st_size
    return total


class _DamagedError(Exception):
    """An entry differs from what was written."""


def _opened(
    folder: Path, what: str, content: str, check: Callable[[dict[str, Array]], Any]
) -> dict[str, Array] | None:
    """Return the memory-mapped arrays of an entry; None if it is missing or damaged.

    A damaged entry is removed.
    """
    if not os.path.lexists(folder):
        return None
    try:
        described = _description(folder)
        if (described["what"], described["content"]) != (what, content):
            raise _DamagedError
        arrays = {
            name: _mapped(folder / f"{name}.npy", *expected)
            for name, expected in described["arrays"].items()
        }
        check(arrays)
        os.utime(folder / _DESCRIPTION)
        return arrays
    except Exception:  # A file with the right checksum may still hold anything.
        remove(folder)
        return None


def _description(folder: Path) -> dict[str, Any]:
    """Return the description of an entry: a line of JSON, followed by its checksum."""
    line, _, crc = (read_own(folder / _DESCRIPTION) or b"").partition(b"\n")
    if not line or crc != _line_sum(line):
        raise _DamagedError
    try:
        described = json.loads(line)
        names = described["arrays"]
        if not all(name.isidentifier() for name in names) or "what" not in described:
            raise _DamagedError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _DamagedError from error
    return dict(described)


def _line_sum(line: bytes) -> bytes:
    return b"%08x" % zlib.crc32(line)


def _mapped(path: Path, size: int, crc: int) -> Array:
    """Return an array mapped copy-on-write from a file, after verifying its checksum.

    CRC-32 detects every burst of up to 32 damaged bits and all but one in 2**32 other errors. It
    takes a twentieth of the time of the arc hash that located the entry.
    """
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode) or owner_problem(found) or found.st_size != size:
        raise _DamagedError
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        if zlib.crc32(whole) != crc:
            raise _DamagedError
    try:
        return np.asarray(np.lib.format.open_memmap(path, mode="c"))
    except ValueError:
        with open(path, "rb") as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
        if array.size:  # only an empty array cannot be mapped
            raise
        return array


class _Summing:
    """A writable file that keeps a checksum of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = 0
        self.crc = 0

    def write(self, data: bytes) -> int:
        """Write some bytes."""
        self.size += len(data)
        self.crc = zlib.crc32(data, self.crc)
        return self._file.write(data)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write(folder: Path, what: str, content: str, arrays: Mapping[str, Array]) -> None:
    """Write an entry to a temporary directory and rename it, so that readers see it whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    try:
        sums = {}
        for name, array in arrays.items():
            with open(fresh / f"{name}.npy", "wb", opener=_private) as file:
                summing = _Summing(file)
                np.save(summing, np.ascontiguousarray(array), allow_pickle=False)
            sums[name] = summing.size, summing.crc
        described = {"what": what, "content": content, "arrays": sums, "made": time.time()}
        line = json.dumps(described).encode()
        with open(fresh / _DESCRIPTION, "wb", opener=_private) as file:
            file.write(line + b"\n" + _line_sum(line))
        with contextlib.suppress(OSError):  # another process wrote it first
            os.rename(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _evict(limit: int, keep: Path) -> None:
    """Remove the least recently used entries until the cache is within the limit."""
    held = entries()
    total = sum(entry.nbytes for entry in held)
    for entry in reversed(held):
        if total <= limit:
            return
        if entry.path != keep:
            remove(entry.path)
            total -= entry.nbytes
