"""What the loads of a function mean at one place of the generated code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weft.backends.cpu.codegen.blocks import Operand, Stretch, cast_loaded
from weft.backends.cpu.codegen.text import Arguments
from weft.ir.ops import Value
from weft.plan.queries import Traits


@dataclass
class Site:
    """Names of the vertices and of the arc at a place, and values that are known there already."""

    args: Arguments
    traits: Traits
    direction: str = "out"  # whose slots are walked; "edge": canonical arcs
    slot: str = "s"
    gathers: Any = None  # the format of gathers
    index: dict[str, str] = field(default_factory=lambda: {"u": "u", "v": "v", "w": "w"})
    known: dict[tuple[Any, ...], Operand] = field(default_factory=dict)
    snapshots: frozenset[str] = frozenset()  # fields of others that are read from a copy
    old_snapshots: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()  # fields that are read from a copy at every vertex
    owned: bool = False  # v is read as it is now: a vertex function owns it
    layout: str = ""  # the side by whose format slots are numbered, if it has an order of its own
    turned: bool = False  # the arc runs from v to u: a gather over out-edges
    found: dict[str, Site] = field(default_factory=dict)  # the arcs to a common neighbour

    def load(self, value: Value) -> Operand:
        """Return the operand of a load."""
        attr = value.attr
        if attr in self.known:
            return self.known[attr]
        kind = attr[0]
        if len(attr) > 1 and attr[1] in self.found:
            rest = ("e", *attr[2:]) if len(attr) > 2 else ()
            named = Value("load", (), (kind, *rest), value.dtype, value.shape)
            return self.found[attr[1]].load(named)
        if kind in ("field", "old"):
            return self._field(value, kind, attr[1], attr[2])
        if kind == "column":
            return self.element(
                value, self._by_slot("column", attr[2], self.direction), self._place()
            )
        if kind == "edge_state":
            place = self.arc() if attr[1] == "e" else f"np.uint64({self._reverse()})"
            return self.element(value, self.args.use("edge_state", attr[2]), place)
        if kind == "parameter":
            return self.element(value, self.args.use("parameter", attr[2]), "np.uint64(0)")
        if kind == "id" and self.traits.renumbered:
            return f"np.int64({self.args.use('vertex_ids')}[{self.index[attr[1]]}])"
        if kind == "id":
            return f"np.int64({self.index[attr[1]]})"
        if kind in ("out_degree", "in_degree"):
            degrees = self.args.use("degree", kind[:-7])
            return f"np.int64({degrees}[{self.index[attr[1]]}])"
        if kind == "edge_id":
            return f"np.int64({self.edge()})"
        if kind == "rank":
            return self._rank()
        if kind == "scalar":
            self.args.use("scalar", attr[1])
            return f"value_{attr[1]}"
        if kind == "threshold":
            return f"threshold_{attr[1]}"
        return {
            "superstep": "step", "num_vertices": "n", "refreshing": "refreshing",
            "least": "least_waiting",
        }[kind]  # fmt: skip

    def _field(self, value: Value, kind: str, who: str, name: str) -> Operand:
        if name.startswith("hoisted."):
            array = self.args.use("hidden", name, value.dtype, value.size)
        elif who != "v" and name in (self.snapshots if kind == "field" else self.old_snapshots):
            array = self.args.use("snapshot" if kind == "field" else "old_snapshot", name)
        elif kind == "field" and name in self.frozen and not (self.owned and who == "v"):
            array = self.args.use("frozen", name)
        else:
            array = self.args.use(kind, name)
        return self.element(value, array, self.index[who])

    def element(self, value: Value, array: str, place: str) -> Operand:
        """Return what an array holds at a place."""
        if value.shape:
            return Stretch(array, f"{place} * np.uint64({value.size})", value.shape, value.dtype)
        return cast_loaded(f"{array}[{place}]", value.dtype)

    def _place(self) -> str:
        """Return where the columns of this arc lie: by slot, or by edge in an arc frontier."""
        return self.edge() if self.direction == "edge" else self.slot

    def arc(self) -> str:
        """Return the canonical arc."""
        same = not self.layout and self.traits.arcs_are_slots(self.direction)
        if self.direction == "edge" or same:
            return self.slot
        return f"np.uint64({self._by_slot('arcs', self.direction)}[{self.slot}])"

    def edge(self) -> str:
        """Return the edge id."""
        direction = self.direction
        if direction == "edge":
            direction = "in" if self.traits.keep == "in" else "out"
        if not self.layout and self.traits.edges_are_slots(direction):
            return self.slot
        return f"np.uint64({self._by_slot('edges', direction)}[{self.slot}])"

    def _by_slot(self, *binding: str) -> str:
        """Return an array by slot, in the order of the format."""
        return self.args.use(*binding, *([self.layout] if self.layout else []))

    def _reverse(self) -> str:
        return f"{self.args.use('reverse')}[{self.arc()}]"

    def _rank(self) -> str:
        row = "in" if self.traits.keep == "in" else "out"
        owner = "v" if (row == "in") != self.turned else "u"
        offsets = self.args.use("offsets", row)
        return f"(np.int64({self.arc()}) - np.int64({offsets}[{self.index[owner]}]))"
