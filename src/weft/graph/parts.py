"""The parts that make up a graph, and graphs derived from others in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft.arrays.device import Device, as_array, device_of, move, open_device, parse_device
from weft.backends.relational.connections import connect
from weft.graph.build import (
    BuildRules,
    Duplicates,
    assemble,
    check_ends,
    check_weight,
    native,
)
from weft.graph.columns import VertexColumns
from weft.graph.labels import Labels
from weft.graph.subgraph import induced, members_mask
from weft.topology.adjacency import Array
from weft.topology.orders import arranged, check_order
from weft.topology.topology import Topology

if TYPE_CHECKING:
    from weft.graph.graph import Graph


@dataclass
class Parts:
    """A structure, its columns as stored, its labels, and its order in memory if it has one."""

    topology: Topology
    vertex: dict[str, Array]
    edge: dict[str, Array]
    labels: Labels | None = None
    order: Array | None = None


def parts_of(g: Graph) -> Parts:
    """Return the parts of a graph; the arrays are shared."""
    return Parts(g._topology, dict(g._vertex.stored()), dict(g._edge.stored()), g._labels, g._order)


def numbered_parts(
    numbered: tuple[Any, Any, int | None, Labels | None],
    columns: Mapping[str, Any],
    *,
    device: str | Device | None,
    vertex: Mapping[str, Any] | None = None,
    **options: Any,
) -> Parts:
    """Build the parts of a graph from the result of `number_ends`, columns, and rules by name."""
    src, dst, num_vertices, labels = numbered
    place = device_of(src, dst) if device is None else open_device(device)
    rules = BuildRules(device=place, **options)
    with place.current():
        src, dst, count = check_ends(src, dst, num_vertices, place)
        checked = {
            name: check_weight(values, src.size, place)
            if name == "weight"
            else native(as_array(values), f"edge column {name!r}", place)
            for name, values in columns.items()
        }
        topology, checked = assemble(src, dst, checked, count, rules)
    held = {}
    if vertex:
        columns = VertexColumns(topology.num_vertices, device=topology.device)
        columns.update(vertex)
        held = columns.stored()
    return Parts(topology, held, checked, labels)


def reversed_parts(g: Graph) -> Parts:
    """Return the parts of a graph with every edge reversed."""
    parts, topology = parts_of(g), g._topology
    if topology.directed and topology.keep == "both":
        parts.edge = {k: topology.slot_values(values, "in") for k, values in parts.edge.items()}
    parts.topology = topology.reversed()
    return parts


def undirected_parts(g: Graph, duplicates: Duplicates) -> Parts:
    """Return the parts of a graph with every edge undirected."""
    parts, topology = parts_of(g), g._topology
    if topology.directed:
        rules = BuildRules(
            directed=False,
            duplicates=duplicates,
            index_dtype=topology.index_dtype,
            device=topology.device,
        )
        with topology.device.current():
            parts.topology, parts.edge = assemble(
                *topology.endpoints(), parts.edge, topology.num_vertices, rules
            )
    return parts


def subgraph_parts(g: Graph, vertices: Any) -> Parts:
    """Return the parts of the subgraph of some vertices."""
    parts = parts_of(g)
    mask = members_mask(g._topology, g._labels, vertices)
    topology, edge, kept = induced(g._topology, parts.edge, mask)
    with topology.device.current():
        vertex = {name: values[kept] for name, values in parts.vertex.items()}
    return Parts(topology, vertex, edge, None if g._labels is None else g._labels.take(kept))


def moved_parts(g: Graph, device: Any) -> Parts | None:
    """Return the parts of a graph on a device or connection, or None if it is there already."""
    named = isinstance(device, str | Device)
    place = parse_device(device) if named else connect(device)
    if place == g._topology.device:
        return None
    place = open_device(device) if named else place
    order = None if g._order is None else move(g._order, place)
    vertex, edge = g._vertex.moved(place), g._edge.moved(place)
    return Parts(g._topology.to(place), vertex, edge, g._labels, order)


def ordered_parts(g: Graph, order: Any) -> tuple[Parts, Topology]:
    """Return the parts of a graph in another order, and its reordered topology."""
    topology = g._topology
    if isinstance(order, str):
        held = arranged(topology, order)
        assert held.numbering is not None
        chosen = held.numbering.order
    else:
        chosen = check_order(topology, order)
        held = topology.arranged(chosen)
    return replace(parts_of(g), order=chosen), held
