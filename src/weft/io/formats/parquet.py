"""Parquet (`.parquet`): a table with the columns `src`, `dst`, and each edge column.

The metadata of the table store the number of vertices, whether the graph is directed, and whether
ids are labels. The names `source` and `target`, used by `Graph.to_pandas`, are also read; ids may
be text. Needs PyArrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, Final

import numpy as np

from weft.errors import FieldError, FileFormatError, GraphError, listed
from weft.graph import Graph
from weft.graph.build import check_weight, native
from weft.graph.columns import EdgeColumns
from weft.graph.interop.left_out import warn_left_out
from weft.graph.interop.tables import Codes, arrow_codes
from weft.graph.labels import encode, label_array
from weft.io.attributes import label_kind
from weft.io.base import BUILDING, Format, Listing, Options, build, register
from weft.io.compression import Source
from weft.io.text import LARGEST_ID
from weft.topology.adjacency import Array

_MAGIC: Final = b"PAR1"
_ENDS: Final = ("src", "dst")
_OTHER_ENDS: Final = ("source", "target")
_INDEX: Final = "__index_level_"  # prefix of pandas' index columns
_LARGEST_ITEM: Final = 8  # bytes of a number


def _pyarrow() -> tuple[Any, Any]:
    """Return PyArrow and its Parquet module."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise GraphError(
            "Parquet files need PyArrow, which is not installed. Expected it to be; "
            "run: pip install 'weft[arrow]'."
        ) from None
    return pyarrow, parquet


