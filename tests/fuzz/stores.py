"""Damaged caches and stores: results stay right, and nothing but warnings of weft is seen."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import weft
from small_formats import FORMATS
from weft.engine import tuned as remembered
from weft.engine import watch as watching
from weft.engine.fingerprint import fingerprint_of
from weft.engine.tuning_store import Store, Tuning
from weft.errors import WeftError
from weft.formats import base as formats
from weft.storage import graph_cache as stored
from weft.topology.orders import base as orders

from . import oracles
from .cases import Difference, chance, pick, random_of
from .damage import damaged
from .drawing import Drawn, Rng, drawn_graph

CONFIGS = (
    "[]", "{", "", "null", "9", '{"format": [[]]}', "[" * 5000, '{"a": ' * 3000,
    '{"threads": 1e999}', '{"threads": -1}', '{"threads": true}', '{"delta": NaN}',
    '{"passes_off": "x"}', '{"passes_off": [[1]]}', '{"passes_off": 3}',
    '{"format": "tigr(99999999999999)"}', '{"format": "ell(-1)"}', '{"format": "dia(1,2,3,4)"}',
    '{"format": "block_coo(both,99999999,vertices)"}', '{"format": "nothing"}',
    '{"schedule": {"push": 3}}', '{"schedule": "warp"}', '{"schedule": {}}',
    '{"direction": "pull"}', '{"reorder": "community"}', '{"deterministic": 1}',
    '{"change_driven": true}', '{"block_size": 1e400}', '{"format": {"push": "csr"}}',
    '{"lanes": {"a": 1}}', '{"frontier_in": {"push": "state"}}', '{"delta": 1e-320}',
)  # fmt: skip
FINGERPRINTS = ("{}", "[1]", "{", "null", '{"vertices": "x"}', "[" * 5000, '{"vertices": 1e400}')
NUMBERS = ("x", None, 1e308, -1, 2**62, b"\xff\x00")


def run(seed: int, device: str) -> str:
    """Fill a cache, damage it, and use it again."""
    rng = random_of("stores", seed)
    what = pick(rng, (_orders, _layouts, _tunings, _tunings))
    drawn = drawn_graph(rng, STYLE)
    while drawn.n == 0 or drawn.labels is not None:
        drawn = drawn_graph(rng, STYLE)
    injury: list[str] = []
    try:
        with own_cache() as folder, small_is_large(), _noted() as caught:
            verdict = what(drawn, rng, device, folder, injury)
        strangers = [w for w in caught if not _ours(w)]
        if strangers:
            raise Difference(f"a warning of something else: {strangers[0]}")
        return verdict
    except Exception as error:
        kind = "" if isinstance(error, Difference) else f"raw {type(error).__name__}: "
        raise Difference(f"{what.__name__} of {drawn}\n{injury}\n{kind}{error}") from error


@dataclass(frozen=True)
class _Style:
    weights: None = None
    keep: str = "both"
    wide: bool = False
    ordered: bool = False


STYLE: Any = _Style()


@contextlib.contextmanager
def own_cache() -> Iterator[Path]:
    """Use a new cache directory, and a store of tunings in it."""
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as folder:
        os.chmod(folder, 0o700)
        chosen = {"WEFT_CACHE_DIR": folder, "WEFT_TUNINGS": str(Path(folder, "tunings.sqlite"))}
        with mock.patch.dict(os.environ, chosen):
            remembered.forget_remembered()
            try:
                yield Path(folder)
            finally:
                remembered.forget_remembered()


@contextlib.contextmanager
def small_is_large() -> Iterator[None]:
    """Keep orders and formats of small graphs too."""
    with mock.patch.object(orders, "_KEPT_ARCS", 1), mock.patch.object(formats, "KEPT_ARCS", 1):
        yield


@contextlib.contextmanager
def _noted() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _ours(warning: warnings.WarningMessage) -> bool:
    """Whether weft gave a warning: in its words, not in those of a library below it."""
    words = str(warning.message)
    return warning.category is RuntimeWarning and any(
        word in words for word in ("weft", "tuning", "cache", "kept", "WEFT_")
    )


def _damage_some(folder: Path, rng: Rng, injury: list[str]) -> None:
    """Damage one or two files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for _ in range(int(rng.integers(1, 3)) if files else 0):
        path = pick(rng, files)
        if not path.exists():
            continue
        if chance(rng, 0.1):
            path.unlink()
            injury.append(f"{path.name} removed")
        else:
            data = path.read_bytes()
            path.write_bytes(damaged(data, rng))
            injury.append(f"{path.name} of {len(data)} bytes damaged")


