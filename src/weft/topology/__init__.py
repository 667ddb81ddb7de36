"""The structure of a graph: adjacency in both directions, degrees, orders, edits."""
