"""Stored tuning results, applied to runs without a configuration.

An ordinary run pays one dictionary look-up: the store is read once per graph and process, and a
program's key is computed only for tuned graphs.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import warnings
import weakref
from pathlib import Path
from typing import Any

from weft.backends import backend_of
from weft.config import Config
from weft.engine.fingerprint import fingerprint_of, sizes_of
from weft.errors import ConfigError
from weft.ir.check.key import keyed
from weft.ir.ops import Program
from weft.storage.cache_dir import DIRECTORIES, tunings_path
from weft.topology.topology import Topology

changes = [0]  # counts changes of the store; decisions made under an older count are stale
_winners: weakref.WeakKeyDictionary[Topology, dict[str, Config]] = weakref.WeakKeyDictionary()


def remembered(topology: Topology, program: Program) -> Config | None:
    """Return the stored configuration of a program on a graph, or None."""
    known = _winners.get(topology)
    if known is None:
        known = _winners[topology] = _look_up(topology)
    if not known:
        return None
    return known.get(program_digest(program))


def forget_remembered() -> None:
    """Drop cached look-ups after the store has changed."""
    changes[0] += 1
    _winners.clear()
    _likely_path.cache_clear()
    _tuned_sizes.cache_clear()


def program_digest(program: Program) -> str:
    """Return the key of a program in the store: a hash of its IR without constants."""
    found: str | None = program.findings.get("digest")
    if found is None:
        key, _ = keyed(program, lift=True)
        found = hashlib.sha256(repr(key.parts).encode()).hexdigest()[:24]
        program.findings["digest"] = found
    return found


def version() -> str:
    """Return the version of weft."""
    return str(getattr(sys.modules.get("weft"), "__version__", ""))


def _look_up(topology: Topology) -> dict[str, Config]:
    likely = _likely_path(os.environ.get("WEFT_TUNINGS"), *map(os.environ.get, DIRECTORIES))
    if likely is not None and not os.path.exists(likely):
        return {}
    path = tunings_path()
    # Path.exists() raises PermissionError for a file in an unreadable directory.
    if path is None or not os.path.exists(path) or sizes_of(topology) not in _tuned_sizes(path):
        return {}
    from weft.engine.tuning_store import Store

    digest = fingerprint_of(topology).digest
    found = Store(path).of_graph(digest, topology.device.model, version())
    return {program: config for program, config in found.items() if _is_possible(config, topology)}


@functools.lru_cache(maxsize=8)
def _likely_path(tunings: str | None, *directories: str | None) -> str | None:
    """Return the path of the store under this environment, as first seen; None if disabled.

    Checking the cache directory takes longer than running a small program, and most users have
    stored nothing, so this comes first.
    """
    path = tunings_path()
    return None if path is None or tunings else str(path)


def _is_possible(config: Config, topology: Topology) -> bool:
    """Whether a stored configuration is valid here: a custom format may not be registered."""
    try:
        backend_of(topology.device).check(config, topology)
    except ConfigError as error:
        _warn_of(error)
        return False
    return True


def reject(topology: Topology, program: Program, error: ConfigError) -> bool:
    """Drop a stored configuration that a program cannot run with; return whether there was one.

    A run calls this before any kernel has started, and then uses the default configuration.
    """
    known = _winners.get(topology) or {}
    if known.pop(program_digest(program), None) is None:
        return False
    changes[0] += 1
    _warn_of(error)
    return True


def _warn_of(error: ConfigError) -> None:
    warnings.warn(
        f"the stored tuning of this graph is not used: {error} The default is used; "
        "'weft tune --forget all' removes stored tunings.",
        RuntimeWarning,
        stacklevel=3,
    )


@functools.cache
def _tuned_sizes(path: Path) -> set[Any]:
    from weft.engine.tuning_store import Store  # imports SQLite, which most processes do not need

    return Store(path).sizes()
