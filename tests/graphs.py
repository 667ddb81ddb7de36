"""Graphs for tests: strategies that draw them, and a dictionary of awkward ones by name.

Use `from graphs import AWKWARD, graphs`, then `@given(graphs())` or
`@pytest.mark.parametrize("name", AWKWARD)` with `g = AWKWARD[name]()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import weft


class EdgeList(NamedTuple):
    """What a graph is built from."""

    num_vertices: int
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray | None
    directed: bool

    def build(self, **options) -> weft.Graph:
        """Return the graph of these edges."""
        return weft.Graph.from_edges(
            self.src,
            self.dst,
            self.weight,
            num_vertices=self.num_vertices,
            directed=self.directed,
            **options,
        )


@st.composite
def edge_lists(
    draw,
    *,
    directed: bool | None = None,
    weights: str | None = "any",
    min_vertices: int = 0,
    max_vertices: int = 12,
    max_edges: int = 40,
) -> EdgeList:
    """Draw edges with self-loops, parallel edges and isolated vertices among them.

    `weights`: None, "int" (int32 from 0), "float" (float32 or float64 from 0), "signed" (int64,
    also negative) or "any" of these. All floats are small multiples of 1/4, so that sums are exact.
    """
    n = draw(st.integers(min_vertices, max_vertices))
    m = draw(st.integers(0, max_edges)) if n else 0
    ids = st.lists(st.integers(0, max(n - 1, 0)), min_size=m, max_size=m)
    dtype = draw(st.sampled_from([np.int32, np.int64, np.uint8]))
    src, dst = (np.array(draw(ids), dtype) for _ in range(2))
    if directed is None:
        directed = draw(st.booleans())
    if weights == "any":
        weights = draw(st.sampled_from([None, "int", "float", "signed"]))
    weight = None
    if weights is not None:
        low = -8 if weights == "signed" else 0
        steps = np.array(draw(st.lists(st.integers(low, 32), min_size=m, max_size=m)), np.int64)
        if weights == "int":
            weight = steps.astype(np.int32)
        elif weights == "float":
            weight = (steps / 4).astype(draw(st.sampled_from([np.float32, np.float64])))
        else:
            weight = steps
    return EdgeList(n, src, dst, weight, directed)


@st.composite
def graphs(
    draw, *, index_dtype: object = "any", keep: str | None = "both", **options
) -> weft.Graph:
    """Draw a graph; takes the options of `edge_lists`. `keep=None` draws one of the three."""
    edges = draw(edge_lists(**options))
    if isinstance(index_dtype, str) and index_dtype == "any":
        index_dtype = draw(st.sampled_from([None, None, np.int64]))
    if keep is None:
        keep = draw(st.sampled_from(["both", "out", "in"]))
    return edges.build(index_dtype=index_dtype, keep=keep)


def _star(directed: bool) -> weft.Graph:
    return weft.generators.star(300, directed=directed, weights="int")


def _disconnected(directed: bool) -> weft.Graph:
    """A triangle, a path, a pair and two isolated vertices."""
    src, dst = [0, 1, 2, 4, 5, 8], [1, 2, 0, 5, 6, 9]
    weight = [1.0, 2.0, 3.0, 0.5, 0.25, 4.0]
    return weft.Graph.from_edges(src, dst, weight, num_vertices=11, directed=directed)


def _two_cliques(directed: bool) -> weft.Graph:
    """Two complete graphs of six joined by one edge."""
    u, v = np.triu_indices(6, 1)
    src, dst = np.concatenate((u, u + 6, [0])), np.concatenate((v, v + 6, [6]))
    return weft.Graph.from_edges(src, dst, directed=directed)


def _weights(values: list[float]) -> Callable[[], weft.Graph]:
    def build() -> weft.Graph:
        src, dst = [0, 0, 1, 2, 3, 1], [1, 2, 3, 3, 4, 4]
        return weft.Graph.from_edges(src, dst, np.array(values), num_vertices=6)

    return build


AWKWARD: dict[str, Callable[[], weft.Graph]] = {
    "empty": lambda: weft.Graph.from_edges([], []),
    "empty undirected": lambda: weft.Graph.from_edges([], [], directed=False),
    "empty weighted": lambda: weft.Graph.from_edges([], [], np.empty(0, np.float32)),
    "one vertex": lambda: weft.Graph.from_edges([], [], num_vertices=1),
    "one self-loop": lambda: weft.Graph.from_edges([0], [0], [2.0], directed=False),
    "isolated vertices": lambda: weft.Graph.from_edges([], [], num_vertices=7, directed=False),
    "self-loops": lambda: weft.Graph.from_edges(
        [0, 0, 1, 2, 2, 3], [0, 1, 1, 2, 3, 3], [5, 1, 2, 3, 4, 6]
    ),
    "self-loops undirected": lambda: weft.Graph.from_edges(
        [0, 0, 1, 2, 2, 3], [0, 1, 1, 2, 3, 3], [5, 1, 2, 3, 4, 6], directed=False
    ),
    "parallel edges": lambda: weft.Graph.from_edges(
        [0, 0, 0, 1, 1, 2], [1, 1, 2, 2, 0, 0], [3.0, 1.0, 2.0, 2.0, 1.0, 4.0]
    ),
    "parallel edges undirected": lambda: weft.Graph.from_edges(
        [0, 1, 0, 1, 2, 2, 2], [1, 0, 2, 2, 1, 2, 2], [3, 1, 2, 5, 4, 1, 1], directed=False
    ),
    "hub out": lambda: _star(True),
    "hub in": lambda: _star(True).reverse(),
    "hub": lambda: _star(False),
    "long path": lambda: weft.generators.path(400, weights="float"),
    "long path directed": lambda: weft.generators.path(400, directed=True, weights="int"),
    "long cycle": lambda: weft.generators.cycle(257, directed=True),
    "disconnected": lambda: _disconnected(True),
    "disconnected undirected": lambda: _disconnected(False),
    "two cliques": lambda: _two_cliques(False),
    "two cliques directed": lambda: _two_cliques(True),
    "weights zero": _weights([0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "weights negative": _weights([4.0, 1.0, -2.0, -0.5, 1.0, 3.0]),
    "weights infinite": _weights([1.0, np.inf, 2.0, 1.0, np.inf, np.inf]),
    "weights of int64 ids": lambda: weft.Graph.from_edges(
        [0, 1, 2, 3], [1, 2, 3, 0], [1, 2, 3, 4], index_dtype=np.int64
    ),
    "social": lambda: weft.generators.rmat(8, 8, seed=5, directed=True, weights="float"),
    "social undirected": lambda: weft.generators.rmat(8, 8, seed=5, weights="int"),
    "road": lambda: weft.generators.road(18, 0.7, seed=5, weights="int"),
}
"""Name -> function that builds the graph anew."""
