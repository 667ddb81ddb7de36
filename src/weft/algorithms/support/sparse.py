"""Graphs as sparse matrices of SciPy or CuPy, on the graph's device."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import weft
from weft.algorithms.support.communities import weighted_copy


def sparse_module(g: weft.Graph) -> Any:
    """Return scipy.sparse, or cupyx.scipy.sparse for a graph on a GPU, with its solvers."""
    name = "scipy.sparse" if g.topology.xp is np else "cupyx.scipy.sparse"
    importlib.import_module(f"{name}.linalg")
    return importlib.import_module(name)


def adjacency_matrix(g: weft.Graph, weighted: bool, *, loops: bool) -> Any:
    """Return the symmetric matrix of weights, summed over parallel edges; 1 without weights.

    A self-loop is one diagonal entry, if `loops` is true.
    """
    copy = weighted_copy(g, weighted, "a matrix")
    rows = copy.topology.out
    weight = copy.edge.in_slots("weight", "out").astype(np.float64)
    shape = (g.num_vertices, g.num_vertices)
    matrix = sparse_module(g).csr_matrix((weight, rows.targets, rows.offsets), shape=shape)
    if not loops:
        matrix.setdiag(0)
        matrix.eliminate_zeros()
    return matrix
