"""Spark SQL: its dialect, and an engine whose tables are Parquet files."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from weft.backends.relational.dialect import Dialect, Kind
from weft.backends.relational.engines import Array, Engine

_INFINITY = "CAST('Infinity' AS DOUBLE)"
_NAN = "CAST('NaN' AS DOUBLE)"
_BITWISE = {"bit_and": "&", "bit_or": "|", "bit_xor": "^"}
_EXACT = 4503599627370496  # doubles from here on are whole


class SparkDialect(Dialect):
    """Spark SQL with ANSI mode off, so that integers wrap as they do in Java."""

    name = "Spark SQL"
    mark = "`"
    barrier = ""
    most_rounds = 8
    types: ClassVar = {
        "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT",
        "int64": "BIGINT", "float32": "FLOAT", "float64": "DOUBLE",
    }  # fmt: skip
    functions: ClassVar = {**Dialect.functions, "round": "rint"}
    wide = "BIGINT"
    position = "monotonically_increasing_id()"

    def wrap(self, text: str, dtype: Kind, carrier: str) -> str:
        """Return an integer of a wider type, reduced to the range of a dtype as it wraps there."""
        return self.cast(text, dtype)

    def carrier(self, op: str, dtype: Kind) -> str:
        """Return a type in which an operation on integers of a dtype wraps as it should."""
        return "BIGINT"

    def divide(self, a: str, b: str, dtype: Kind) -> tuple[str, str, str]:
        """Return the quotient rounded towards zero, the remainder, and their type."""
        a, b = f"CAST({a} AS BIGINT)", f"NULLIF(CAST({b} AS BIGINT), 0)"
        return f"({a} div {b})", f"({a} % {b})", "BIGINT"

    def convert(self, text: str, source: Kind, dtype: Kind) -> str:
        """Return an integer or truth value in another integer dtype; integers wrap."""
        return self.cast(text, dtype)

    def shift(self, op: str, a: str, b: str, dtype: Kind) -> str:
        """Return a shift by a count modulo the width."""
        count = f"CAST(CAST({b} AS BIGINT) & {8 * dtype.itemsize - 1} AS INT)"
        name = "shiftleft" if op == "shl" else "shiftright"
        return self.cast(f"{name}(CAST({a} AS BIGINT), {count})", dtype)

    def bits(self, text: str, dtype: Kind) -> str:
        """Return the bits of an integer as a number of 64 bits."""
        if dtype.itemsize == 8:
            return text
        if dtype.kind == "b":
            return f"CAST({text} AS BIGINT)"
        return f"(CAST({text} AS BIGINT) & {(1 << 8 * dtype.itemsize) - 1})"

    def bitwise(self, op: str, a: str, b: str) -> str:
        """Return a bitwise operation on integers of one dtype."""
        return f"({a} {_BITWISE[op]} {b})"

    # -- floats

    def infinite(self, text: str) -> str:
        """Return whether a float is infinite."""
        return f"(abs({text}) = {_INFINITY})"

    def negative(self, text: str) -> str:
        """Return whether a zero has its sign bit set."""
        return f"(CAST({text} AS STRING) = '-0.0')"

    def rounded(self, op: str, text: str) -> str:
        """Return a float rounded to a whole number."""
        if op == "round":
            return f"rint({text})"
        whole = f"{op}({text})"
        if op == "trunc":
            whole = f"CASE WHEN {text} < 0 THEN ceil({text}) ELSE floor({text}) END"
        zero = f"CASE WHEN {text} < 0 THEN -CAST(0 AS DOUBLE) ELSE {text} * 0 END"
        small = f"CASE WHEN {whole} = 0 THEN {zero} ELSE CAST({whole} AS DOUBLE) END"
        return f"CASE WHEN abs({text}) < {_EXACT} THEN {small} ELSE {text} END"

    def narrowed(self, text: str) -> str:
        """Return a double as a float, infinite where it is too large."""
        return f"CAST({text} AS FLOAT)"

    def whole(self, text: str) -> str:
        """Return a float that a conversion to an integer rounds towards zero."""
        return text

    def quotient(self, a: str, b: str) -> str:
        """Return a quotient of floats; one by zero is infinite or NaN, not NULL."""
        by_zero = (
            f"CASE WHEN isnan({a}) OR {a} = 0 THEN {_NAN} "
            f"WHEN ({a} < 0) <> {self.negative(b)} THEN -{_INFINITY} ELSE {_INFINITY} END"
        )
        return f"CASE WHEN {b} = 0 THEN {by_zero} ELSE {a} / {b} END"

    def call(self, name: str, args: list[str]) -> str:
        """Return a function of doubles; a logarithm that has no value is NaN, not NULL."""
        text = f"{name}({', '.join(args)})"
        if name not in ("ln", "log2", "log10"):
            return text
        x = args[0]
        return f"CASE WHEN {x} > 0 THEN {text} WHEN {x} = 0 THEN -{_INFINITY} ELSE {_NAN} END"

    # -- aggregates

    def at_least(self, value: str, key: str) -> str:
        """Return the aggregate that gives the value where a key is smallest."""
        return f"MIN_BY({value}, {key})"

    def at_greatest(self, value: str, key: str) -> str:
        """Return the aggregate that gives the value where a key is greatest."""
        return f"MAX_BY({value}, {key})"

    def row(self, parts: list[str]) -> str:
        """Return a struct of values, with the fields p0, p1, ..."""
        listed = ", ".join(f"'p{k}', {part}" for k, part in enumerate(parts))
        return f"named_struct({listed})"

    def product(self, text: str, where: str) -> str:
        """Return the aggregate that multiplies floats."""
        one = "CAST(1 AS DOUBLE)"
        listed = f"collect_list(CAST({text} AS DOUBLE)){where}"
        return f"aggregate({listed}, {one}, (acc, x) -> acc * x)"

    def folded(self, text: str, sent: str, start: str, step: str, dtype: Kind) -> str:
        """Return a group combined by a function of acc and x, from a start."""
        listed = f"collect_list({text}) FILTER (WHERE {sent})"
        return f"aggregate({listed}, {start}, (acc, x) -> {step})"

    def rounds(self, start: str, stop: str) -> str:
        """Return the list of the numbers from a start to before a stop."""
        start, stop = f"CAST({start} AS BIGINT)", f"CAST({stop} AS BIGINT)"
        none = "CAST(array() AS ARRAY<BIGINT>)"
        return f"IF({start} < {stop}, sequence({start}, {stop} - 1), {none})"

    def loop(self, rounds: str, step: str, start: str, names: tuple[str, str]) -> str:
        """Return a fold over a list by a function of the state and the round."""
        return f"aggregate({rounds}, {start}, ({names[0]}, {names[1]}) -> {step})"

    def over_bits(self, number: str, dtype: Kind, step: str, start: str) -> str:
        """Return a function of acc and x applied to the bits of a number, the highest first."""
        top = 8 * dtype.itemsize - 1
        bits = (
            f"transform(sequence(0, {top}), "
            f"i -> shiftright(CAST({number} AS BIGINT), {top} - i) & 1)"
        )
        return f"aggregate({bits}, {start}, (acc, x) -> {step})"

    def sum_of(self, text: str, dtype: Kind) -> str:
        """Return the sum of a group: of floats as a double, of integers as it wraps."""
        return f"SUM(CAST({text} AS {'DOUBLE' if dtype.kind == 'f' else 'BIGINT'}))"

    def wrapped_sum(self, text: str, dtype: Kind) -> str:
        """Return a sum of integers as it wraps in their dtype."""
        return self.cast(text, dtype)

    # -- tables

    def arc_order(self, block: int) -> str:
        """Return nothing: Spark places rows by itself."""
        return ""

    def digest(self, columns: list[str]) -> str:
        """Return an aggregate that differs for different rows, in any order."""
        return f"SUM(CAST(xxhash64({', '.join(columns)}) AS DECIMAL(38, 0)))"


class SparkEngine(Engine):
    """A Spark session. Tables are Parquet files in a directory that all of its workers see.

    Writing each of them cuts the lineage, without which a plan grows with every superstep.
    """

    updates = False

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.dialect = SparkDialect()
        self._directory = ""

    @property
    def directory(self) -> Path:
        """The directory of the tables; a temporary one by default."""
        if not self._directory:
            self._directory = tempfile.mkdtemp(prefix="weft_")
        return Path(self._directory)

    def stay_in(self, directory: str | None) -> None:
        """Store tables in a directory."""
        if directory is not None:
            Path(directory).mkdir(parents=True, exist_ok=True)
            self._directory = str(directory)

    @contextmanager
    def _wrapping(self) -> Iterator[None]:
        """Switch ANSI mode off while a query is read and runs."""
        key = "spark.sql.ansi.enabled"
        held = self.con.conf.get(key)
        self.con.conf.set(key, "false")
        try:
            yield
        finally:
            self.con.conf.set(key, held)

    # -- queries

    def execute(self, text: str, values: list[Any] | None = None) -> None:
        """Run a statement for its effect."""
        self.rows(text)

    def rows(self, text: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        if self.log is not None:
            self.log.append(text)
        with self._wrapping():
            return [tuple(row) for row in self.con.sql(text).collect()]

    def arrays(self, text: str) -> dict[str, Array]:
        """Return the columns of a query without NULL as arrays."""
        with self._wrapping():
            table = self.con.sql(text).toArrow()
        return {name: np.asarray(table[name].to_numpy()) for name in table.column_names}

    def ibis(self) -> Any:
        """Return an Ibis connection to the same session."""
        import ibis

        return ibis.pyspark.connect(self.con)

    # -- tables

    def _path(self, name: str) -> Path:
        return self.directory / name

    def _open(self, name: str) -> None:
        self.con.read.parquet(str(self._path(name))).createOrReplaceTempView(name)

    def create(self, name: str, text: str, temporary: bool = True, order: str = "") -> None:
        """Make a table of a query."""
        if self.log is not None:
            self.log.append(text)
        with self._wrapping():
            self.con.sql(text).write.mode("overwrite").parquet(str(self._path(name)))
        self._open(name)

    def upload(self, name: str, columns: dict[str, Array], temporary: bool = True) -> None:
        """Make a table of arrays."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._path(name)
        path.mkdir(parents=True)
        table = pa.table({key: pa.array(values) for key, values in columns.items()})
        pq.write_table(table, path / "part.parquet")
        (path / "_SUCCESS").touch()
        self._open(name)

    def drop(self, name: str) -> None:
        """Drop a table, if it exists."""
        self.con.catalog.dropTempView(name)
        shutil.rmtree(self._path(name), ignore_errors=True)

    def exists(self, name: str) -> bool:
        """Whether there is a table of a name; opens it."""
        if not (self._path(name) / "_SUCCESS").exists():
            return False
        self._open(name)
        return True

    def types(self, text: str) -> dict[str, str]:
        """Return the columns of a query with their SQL types."""
        return dict(self.con.sql(text).dtypes)

    # -- how far runs have come

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do nothing: tables are never changed, and a note replaces the one before it at once."""
        yield

    @contextmanager
    def direct_groups(self) -> Iterator[None]:
        """Do nothing: Spark hashes all groups."""
        yield

    def _note(self, run: str) -> Path:
        return self.directory / f"{run}.json"

    def note(self, run: str, facts: dict[str, Any]) -> None:
        """Remember how far a run has come."""
        draft = self._note(run).with_suffix(".draft")
        draft.write_text(json.dumps(facts), encoding="utf-8")
        os.replace(draft, self._note(run))

    def noted(self, run: str) -> dict[str, Any] | None:
        """Return how far a run has come, or None; opens its tables."""
        if not self._note(run).exists():
            return None
        facts: dict[str, Any] = json.loads(self._note(run).read_text(encoding="utf-8"))
        for name in facts.get("tables", ()):
            self.exists(name)
        return facts

    def forget(self, run: str) -> None:
        """Forget a run that has ended."""
        self._note(run).unlink(missing_ok=True)
