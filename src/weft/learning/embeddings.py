"""Node embeddings by random projection, in the manner of FastRP.

Method: random vectors of the vertices, scaled by a power of the degree, are averaged over the
neighbours again and again; each round sees one step further. With the degree d, a very sparse
random matrix R (√3 · {1, 0, -1} with the probabilities 1/6, 2/3, 1/6) and weights α_i,

    x_0(v) = d(v)^β · R(v),   x_i(v) = normalize(mean of x_(i-1)(u) over u -> v),
    embedding(v) = Σ α_i · x_i(v)   for i from 1 on,

where normalize divides by the length.

H. Chen, S. Sultan, Y. Tian, M. Chen, S. Skiena: Fast and accurate network embeddings via very
sparse random projection (CIKM 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.algorithms.support.guarding import on_its_device
from weft.arrays.checks import check_integer, real_of
from weft.config import Config
from weft.engine.state import full, scalar
from weft.errors import ConfigError, shortened
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.learning.inputs import check_count, check_real
from weft.program import vertex

Array = np.ndarray[Any, Any]


@vertex(wake="all")
def average(v: Any, importance: Any) -> None:
    """Average the neighbours, and add the mean to the embedding."""
    total = v.gather(lambda u, e: u.x, monoids.sum)
    x = fn.normalize(total / fn.cast(fn.maximum(v.in_degree, 1), total.dtype), "l2")
    v.embedding = v.embedding + fn.cast(importance, x.dtype) * x
    v.x = x


@on_its_device
def fastrp(
    g: Graph,
    dimension: int = 128,
    weights: Sequence[float] = (0.0, 1.0, 1.0),
    degree_power: float = -0.5,
    *,
    seed: int = 0,
    dtype: Any = np.float32,
    config: Config | None = None,
) -> Array:
    """Return an embedding of every vertex: those with similar neighbourhoods lie close together.

    Parameters
    ----------
    g
        A graph. Vectors run along the edges, both ways over undirected ones.
    dimension
        The length of the embeddings, up to 1024.
    weights
        How much each round counts; as many rounds are made as there are weights.
    degree_power
        β: negative values lower the influence of vertices with many edges.
    seed
        Of the random vectors.
    dtype
        float32 or float64.
    config
        How to run it.

    Returns
    -------
    ndarray
        Shape (n, dimension); zeros for vertices that no edge enters.

    Raises
    ------
    ConfigError
        If an option is out of range.

    Examples
    --------
    Two triangles: vertices of one have similar embeddings.

    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5], directed=False)
    >>> x = weft.learning.fastrp(g, 64)
    >>> bool(x[0] @ x[1] > 4 * abs(x[0] @ x[4]))
    True
    """
    k = check_count("dimension", dimension, 1)
    kind = check_real(np.float32, dtype)
    if k > 1024:
        raise ConfigError(f"dimension={k} is too large. Expected 1 to 1024.")
    rounds = [real_of(weight) for weight in weights] if np.iterable(weights) else []
    if not rounds or not np.isfinite(rounds).all():
        raise ConfigError(
            f"weights={shortened(weights)} is not a list of weights. Expected a finite number per "
            "round."
        )
    power = real_of(degree_power)
    if not np.isfinite(power):
        raise ConfigError(
            f"degree_power={shortened(degree_power)} is not a power. Expected a finite number."
        )
    seed = check_integer("seed", seed, 0)
    state = g.state(
        x=_projection(g, k, power, seed, kind), embedding=full(0, kind, k), importance=scalar(0.0)
    )
    for weight in rounds:
        state.importance = weight
        g.run(average, state, config=config)
    return state.embedding


def _projection(g: Graph, k: int, power: float, seed: int, dtype: np.dtype[Any]) -> Any:
    """Return the scaled random vectors; the same ones on every device."""
    draw = np.random.default_rng(seed).integers(0, 6, (g.num_vertices, k), dtype=np.int8)
    sparse = ((draw == 0).astype(dtype) - (draw == 1)) * np.sqrt(3).astype(dtype)
    xp = g.topology.xp
    degree = xp.maximum(g.in_degree, 1).astype(np.float64)
    return xp.asarray(sparse) * (degree**power).astype(dtype)[:, None]
