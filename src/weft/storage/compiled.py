"""A cache of Numba machine code with checksums.

Numba's own cache unpickles and runs whatever its files contain: a damaged one raises arbitrary
exceptions in every process, or crashes it. Here each file has a checksum (`weft.storage.sealed`)
and lies in weft's cache directory, which other users cannot write to.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
)

from weft.storage.cache_dir import cache_dir
from weft.storage.sealed import read_sealed, write_sealed

FOLDER = os.path.join("cpu", "__pycache__")


def njit(*, cache: bool = False, **options: Any) -> Callable[[Any], Any]:
    """Compile a function like `numba.njit`; with `cache`, keep its machine code in weft's cache."""

    def compiled(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache:
            with contextlib.suppress(OSError):  # no source file, as in a frozen application
                dispatcher._cache = RepairingCache(function)
        return dispatcher

    return compiled


class Place(InTreeCacheLocator):
    """Location of a function's cached machine code, and the key of its source."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func, py_func.__code__.co_filename)
        self._cache_path = str(cache_dir(FOLDER))

    def get_disambiguator(self) -> str:
        """Return a suffix that distinguishes functions of the same name."""
        return f"{self._lineno}-{hashlib.sha256(self._py_file.encode()).hexdigest()[:8]}"


class PlacedImpl(CompileResultCacheImpl):
    """Numba's cache implementation, with files in weft's cache directory."""

    def __init__(self, py_func: Any) -> None:
        self._lineno = py_func.__code__.co_firstlineno
        self._locator = Place(py_func)
        module = Path(self._locator._py_file).stem
        abiflags = getattr(sys, "abiflags", "")
        self._filename_base = self.get_filename_base(f"{module}.{py_func.__qualname__}", abiflags)


class SealedFiles(IndexDataCacheFile):
    """Cache files of one function, with checksums: an index and one file per signature."""

    def _load_index(self) -> dict[Any, str]:
        content = read_sealed(Path(self._index_path))
        if content is None:
            return {}
        version, stamp, overloads = pickle.loads(content)
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        index = self._version, self._source_stamp, overloads
        write_sealed(Path(self._index_path), self._dump(index))

    def _load_data(self, name: str) -> Any:
        content = read_sealed(Path(self._data_path(name)))
        if content is None:
            raise FileNotFoundError(name)  # Numba treats it as a cache miss
        return pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        write_sealed(Path(self._data_path(name)), self._dump(data))


class RepairingCache(FunctionCache):
    """Numba's cache of one function; damaged or unwritable files count as cache misses."""

    _impl_class = PlacedImpl

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file = SealedFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the cached machine code for a signature, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # Code from another version may raise anything.
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the machine code for a signature; a full disk causes only a warning."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warnings.warn(f"machine code was not cached: {error}", RuntimeWarning, stacklevel=2)
