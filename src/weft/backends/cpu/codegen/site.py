"""The meaning of a function's loads at one place of the generated code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.backends.cpu.codegen.blocks import Operand, Stretch, cast_loaded
from weft.backends.emit import site
from weft.ir.ops import Value


@dataclass
class Site(site.Site):
    """Names of the vertices and of the arc at a place, and values that are known there already."""

    gathers: Any = None  # the format of gathers

    def load(self, value: Value) -> Operand:
        """Return the operand of a load."""
        attr = value.attr
        if attr in self.known:
            return self.known[attr]
        kind = attr[0]
        if self.is_found(value):
            arc, named = self.found_place(value)
            return arc.load(named)
        if kind in ("field", "old"):
            return self.element(value, self.field_array(value)[0], self.index[attr[1]])
        if kind == "column":
            return self.element(value, self.by_slot(kind, attr[2], self.direction), self.place())
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

    def element(self, value: Value, array: str, place: str) -> Operand:
        """Return the element of an array at a place."""
        if value.shape:
            return Stretch(array, f"{place} * np.uint64({value.size})", value.shape, value.dtype)
        return cast_loaded(f"{array}[{place}]", value.dtype)

    def entry(self, array: str, place: str) -> str:
        """Return an element of an array of the topology as an index."""
        return f"np.uint64({array}[{place}])"

    def _reverse(self) -> str:
        return f"{self.args.use('reverse')}[{self.arc()}]"

    def _rank(self) -> str:
        row = "in" if self.traits.keep == "in" else "out"
        owner = "v" if (row == "in") != self.turned else "u"
        offsets = self.args.use("offsets", row)
        return f"(np.int64({self.arc()}) - np.int64({offsets}[{self.index[owner]}]))"
