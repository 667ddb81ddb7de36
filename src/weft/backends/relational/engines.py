"""Engines: connections that run queries, hold tables, and remember how far a run has come."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from weft.backends.relational.dialect import Dialect
from weft.errors import ConfigError, listed

Array = np.ndarray[Any, Any]
PLANS = ("auto", "dense", "delta", "lists", "blocks")
BLOCK = 1_000_000  # sources joined at a time: more keys end the perfect hash join of DuckDB
DIRECT_BITS = 22  # of integers that groups of an aggregate are found by
_GROUP_BYTES = 64  # what a group takes then, whether it exists or not
_numbers = itertools.count(1)
_TOKEN = secrets.token_hex(4)  # so that tables of a process that was killed are not met again


def memory_bytes(text: str) -> int:
    """Return a size as DuckDB writes it in bytes.

    Examples
    --------
    >>> memory_bytes("1.5 KiB"), memory_bytes("476.8 MiB"), memory_bytes("0 bytes")
    (1536, 499961036, 0)
    """
    number, unit = text.split()
    return int(float(number) * 1024 ** max(0, "bKMGTP".find(unit[0])))


class Engine:
    """A connection to DuckDB.

    Parameters
    ----------
    con
        The connection; everything runs on it.

    Attributes
    ----------
    plan
        How supersteps are carried out: "auto", or one form for all.
    block
        The number of sources that are joined at a time.
    resumes
        Whether a run that was killed goes on where it ended.
    log
        Gets every text that runs, if it is a list.
    """

    updates = True  # whether rows of a table can be changed

    def __init__(self, con: Any) -> None:
        self.con = con
        self.dialect = Dialect()
        self.plan = "auto"
        self.block = BLOCK
        self.resumes = False
        self.log: list[str] | None = None
        self.garbage: list[str] = []  # tables of graphs that are gone
        self.number = next(_numbers)

    @property
    def temporary(self) -> bool:
        """Whether the tables of a run may vanish with the connection."""
        return not self.resumes

    def stay_in(self, directory: str | None) -> None:
        """Store tables in a directory, for an engine whose tables are files."""
        if directory is not None:
            raise ConfigError(
                f"directory={directory!r} is for Spark; {self.dialect.name} keeps tables in its "
                "database. Leave it out."
            )

    def choose(self, plan: str) -> None:
        """Set the form of supersteps."""
        if plan not in PLANS:
            raise ConfigError(f"plan={plan!r} is not known. Expected one of {listed(PLANS)}.")
        self.plan = plan

    # -- queries

    def execute(self, text: str, values: list[Any] | None = None) -> None:
        """Run a statement."""
        if self.log is not None:
            self.log.append(text)
        self.con.execute(text, values) if values else self.con.execute(text)

    def rows(self, text: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        self.execute(text, values)
        found: list[tuple[Any, ...]] = self.con.fetchall()
        return found

    def arrays(self, text: str) -> dict[str, Array]:
        """Return the columns of a query without NULL as arrays."""
        self.execute(text)
        found: dict[str, Array] = self.con.fetchnumpy()
        return {name: np.asarray(values) for name, values in found.items()}

    def ibis(self) -> Any:
        """Return an Ibis connection to the same database."""
        import ibis

        return ibis.duckdb.from_connection(self.con)

    # -- tables

    def name(self, what: str) -> str:
        """Return a new name of a table."""
        return f"weft_{what}_{_TOKEN}_{next(_numbers)}"

    def create(self, name: str, text: str, temporary: bool = True, order: str = "") -> None:
        """Make a table of a query."""
        kind = "TEMP TABLE" if temporary else "TABLE"
        by = f" ORDER BY {order}" if order else ""
        self.execute(f"CREATE {kind} {self.dialect.quote(name)} AS {text}{by}")

    def upload(self, name: str, columns: dict[str, Array], temporary: bool = True) -> None:
        """Make a table of arrays."""
        import pyarrow as pa

        table = pa.table({key: pa.array(values) for key, values in columns.items()})
        view = self.name("view")
        self.con.register(view, table)
        try:
            self.create(name, f"SELECT * FROM {self.dialect.quote(view)}", temporary)
        finally:
            self.con.unregister(view)

    def drop(self, name: str) -> None:
        """Drop a table, if it exists."""
        self.execute(f"DROP TABLE IF EXISTS {self.dialect.quote(name)}")

    def drop_garbage(self) -> None:
        """Drop the tables of graphs that are gone."""
        while self.garbage:
            self.drop(self.garbage.pop())

    def exists(self, name: str) -> bool:
        """Whether there is a table of a name."""
        found = self.rows("SELECT COUNT(*) FROM duckdb_tables() WHERE table_name = ?", [name])
        return bool(found[0][0])

    def types(self, text: str) -> dict[str, str]:
        """Return the columns of a query with their SQL types."""
        return {row[0]: str(row[1]) for row in self.rows(f"DESCRIBE {text}")}

    def update(self, table: str, changes: str, columns: tuple[str, ...]) -> None:
        """Write the rows of one table into another, by id."""
        if columns:
            listed_columns = ", ".join(f"{column} = d.{column}" for column in columns)
            self.execute(
                f"UPDATE {table} SET {listed_columns} FROM {changes} d WHERE {table}.id = d.id"
            )

    def lists(self, name: str, near: str, far: str, arcs: str, columns: list[str]) -> None:
        """Make adjacency lists of a table of arcs."""
        parts = ", ".join(f"LIST({c} ORDER BY arc) AS {c}" for c in columns)
        text = (
            f"SELECT {near} AS id, LIST({far} ORDER BY arc) AS far, {parts} FROM {arcs} GROUP BY 1"
        )
        self.create(name, text, self.temporary, "id")

    # -- how far runs have come

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make what happens within visible at once or, after an error or a kill, not at all."""
        own = self._begin()
        try:
            yield
        except BaseException:
            if own:
                self.con.execute("ROLLBACK")
            raise
        if own:
            self.con.execute("COMMIT")

    @contextmanager
    def direct_groups(self) -> Iterator[None]:
        """Make DuckDB index groups of small integers by value during a run.

        Its own limit of 12 bits is below the vertices of most graphs; hashing takes a quarter of
        a dense superstep. Each thread has a table of all possible groups; together they get at
        most half of the memory.
        """
        import duckdb

        names = ("perfect_ht_threshold", "threads", "memory_limit")
        settings = ", ".join(f"current_setting('{name}')" for name in names)
        self.con.execute(f"SELECT {settings}")
        ((held, threads, limit),) = self.con.fetchall()
        bits = (memory_bytes(limit) // 2 // (_GROUP_BYTES * int(threads))).bit_length() - 1
        self.con.execute(f"SET perfect_ht_threshold = {max(int(held), min(bits, DIRECT_BITS))}")
        try:
            yield
        finally:
            with suppress(
                duckdb.TransactionException
            ):  # a caller's own, which has to be rolled back
                self.con.execute(f"SET perfect_ht_threshold = {held}")

    def _begin(self) -> bool:
        """Begin a transaction; return whether there was none."""
        import duckdb

        try:
            self.con.execute("BEGIN TRANSACTION")
        except duckdb.TransactionException:
            return False
        return True

    def note(self, run: str, facts: dict[str, Any]) -> None:
        """Remember how far a run has come."""
        self.execute("CREATE TABLE IF NOT EXISTS weft_runs (run VARCHAR, facts VARCHAR)")
        self.execute("DELETE FROM weft_runs WHERE run = ?", [run])
        self.execute("INSERT INTO weft_runs VALUES (?, ?)", [run, json.dumps(facts)])

    def noted(self, run: str) -> dict[str, Any] | None:
        """Return how far a run has come, or None."""
        if not self.exists("weft_runs"):
            return None
        found = self.rows("SELECT facts FROM weft_runs WHERE run = ?", [run])
        return json.loads(found[0][0]) if found else None

    def forget(self, run: str) -> None:
        """Forget a run that has ended."""
        if self.exists("weft_runs"):
            self.execute("DELETE FROM weft_runs WHERE run = ?", [run])
