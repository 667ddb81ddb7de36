"""What the loads of a function mean at one place of the generated code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.backends.cuda.codegen.expressions import cast
from weft.backends.cuda.codegen.text import c_type, identifier
from weft.backends.emit import site
from weft.ir.ops import INT64, Shape, Value

PLAIN, CONSTANT, RELAXED = "plain", "constant", "relaxed"
IN_ARRAYS = ("field", "old", "column", "edge_state", "parameter")


def loaded(array: str, place: str, value: Value, how: str = PLAIN) -> str:
    """Return what an array holds at a place: a scalar, or the features of a vertex or arc."""
    if value.shape:
        suffix = "" if how == PLAIN else f"_{how}"
        return f"features{suffix}<{c_type(value.dtype, value.shape)}>({array}, {place})"
    if how == PLAIN:
        text = f"{array}[{place}]"
    else:
        text = f"load_{how}({array} + {_term(place)})"
    return f"({text} != 0)" if value.dtype.kind == "b" else text


def _term(place: str) -> str:
    """Return an index that can be added to a pointer."""
    return place if place.isidentifier() or place.endswith(")") else f"({place})"


@dataclass
class Site(site.Site):
    """Names of the vertices and of the arc at a place, and values that are known there already.

    Vertices and slots are i64. Fields that other threads write while they are read here are
    `racy`, fields that are never written during the run are `constant`.
    """

    racy: frozenset[str] = frozenset()
    constant: frozenset[str] = frozenset()
    states_by_in: bool = False  # edge state lies by in-slots, of an undirected graph
    tables: Mapping[str, int] = field(default_factory=dict)  # see `HubTable`: fields of u in it

    def load(self, value: Value) -> str:
        """Return the operand of a load."""
        attr = value.attr
        if attr in self.known:
            return self.known[attr]
        if self.is_found(value):
            arc, named = self.found_place(value)
            return arc.load(named)
        kind = attr[0]
        if kind in IN_ARRAYS:
            array, place, how = self.where(value)
            if attr[1] == "u" and attr[-1] in self.tables:
                return f"hubs.at<{self.tables[attr[-1]]}>({array}, {place})"
            return loaded(array, place, value, how)
        if kind in ("scalar", "threshold"):
            text = f"{'scalars' if kind == 'scalar' else kind}.{identifier(attr[1])}"
            return f"({text} != 0)" if value.dtype.kind == "b" else text
        if kind == "least":
            return "least_waiting"
        return cast(self._number(attr), INT64, value.dtype)

    def _number(self, attr: tuple[str, ...]) -> str:
        """Return a load that is an i64."""
        kind = attr[0]
        if kind == "id" and self.traits.renumbered:
            return self.entry(self.args.use("vertex_ids"), self.index[attr[1]])
        if kind == "id":
            return self.index[attr[1]]
        if kind in ("out_degree", "in_degree"):
            return self.entry(self.args.use("degree", kind[:-7]), self.index[attr[1]])
        if kind == "edge_id":
            return self.edge()
        if kind == "rank":
            return self._rank()
        return {
            "superstep": "loop.step", "num_vertices": "a.n", "refreshing": "loop.refilling",
        }[kind]  # fmt: skip

    def part(self, value: Value, shape: Shape, position: str) -> str:
        """Return one feature of what a load would give, or one row, without the rest of it."""
        array, place, how = self.where(value)
        one = Value("load", (), value.attr, value.dtype, shape)
        return loaded(array, f"{place} * {value.shape[0]} + {position}", one, how)

    def where(self, value: Value) -> tuple[str, str, str]:
        """Return the array of a load, the place in it, and how it is read."""
        if self.is_found(value):
            arc, named = self.found_place(value)
            return arc.where(named)
        kind, who, name = value.attr
        if kind == "parameter":
            return self.args.use("parameter", name), "0", CONSTANT
        if kind == "column":
            return self.by_slot("column", name, self.direction), self.place(), CONSTANT
        if kind == "edge_state":
            place = self.state_place() if who == "e" else self._reverse()
            return self.args.use("edge_state", name), place, PLAIN
        array, is_field = self.field_array(value)
        how = PLAIN
        if is_field and name in self.racy:
            how = RELAXED
        elif is_field and name in self.constant:
            how = CONSTANT
        return array, self.index[who], how

    def is_racy(self, value: Value) -> bool:
        """Whether a load may give something else when it is made again."""
        if value.attr in self.known or value.attr[0] != "field":
            return False
        return self.where(value)[2] == RELAXED

    def can_part(self, value: Value) -> bool:
        """Whether the features of a load may be read one by one, where they are used."""
        return (
            value.attr[0] in IN_ARRAYS and value.attr not in self.known and not self.is_racy(value)
        )

    def entry(self, array: str, place: str) -> str:
        """Return an element of an array of the topology as an i64."""
        return f"i64(load_constant({array} + {_term(place)}))"

    def state_place(self) -> str:
        """Return where the state of this arc lies."""
        return self.slot if self.states_by_in else self.arc()

    def _reverse(self) -> str:
        if self.states_by_in:
            return self.arc()  # whose number is the in-slot of the opposite arc
        if self.direction == "in" and not self.traits.directed and not self.layout:
            return self.slot  # the slots of both directions are the same array
        return self.entry(self.args.use("reverse"), self.arc())

    def _rank(self) -> str:
        row = "in" if self.traits.keep == "in" else "out"
        owner = "v" if (row == "in") != self.turned else "u"
        first = self.entry(self.args.use("offsets", row), self.index[owner])
        return f"({self.arc()} - {first})"