def _check(drawn: Drawn, g: weft.Graph, source: int, config: weft.Config | None) -> None:
    """A search must still be right."""
    got = np.asarray(weft.bfs(g, source, config=config).level).tolist()
    want = oracles.levels(drawn, source)
    if got != want:
        raise Difference(f"levels\nexpected {want}\ngot      {got}")


def _orders(drawn: Drawn, rng: Rng, device: str, folder: Path, injury: list[str]) -> str:
    """The cache of vertex orders."""
    name, source = pick(rng, ("community", "rcm")), int(rng.integers(drawn.n))
    drawn.build().reorder(name)
    _damage_some(folder / stored.FOLDER, rng, injury)
    injury.append(name)
    for _ in range(2):
        g = drawn.build().to(device).reorder(name)
        if sorted(np.asarray(g.order).tolist()) != list(range(drawn.n)):
            raise Difference(f"the order is {g.order}")
        _check(drawn, g, source, None)
    return "ok"


def _layouts(drawn: Drawn, rng: Rng, device: str, folder: Path, injury: list[str]) -> str:
    """The cache of formats."""
    text, source = pick(rng, sorted(FORMATS.values())), int(rng.integers(drawn.n))
    config = weft.Config(format=text, direction=pick(rng, ("push", "pull")))
    try:
        weft.bfs(drawn.build().to(device), source, config=config)
    except WeftError:
        return "refused"
    _damage_some(folder / stored.FOLDER, rng, injury)
    injury.append(f"{text} {config.direction}")
    for _ in range(2):
        _check(drawn, drawn.build().to(device), source, config)
    return "ok"


def _tunings(drawn: Drawn, rng: Rng, device: str, folder: Path, injury: list[str]) -> str:
    """The store of tunings: bytes of its file, or rows in it."""
    g, source = drawn.build().to(device), int(rng.integers(drawn.n))
    with watching.watching(watching.Watch(keeping=True)) as watch:
        _check(drawn, g, source, None)
    store, place = Store(folder / "tunings.sqlite"), g.topology.device.model
    for program in watch.requests:
        store.put(Tuning(
            fingerprint_of(g.topology), program, "bfs", place, remembered.version(),
            weft.Config(direction="push"), 1.0, 2.0, 3,
        ))  # fmt: skip
    if chance(rng, 0.4):
        path = folder / "tunings.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path.write_bytes(damaged(path.read_bytes(), rng))
        injury.append("bytes of the file")
    else:
        _hostile_row(folder / "tunings.sqlite", rng, injury)
    for _ in range(2):
        remembered.forget_remembered()
        _check(drawn, drawn.build().to(device), source, None)
    store.all()
    store.forget()
    return "ok"


def _hostile_row(path: Path, rng: Rng, injury: list[str]) -> None:
    """Write something that weft never writes into a column of every row."""
    column = pick(rng, ("config", "config", "config", "fingerprint", "ms", "tried", "created"))
    values = {"config": CONFIGS, "fingerprint": FINGERPRINTS}.get(column, NUMBERS)
    value: Any = pick(rng, values)
    if isinstance(value, str) and chance(rng, 0.2):
        value = damaged(value.encode(), rng).decode("utf-8", "replace")
    injury.append(f"{column} = {str(value)[:60]!r}")
    with (
        contextlib.closing(sqlite3.connect(path)) as connection,
        contextlib.suppress(sqlite3.IntegrityError),  # the table itself refuses None
        connection,
    ):
        connection.execute(f"UPDATE tunings SET {column} = ?", (value,))
