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
import stat
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

RUNTIME_SOURCES = (
    "atomics.py",
    "barrier.py",
    "bits.py",
    "cas128.py",
    "casts.py",
    "control.py",
    "dense.py",
    "loops.py",
    "numbers.py",
    "processor.py",
    "runtime.py",
    "../../ir/random.py",
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


def cache_dir() -> Path:
    """Return the writable directory for everything that weft keeps between processes.

    ``WEFT_CACHE_DIR``, else ``weft`` in ``XDG_CACHE_HOME`` or ``~/.cache``. If that cannot be
    written, a directory of the user's own among the temporary files, with a warning.
    """
    chosen = os.environ.get("WEFT_CACHE_DIR")
    if not chosen:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        chosen = os.path.join(base, "weft")
    return _writable(os.path.abspath(chosen))


@functools.cache
def _writable(directory: str) -> Path:
    try:
        os.makedirs(directory, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return Path(directory)
    except OSError as error:
        instead = _private_temporary()
        warnings.warn(
            f"cannot write to the cache directory {directory!r} ({error.strerror}); using "
            f"{str(instead)!r}. Set WEFT_CACHE_DIR to a directory that can be written.",
            RuntimeWarning,
            stacklevel=2,
        )
        return instead


def _private_temporary() -> Path:
    """Return a temporary directory that nobody else can write: its contents are executed."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    path = Path(tempfile.gettempdir()) / f"weft-{user}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    if mine or os.name != "posix":
        return path
    return Path(tempfile.mkdtemp(prefix="weft-"))


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
            module = _modules[source] = _import(source, label)
        return module


def _import(source: str, label: str) -> ModuleType:
    text = f"# run-time {fingerprint()}\n{source}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    word = re.sub(r"\W+", "_", label, flags=re.ASCII)[:40]
    name = f"weft_cpu_{word}_{digest}"
    path = cache_dir() / "cpu" / f"{name}.py"
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
