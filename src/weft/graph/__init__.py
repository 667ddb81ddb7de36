"""The graph that a user holds: construction, columns, labels, execution, conversion."""

from weft.graph.graph import Edges, Graph

__all__ = ["Edges", "Graph"]
