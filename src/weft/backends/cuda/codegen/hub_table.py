"""Gathers that read the values of u by place, hubs from a table of each block.

What was hoisted of u lies by place, and the targets of the gather's rows are places. All else of an
arc, its slot above all, is as it is without (`weft.topology.hub_places`, `hubs.cuh`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weft.backends.cuda.codegen.edges import Work
from weft.backends.cuda.codegen.lanes import spread_lanes
from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.parts import Stage
from weft.backends.cuda.codegen.text import c_type
from weft.ir.ops import Value
from weft.plan.hub_table import may_lie_by_place, sources_of
from weft.plan.sweeps import Sweep


def note_hubs(kernel: Kernel, sweep: Sweep, gather: Value | None) -> None:
    """Note whether the gather whose arcs a schedule hands out, if there is one, goes by place."""
    if gather is None or not kernel.options.by_place or len(sweep.steps) != 1:
        return
    format_ = kernel.options.gather.format
    plain = not (format_.splits or format_.own_order or format_.gathers)
    shares = any(array.name == "targets" and array.shared for array in format_.kinds[0].arrays)
    if not (plain and shares) or spread_lanes(kernel, sweep) > 1:
        return
    if may_lie_by_place(sweep.steps[0], gather):
        kernel.hub_ways[id(sweep)] = gather.attr[0]


def tables_of(kernel: Kernel, sweep: Sweep, gather: Value) -> dict[str, tuple[int, Any]]:
    """Return the tables of a gather: the bytes of a vertex in those before each, and its type."""
    if id(sweep) not in kernel.hub_ways or not kernel.options.hub_table:
        return {}
    found: dict[str, tuple[int, Any]] = {}
    kinds, before = sources_of(gather), 0
    for name in sorted(kinds, key=lambda name: -kinds[name].itemsize):  # which aligns them
        found[name] = before, kinds[name]
        before += kinds[name].itemsize
    kernel.hub_bytes = max(kernel.hub_bytes, before)
    return found


def with_tables(
    kernel: Kernel, work: Work, stage: Stage, tables: dict[str, tuple[int, Any]]
) -> Work:
    """Return what a visitor works with, and the tables of its gather, which a block fills."""
    if not tables:
        return work
    head = ["const HubTable hubs{place.shared + a.hubs_at, a.hubs};"]
    if stage.is_last:
        for name, (before, dtype) in tables.items():
            array = kernel.args.use("hidden", name, dtype, 1)
            head.append(f"hubs.keep<{before}, {c_type(dtype)}>({array});")
        head.append("sync_block();")
    return replace(work, head=head, members={"hubs": "const HubTable"})


def place_of(kernel: Kernel, sweep: Sweep) -> str:
    """Return where the hidden fields of vertex v lie that a sweep gathers."""
    way = kernel.hub_ways.get(id(sweep))
    return "v" if way is None else f"i64(load_constant({kernel.args.use('hub_places', way)} + v))"
