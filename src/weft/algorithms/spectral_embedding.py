"""Spectral embedding.

Method: the eigenvectors of the normalised Laplacian I - D^(-1/2) A D^(-1/2), with zeros in the rows
of vertices without edges, for the smallest eigenvalues, which vary least along the edges. They are
those of D^(-1/2) A D^(-1/2) for the largest ones, found by the Lanczos method of SciPy or CuPy from
a fixed start; the largest entry of each is positive. Small graphs are solved as dense matrices.
O(m) per step.

A. Ng, M. Jordan, Y. Weiss: On spectral clustering: analysis and an algorithm (NIPS 2001).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.sparse import adjacency_matrix, sparse_module
from weft.arrays.checks import check_integer
from weft.errors import ConvergenceError

Array = np.ndarray[Any, Any]

SMALL: Final = 64  # vertices up to which a dense matrix is solved
REFERENCE = "A. Ng, M. Jordan, Y. Weiss: On spectral clustering (NIPS 2001)"


class SpectralEmbedding(NamedTuple):
    """A row of coordinates for each vertex, and the eigenvalue of each column."""

    vectors: Array
    values: Array


@algorithm(
    group="communities",
    summary="coordinates in which the ends of edges are near each other",
    weights="optional",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=Needs((), Fields(own=320), frontier=False, weighted=True),
)
def spectral_embedding(
    g: weft.Graph,
    k: int = 2,
    *,
    weighted: bool = True,
    skip_first: bool = True,
    seed: int = 0,
    config: weft.Config | None = None,
) -> SpectralEmbedding:
    """Return eigenvectors of the normalised Laplacian for the smallest eigenvalues.

    Parameters
    ----------
    g
        A graph. Directed edges are taken to run both ways, and parallel ones are added up;
        self-loops are ignored.
    k
        The number of coordinates, less than the number of vertices.
    weighted
        Whether to use the weights, which must be finite and not negative.
    skip_first
        Whether to omit the first eigenvector, which only depends on the degrees.
    seed
        Chooses the start of the iteration; for distinct eigenvalues the result does not depend on
        it.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    SpectralEmbedding
        ``vectors``: one row of length k per vertex; ``values``: the eigenvalues, ascending within 0
        to 2. There is one eigenvalue 0 per component; isolated vertices are components.

    Raises
    ------
    ConfigError
        If k is not possible.
    ConvergenceError
        If the iteration does not converge.
    GraphError
        If weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3], directed=False)
    >>> (weft.spectral_embedding(g, 1).vectors[:, 0] > 0).tolist() in (
    ...     [True] * 3 + [False] * 3, [False] * 3 + [True] * 3
    ... )
    True
    """
    n, xp = g.num_vertices, g.topology.xp
    first = int(bool(skip_first))
    k = check_integer("k", k, 1, max(n - first, 1))
    if not n:
        return SpectralEmbedding(xp.zeros((0, k)), xp.zeros(k))
    matrix = adjacency_matrix(g, weighted, loops=False)
    strength = xp.asarray(matrix.sum(axis=1)).ravel()
    scale = xp.where(strength > 0, 1 / xp.sqrt(xp.where(strength > 0, strength, 1)), 0.0)
    diagonal = sparse_module(g).diags
    matrix = diagonal(scale) @ matrix @ diagonal(scale) + diagonal((strength == 0) * 1.0)
    count = min(k + first, n)
    values, vectors = _largest(g, matrix, count, check_integer("seed", seed, 0))
    order = xp.argsort(-values, kind="stable")[first:]
    values, vectors = values[order], vectors[:, order]
    top = vectors[abs(vectors).argmax(axis=0), xp.arange(vectors.shape[1])]
    vectors = vectors * xp.where(top < 0, -1.0, 1.0)
    return SpectralEmbedding(vectors, xp.clip(1 - values, 0.0, 2.0))


def _largest(g: weft.Graph, matrix: Any, count: int, seed: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a symmetric matrix, and their eigenvectors."""
    n, xp = g.num_vertices, g.topology.xp
    if n <= max(SMALL, 2 * count + 1):
        values, vectors = xp.linalg.eigh(matrix.toarray())
        return values[n - count :], vectors[:, n - count :]
    start = xp.asarray(np.random.default_rng(seed).standard_normal(n))
    linalg = sparse_module(g).linalg
    try:
        values, vectors = linalg.eigsh(matrix, count, which="LA", v0=start)
    except RuntimeError as error:
        raise ConvergenceError(
            f"the eigenvectors did not converge ({error}). Expected separate eigenvalues; ask for "
            "fewer coordinates, or for those of one component."
        ) from error
    return values, vectors
