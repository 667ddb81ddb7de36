"""Generated modules on disk, so that Numba can keep their machine code between processes.

A module's file is named by a hash of its text and of everything else that its machine code
depends on (`fingerprint`). Numba looks at the file alone when it decides whether machine code is
fresh; the fingerprint is therefore written into it as well.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import platform
import re
import sys
import tempfile
import threading
import warnings
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

from weft.backends.cpu.host import lean_numba
from weft.storage.cache_dir import cache_dir

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
    "../runtime/names.py",
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


class RepairingCache(FunctionCache):
    """Numba's cache of one function, for which damaged or unwritable files are no cache."""

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # A cut-off pickle raises nearly anything.
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warnings.warn(f"machine code was not cached: {error}", RuntimeWarning, stacklevel=2)


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


def _import(source: str, label: str) -> ModuleType:
    text = f"# run-time {fingerprint()}\n{source}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    word = re.sub(r"\W+", "_", label, flags=re.ASCII)[:40]
    name = f"weft_cpu_{word}_{digest}"
    path = cache_dir("cpu") / f"{name}.py"
    _ensure_file(path, text.encode())
    try:
        module = _execute(name, path)
    except (EOFError, ValueError, TypeError, ImportError):
        # Perhaps damaged bytecode; without it an error of the module's own comes again.
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        module = _execute(name, path)
    for function in vars(module).values():
        if isinstance(function, Dispatcher) and isinstance(function._cache, FunctionCache):
            function._cache = RepairingCache(function.py_func)
    return module


def _execute(name: str, path: Path) -> ModuleType:
    """Import the file. Numba finds a cached function's module by its name in sys.modules."""
    spec = importlib.util.spec_from_loader(name, SourceFileLoader(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _ensure_file(path: Path, content: bytes) -> None:
    """Write the file unless it is there and whole; readers never see a part of it."""
    try:
        if path.read_bytes() == content:
            return
    except OSError:
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=path.stem, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
