"""The store of tuning results: one SQLite file for all processes of a user.

The file is written rarely, read once per graph and process, and safe for concurrent use. A file
that is damaged, or laid out by another version of weft, is moved aside with a warning; an
unreadable file and damaged rows are ignored with a warning. Reading never raises an error.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from weft.config import Config
from weft.engine.tuning_rows import Tuning, config_from, config_text, tuning_of
from weft.errors import ConfigError

__all__ = ["Store", "Tuning", "config_from", "config_text"]

LAYOUT = 1  # version of the tables; a file with another number is moved aside
PATIENCE_S = 10.0  # how long to wait for another process that is writing
MAX_ROWS = 100_000
MAX_VALUE_BYTES = 1 << 20
WORK_STEP, MAX_WORK = 1_000_000, 100_000_000  # SQLite operations per statement: a few seconds

_TABLES = """
CREATE TABLE IF NOT EXISTS tunings (
    id INTEGER PRIMARY KEY,
    graph TEXT NOT NULL,
    vertices INTEGER NOT NULL,
    arcs INTEGER NOT NULL,
    directed INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    program TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    device TEXT NOT NULL,
    weft TEXT NOT NULL,
    config TEXT NOT NULL,
    ms REAL NOT NULL,
    default_ms REAL NOT NULL,
    tried INTEGER NOT NULL,
    created REAL NOT NULL,
    UNIQUE (graph, program, device, weft)
)
"""


class Store:
    """The tunings in one file.

    Parameters
    ----------
    path
        The file; created by the first write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, tuning: Tuning) -> None:
        """Store a tuning, replacing an earlier one of the same program, graph and device.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        row = {
            "graph": tuning.graph.digest,
            "vertices": tuning.graph.vertices,
            "arcs": tuning.graph.arcs,
            "directed": int(tuning.graph.directed),
            "fingerprint": json.dumps(tuning.graph.as_dict()),
            "program": tuning.program,
            "algorithm": tuning.algorithm,
            "device": tuning.device,
            "weft": tuning.weft,
            "config": config_text(tuning.config),
            "ms": tuning.ms,
            "default_ms": tuning.default_ms,
            "tried": tuning.tried,
            "created": time.time(),
        }
        names = ", ".join(row)
        places = ", ".join(f":{name}" for name in row)
        statement = f"INSERT OR REPLACE INTO tunings ({names}) VALUES ({places})"
        self._write(statement, row)

    def all(self) -> list[Tuning]:
        """Return all tunings, the latest first."""
        return self._read("SELECT * FROM tunings ORDER BY created DESC, id DESC", ())

    def sizes(self) -> set[tuple[int, int, bool]]:
        """Return the sizes of all tuned graphs."""
        return {(t.graph.vertices, t.graph.arcs, t.graph.directed) for t in self.all()}

    def of_graph(self, digest: str, device: str, weft: str) -> dict[str, Config]:
        """Return the stored configurations of one graph, by program."""
        found = self._read(
            "SELECT * FROM tunings WHERE graph = ? AND device = ? AND weft = ?",
            (digest, device, weft),
        )
        return {tuning.program: tuning.config for tuning in found}

    def of_program(self, program: str, device: str) -> list[Tuning]:
        """Return the tunings of one program on all graphs, from every version of weft."""
        return self._read(
            "SELECT * FROM tunings WHERE program = ? AND device = ? ORDER BY id", (program, device)
        )

    def forget(self, algorithm: str | None = None) -> int:
        """Delete the tunings of an algorithm, or all; return the number deleted."""
        if not self.path.exists():
            return 0
        if algorithm is None:
            return self._write("DELETE FROM tunings", ())
        return self._write("DELETE FROM tunings WHERE algorithm = ?", (algorithm,))

    # -- the file

    @contextlib.contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        address = f"file:{quote(str(self.path))}?{mode}"
        with contextlib.closing(sqlite3.connect(address, PATIENCE_S, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            left = [MAX_WORK]
            connection.set_progress_handler(lambda: _spent(left), WORK_STEP)
            connection.execute("PRAGMA trusted_schema = OFF")
            with connection:
                yield connection

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        """Begin to write, with the tables of a new file created.

        Locked from the first look on: another process may lay the file out at the same time.
        """
        connection.execute("BEGIN IMMEDIATE")
        if _is_laid_out(connection):
            return
        connection.execute(_TABLES)
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
        connection.execute("COMMIT")
        # WAL lets readers and a writer proceed in parallel; not every file system supports it.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")

    def _read(self, statement: str, values: Any) -> list[Tuning]:
        """Return the selected tunings; if the file is unusable, warn and return none."""
        if not os.path.lexists(self.path):
            return []
        if not os.path.isfile(self.path):  # a named pipe would block
            return self._cannot_be_read("it is not a file")
        try:
            try:
                rows = self._rows("mode=rw", statement, values)
            except sqlite3.OperationalError as error:
                if not _is_unwritable(error):
                    raise
                rows = self._rows("mode=ro&immutable=1", statement, values)
        except _DAMAGED as error:
            if _is_busy(error) or not os.access(self.path, os.W_OK):
                return self._cannot_be_read(error)
            self._set_aside(error)
            return []
        return self._usable(rows)

    def _rows(self, mode: str, statement: str, values: Any) -> list[sqlite3.Row]:
        with self._open(mode) as connection:
            connection.execute("BEGIN")  # one snapshot: another process may lay the file out
            if not _is_laid_out(connection):
                return []
            return connection.execute(f"{statement} LIMIT {MAX_ROWS}", values).fetchall()

    def _usable(self, rows: list[sqlite3.Row]) -> list[Tuning]:
        """Return the rows that are valid and known to this version."""
        found, damaged = [], 0
        for row in rows:
            try:
                found.append(tuning_of(dict(row)))
            except ConfigError:  # from another version, or an extension that is not loaded
                continue
            except (ValueError, TypeError, OverflowError, LookupError):
                damaged += 1
        if damaged:
            _warn_once(
                f"{damaged} of {len(rows)} tunings in {str(self.path)!r} are damaged and ignored. "
                "'weft tune --forget all' removes them; then tune again."
            )
        return found

    def _cannot_be_read(self, reason: object) -> list[Tuning]:
        _warn_once(
            f"the tuning store {str(self.path)!r} cannot be read ({reason}). The default "
            "configuration is used. Set WEFT_TUNINGS to another file, or to 'off'."
        )
        return []

    def _write(self, statement: str, values: Any) -> int:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.path.lexists(self.path) and not os.path.isfile(self.path):
            raise self._cannot_be_written("it is not a file")
        for _ in range(2):
            try:
                with self._open("mode=rwc") as connection:
                    self._lay_out(connection)
                    return connection.execute(statement, values).rowcount
            except _DAMAGED as error:
                if _is_busy(error):
                    raise self._cannot_be_written(error) from error
                self._set_aside(error)
        raise self._cannot_be_written("it is damaged and cannot be moved")

    def _cannot_be_written(self, reason: object) -> OSError:
        text = f"the tuning store cannot be written ({reason})"
        return OSError(errno.EIO, text, str(self.path))

    def _set_aside(self, error: Exception) -> None:
        """Move the file aside, unless another process has done so already."""
        aside = self.path.with_name(f"{self.path.name}.aside-{time.time_ns()}")
        try:
            os.replace(self.path, aside)
        except FileNotFoundError:
            return
        except OSError:
            self._cannot_be_read(error)
            return
        with contextlib.suppress(OSError):
            for ending in ("-wal", "-shm", "-journal"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        warnings.warn(
            f"the tuning store {str(self.path)!r} cannot be used ({error}). It was moved to "
            f"{aside.name!r}, and a new one will be created. Nothing else is affected; tune again "
            "if you need the results.",
            RuntimeWarning,
            stacklevel=2,
        )


# Decoding errors count as damage: SQLite's messages quote the content of the file.
_DAMAGED = (sqlite3.Error, UnicodeError)


class _LayoutError(sqlite3.DatabaseError):
    """The tables belong to another version of weft, or to another program."""


def _is_laid_out(connection: sqlite3.Connection) -> bool:
    """Whether a file has weft's tables; False if it has none yet.

    They must match exactly: a view, a trigger or a computed column would run statements chosen by
    the author of the file.
    """
    layout = int(connection.execute("PRAGMA user_version").fetchone()[0])
    parts = connection.execute("SELECT name, type, sql FROM sqlite_master LIMIT 99").fetchall()
    if layout == 0 and not parts:
        return False
    if layout != LAYOUT:
        raise _LayoutError(f"its layout is {layout}, not {LAYOUT}")
    made = {row["name"]: row for row in parts if not str(row["name"]).startswith("sqlite_")}
    expected = " ".join(_TABLES.replace("IF NOT EXISTS ", "").split())
    if list(made) != ["tunings"] or " ".join(str(made["tunings"]["sql"]).split()) != expected:
        raise _LayoutError("its tables were not created by weft")
    return True


def _spent(left: list[int]) -> int:
    left[0] -= WORK_STEP
    return int(left[0] < 0)


def _is_busy(error: Exception) -> bool:
    """Whether the file may be intact, but is unusable now or for this user."""
    words = ("locked", "busy", "disk is full", "disk I/O")
    if isinstance(error, sqlite3.OperationalError) and any(word in str(error) for word in words):
        return True
    return _is_unwritable(error)


def _is_unwritable(error: Exception) -> bool:
    words = ("unable to open", "readonly")
    return isinstance(error, sqlite3.OperationalError) and any(w in str(error) for w in words)


def _warn_once(text: str) -> None:
    """Warn once per process, since every graph reads the store."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=4)


_warned: set[str] = set()