class _Table:
    """An open Parquet file, read one column at a time.

    Errors name the byte of the footer, whose metadata locate the columns. PyArrow aborts the
    process if those are damaged, so they are checked first.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        pyarrow, parquet = _pyarrow()
        self._types = pyarrow.types
        self._errors = (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError)
        self.data = source.load()
        self._check_frame()
        try:
            self.file = self._opened(pyarrow, parquet, [])
            self.names = list(self.file.schema_arrow.names)
            texts = [x for x in (*_ENDS, *_OTHER_ENDS) if x in self.names and self.is_text(x)]
            if texts:
                self.file = self._opened(pyarrow, parquet, texts)
            self.facts = dict(self.file.schema_arrow.metadata or {})
            self._check_rows()
        except self._errors as error:
            if isinstance(error, FileFormatError):
                raise
            raise self.damaged("the footer", error, self.footer) from None

    def _opened(self, pyarrow: Any, parquet: Any, texts: list[str]) -> Any:
        """Open the file; text columns are read as dictionaries, which makes repetition cheap."""
        reader = pyarrow.BufferReader(pyarrow.py_buffer(self.data))
        return parquet.ParquetFile(reader, page_checksum_verification=True, read_dictionary=texts)

    def _check_rows(self) -> None:
        """Raise if the row counts disagree, or the columns would need too much memory."""
        metadata = self.file.metadata
        groups = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
        if min(groups, default=0) < 0 or sum(groups) != metadata.num_rows:
            raise ValueError(f"row groups of {sum(groups)} rows, not {metadata.num_rows}")
        if metadata.num_rows * len(self.names) * _LARGEST_ITEM > self.source.max_unpacked():
            raise self.source.too_large(
                f"the file promises {metadata.num_rows} rows of {len(self.names)} columns"
            )

    def _check_frame(self) -> None:
        start, end = self.data[:4].tobytes(), self.data[-4:].tobytes()
        at = 0 if start != _MAGIC else self.data.size - 4
        if start != _MAGIC or end != _MAGIC or self.data.size < 12:
            raise self.source.error(
                f"the file begins with {start!r} and ends with {end!r}. Expected {_MAGIC!r} at "
                "both ends, as in every Parquet file; it was cut or is something else: fetch it "
                "again." + (self.source.other_kind(self.data) if at == 0 else ""),
                byte=at,
            )
        length = int.from_bytes(self.data[-8:-4].tobytes(), "little")
        self.footer = max(0, self.data.size - 8 - length)

    def damaged(self, what: str, error: BaseException, byte: int) -> FileFormatError:
        """Return the error for a part of the file that PyArrow could not read."""
        reason = " ".join(str(error).split())[:200]
        return self.source.error(
            f"{what} cannot be read ({reason}). Expected sound Parquet data; fetch it again.",
            byte=byte,
        )

    def column(self, name: str) -> Array:
        """Return a column of numbers."""
        kind = self.file.schema_arrow.field(name).type
        if not self._is_number(kind):  # before a text column fills the memory
            raise self.source.error(
                f"the column {name!r} holds {kind}. Expected numbers; number names with "
                "np.unique(names, return_inverse=True), or leave the column out with columns=.",
                byte=self.footer,
            )
        try:
            values = self.file.read(columns=[name]).column(name)
            if values.null_count:
                raise ValueError(f"{values.null_count} entries are missing")
            array = np.asarray(values.to_numpy())
            if array.shape != (self.file.metadata.num_rows,) or array.dtype.kind not in "biuf":
                raise ValueError(f"{array.size} entries, not {self.file.metadata.num_rows}")
        except self._errors as error:
            raise self.damaged(f"the column {name!r}", error, self.footer) from None
        return array

    def _is_number(self, kind: Any) -> bool:
        types = self._types
        if types.is_dictionary(kind):
            kind = kind.value_type
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))

    def edge_column(self, name: str) -> Array:
        """Return an edge column, after checking its name and dtype."""
        try:
            EdgeColumns.check_name(name)
            values = self.column(name)
            if name == "weight":
                return check_weight(values, values.size)
            return native(values, f"edge column {name!r}")
        except FileFormatError:
            raise
        except (FieldError, GraphError) as error:
            raise self.source.error(
                f"{error} Rename or convert it in the file, or leave it out with columns=.",
                byte=self.footer,
            ) from None

    def is_text(self, name: str) -> bool:
        """Whether a column holds text."""
        types, kind = self._types, self.file.schema_arrow.field(name).type
        if types.is_dictionary(kind):
            kind = kind.value_type
        return bool(types.is_string(kind) or types.is_large_string(kind))

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers of any kind."""
        return self._is_number(self.file.schema_arrow.field(name).type)

    def names_of(self, name: str) -> Any:
        """Return a column of text, dictionary-encoded."""
        try:
            column = self.file.read(columns=[name]).column(name)
            if column.null_count:
                raise ValueError(f"{column.null_count} entries are missing")
            if len(column) != self.file.metadata.num_rows:
                raise ValueError(f"{len(column)} entries, not {self.file.metadata.num_rows}")
            return column if self._types.is_dictionary(column.type) else column.dictionary_encode()
        except self._errors as error:
            raise self.damaged(f"the column {name!r}", error, self.footer) from None

    def ids(self, name: str) -> Array:
        """Return a column of vertex ids."""
        ids = self.column(name)
        if ids.dtype.kind not in "iu":
            raise self.source.error(
                f"the column {name!r} has the dtype {ids.dtype}. Expected integers: vertex ids.",
                byte=self.footer,
            )
        for row in (int(ids.argmin()), int(ids.argmax())) if ids.size else ():
            if not 0 <= int(ids[row]) <= LARGEST_ID:
                raise self.source.error(
                    f"{name} of row {row} is {ids[row]}. Expected a vertex id from 0 to "
                    f"{LARGEST_ID}; renumber the vertices.",
                    byte=self.footer,
                )
        return ids.astype(np.int64, copy=False)


def read(source: Source, options: Options) -> Graph:
    """Read a Parquet file."""
    table = _Table(source)
    names = [name for name in table.names if not name.startswith(_INDEX)]
    ends = _ENDS if set(_ENDS) <= set(names) else _OTHER_ENDS
    if not set(ends) <= set(names) or len(set(names)) < len(names):
        raise source.error(
            f"the columns are {listed(names)}. Expected 'src' and 'dst' (or 'source' and "
            "'target'), each name once; rename them.",
            byte=table.footer,
        )
    if options.columns is not None:
        names = _chosen(source, names, options.columns, ends)
    else:
        names = _numeric(table, names, ends)
    columns = {name: table.edge_column(name) for name in names if name not in ends}
    directed = table.facts.get(b"directed", b"true") != b"false"
    texts = [table.is_text(name) for name in ends]
    if any(texts) or options.labels or table.facts.get(b"ids") == b"labels":
        src, dst, count, labels = _labelled(table, ends, texts)
    else:
        src, dst, labels = table.ids(ends[0]), table.ids(ends[1]), None
        count = _count(source, table, src, dst)
    return build(source, Listing(src, dst, columns, count, directed, labels=labels), options)


