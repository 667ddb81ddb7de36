"""What tuning found, kept in one SQLite file for all processes of a user.

The file is written rarely and read once per graph and process. Several processes may use it at
once. One that cannot be read, or that another version of weft laid out differently, is set aside
with a warning: nothing in it is worth an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from weft.config import Config
from weft.engine.fingerprint import Fingerprint
from weft.errors import ConfigError

LAYOUT = 1  # of the tables; a file with another number is set aside
PATIENCE_S = 10.0  # to wait for another process that writes

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


@dataclass(frozen=True)
class Tuning:
    """One winner: the configuration that was fastest for a program on a graph and a device."""

    graph: Fingerprint
    program: str
    algorithm: str
    device: str
    weft: str
    config: Config
    ms: float
    default_ms: float
    tried: int
    created: float = 0.0
    id: int = 0


def config_text(config: Config) -> str:
    """Return what a configuration chooses, as JSON."""
    return json.dumps(config.given(), default=_plain, sort_keys=True)


def config_from(text: str) -> Config:
    """Return a configuration from its JSON.

    Raises
    ------
    ConfigError
        If it holds something that is not known here.
    """
    try:
        given = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"a stored configuration cannot be read: {error}.") from error
    known = {f.name for f in fields(Config)}
    if not isinstance(given, dict) or not known.issuperset(given):
        raise ConfigError(f"a stored configuration is not known here: {text}.")
    return Config(**given)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else sorted(value)


class Store:
    """The tunings in one file.

    Parameters
    ----------
    path
        Where it is; made when something is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, tuning: Tuning) -> None:
        """Keep a tuning, in place of an earlier one of the same program, graph and device.

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
        """Return everything, the latest first."""
        return self._read("SELECT * FROM tunings ORDER BY created DESC, id DESC", ())

    def sizes(self) -> set[tuple[int, int, bool]]:
        """Return the sizes of all graphs that were tuned."""
        return {(t.graph.vertices, t.graph.arcs, t.graph.directed) for t in self.all()}

    def of_graph(self, digest: str, device: str, weft: str) -> dict[str, Config]:
        """Return the winners for one graph by program."""
        found = self._read(
            "SELECT * FROM tunings WHERE graph = ? AND device = ? AND weft = ?",
            (digest, device, weft),
        )
        return {tuning.program: tuning.config for tuning in found}

    def of_program(self, program: str, device: str) -> list[Tuning]:
        """Return the winners for one program on all graphs, from every version of weft."""
        return self._read(
            "SELECT * FROM tunings WHERE program = ? AND device = ? ORDER BY id", (program, device)
        )

    def forget(self, algorithm: str | None = None) -> int:
        """Delete the tunings of an algorithm, or all; return how many there were."""
        if not self.path.exists():
            return 0
        if algorithm is None:
            return self._write("DELETE FROM tunings", ())
        return self._write("DELETE FROM tunings WHERE algorithm = ?", (algorithm,))

    # -- the file

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(self.path, timeout=PATIENCE_S)) as connection:
            connection.row_factory = sqlite3.Row
            with connection:
                self._lay_out(connection)
                yield connection

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        """Make the tables of a new file; another process may be about to do the same."""
        if _number(connection, "PRAGMA user_version") == LAYOUT:
            return
        connection.execute("BEGIN IMMEDIATE")
        layout = _number(connection, "PRAGMA user_version")
        if layout == LAYOUT:
            connection.execute("COMMIT")
            return
        if layout != 0 or _number(connection, "SELECT count(*) FROM sqlite_master"):
            connection.execute("ROLLBACK")
            raise _LayoutError(f"its layout is {layout}, not {LAYOUT}")
        connection.execute(_TABLES)
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
        connection.execute("COMMIT")
        # Readers and a writer do not wait for each other; not every file system can do that.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")

    def _read(self, statement: str, values: Any) -> list[Tuning]:
        if not self.path.exists():
            return []
        try:
            with self._open() as connection:
                rows = connection.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            if _is_busy(error):
                return []
            self._set_aside(error)
            return []
        except OSError:
            return []
        return [tuning for row in rows if (tuning := _tuning_of(row)) is not None]

    def _write(self, statement: str, values: Any) -> int:
        for _ in range(2):
            try:
                with self._open() as connection:
                    return connection.execute(statement, values).rowcount
            except sqlite3.DatabaseError as error:
                if _is_busy(error):
                    raise OSError(f"{str(self.path)!r} cannot be written: {error}") from error
                self._set_aside(error)
        raise OSError(f"{str(self.path)!r} cannot be written")

    def _set_aside(self, error: Exception) -> None:
        """Move the file out of the way; another process may have done so already."""
        aside = self.path.with_name(f"{self.path.name}.aside-{time.time_ns()}")
        with contextlib.suppress(OSError):
            os.replace(self.path, aside)
            for ending in ("-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
            warnings.warn(
                f"the store of tunings {str(self.path)!r} cannot be used ({error}); it was moved "
                f"to {aside.name!r}, and a new one will be made. Nothing else is affected; tune "
                "again where it matters.",
                RuntimeWarning,
                stacklevel=2,
            )


class _LayoutError(sqlite3.DatabaseError):
    """The tables are those of another version of weft."""


def _number(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])


def _is_busy(error: Exception) -> bool:
    """Whether the file may be whole, but cannot be used now or by this user."""
    words = ("locked", "busy", "unable to open", "readonly", "disk is full", "disk I/O")
    return isinstance(error, sqlite3.OperationalError) and any(w in str(error) for w in words)


def _tuning_of(row: sqlite3.Row) -> Tuning | None:
    """Return a row as a tuning; None if it names something that is not known here."""
    try:
        values = dict(row)
        return Tuning(
            Fingerprint(**json.loads(values["fingerprint"])),
            config=config_from(values["config"]),
            **{
                name: values[name]
                for name in (
                    "program", "algorithm", "device", "weft", "ms", "default_ms", "tried",
                    "created", "id",
                )
            },
        )  # fmt: skip
    except (ConfigError, TypeError, ValueError):
        return None
