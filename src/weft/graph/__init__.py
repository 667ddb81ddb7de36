"""Graphs: construction, columns, labels, execution, conversion."""

from weft.graph.graph import Edges, Graph

__all__ = ["Edges", "Graph"]