def _count(source: Source, table: _Table, src: Array, dst: Array) -> int:
    """Return the number of vertices: from the metadata, or the largest id plus one."""
    said = table.facts.get(b"num_vertices", b"0")
    if not said.isdigit() or len(said) > 18:
        raise source.error(
            f"num_vertices in the metadata is {said!r}. Expected an integer from 0 on.",
            byte=table.footer,
        )
    largest = max((int(ends.max()) for ends in (src, dst) if ends.size), default=-1)
    if b"num_vertices" in table.facts and largest >= int(said):
        raise source.error(
            f"the largest vertex id is {largest}, but num_vertices in the metadata is {int(said)}. "
            "Expected ids below it; write the file again.",
            byte=table.footer,
        )
    return max(largest + 1, int(said))


def _labelled(
    table: _Table, ends: tuple[str, ...], texts: list[bool]
) -> tuple[Array, Array, int, Array]:
    """Return the ends as numbers, in order of first appearance of their labels, and the labels."""
    pyarrow, _ = _pyarrow()
    if all(texts):
        codes = arrow_codes(pyarrow, table.names_of(ends[0]), table.names_of(ends[1]))
    elif any(texts):
        raise table.source.error(
            f"{ends[texts.index(True)]!r} holds text and {ends[texts.index(False)]!r} does not. "
            "Expected ids of one kind; convert one of the columns.",
            byte=table.footer,
        )
    else:
        src, dst = (table.column(name) for name in ends)
        if src.dtype.kind not in "iu" or dst.dtype.kind not in "iu":
            raise table.source.error("the ids are not integers. Expected such, or text.",
                                     byte=table.footer)  # fmt: skip
        numbers, different = encode(np.concatenate((src, dst)))
        codes = Codes(numbers[: src.size], numbers[src.size :], different)
    together = np.concatenate((codes.src, codes.dst)).astype(np.int64)
    _, first = np.unique(together, return_index=True)
    order = together[np.sort(first)]
    place = np.zeros(len(codes.different), np.int64)
    place[order] = np.arange(order.size)
    labels = label_array(codes.different[order])
    return place[codes.src], place[codes.dst], int(order.size), labels


def _numeric(table: _Table, names: list[str], ends: tuple[str, ...]) -> list[str]:
    """Return the names of the columns of numbers; a warning names the others."""
    left = [name for name in names if name not in ends and not table.is_number(name)]
    warn_left_out("edge", left, "columns", stacklevel=4)
    return [name for name in names if name not in left]


def said_by_table(source: Source) -> tuple[bool, int]:
    """Return whether a table is directed, and its number of vertices, as far as it states them."""
    facts = _Stream(source).facts
    said = facts.get(b"num_vertices", b"0")
    return facts.get(b"directed", b"true") != b"false", int(said) if said.isdigit() else 0


def chunks_of_table(
    source: Source, columns: Sequence[str] | None, most: int
) -> Iterator[tuple[Array, Array, dict[str, Array]]]:
    """Yield the ends and columns of the edges in a table, at most `most` at a time."""
    yield from _Stream(source, columns).chunks(most)


