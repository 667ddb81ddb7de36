"""The arguments that a kernel can ask for: the C++ type of each, and whether it stays the same.

An argument is described by a binding: its kind, then whatever distinguishes several of a kind. The
method of the same name in `weft.backends.cuda.host.bind.Binder` makes the array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.parts import array_type
from weft.backends.cuda.codegen.text import c_type, stored_type

Binding = tuple[Any, ...]


class Buffer(NamedTuple):
    """One kind of argument."""

    type: str | Callable[[Kernel, Binding], str]
    steady: bool = (
        False  # depends on topology and program alone, and needs no contents at the start
    )


def _field(kernel: Kernel, binding: Binding) -> str:
    return f"{stored_type(kernel.types[binding[1]][0])}*"


def _edge_field(kernel: Kernel, binding: Binding) -> str:
    return f"{stored_type(kernel.edge_types[binding[1]][0])}*"


def _of_dtype(position: int) -> Callable[[Kernel, Binding], str]:
    """Return the type of an array whose dtype is part of the binding."""
    return lambda kernel, binding: f"{stored_type(binding[position])}*"


def _word(kernel: Kernel, binding: Binding) -> str:
    return "u64*" if binding[1].itemsize == 8 else "u32*"


def _parameter(kernel: Kernel, binding: Binding) -> str:
    held = {name: dtype for name, dtype, _ in kernel.program.signature.parameters}
    return f"const {stored_type(held[binding[1]])}*"


def _column(kernel: Kernel, binding: Binding) -> str:
    columns = {name: dtype for name, dtype, _ in kernel.program.signature.columns}
    return f"const {stored_type(columns[binding[1]])}*"


def _schedule(kernel: Kernel, binding: Binding) -> str:
    side = kernel.options.side(binding[1])
    (dtype,) = [d for name, d, _ in side.schedule.workspace(1, 1) if name == binding[2]]
    return f"{_element(dtype)}*"


def _part(kernel: Kernel, binding: Binding) -> str:
    side, _, position, name = binding[1:]
    return f"const {_element(array_type(kernel.options.side(side).format, position, name))}*"


def _element(dtype: Any) -> str:
    return "Vertex" if dtype == "vertex" else c_type(np.dtype(dtype))


BUFFERS: dict[str, Buffer] = {
    "constant": Buffer(lambda kernel, binding: c_type(binding[2])),
    # fields, their second buffers and copies
    "field": Buffer(_field),
    "next": Buffer(_field),
    "inbox": Buffer(_field),
    "old": Buffer(_field),
    "old_next": Buffer(_field),
    "snapshot": Buffer(_field),
    "old_snapshot": Buffer(_field),
    "frozen": Buffer(_field),
    "hidden": Buffer(_of_dtype(2), steady=True),
    "gathered": Buffer(_of_dtype(2)),
    "pair": Buffer("u64*"),
    "wide_pair": Buffer("TwoWords*"),
    "pair_locks": Buffer("u32*", steady=True),
    "parameter": Buffer(_parameter),
    # the graph
    "column": Buffer(_column),
    "edge_state": Buffer(_edge_field),
    "edge_next": Buffer(_edge_field),
    "offsets": Buffer("const i64*", steady=True),
    "targets": Buffer("const Vertex*", steady=True),
    "owners": Buffer("const Vertex*", steady=True),
    "degree": Buffer("const Vertex*", steady=True),
    "arcs": Buffer("const Arc*"),
    "edges": Buffer("const Arc*"),
    "edge_ids": Buffer("const Arc*"),
    "reverse": Buffer("const Arc*"),
    "row_bits": Buffer("const i64*", steady=True),
    "row_words": Buffer("const u64*", steady=True),
    "best_neighbor": Buffer("const Vertex*", steady=True),
    "hub_places": Buffer("const Vertex*", steady=True),
    "placed_targets": Buffer("const Vertex*", steady=True),
    "num_edges": Buffer("i64", steady=True),
    "vertex_ids": Buffer("const Vertex*", steady=True),
    "vertex_places": Buffer("const Vertex*", steady=True),
    "long_rows": Buffer("const i64*"),
    "sorted_offsets": Buffer("const i64*"),
    "sorted_arcs": Buffer("const Arc*"),
    "path_offsets": Buffer("const i64*", steady=True),
    "arc_queue": Buffer("const i64*"),
    "arc_source": Buffer("const Vertex*"),
    "arc_target": Buffer("const Vertex*"),
    # formats and schedules
    "part": Buffer(_part, steady=True),
    "part_number": Buffer("i64", steady=True),
    "shard": Buffer(_of_dtype(3)),
    "row_list": Buffer("i64*", steady=True),
    "schedule": Buffer(_schedule, steady=True),
    # frontiers, locks and lists
    "stamp": Buffer("u32*"),
    "locks": Buffer("u32*"),
    "touched": Buffer("Vertex*", steady=True),
    "far": Buffer("Vertex*", steady=True),
    "remaining": Buffer("Vertex*", steady=True),
    "spread": Buffer("double*"),
    "held_back": Buffer("u8*"),
    "samples": Buffer("double*", steady=True),
    "within": Buffer("i64", steady=True),
    "reverse_queue": Buffer("Vertex*", steady=True),
    "batch": Buffer("Vertex*", steady=True),
    "messages": Buffer(_of_dtype(2), steady=True),
    # messages that are sorted
    "radix_keys": Buffer(lambda kernel, binding: "Vertex*" if binding[2] else "u64*", steady=True),
    "radix_table": Buffer("i64*", steady=True),
    "radix_totals": Buffer("i64*", steady=True),
    "radix_hubs": Buffer("i64*", steady=True),
    "laid_starts": Buffer("i64*", steady=True),
    "place_bits": Buffer("i64", steady=True),
    "vertex_bits": Buffer("i64", steady=True),
    "trail": Buffer("Vertex*"),
    "trail_begins": Buffer("const i64*"),
    "trail_ends": Buffer("i64*"),
    # gathers by key and records
    "keys": Buffer(_of_dtype(1), steady=True),
    "by_result": Buffer(_of_dtype(2), steady=True),
    "by_rows": Buffer("Vertex*", steady=True),
    "by_words": Buffer(_word, steady=True),
    "by_values": Buffer(_of_dtype(2), steady=True),
    "by_tables": Buffer("i64", steady=True),
    "by_places": Buffer("i64", steady=True),
    "by_keys": Buffer(_of_dtype(1), steady=True),
    "by_held": Buffer(_of_dtype(1), steady=True),
    "by_entries": Buffer("i64*", steady=True),
    "emit_places": Buffer("i64*"),
    "emit_part": Buffer(_of_dtype(2)),
}
STEADY = frozenset(kind for kind, buffer in BUFFERS.items() if buffer.steady)


def type_of_argument(kernel: Kernel, binding: Binding) -> str:
    """Return the C++ type of an argument."""
    declared = BUFFERS[binding[0]].type
    return declared if isinstance(declared, str) else declared(kernel, binding)
