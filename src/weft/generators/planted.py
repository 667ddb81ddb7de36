"""Graphs with planted communities: most edges stay within a community."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from weft.arrays.checks import check_between, check_integer
from weft.arrays.device import Device, open_device
from weft.errors import ConfigError
from weft.generators.counter import chunks, numbers, permutation, threshold, words
from weft.generators.weights import Weights, build
from weft.graph import Graph
from weft.topology.adjacency import Array, index_dtype_for

_ENDS: Final = 0  # streams of random numbers
_LABELS: Final = 1
_LOW: Final = np.uint64(2**32 - 1)
_HALF: Final = np.uint64(32)


def planted(  # noqa: PLR0913
    n: int,
    community: int | Sequence[int] = 1024,
    mean_degree: float = 48.0,
    *,
    inside: float = 0.95,
    seed: int = 0,
    directed: bool = False,
    weights: Weights = None,
    permute: bool = True,
    device: str = "cpu",
) -> Graph:
    """Return a graph of communities whose edges mostly stay inside.

    Both ends of an edge are drawn uniformly: the first among all vertices, the second within the
    community of the first, or with the probability ``1 - inside`` among all vertices. Self-loops
    and duplicates are removed, so that the mean degree comes out a little lower (the smaller the
    communities, the more so). The vertex column ``"community"`` holds the community of each vertex.

    Parameters
    ----------
    n : int
        The number of vertices.
    community : int or sequence of int
        The size of every community (the last one may be smaller), or the sizes of all of them,
        which add up to `n`.
    mean_degree : float
        Edges per vertex that are drawn; an undirected edge counts at both ends.
    inside : float
        The share of the edges that are drawn within a community.
    seed : int
        Seed of the random numbers.
    directed : bool
        Whether edges run one way only.
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.
    permute : bool
        Whether the vertices are numbered at random, which hides the communities.
    device : str
        Where to make the graph, see `Graph.to`.

    Returns
    -------
    Graph

    Raises
    ------
    ConfigError
        If a parameter is out of range, or the sizes do not add up to `n`.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.planted(500, 100, mean_degree=20, seed=1)
    >>> src, dst, _ = g.to_edges()
    >>> community = g.vertex["community"]
    >>> bool((community[src] == community[dst]).mean() > 0.9)
    True
    """
    n = check_integer("n", n, 0, 2**31)
    starts = _starts(n, community)
    mean_degree = check_between("mean_degree", mean_degree, 0, 2**20)
    inside = check_between("inside", inside, 0, 1)
    seed = check_integer("seed", seed, 0)
    place = open_device(device)
    count = round(n * mean_degree / (1 if directed else 2))
    with place.current():
        xp = place.xp
        begins = xp.asarray(starts)
        src, dst = _draw(place, seed, n, count, begins, inside)
        belongs = _community_of(xp, begins, xp.arange(n, dtype=np.int64)).astype(np.int32)
        if permute:
            label = permutation(xp, seed, _LABELS, n).astype(src.dtype)
            src, dst = label[src], label[dst]
            known, belongs = belongs, xp.empty(n, np.int32)
            belongs[label] = known
        g = build(
            src,
            dst,
            n,
            directed=directed,
            weights=weights,
            seed=seed,
            duplicates="first",
            self_loops="drop",
            device=place,
        )
        g.vertex["community"] = belongs
        return g


def _starts(n: int, community: int | Sequence[int]) -> Array:
    """Return where each community begins, and the number of vertices at the end."""
    if isinstance(community, Iterable) and not isinstance(community, str | bytes):
        sizes = [check_integer(f"community[{k}]", size, 1) for k, size in enumerate(community)]
        if sum(sizes) != n:
            raise ConfigError(
                f"the sizes of community add up to {sum(sizes)}, but there are {n} vertices. "
                "Expected sizes that add up to n, or one size for all."
            )
        return np.cumsum(np.array([0, *sizes], np.int64))
    size = check_integer("community", community, 1)
    return np.append(np.arange(0, n, size, dtype=np.int64), np.int64(n))


def _community_of(xp: Any, begins: Any, vertices: Any) -> Any:
    return xp.searchsorted(begins, vertices, side="right") - 1


def _draw(
    device: Device, seed: int, n: int, count: int, begins: Any, inside: float
) -> tuple[Any, Any]:
    """Return both ends of `count` edges: two words of 64 bits for each."""
    xp, dtype = device.xp, index_dtype_for(n)
    src, dst = xp.empty(count, dtype), xp.empty(count, dtype)
    stays, everybody = threshold(inside), np.uint64(n)
    for part in chunks(count, device):
        twice = numbers(xp, part) * np.uint64(2)
        first, second = words(seed, _ENDS, twice.copy()), words(seed, _ENDS, twice + np.uint64(1))
        vertex = (first >> _HALF) * everybody >> _HALF
        home = _community_of(xp, begins, vertex.astype(np.int64))
        begin, end = (begins[home + k].astype(np.uint64) for k in (0, 1))
        local = (first & _LOW) < stays
        low = xp.where(local, begin, np.uint64(0))
        many = xp.where(local, end - begin, everybody)
        src[part] = vertex
        dst[part] = low + ((second >> _HALF) * many >> _HALF)
    return src, dst