class _Stream:
    """A Parquet file that is read in batches, so that it need not fit into memory."""

    def __init__(self, source: Source, columns: Sequence[str] | None = None) -> None:
        self.source = source
        pyarrow, parquet = _pyarrow()
        self._errors = (pyarrow.ArrowException, OSError, ValueError)
        try:
            self.file = parquet.ParquetFile(source.path, page_checksum_verification=True)
            self.names = list(self.file.schema_arrow.names)
        except self._errors as error:
            raise self._damaged(error) from None
        self.facts = dict(self.file.schema_arrow.metadata or {})
        if not set(_ENDS) <= set(self.names):
            raise source.error(
                f"the columns are {listed(self.names)}. Expected 'src' and 'dst'; rename them.",
                byte=0,
            )
        if columns is not None:
            self.names = _chosen(source, self.names, columns, _ENDS)

    def chunks(self, most: int) -> Iterator[tuple[Array, Array, dict[str, Array]]]:
        """Yield batches of rows."""
        try:
            batches = self.file.iter_batches(most, columns=self.names, use_threads=False)
            if self.file.metadata.num_rows == 0:  # the first batch determines the columns
                batches = iter([self.file.read(columns=self.names).combine_chunks()])
            for batch in batches:
                held = {name: batch.column(name) for name in self.names}
                if any(column.null_count for column in held.values()):
                    raise ValueError("entries are missing")
                arrays = {
                    name: np.asarray(column.to_numpy(zero_copy_only=False))
                    for name, column in held.items()
                }
                src, dst = (self._ids(name, arrays.pop(name)) for name in _ENDS)
                yield src, dst, {name: self._column(name, v) for name, v in arrays.items()}
        except self._errors as error:
            if isinstance(error, GraphError):
                raise
            raise self._damaged(error) from None

    def _ids(self, name: str, ids: Array) -> Array:
        if ids.dtype.kind not in "iu" or (ids.size and not int(ids.min()) >= 0):
            raise self.source.error(
                f"the column {name!r} holds {ids.dtype}, or negative numbers. Expected vertex ids "
                "from 0 on; number the vertices first.",
                byte=0,
            )
        return ids.astype(np.int64, copy=False)

    def _column(self, name: str, values: Array) -> Array:
        EdgeColumns.check_name(name)
        if name == "weight":
            return check_weight(values, values.size)
        return native(values, f"edge column {name!r}")

    def _damaged(self, error: BaseException) -> FileFormatError:
        reason = " ".join(str(error).split())[:200]
        return self.source.error(
            f"it cannot be read ({reason}). Expected sound Parquet data; fetch it again.", byte=0
        )


def _chosen(
    source: Source, names: list[str], columns: Sequence[str], ends: tuple[str, ...]
) -> list[str]:
    """Return the requested columns; raise if one is missing."""
    wanted = [str(name) for name in columns]
    absent = [name for name in (*ends, *wanted) if name not in names or name not in wanted]
    if absent:
        raise source.error(
            f"columns={listed(wanted)} was passed, and {absent[0]!r} is not among them or not in "
            f"the file. Expected {listed(ends)} and any of {listed(names)}."
        )
    return wanted


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write a Parquet file."""
    pyarrow, parquet = _pyarrow()
    labels = _written_labels(g)
    src, dst, _ = g.to_edges()
    columns = {"src": src, "dst": dst}
    if labels is not None:
        kept = pyarrow.array(labels) if labels else pyarrow.array([], pyarrow.string())
        columns = {
            name: pyarrow.DictionaryArray.from_arrays(ends.astype(np.int64), kept)
            for name, ends in columns.items()
        }
    for name, values in g.edge.items():
        g.edge.check_name(name)
        if values.ndim > 1 or name in _ENDS:
            raise GraphError(
                f"edge column {name!r} has the shape {values.shape}. Expected one number per edge "
                "and another name than 'src' and 'dst'; write a '.weft' file, which holds it."
            )
        columns[name] = values
    facts = {"num_vertices": str(g.num_vertices), "directed": str(g.directed).lower()}
    if labels is not None:
        facts["ids"] = "labels"
    table = pyarrow.table(columns).replace_schema_metadata(facts)
    parquet.write_table(table, file, write_page_checksum=True)


def _written_labels(g: Graph) -> list[Any] | None:
    """Return the labels to write in place of vertex numbers."""
    if label_kind(g, "Parquet") is None:
        return None
    labels: list[Any] = [] if g.labels is None else g.labels.tolist()
    if any(isinstance(x, int) and not -(2**63) <= x < 2**63 for x in labels):
        raise GraphError("A label has more than 64 bits. Expected less; write a '.weft' file.")
    alone = np.flatnonzero((g.out_degree == 0) & (g.in_degree == 0))
    if alone.size:
        raise GraphError(
            f"{alone.size} vertices have a label but no edge ({labels[int(alone[0])]!r} is one), "
            "and a table of edges holds only vertices with edges. Write a '.weft' file."
        )
    return labels


register(
    Format(
        "Parquet", (".parquet",), read, write,
        takes=(*BUILDING, "columns", "labels"), holds=("labels", "edge/"),
    )
)  # fmt: skip
