"""Edge columns that lie in a table, and are read into memory only where something needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weft.backends.relational.topology import TableTopology
from weft.errors import GraphError
from weft.graph.columns import EdgeColumns
from weft.topology.adjacency import Array


@dataclass(frozen=True)
class Described:
    """The dtype and shape of a column that is not read."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class LazyArrays(dict[str, Array]):
    """Columns by name, each read from its table on first use."""

    def __init__(self, topology: TableTopology) -> None:
        super().__init__()
        self._topology = topology
        self._names = list(topology.store.columns)

    def __getitem__(self, name: str) -> Array:
        if not super().__contains__(name):
            self[name] = self._read(name)
        return super().__getitem__(name)

    def _read(self, name: str) -> Array:
        store = self._topology.store
        held, arcs = store.columns[name], store.engine.dialect.quote(store.arcs)
        once = "" if self._topology.directed else " WHERE src <= dst"
        text = f"SELECT {held.columns[0]} AS x FROM {arcs}{once} ORDER BY edge"
        return store.engine.arrays(text)["x"].astype(held.dtype)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def keys(self) -> Any:
        """Return the names."""
        return dict.fromkeys(self._names).keys()

    def items(self) -> Any:
        """Return the names and columns; reads all of them."""
        return {name: self[name] for name in self._names}.items()

    def values(self) -> Any:
        """Return the columns; reads all of them."""
        return [self[name] for name in self._names]


class TableColumns(EdgeColumns):
    """The edge columns of a graph in tables."""

    def __init__(self, topology: TableTopology) -> None:
        super().__init__(topology)
        self._store = topology.store
        self._columns = LazyArrays(topology)

    def described(self) -> dict[str, Any]:
        """Return the dtype and shape of each column, without reading any."""
        shape = (self._length,)
        return {name: Described(f.dtype, shape) for name, f in self._store.columns.items()}

    def extent(self, name: str) -> tuple[Any, Any]:
        """Return the minimum and maximum of a column, computed where it is."""
        if name not in self._columns:
            self.storage(name)  # raises
        engine, (own,) = self._store.engine, self._store.columns[name].columns
        nan = float("nan")
        floats = self._store.columns[name].dtype.kind == "f"
        bad = f"COUNT(*) FILTER (WHERE isnan({own}))" if floats else "0"
        text = f"SELECT MIN({own}), MAX({own}), {bad} FROM {engine.dialect.quote(self._store.arcs)}"
        ((low, high, wrong),) = engine.rows(text)
        return (nan, nan) if wrong else (low, high)

    def __setitem__(self, name: str, values: ArrayLike) -> None:
        raise GraphError(
            f"edge column {name!r} cannot be assigned: the edges lie in a table of the database. "
            "Add the column to that table and name it in columns=, or use g.to('cpu')."
        )

    @property
    def memory_bytes(self) -> int:
        """Bytes of the columns that were read."""
        return sum(values.nbytes for values in dict.values(self._columns))
