"""Generated modules on disk, so that Numba can keep their machine code between processes.

A module's file is named by a hash of its text and of everything else that its machine code
depends on (`fingerprint`). Numba looks at the file alone when it decides whether machine code is
fresh; the fingerprint is therefore written into it as well.

Machine code and bytecode are sealed (`weft.storage.sealed`): a damaged file of either could crash
the process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import platform
import re
import sys
import threading
import warnings
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

from weft.backends.cpu.host import lean_numba
from weft.storage.cache_dir import cache_dir
from weft.storage.compiled import FOLDER, RepairingCache
from weft.storage.sealed import read_own, read_sealed, write_sealed, write_whole

RUNTIME_SOURCES = (
    "../runtime/atomics.py",
    "../runtime/barrier.py",
    "../runtime/bits.py",
    "../runtime/cas128.py",
    "../runtime/casts.py",
    "../runtime/control.py",
    "../runtime/dense.py",
    "lean_numba.py",
    "../runtime/loops.py",
    "../runtime/numbers.py",
    "../runtime/processor.py",
    "../runtime/rounds.py",
    "../runtime/names.py",
    "../runtime/radix.py",
    "../runtime/row_bits.py",
    "../runtime/tables.py",
    "../../../arrays/random.py",
)
"""The files, relative to this one, whose code becomes part of generated kernels."""

_modules: dict[str, ModuleType] = {}
_lock = threading.RLock()


@functools.cache
def fingerprint() -> str:
    """Return a hash of the run-time's sources and of the versions that make machine code."""
    digest = hashlib.sha256()
    for name in RUNTIME_SOURCES:
        digest.update((Path(__file__).parent / name).read_bytes())
    parts = (
        getattr(sys.modules.get("weft"), "__version__", ""),
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        platform.python_implementation(),
        platform.python_version(),
        llvm.get_host_cpu_name(),
        numba.config.OPT,
        numba.config.BOUNDSCHECK,
    )
    digest.update(repr(parts).encode())
    return digest.hexdigest()[:32]


def load_module(source: str, label: str) -> ModuleType:
    """Return the module with this text, imported from a file in the cache directory.

    Parameters
    ----------
    source
        The text of the module. Its functions are compiled by ``njit(cache=True)``.
    label
        A word for people, part of the file's name.
    """
    with _lock:
        module = _modules.get(source)
        if module is None:
            lean_numba.load()
            module = _modules[source] = _import(source, label)
        return module


def is_cached(source: str, label: str) -> bool:
    """Whether a module is loaded or was compiled before, going by its file."""
    return source in _modules or _place(source, label)[1].exists()


def _place(source: str, label: str) -> tuple[str, Path, str]:
    """Return a module's name, its file and its text there."""
    text = f"# run-time {fingerprint()}\n{source}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    word = re.sub(r"\W+", "_", label, flags=re.ASCII)[:40]
    name = f"weft_cpu_{word}_{digest}"
    return name, cache_dir("cpu") / f"{name}.py", text


def _import(source: str, label: str) -> ModuleType:
    name, path, text = _place(source, label)
    try:
        cache_dir(FOLDER)  # before Python and Numba make it with a wider mode
        if read_own(path) != text.encode():
            write_whole(path, text.encode())
    except OSError as error:
        warnings.warn(f"a kernel was not cached: {error}", RuntimeWarning, stacklevel=2)
        return _execute(name, path, text.replace("cache=True", "cache=False"))
    module = _execute(name, path, text)
    for function in vars(module).values():
        if isinstance(function, Dispatcher) and isinstance(function._cache, FunctionCache):
            function._cache = RepairingCache(function.py_func)
    return module


class _Loader(SourceFileLoader):
    """Loads a module from its text, or from sealed bytecode of it."""

    def __init__(self, name: str, path: Path, text: str) -> None:
        super().__init__(name, str(path))
        self._text = text

    def get_data(self, path: str) -> bytes:
        """Return the text, or bytecode; the latter is compiled again after an OSError."""
        if path == self.path:
            return self._text.encode()
        content = read_sealed(Path(path))
        if content is None:
            raise FileNotFoundError(path)
        return content

    def set_data(self, path: str, data: Any, *, _mode: int = 0) -> None:
        """Write bytecode; it is a saving of time and nothing else."""
        with contextlib.suppress(OSError):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            write_sealed(Path(path), bytes(data))


def _execute(name: str, path: Path, text: str) -> ModuleType:
    """Import the file. Numba finds a cached function's module by its name in sys.modules."""
    spec = importlib.util.spec_from_loader(name, _Loader(name, path, text))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
