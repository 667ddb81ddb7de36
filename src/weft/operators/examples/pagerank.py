"""PageRank by pushing shares along arcs, or by pulling them from the sources of arcs."""

from typing import Any

from weft.engine.state import full, scalar
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.operators import advance, compute, neighbor_reduce


def pagerank(g: Any, *, push: bool = False, damping: float = 0.85, tol: float = 1e-10) -> Any:
    """Return the rank of every vertex; ranks sum to 1.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.pagerank import pagerank
    >>> pagerank(weft.generators.path(3)).round(3).tolist()
    [0.257, 0.486, 0.257]
    """
    n = max(1, g.num_vertices)
    lost = float((g.out_degree == 0).sum()) / n
    state = g.state(rank=full(1 / n), sum=full(0.0), damping=scalar(damping),
                    lost=scalar(lost), error=scalar(1.0))  # fmt: skip
    while g.num_vertices and state.error > tol:
        if push:
            advance(g, None, spread, state, output=None)
        else:
            neighbor_reduce(g, None, share, monoids.sum, state, into="sum", along="in", output=None)
        compute(g, None, settle, state)
    return state.rank


def spread(u: Any, v: Any, e: Any) -> None:
    """Push the share of u to v."""
    v.sum += u.rank / u.out_degree


def share(u: Any, v: Any, e: Any) -> Any:
    """Pull the share of v, the source of an arc into u."""
    return v.rank / v.out_degree


def settle(v: Any, damping: Any, lost: Any) -> None:
    """Form the new rank; what vertices without arcs hold is shared by all."""
    rank = (1 - damping) / fn.num_vertices() + damping * (v.sum + lost / fn.num_vertices())
    fn.reduce("error", abs(rank - v.rank), monoids.sum)
    fn.reduce("lost", fn.where(v.out_degree == 0, rank, 0.0), monoids.sum)
    v.rank = rank
    v.sum = 0.0
