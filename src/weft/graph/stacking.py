"""Two graphs as one: the rows of the second follow those of the first, over the same columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.errors import GraphError
from weft.topology.adjacency import Adjacency, Array
from weft.topology.topology import Topology

if TYPE_CHECKING:
    from weft.graph.graph import Graph


def stacked_parts(first: Graph, second: Any) -> dict[str, Any]:
    """Return topology and edge columns of two graphs whose rows lie below each other, by name."""
    if not hasattr(second, "topology"):
        raise GraphError(f"g.stack joins two graphs, but got {second!r}. Expected a weft.Graph.")
    one, two = first.topology, second.topology
    if one.device != two.device:
        raise GraphError(
            f"g.stack joins graphs of one device, but they are on {one.device} and {two.device}. "
            f"Move one: other.to({str(one.device)!r})."
        )
    for topology in (one, two):
        if topology.keep == "in":
            raise GraphError(
                'g.stack joins rows of out-edges, but a graph keeps "in" alone. Build it with '
                'keep="both" or keep="out".'
            )
    xp, n = one.xp, one.num_vertices + two.num_vertices
    with one.device.current():
        above, below = one.adjacency("out"), two.adjacency("out")
        offsets = xp.concatenate([above.offsets, below.offsets[1:] + above.offsets[-1]])
        wide = max(one.index_dtype, two.index_dtype, key=lambda dtype: dtype.itemsize)
        targets = xp.concatenate([above.targets.astype(wide), below.targets.astype(wide)])
        topology = Topology.from_sorted(Adjacency(offsets, targets), directed=True, keep="out")
        columns = {
            name: xp.concatenate([_in_rows(first, name), _in_rows(second, name)])
            for name in _shared(first, second)
        }
    assert topology.num_vertices == n
    return {"topology": topology, "edge": columns}


def _shared(first: Graph, second: Graph) -> list[str]:
    """Return the columns that both graphs have; a weight that one of them lacks is 1 there."""
    names = [name for name in first.edge if name in second.edge or name == "weight"]
    return names if "weight" in names or "weight" not in second.edge else [*names, "weight"]


def _in_rows(g: Graph, name: str) -> Array:
    """Return a column in the order of rows."""
    if name not in g.edge:
        return g.topology.xp.ones(g.topology.num_arcs, np.int64)
    return g.edge.in_slots(name, "out")
