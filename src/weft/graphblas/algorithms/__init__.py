"""Graph algorithms in the notation of GraphBLAS.

Every file runs under python-graphblas too, with the import alone changed.
"""

from weft.graphblas.algorithms.bfs import distances as bfs_levels
from weft.graphblas.algorithms.counting import (
    clustering,
    k_truss,
    projection,
    triangle_count,
    triangles,
)
from weft.graphblas.algorithms.grouping import (
    connected_components,
    label_propagation,
    markov_clustering,
)
from weft.graphblas.algorithms.independent import colouring, independent_set, jones_plassmann
from weft.graphblas.algorithms.parents import all_pairs, bfs_parents, multi_source_levels
from weft.graphblas.algorithms.ranking import betweenness, pagerank
from weft.graphblas.algorithms.sssp import distances as sssp

__all__ = [
    "all_pairs",
    "betweenness",
    "bfs_levels",
    "bfs_parents",
    "clustering",
    "colouring",
    "connected_components",
    "independent_set",
    "jones_plassmann",
    "k_truss",
    "label_propagation",
    "markov_clustering",
    "multi_source_levels",
    "pagerank",
    "projection",
    "sssp",
    "triangle_count",
    "triangles",
]
