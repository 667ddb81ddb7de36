"""Stacks two graphs: the rows of the second follow those of the first, over the same columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.errors import GraphError
from weft.topology.adjacency import Adjacency, Array
from weft.topology.topology import Topology

if TYPE_CHECKING:
    from weft.graph.graph import Graph


def stacked_parts(first: Graph, *others: Any) -> dict[str, Any]:
    """Return the topology and the edge columns of stacked graphs, by name."""
    graphs = (first, *others)
    for other in others:
        _check(first, other)
    xp = first.topology.xp
    with first.topology.device.current():
        rows = [g.topology.adjacency("out") for g in graphs]
        begins = np.cumsum([0, *(int(part.targets.size) for part in rows)])
        offsets = [part.offsets[1:] + x for part, x in zip(rows, begins, strict=False)]
        wide = max((g.topology.index_dtype for g in graphs), key=lambda dtype: dtype.itemsize)
        targets = [part.targets.astype(wide) for part in rows]
        adjacency = Adjacency(
            xp.concatenate([rows[0].offsets[:1], *offsets]), xp.concatenate(targets)
        )
        topology = Topology.from_sorted(
            adjacency, directed=True, keep="out", device=first.topology.device
        )
        columns = {
            name: xp.concatenate([_in_rows(g, name) for g in graphs]) for name in _shared(graphs)
        }
    assert topology.num_vertices == sum(g.num_vertices for g in graphs)
    return {"topology": topology, "edge": columns}


def _check(first: Graph, second: Any) -> None:
    if not hasattr(second, "topology"):
        raise GraphError(f"g.stack joins two graphs, but got {second!r}. Expected a weft.Graph.")
    one, two = first.topology, second.topology
    if one.device != two.device:
        raise GraphError(
            f"g.stack joins graphs of one device, but they are on {one.device} and {two.device}. "
            f"Move one: other.to({str(one.device)!r})."
        )
    if "in" in (one.keep, two.keep):
        raise GraphError(
            'g.stack joins rows of out-edges, but a graph keeps "in" alone. Build it with '
            'keep="both" or keep="out".'
        )


def _shared(graphs: tuple[Graph, ...]) -> list[str]:
    """Return the columns that all graphs have; missing weights are 1."""
    weighted = any("weight" in g.edge for g in graphs)
    names = [name for name in graphs[0].edge if all(name in g.edge for g in graphs)]
    return names if not weighted or "weight" in names else [*names, "weight"]


def _in_rows(g: Graph, name: str) -> Array:
    """Return a column in the order of rows."""
    if name not in g.edge:
        return g.topology.xp.ones(g.topology.num_arcs, np.int64)
    return g.edge.in_slots(name, "out")
