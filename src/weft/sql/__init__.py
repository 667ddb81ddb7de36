"""Graphs whose arcs stay in the tables of a database: DuckDB or Spark SQL.

`graph` opens tables as a graph; programs and algorithms run on it unchanged, every superstep as a
query. `columns` gives results back as tables.
"""

from weft.sql.results import Columns, columns
from weft.sql.table_graph import close, graph

__all__ = ["Columns", "close", "columns", "graph"]
