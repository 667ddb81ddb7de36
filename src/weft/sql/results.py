"""Results as tables of the database that they were computed in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.backends.relational.connections import engine_of
from weft.errors import ConfigError, FieldError
from weft.graph.graph import Graph

Array = np.ndarray[Any, Any]


class Columns(Mapping[str, Array]):
    """Results by name, one value per vertex; a table is made when one is asked for.

    Made by `columns`.

    Examples
    --------
    >>> import duckdb
    >>> import weft
    >>> g = weft.generators.path(3).to(duckdb.connect())
    >>> weft.sql.columns(g, level=weft.bfs(g, 0).level).to_numpy()["level"]
    array([0, 1, 2], dtype=int32)
    """

    def __init__(self, g: Graph, fields: dict[str, Array]) -> None:
        self._graph, self._fields = g, fields
        self._engine = engine_of(g.topology.device)
        self._table = ""

    def __getitem__(self, name: str) -> Array:
        return self._fields[name]

    def __iter__(self) -> Any:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    @property
    def table(self) -> str:
        """The name of a temporary table with the columns `id` and those of the results.

        `id` is the label of a vertex, or its number. The table is written on first use.
        """
        if not self._table:
            labels = self._graph.labels
            ids = np.arange(self._graph.num_vertices) if labels is None else labels
            self._table = self._engine.name("result")
            self._engine.upload(self._table, {"id": to_host(ids), **self._fields})
        return self._table

    def to_ibis(self) -> Any:
        """Return the results as an Ibis table of the connection, to join or to write.

        Examples
        --------
        >>> import duckdb
        >>> import weft
        >>> g = weft.generators.path(3).to(duckdb.connect())
        >>> t = weft.sql.columns(g, level=weft.bfs(g, 0).level).to_ibis()
        >>> t.filter(t.level > 0).count().execute()
        2
        """
        return self._engine.ibis().table(self.table)

    def to_numpy(self) -> dict[str, Array]:
        """Return the results as arrays by name."""
        return dict(self._fields)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name}: {array.dtype}" for name, array in self._fields.items())
        return f"Columns({kinds})"


def columns(g: Graph, **fields: Any) -> Columns:
    """Return results of a graph in a database as columns beside the ids of its vertices.

    Parameters
    ----------
    g : Graph
        A graph on a connection: of `graph`, or ``g.to(con)``.
    **fields : array_like
        One value per vertex each.

    Returns
    -------
    Columns

    Examples
    --------
    >>> import duckdb
    >>> import weft
    >>> g = weft.generators.path(3).to(duckdb.connect())
    >>> weft.sql.columns(g, rank=weft.pagerank(g))
    Columns(rank: float64)
    """
    if not isinstance(g, Graph) or not g.topology.device.in_tables:
        raise ConfigError(
            f"{g!r} does not lie in a database. Expected a graph of weft.sql.graph(con, ...) or "
            "g.to(con)."
        )
    checked = {}
    for name, values in fields.items():
        array = np.asarray(to_host(values))
        if array.shape != (g.num_vertices,):
            raise FieldError(
                f"column {name!r} has shape {array.shape}. Expected ({g.num_vertices},), one "
                "number per vertex."
            )
        checked[name] = array
    return Columns(g, checked)
