"""Random graphs of independently drawn edges: Erdős–Rényi and power-law."""

from __future__ import annotations

import numpy as np

from weft.arrays.checks import MOST_VERTICES, check_between, check_integer
from weft.errors import ConfigError, shortened
from weft.generators.weights import Weights, build
from weft.graph import Graph
from weft.topology.adjacency import Array


def erdos_renyi(
    n: int,
    p: float | None = None,
    *,
    m: int | None = None,
    seed: int = 0,
    directed: bool = False,
    weights: Weights = None,
) -> Graph:
    """Return a graph whose edges are drawn uniformly, without self-loops and parallel edges.

    The time is linear in the number of edges, not of pairs.

    Parameters
    ----------
    n : int
        The number of vertices.
    p : float, optional
        The probability of each edge; or else
    m : int, optional
        the exact number of edges.
    seed : int
        Seed of the random numbers.
    directed : bool
        Whether (u, v) and (v, u) are drawn separately.
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.

    Returns
    -------
    Graph

    Raises
    ------
    ConfigError
        If a parameter is out of range, or not exactly one of `p` and `m` is given.

    Examples
    --------
    >>> import weft
    >>> weft.generators.erdos_renyi(100, m=250, seed=3).num_edges
    250
    """
    n = check_integer("n", n, 0, 2**31)
    seed = check_integer("seed", seed, 0)
    rng = np.random.default_rng(seed)
    pairs = n * (n - 1) if directed else n * (n - 1) // 2
    if (p is None) == (m is None):
        raise ConfigError(
            f"p={shortened(p)} and m={shortened(m)} were given. Expected exactly one of them: "
            "the probability of an edge, or the number of edges."
        )
    if p is not None:
        count = int(rng.binomial(pairs, check_between("p", p, 0, 1)))
    else:
        assert m is not None
        count = check_integer("m", m, 0, pairs)
    chosen = _distinct(rng, count, pairs)
    if directed:
        src, other = np.divmod(chosen, max(n - 1, 1))
        dst = other + (other >= src)
    else:
        # Pairs row by row: row u begins after the n-1, n-2, ... pairs of the rows before it.
        before = np.arange(n + 1) * (2 * n - 1 - np.arange(n + 1)) // 2
        src = np.searchsorted(before[:n], chosen, side="right") - 1
        dst = chosen - before[src] + src + 1
    return build(src, dst, n, directed=directed, weights=weights, seed=seed)


def powerlaw(
    n: int,
    mean_degree: float = 16.0,
    exponent: float = 2.5,
    *,
    seed: int = 0,
    directed: bool = False,
    weights: Weights = None,
) -> Graph:
    """Return a graph with power-law degrees: P(degree = k) falls as k ** -exponent.

    Both ends of every edge are drawn with probabilities proportional to the expected degrees
    (Chung, Lu 2002); self-loops and duplicates are removed, so that the mean degree comes out a
    little lower. Vertices are numbered at random.

    Parameters
    ----------
    n : int
        The number of vertices.
    mean_degree : float
        Edges per vertex that are drawn; an undirected edge counts at both ends.
    exponent : float
        More than 2; the smaller, the larger the hubs.
    seed : int
        Seed of the random numbers.
    directed : bool
        Whether edges run one way only; out- and in-degrees are then independent.
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.

    Returns
    -------
    Graph

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.powerlaw(2000, mean_degree=8, seed=1)
    >>> bool(g.out_degree.max() > 10 * g.out_degree.mean())
    True
    """
    n = check_integer("n", n, 0, MOST_VERTICES)
    mean_degree = check_between("mean_degree", mean_degree, 0, 2**31)
    exponent = check_between("exponent", exponent, 2.001, 1000)
    seed = check_integer("seed", seed, 0)
    rng = np.random.default_rng(seed)
    count = round(n * mean_degree / (1 if directed else 2))
    # Expected degrees fall as i ** -s with s = 1 / (exponent - 1); ends by inverting the sum.
    power = 1 / (1 - 1 / (exponent - 1))
    ends = []
    for _ in range(2):
        position = (rng.random(count) ** power * n).astype(np.int64)
        ends.append(rng.permutation(n)[position] if directed else position)
    src, dst = ends
    if not directed:
        label = rng.permutation(n)
        src, dst = label[src], label[dst]
    return build(
        src,
        dst,
        n,
        directed=directed,
        weights=weights,
        seed=seed,
        duplicates="first",
        self_loops="drop",
    )


def _distinct(rng: np.random.Generator, count: int, total: int) -> Array:
    """Return `count` different numbers below `total`, sorted, every set equally likely."""
    if count > total // 2:
        left = np.ones(total, np.bool_)
        left[_distinct(rng, total - count, total)] = False
        return np.flatnonzero(left)
    chosen = np.empty(0, np.int64)
    while chosen.size < count:
        missing = count - chosen.size
        fresh = rng.integers(total, size=missing + missing // 4 + 16)
        chosen = np.sort(np.concatenate((chosen, fresh)))
        chosen = chosen[np.diff(chosen, prepend=-1) > 0]
    surplus = rng.permutation(chosen.size)[: chosen.size - count]
    return np.delete(chosen, surplus)
