"""Writes the arcs of a graph into tables of their own, once; finds them again later."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.backends.relational.engines import Engine
from weft.backends.relational.tables import Field, make_field
from weft.errors import FieldError, GraphError, expected, nearest
from weft.topology.adjacency import index_dtype_for

Table = str | tuple[str, ...]
_TYPES = {
    "boolean": "bool", "tinyint": "int8", "smallint": "int16", "integer": "int32", "int": "int32",
    "bigint": "int64", "utinyint": "uint8", "usmallint": "uint16", "uinteger": "uint32",
    "ubigint": "uint64", "float": "float32", "double": "float64", "hugeint": "float64",
}  # fmt: skip
_FORMAT = 1  # of the stored tables


@dataclass(frozen=True)
class Source:
    """The tables of a graph's edges and vertices.

    Attributes
    ----------
    edges, vertices
        The tables; vertices may be None.
    src, dst, key
        The columns with the ends of an edge and with the id of a vertex.
    columns
        The columns that programs read, by their names in programs.
    """

    edges: Table
    src: str
    dst: str
    vertices: Table | None
    key: str
    directed: bool
    columns: dict[str, str] = field(default_factory=dict)


@dataclass
class Layout:
    """The tables that were written: their names, and how much is in them."""

    name: str
    counts: tuple[int, int, int]
    columns: dict[str, Field]

    @property
    def arcs(self) -> str:
        """The table of arcs."""
        return f"{self.name}_arcs"

    @property
    def vertices(self) -> str:
        """The table of vertices: id and label."""
        return f"{self.name}_vertices"


class Writer:
    """Writes the tables of a source."""

    def __init__(self, engine: Engine, source: Source) -> None:
        self.engine, self.source, self.quote = engine, source, engine.dialect.quote
        self.edges = self._table(source.edges)
        self.vertices = None if source.vertices is None else self._table(source.vertices)
        spec = [_FORMAT, source.edges, source.src, source.dst, source.vertices, source.key,
                source.directed, sorted(source.columns.items()), engine.block]  # fmt: skip
        text = json.dumps(spec).encode()
        self.name = f"weft_{hashlib.blake2b(text, digest_size=6).hexdigest()}"

    def _table(self, name: Table) -> str:
        parts = (name,) if isinstance(name, str) else name
        return ".".join(self.quote(part) for part in parts)

    def layout(self) -> Layout:
        """Return the tables, written now unless they were before and the source is the same."""
        kinds = self._kinds()
        print_now = self._fingerprint()
        known = self.engine.noted(self.name)
        kept = [self.engine.exists(f"{self.name}_{part}") for part in ("arcs", "vertices")]
        if known is not None and known["fingerprint"] == print_now and all(kept):
            return self._layout(tuple(known["counts"]), kinds)
        with self.engine.transaction():
            for part in ("arcs", "vertices", "arcs_src_lists", "arcs_dst_lists"):
                self.engine.drop(f"{self.name}_{part}")
            counts = self._write(kinds)
            self.engine.note(self.name, {"fingerprint": print_now, "counts": counts})
        return self._layout(counts, kinds)

    def _layout(self, counts: Any, kinds: dict[str, np.dtype[Any]]) -> Layout:
        columns = {
            name: make_field(name, number, "e", kind, ())
            for number, (name, kind) in enumerate(kinds.items())
        }
        return Layout(self.name, counts, columns)

    # -- what the source holds

    def _kinds(self) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of the columns; raise if a column is missing or not numeric."""
        source, kinds = self.source, {}
        types = self.engine.types(f"SELECT * FROM {self.edges}")
        for column in (source.src, source.dst, *source.columns.values()):
            _check_column(column, types, source.edges)
        if self.vertices is not None:
            keys = self.engine.types(f"SELECT * FROM {self.vertices}")
            _check_column(source.key, keys, source.vertices)
        for name, column in source.columns.items():
            sql = types[column].lower()
            held = "float64" if sql.startswith("decimal") else _TYPES.get(sql)
            if held is None:
                raise FieldError(
                    f"column {column!r} is {types[column]}. Expected numbers; cast it in a view, "
                    "or leave it out of columns=."
                )
            kinds[name] = np.dtype(held)
        return kinds

    def _fingerprint(self) -> list[str]:
        """Return a digest of the rows that the tables were made of."""
        listed = [self.quote(c) for c in (self.source.src, self.source.dst)]
        listed += [self.quote(c) for c in self.source.columns.values()]
        digest = self.engine.dialect.digest
        parts = self.engine.rows(f"SELECT COUNT(*), {digest(listed)} FROM {self.edges}")[0]
        found = [str(part) for part in parts]
        if self.vertices is not None:
            own = digest([self.quote(self.source.key)])
            rows = self.engine.rows(f"SELECT COUNT(*), {own} FROM {self.vertices}")[0]
            found += [str(part) for part in rows]
        return found

    # -- writing

    def _write(self, kinds: dict[str, np.dtype[Any]]) -> tuple[int, int, int]:
        engine, q = self.engine, self.quote
        vertices = q(f"{self.name}_vertices")
        src, dst = q(self.source.src), q(self.source.dst)
        if self.vertices is None:
            keys = f"SELECT {src} AS k FROM {self.edges} UNION SELECT {dst} FROM {self.edges}"
        else:
            keys = f"SELECT {q(self.source.key)} AS k FROM {self.vertices}"
        ((n, distinct, missing),) = engine.rows(
            f"SELECT COUNT(*), COUNT(DISTINCT k), COUNT(*) - COUNT(k) FROM ({keys})"
        )
        self._check_keys(n, distinct, missing)
        kind = engine.dialect.type_of(index_dtype_for(n, None))
        engine.create(
            f"{self.name}_vertices",
            f"SELECT CAST(ROW_NUMBER() OVER (ORDER BY k) - 1 AS {kind}) AS id, k AS label "
            f"FROM ({keys})",
            False,
            "id",
        )
        own = "".join(
            f", {engine.dialect.cast(f'e.{q(column)}', kinds[name])} AS e{number}"
            for number, (name, column) in enumerate(self.source.columns.items())
        )
        numbered = (
            f"SELECT s.id AS a, d.id AS b, e.pos{own} FROM "
            f"(SELECT *, {engine.dialect.position} AS pos FROM {self.edges}) e "
            f"JOIN {vertices} s ON s.label = e.{src} JOIN {vertices} d ON d.label = e.{dst}"
        )
        names = "".join(f", e{number}" for number in range(len(kinds)))
        edges = f"{self.name}_edges"
        engine.create(edges, numbered, True)
        ((given,),) = engine.rows(f"SELECT COUNT(*) FROM {self.edges}")
        self._check_edges(edges, given, kinds)
        arcs = self._arcs(q(edges), names, kind)
        engine.create(f"{self.name}_arcs", arcs, False, engine.dialect.arc_order(engine.block))
        engine.drop(edges)
        ((count,),) = engine.rows(f"SELECT COUNT(*) FROM {q(f'{self.name}_arcs')}")
        return n, count, given

    def _arcs(self, edges: str, names: str, kind: str) -> str:
        order = "a, b, pos"
        if not self.source.directed:
            edges = f"(SELECT LEAST(a, b) AS a, GREATEST(a, b) AS b, pos{names} FROM {edges})"
        text = (
            f"SELECT a AS src, b AS dst, ROW_NUMBER() OVER (ORDER BY {order}) - 1 AS edge{names} "
            f"FROM {edges}"
        )
        if not self.source.directed:
            text = (
                f"SELECT * FROM ({text}) UNION ALL "
                f"SELECT dst AS src, src AS dst, edge{names} FROM ({text}) WHERE src <> dst"
            )
        return (
            f"SELECT CAST(src AS {kind}) AS src, CAST(dst AS {kind}) AS dst, "
            f"ROW_NUMBER() OVER (ORDER BY src, dst, edge) - 1 AS arc, edge, "
            f"ROW_NUMBER() OVER (PARTITION BY src ORDER BY dst, edge) - 1 AS rank, "
            f"ROW_NUMBER() OVER (PARTITION BY src, dst ORDER BY edge) - 1 AS par{names} "
            f"FROM ({text})"
        )

    def _check_keys(self, n: int, distinct: int, missing: int) -> None:
        if missing:
            where = "an edge" if self.vertices is None else f"column {self.source.key!r}"
            raise GraphError(f"{where} has no id: {missing} are NULL. Expected an id in every row.")
        if n != distinct:
            raise GraphError(
                f"column {self.source.key!r} of {self.source.vertices!r} has {n - distinct} "
                "repeated ids. Expected each vertex once."
            )

    def _check_edges(self, edges: str, given: int, kinds: dict[str, Any]) -> None:
        nulls = "".join(f", COUNT(*) - COUNT(e{k})" for k in range(len(kinds)))
        ((count, *missing),) = self.engine.rows(f"SELECT COUNT(*){nulls} FROM {self.quote(edges)}")
        if count != given:
            raise GraphError(
                f"{given - count} of {given} edges of {self.source.edges!r} have an end that is "
                f"NULL or not in {self.source.vertices!r}. Expected every end to be a vertex."
            )
        for name, absent in zip(kinds, missing, strict=True):
            if absent:
                raise GraphError(
                    f"{name!r} is NULL in {absent} edges. Expected a number in every row; replace "
                    "them in a view."
                )


def _check_column(column: str, types: dict[str, str], table: Any) -> None:
    if column not in types:
        raise FieldError(
            f"table {table!r} has no column {column!r}. {expected(types)}.{nearest(column, types)}"
        )
