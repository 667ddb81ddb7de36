"""Samples of neighbours for training graph neural networks.

Method: from the seeds, every vertex draws some of its neighbours, these draw some of theirs, and so
on. Without replacement, k of d neighbours are drawn by Floyd's method, O(k²) for any d; by
weight, those with the k smallest of -log(x) / w, where x is random in (0, 1] (Efraimidis and
Spirakis), O(d log d). With replacement, each draw looks up a random number in the sums of the
weights. Draws depend on the seed, the hop and the vertex alone.

W. Hamilton, R. Ying, J. Leskovec: Inductive representation learning on large graphs (NIPS 2017).
P. Efraimidis, P. Spirakis: Weighted random sampling with a reservoir (Information Processing
Letters 97, 2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.drawing import Draw, drawn_arcs
from weft.algorithms.support.sources import check_each
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_integer
from weft.arrays.device import move
from weft.errors import ConfigError, shortened, unknown
from weft.topology.topology import Direction

Array = np.ndarray[Any, Any]

LAYOUTS = ("pyg", "dgl")
DIRECTIONS = ("in", "out")


class NeighborSample(NamedTuple):
    """A sampled subgraph in the layout of PyTorch Geometric.

    Attributes
    ----------
    node
        The vertices, seeds first, then those of each hop.
    row, col
        The ends of the sampled edges as positions in `node`: messages run from row to col.
    edge
        The numbers of these edges in `Graph.to_edges`.
    num_nodes, num_edges
        The number of new vertices in every hop, the seeds first, and of drawn edges.
    """

    node: Array
    row: Array
    col: Array
    edge: Array
    num_nodes: list[int]
    num_edges: list[int]


class Block(NamedTuple):
    """One layer of a sample in the layout of DGL.

    Attributes
    ----------
    source
        The vertices that send messages; the first `num_targets` also receive them.
    num_targets
        The number of vertices that receive messages.
    row, col
        The ends of the sampled edges as positions in `source`: messages run from row to col.
    edge
        The numbers of these edges in `Graph.to_edges`.
    """

    source: Array
    num_targets: int
    row: Array
    col: Array
    edge: Array


@algorithm(
    group="sampling",
    summary="samples of neighbours, hop after hop, for graph neural networks",
    weights="optional",
    per="result",
    reference="W. Hamilton, R. Ying, J. Leskovec: Inductive representation learning (NIPS 2017)",
    needs=Needs(("in",), Fields(own=16), frontier=False, weighted=True),
)
def sample_neighbors(  # noqa: PLR0913
    g: weft.Graph,
    seeds: Any,
    fanouts: Sequence[int],
    *,
    replace: bool = False,
    weighted: bool = False,
    direction: Direction = "in",
    layout: str = "pyg",
    seed: int = 0,
    config: weft.Config | None = None,
) -> NeighborSample | list[Block]:
    """Return a sample of the neighbours around some vertices, hop after hop.

    Parameters
    ----------
    g
        A graph; parallel edges are drawn separately.
    seeds
        The vertices to start from, by labels if the graph has labels; repeated ones count once.
    fanouts
        The number of neighbours that a vertex draws in each hop, starting at the seeds; -1 takes
        all of them.
    replace
        Whether an edge may be drawn more than once; a vertex with neighbours then draws exactly as
        many as its fanout.
    weighted
        Whether edges are drawn in proportion to their weights, which must be finite and not
        negative; edges of weight 0 never are.
    direction
        "in" draws edges that lead to the vertex, along which messages run to it; "out" draws those
        that leave it, and messages run against them.
    layout
        "pyg": one subgraph, in which the vertices that are new in a hop draw in the next one.
        "dgl": a block for each hop, in the order of computation, in which all vertices so far draw
        again.
    seed
        Chooses the sample.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    NeighborSample or list of Block
        By layout; all arrays of int64, on the device of the graph.

    Raises
    ------
    ConfigError
        If a fanout is invalid, or the layout or the direction is not known.
    GraphError
        If a seed does not exist, or weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([1, 2, 3], [0, 0, 1])
    >>> found = weft.sample_neighbors(g, [0], [-1, -1])
    >>> found.node.tolist(), found.row.tolist(), found.col.tolist()
    ([0, 1, 2, 3], [1, 2, 3], [0, 0, 1])
    >>> [block.source.tolist() for block in weft.sample_neighbors(g, [0], [-1, -1], layout="dgl")]
    [[0, 1, 2, 3], [0, 1, 2]]
    """
    counts = _check_fanouts(fanouts)
    if layout not in LAYOUTS:
        raise ConfigError(unknown("layout", layout, LAYOUTS))
    if direction not in DIRECTIONS:
        raise ConfigError(unknown("direction", direction, DIRECTIONS))
    weight = None
    if check_weights(g, weighted, "sampling"):
        weight = g.edge.in_slots("weight", direction).astype(np.float64)
    draw = Draw(replace, weight, check_integer("seed", seed, 0))
    xp = g.topology.xp
    start = move(check_each(g, seeds).astype(np.int64), g.topology.device)
    _, first = xp.unique(start, return_index=True)
    start = start[xp.sort(first)]
    if layout == "dgl":
        return _blocks(g, start, counts, draw, direction)
    return _subgraph(g, start, counts, draw, direction)


def _check_fanouts(fanouts: Any) -> list[int]:
    given = list(fanouts) if hasattr(fanouts, "__iter__") and not isinstance(fanouts, str) else None
    if given is None:
        raise ConfigError(
            f"fanouts={shortened(fanouts)} is not a list. Expected a number for every hop, such as "
            "[15, 10]."
        )
    return [check_integer("fanouts", count, -1) for count in given]


def _subgraph(
    g: weft.Graph, start: Array, counts: list[int], draw: Draw, direction: Direction
) -> NeighborSample:
    """Draw for the vertices that are new in each hop."""
    xp = g.topology.xp
    node, fresh, offset = start, start, 0
    parts: list[tuple[Array, ...]] = []
    for hop, count in enumerate(counts):
        owner, other, edge = drawn_arcs(g, fresh, count, draw, hop, direction)
        near, far, node = offset + owner, *_placed(xp, node, other)
        parts.append((far, near, edge))
        offset += int(fresh.size)
        fresh = node[offset:]
    sizes = [int(start.size)]
    return _joined(xp, node, parts, sizes, start)


def _joined(
    xp: Any, node: Array, parts: list[tuple[Array, ...]], sizes: list[int], start: Array
) -> NeighborSample:
    """Return the sample of all hops."""
    none = xp.zeros(0, np.int64)
    row, col, edge = (
        xp.concatenate([none, *(part[k] for part in parts)]).astype(np.int64) for k in range(3)
    )
    known = int(start.size)
    for far, _, _ in parts:
        most = max(known, int(far.max()) + 1 if far.size else 0)
        sizes.append(most - known)
        known = most
    return NeighborSample(node, row, col, edge, sizes, [int(part[0].size) for part in parts])


def _blocks(
    g: weft.Graph, start: Array, counts: list[int], draw: Draw, direction: Direction
) -> list[Block]:
    """Draw for all vertices so far in each hop."""
    xp, blocks, targets = g.topology.xp, [], start
    for hop, count in enumerate(counts):
        owner, other, edge = drawn_arcs(g, targets, count, draw, hop, direction)
        far, source = _placed(xp, targets, other)
        blocks.append(Block(source, int(targets.size), far, owner, edge))
        targets = source
    return blocks[::-1]


def _placed(xp: Any, node: Array, other: Array) -> tuple[Array, Array]:
    """Return the positions of vertices in a list, and the list with new vertices appended."""
    names, first, number = xp.unique(other, return_index=True, return_inverse=True)
    order = xp.argsort(node)
    place = xp.minimum(xp.searchsorted(node[order], names), max(int(node.size) - 1, 0))
    held = order[place] if node.size else place
    known = node[held] == names if node.size else xp.zeros(names.size, bool)
    fresh = xp.flatnonzero(~known)
    fresh = fresh[xp.argsort(first[fresh])]
    position = xp.where(known, held, 0)
    position[fresh] = node.size + xp.arange(fresh.size)
    return position[number.reshape(other.shape)], xp.concatenate((node, names[fresh]))
