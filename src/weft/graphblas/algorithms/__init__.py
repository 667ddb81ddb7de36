"""Graph algorithms in the notation of GraphBLAS.

Every file runs under python-graphblas too, with the import alone changed.
"""

from weft.graphblas.algorithms.bfs import distances as bfs_levels
from weft.graphblas.algorithms.counting import (
    clustering,
    enumerate_triangles,
    k_truss,
    projection,
    triangle_count,
    triangles,
)
from weft.graphblas.algorithms.delta import delta_stepping
from weft.graphblas.algorithms.grouping import (
    connected_components,
    label_propagation,
    markov_clustering,
)
from weft.graphblas.algorithms.independent import (
    colouring,
    independent_set,
    jones_plassmann,
    quick_colouring,
)
from weft.graphblas.algorithms.local import approximate_pagerank, local_cluster
from weft.graphblas.algorithms.matching import assignment, seeded_matching
from weft.graphblas.algorithms.parents import all_pairs, bfs_parents, multi_source_levels
from weft.graphblas.algorithms.ranking import adaptive_pagerank, betweenness, pagerank
from weft.graphblas.algorithms.sssp import distances as sssp

__all__ = [
    "adaptive_pagerank",
    "all_pairs",
    "approximate_pagerank",
    "assignment",
    "betweenness",
    "bfs_levels",
    "bfs_parents",
    "clustering",
    "colouring",
    "connected_components",
    "delta_stepping",
    "enumerate_triangles",
    "independent_set",
    "jones_plassmann",
    "k_truss",
    "label_propagation",
    "local_cluster",
    "markov_clustering",
    "multi_source_levels",
    "pagerank",
    "projection",
    "quick_colouring",
    "seeded_matching",
    "sssp",
    "triangle_count",
    "triangles",
]
