"""The meaning of loads at one place of generated code, shared by both languages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

from weft.ir.ops import Value
from weft.plan.queries import Traits


@dataclass
class Site(ABC):
    """Names of the vertices and of the arc at a place, and values that are known there already."""

    args: Any  # the `Arguments`
    traits: Traits
    direction: str = "out"  # whose slots are walked; "edge": canonical arcs
    slot: str = "s"
    index: dict[str, str] = field(default_factory=lambda: {"u": "u", "v": "v", "w": "w"})
    known: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    snapshots: frozenset[str] = frozenset()  # fields of others that are read from a copy
    old_snapshots: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()  # fields that are read from a copy at every vertex
    owned: bool = False  # v is read as it is now: a vertex function owns it
    layout: str = ""  # the side by whose format slots are numbered, if it has an order of its own
    turned: bool = False  # the arc runs from v to u: a gather over out-edges
    found: dict[str, Self] = field(default_factory=dict)  # the arcs to a common neighbour

    @abstractmethod
    def entry(self, array: str, place: str) -> str:
        """Return an element of an array of the topology as an index."""

    def is_found(self, value: Value) -> bool:
        """Whether a load is one of an arc to a common neighbour."""
        return len(value.attr) > 1 and value.attr[1] in self.found

    def found_place(self, value: Value) -> tuple[Self, Value]:
        """Return the place of the arc that a load names, and the load as one of an arc there."""
        kind, who, *names = value.attr
        attr = (kind, "e", *names) if names else (kind,)
        return self.found[who], Value("load", (), attr, value.dtype, value.shape)

    def field_array(self, value: Value) -> tuple[str, bool]:
        """Return the array that a load of a field reads, and whether it is the field itself."""
        kind, who, name = value.attr
        if name.startswith("hoisted."):
            return self.args.use("hidden", name, value.dtype, value.size), False
        if who != "v" and name in (self.snapshots if kind == "field" else self.old_snapshots):
            return self.args.use("snapshot" if kind == "field" else "old_snapshot", name), False
        if kind == "field" and name in self.frozen and not (self.owned and who == "v"):
            return self.args.use("frozen", name), False
        return self.args.use(kind, name), kind == "field"

    def place(self) -> str:
        """Return the index of this arc's columns: by slot, or by edge in an arc frontier."""
        return self.edge() if self.direction == "edge" else self.slot

    def arc(self) -> str:
        """Return the canonical arc."""
        same = not self.layout and self.traits.arcs_are_slots(self.direction)
        if self.direction == "edge" or same:
            return self.slot
        return self.entry(self.by_slot("arcs", self.direction), self.slot)

    def edge(self) -> str:
        """Return the edge id."""
        direction = self.direction
        if direction == "edge":
            direction = "in" if self.traits.keep == "in" else "out"
        if not self.layout and self.traits.edges_are_slots(direction):
            return self.slot
        return self.entry(self.by_slot("edges", direction), self.slot)

    def by_slot(self, *binding: str) -> str:
        """Return an array by slot, in the order of the format."""
        return self.args.use(*binding, *([self.layout] if self.layout else []))
