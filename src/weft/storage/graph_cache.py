"""What was computed from the arcs of a graph, kept on disk between processes: orders and formats.

An entry is a folder of NumPy arrays and a description, named by a hash of what it was made from and
of what it is. Arrays are mapped into memory again, not read. The least recently used entries go
when there is more than ``WEFT_CACHE_LIMIT`` (bytes, also with K, M, G or T; 8G if not set; 0 keeps
nothing).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from weft.arrays.device import module_of
from weft.arrays.random import GAMMA, STEP, mix
from weft.errors import ConfigError
from weft.storage.cache_dir import cache_dir, wanted_dir

FOLDER: Final = "graphs"
DEFAULT_LIMIT: Final = 8 << 30
FORMAT: Final = 2  # of an entry: another number where the meaning of the arrays changes
_DESCRIPTION: Final = "entry.json"
_CHUNK: Final = 1 << 16
_DEVICE_CHUNK: Final = 1 << 24
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Array = Any


@dataclass(frozen=True)
class Entry:
    """One thing that is kept.

    Attributes
    ----------
    what
        For people: what it is, and of which graph.
    nbytes
        What it takes on disk.
    used
        When it was used last, in seconds since 1970.
    path
        Its folder.
    """

    what: str
    nbytes: int
    used: float
    path: Path


def content_hash(*arrays: Array) -> str:
    """Return 128 bits that depend on every element of some arrays of integers and its position.

    The same for arrays of NumPy and CuPy, and for every integer dtype that holds the values.

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


def stored(what: str, content: str, make: Callable[[], Mapping[str, Array]]) -> dict[str, Array]:
    """Return arrays in host memory, from disk if they are there, else made and put there.

    Parameters
    ----------
    what
        What they are, with all parameters: part of the name of the entry.
    content
        The hash of what they are made from.
    make
        Makes them.
    """
    limit = limit_bytes()
    if limit == 0:
        return dict(make())
    version = getattr(sys.modules.get("weft"), "__version__", "")
    name = hashlib.sha256(f"{FORMAT}:{version}:{what}:{content}".encode()).hexdigest()[:32]
    folder = cache_dir(FOLDER) / name
    known = _opened(folder)
    if known is not None:
        return known
    made = dict(make())
    try:
        if sum(int(array.nbytes) for array in made.values()) <= limit // 2:
            _write(folder, what, made)
            _evict(limit, keep=folder)
    except OSError as error:
        warnings.warn(f"{what} was not kept: {error}", RuntimeWarning, stacklevel=2)
    return made


def limit_bytes() -> int:
    """Return how many bytes may be kept.

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
            f"WEFT_CACHE_LIMIT={text!r} is not a size. Expected bytes, such as 500M or 8G; 0 keeps "
            "nothing."
        )
    return int(found[1]) * _UNITS[found[2].upper()]


def entries() -> list[Entry]:
    """Return what is kept, the most recently used first; nothing is made to look for it."""
    found = []
    for path in _folders():
        try:
            description = path / _DESCRIPTION
            what = str(json.loads(description.read_text(encoding="utf-8"))["what"])
            used = description.stat().st_mtime
        except (OSError, ValueError, KeyError, TypeError):
            what, used = "damaged", 0.0
        found.append(Entry(what, _size(path), used, path))
    return sorted(found, key=lambda entry: -entry.used)


def clear() -> int:
    """Remove everything that is kept; returns how many bytes that were."""
    gone = 0
    for path in _folders():
        gone += _size(path)
        shutil.rmtree(path, ignore_errors=True)
    return gone


def _folders() -> list[Path]:
    with contextlib.suppress(OSError):
        return [path for path in (wanted_dir() / FOLDER).iterdir() if path.is_dir()]
    return []


def _size(path: Path) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for file in path.iterdir():
            with contextlib.suppress(OSError):
                total += file.stat().st_size
    return total


def _opened(folder: Path) -> dict[str, Array] | None:
    """Return the arrays of an entry, mapped into memory; None if it is not there or damaged."""
    description = folder / _DESCRIPTION
    try:
        names = json.loads(description.read_text(encoding="utf-8"))["arrays"]
        arrays = {name: _mapped(folder / f"{name}.npy") for name in names}
        os.utime(description)
        return arrays
    except FileNotFoundError:
        if not folder.is_dir():
            return None
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        pass
    shutil.rmtree(folder, ignore_errors=True)  # somebody cut it off
    return None


def _mapped(path: Path) -> Array:
    """Return an array that is read when it is used; what is written to it stays in memory."""
    try:
        return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    except ValueError:
        array = np.load(path, allow_pickle=False)  # nothing cannot be mapped
        if array.size:
            raise
        return array


def _write(folder: Path, what: str, arrays: Mapping[str, Array]) -> None:
    """Write an entry beside its place and move it there, so that readers see all of it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    try:
        for name, array in arrays.items():
            np.save(fresh / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
        description = {"what": what, "arrays": list(arrays), "made": time.time()}
        (fresh / _DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
        with contextlib.suppress(OSError):  # somebody else was faster
            os.rename(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _evict(limit: int, keep: Path) -> None:
    """Remove the least recently used entries until the rest is within the limit."""
    held = entries()
    total = sum(entry.nbytes for entry in held)
    for entry in reversed(held):
        if total <= limit:
            return
        if entry.path != keep:
            shutil.rmtree(entry.path, ignore_errors=True)
            total -= entry.nbytes
