"""Opens tables of a database as a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.backends.relational.connections import connect, disconnect, engine_of
from weft.backends.relational.store import Store
from weft.backends.relational.topology import TableTopology
from weft.graph.graph import Graph
from weft.graph.labels import Labels, label_array
from weft.graph.prepared_cache import PreparedCache
from weft.sql.edge_columns import TableColumns
from weft.sql.layout import Layout, Source, Table, Writer


def graph(  # noqa: PLR0913
    con: Any,
    edges: Table,
    *,
    src: str = "src",
    dst: str = "dst",
    weight: str | None = None,
    vertices: Table | None = None,
    key: str = "id",
    directed: bool = True,
    columns: Iterable[str] = (),
    plan: str = "auto",
    resume: bool = False,
    directory: str | None = None,
) -> Graph:
    """Open a table of edges as a graph that runs where the table is.

    The arcs are sorted into tables whose names begin with ``weft_``, once: later calls find them
    again while the rows of `edges` are the same. The arcs stay there; only the values of vertices
    are held in memory, before and after a run. Every superstep is a transaction of a few queries.

    Parameters
    ----------
    con : connection
        To DuckDB, to Spark (a session), or an Ibis connection to either.
    edges : str or tuple of str
        The table or view with one row per edge; a tuple for a name in a schema.
    src, dst : str
        Its columns with the ends of each edge: any type that can be compared.
    weight : str, optional
        Its column with the weights.
    vertices : str or tuple of str, optional
        A table with one row per vertex, including isolated ones; by default all ends of edges.
    key : str
        Its column with the ids.
    directed : bool
        If False, each row is an undirected edge.
    columns : list of str, optional
        Further numeric columns of `edges` that programs read as ``e.name``.
    plan : {"auto", "dense", "delta", "lists", "blocks"}
        How supersteps are carried out: all rows are written, only those that change, arcs read from
        adjacency lists, or sources joined block by block. All give the same results.
    resume : bool
        Whether a run that was killed goes on after its last superstep when the same call is made
        again. State then lies in ordinary tables, not in temporary ones.
    directory : str, optional
        For Spark: where its tables are written, on storage that all workers see. By default a
        temporary directory, from which no run can be resumed.

    Returns
    -------
    Graph
        Vertices are numbered in the order of their ids, which become labels unless they are
        0, 1, 2, ...

    Raises
    ------
    GraphError
        If an id is missing or repeated.
    FieldError
        If a column does not exist or does not hold numbers.

    Examples
    --------
    >>> import duckdb
    >>> import weft
    >>> con = duckdb.connect()
    >>> _ = con.execute("CREATE TABLE follows AS SELECT * FROM "
    ...                 "(VALUES ('Ada', 'Bob'), ('Bob', 'Eve')) t(a, b)")
    >>> g = weft.sql.graph(con, "follows", src="a", dst="b")
    >>> weft.bfs(g, "Ada").level
    array([0, 1, 2], dtype=int32)
    """
    device = connect(con)
    engine = engine_of(device)
    engine.choose(plan)
    engine.stay_in(directory)
    engine.resumes = bool(resume)
    named = {"weight": weight} if weight is not None else {}
    named |= {name: name for name in columns}
    source = Source(edges, src, dst, vertices, key, bool(directed), named)
    layout = Writer(engine, source).layout()
    store = Store(engine, layout.arcs, layout.columns)
    topology = TableTopology(store, device, layout.counts, bool(directed))
    g = Graph(topology, labels=_labels(engine, layout))
    g._edge = TableColumns(topology)
    g._prepared = PreparedCache(g._vertex, g._edge)
    return g


def close(con: Any) -> None:
    """Forget a connection, so that it can be collected. Its tables stay.

    Examples
    --------
    >>> import duckdb
    >>> import weft
    >>> con = duckdb.connect()
    >>> g = weft.generators.path(3).to(con)
    >>> weft.sql.close(con)
    """
    disconnect(connect(con))


def _labels(engine: Any, layout: Layout) -> Labels | None:
    """Return the ids of the vertices; None if they are 0, 1, 2, ..."""
    table = engine.dialect.quote(layout.vertices)
    kind = engine.types(f"SELECT label FROM {table}")["label"].lower()
    if "int" in kind:
        found = engine.arrays(f"SELECT label FROM {table} ORDER BY id")["label"]
        if np.array_equal(found, np.arange(len(found))):
            return None
        return Labels(label_array(found))
    rows = engine.rows(f"SELECT label FROM {table} ORDER BY id")
    return Labels(label_array([row[0] for row in rows]))
