"""Active-Compute-Combine: SIMD-X's programming model on weft's steps, with example programs."""

from weft.acc.belief_propagation import belief_propagation
from weft.acc.bfs import bfs
from weft.acc.components import components
from weft.acc.k_core import k_core
from weft.acc.model import Program, Result
from weft.acc.pagerank import pagerank
from weft.acc.sssp import sssp
from weft.acc.strong_components import strong_components

__all__ = [
    "Program",
    "Result",
    "belief_propagation",
    "bfs",
    "components",
    "k_core",
    "pagerank",
    "sssp",
    "strong_components",
]
