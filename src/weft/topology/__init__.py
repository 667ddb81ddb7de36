"""The structure of a graph: adjacency, degrees, vertex orders, edits."""
