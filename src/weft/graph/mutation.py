"""Edges added to and removed from a graph, and the changes between its versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from weft.arrays.device import move
from weft.errors import ConfigError, listed, unknown
from weft.graph.build import ends_of_pairs
from weft.graph.edge_batch import add_to, remove_from
from weft.graph.parts import parts_of
from weft.topology.adjacency import Array
from weft.topology.edit import EdgeChange, carriers
from weft.topology.orders import rearranged

if TYPE_CHECKING:
    from weft.graph.graph import Graph

Missing: TypeAlias = Literal["raise", "ignore"]
Batch: TypeAlias = Sequence[Any] | Mapping[str, Any]

MISSING: Final = ("raise", "ignore")
_ADDED: Final = ("src", "dst", "weight", "columns", "num_vertices")
_REMOVED: Final = ("src", "dst", "weight")


def edited(
    g: Graph, add: Mapping[str, Any] | None, remove: Mapping[str, Any] | None, missing: str
) -> tuple[Graph, EdgeChange]:
    """Return the graph after a change, described by the arguments of the public methods."""
    if missing not in MISSING:
        raise ConfigError(unknown("missing", missing, MISSING))
    parts, before = parts_of(g), g._topology
    with before.device.current():
        none = before.xp.empty(0, before.index_dtype)
        removed = added = none, none
        if remove is not None:
            removed = remove_from(parts, **_ends_apart(remove), missing=missing)
        if add is not None:
            added = add_to(parts, **_ends_apart(add))
        topology = parts.topology
        history = g._history.changed(
            topology.num_vertices, added, int(removed[0].size), topology.num_edges
        )
        return type(g)._of(parts, history), EdgeChange(added, removed)


def _ends_apart(change: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments with pairs split into their two ends."""
    if change.get("dst") is not None:
        return change
    src, dst, weight = ends_of_pairs(change["src"], change.get("weight"))
    return {**change, "src": src, "dst": dst, "weight": weight}


def update(g: Graph, add: Batch | None, remove: Batch | None, missing: str) -> None:
    """Change a graph in place."""
    before, arrangement = g._topology, g._arrangement
    after, change = edited(
        g, _named("add", add, _ADDED), _named("remove", remove, _REMOVED), missing
    )
    g._history.version.current = False
    g.__dict__.clear()
    g.__dict__.update(after.__dict__)
    for carrier in carriers:
        carrier(before, g._topology, change)
    if arrangement is not None and arrangement[0] is before and g._order is not None:
        held = rearranged(arrangement[1], g._topology, g._order, change)
        g._arrangement = g._topology, held


def added_since(g: Graph, earlier: Graph | int) -> tuple[Array, Array, int]:
    """Return the ends of the edges added since a version, and its number of vertices."""
    version: Any = earlier._history.version if isinstance(earlier, type(g)) else earlier
    changes = g._history.since(version)
    device, xp = g._topology.device, g._topology.xp
    with device.current():
        none = xp.empty(0, g._topology.index_dtype)
        src, dst = (
            xp.concatenate([none, *(move(getattr(c, end), device) for c in changes)])
            for end in ("src", "dst")
        )
    first = changes[0].version if changes else g._history.version
    return src, dst, first.num_vertices


def _named(option: str, batch: Batch | None, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return a batch of edges as keyword arguments."""
    if batch is None:
        return None
    given = dict(batch) if isinstance(batch, Mapping) else None
    if given is None and not isinstance(batch, str) and len(batch) in (2, 3):
        given = dict(zip(names, batch, strict=False))
    if given is None or not {"src", "dst"} <= set(given) <= set(names):
        got = f"the names {listed(given)}" if given is not None else f"{batch!r}"
        raise ConfigError(
            f"{option}= got {got}. Expected (src, dst), (src, dst, weight), or a dictionary with "
            f"'src', 'dst' and optionally {listed(names[2:])}."
        )
    return given
