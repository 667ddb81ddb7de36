"""Parquet (`.parquet`): a table with the columns `src`, `dst`, and each edge column.

The number of vertices and whether edges run one way are kept in the metadata of the table. Needs
PyArrow.
"""

from __future__ import annotations

from typing import IO, Any, Final

import numpy as np

from weft.errors import FileFormatError, GraphError, listed
from weft.graph import Graph
from weft.io.base import Format, Listing, Options, build, register
from weft.io.compression import Source
from weft.io.text import LARGEST_ID
from weft.topology.adjacency import Array

_MAGIC: Final = b"PAR1"
_ENDS: Final = ("src", "dst")


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
    """An open Parquet file, read one column at a time."""

    def __init__(self, source: Source) -> None:
        self.source = source
        pyarrow, parquet = _pyarrow()
        self._errors = (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError)
        self.data = source.load()
        self._check_frame()
        try:
            reader = pyarrow.BufferReader(pyarrow.py_buffer(self.data))
            self.file = parquet.ParquetFile(reader, page_checksum_verification=True)
            self.names = list(self.file.schema_arrow.names)
            self.facts = dict(self.file.schema_arrow.metadata or {})
        except self._errors as error:
            raise self.damaged("the footer", error, self.footer) from None

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
        """Return the error about a part of the file that PyArrow could not read."""
        reason = " ".join(str(error).split())[:200]
        return self.source.error(
            f"{what} cannot be read ({reason}). Expected sound Parquet data; fetch it again.",
            byte=byte,
        )

    def place(self, name: str) -> int:
        """Return the byte at which a column begins, as far as the footer tells."""
        metadata = self.file.metadata
        if metadata.num_row_groups == 0:
            return self.footer
        return int(metadata.row_group(0).column(self.names.index(name)).data_page_offset)

    def column(self, name: str) -> Array:
        """Return a column of numbers."""
        try:
            values = self.file.read(columns=[name]).column(name)
            if values.null_count:
                raise ValueError(f"{values.null_count} entries are missing")
            array = np.asarray(values.to_numpy())
            if array.shape != (self.file.metadata.num_rows,):
                raise ValueError(f"{array.size} entries, not {self.file.metadata.num_rows}")
        except self._errors as error:
            raise self.damaged(f"the column {name!r}", error, self.place(name)) from None
        if array.dtype.kind not in "biuf":
            raise self.source.error(
                f"the column {name!r} holds {values.type}. Expected numbers; number names with "
                "np.unique(names, return_inverse=True), or drop the column.",
                byte=self.place(name),
            )
        return array

    def ids(self, name: str) -> Array:
        """Return a column of vertex ids."""
        ids = self.column(name)
        if ids.dtype.kind not in "iu":
            raise self.source.error(
                f"the column {name!r} has the dtype {ids.dtype}. Expected integers: vertex ids.",
                byte=self.place(name),
            )
        for row in (int(ids.argmin()), int(ids.argmax())) if ids.size else ():
            if not 0 <= int(ids[row]) <= LARGEST_ID:
                raise self.source.error(
                    f"{name} of row {row} is {ids[row]}. Expected a vertex id from 0 to "
                    f"{LARGEST_ID}; renumber the vertices.",
                    byte=self.place(name),
                )
        return ids.astype(np.int64, copy=False)


def read(source: Source, options: Options) -> Graph:
    """Read a Parquet file."""
    table = _Table(source)
    names = table.names
    if not set(_ENDS) <= set(names) or len(set(names)) < len(names):
        raise source.error(
            f"the columns are {listed(names)}. Expected 'src' and 'dst', each name once; "
            "rename them.",
            byte=table.footer,
        )
    src, dst = table.ids("src"), table.ids("dst")
    columns = {name: table.column(name) for name in names if name not in _ENDS}
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
    count = max(largest + 1, int(said))
    directed = table.facts.get(b"directed", b"true") != b"false"
    return build(source, Listing(src, dst, columns, count, directed), options)


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write a Parquet file."""
    pyarrow, parquet = _pyarrow()
    src, dst, _ = g.to_edges()
    columns = {"src": src, "dst": dst}
    for name, values in g.edge.items():
        if values.ndim > 1 or name in _ENDS:
            raise GraphError(
                f"edge column {name!r} has the shape {values.shape}. Expected one number per edge "
                "and another name than 'src' and 'dst'; write a '.weft' file, which holds it."
            )
        columns[name] = values
    facts = {"num_vertices": str(g.num_vertices), "directed": str(g.directed).lower()}
    table = pyarrow.table(columns).replace_schema_metadata(facts)
    parquet.write_table(table, file, write_page_checksum=True)


register(Format("Parquet", (".parquet",), read, write))
