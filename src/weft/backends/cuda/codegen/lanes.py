"""The number of lanes that share the features of one arc or vertex.

Consecutive lanes of a group take consecutive features, so that loads and atomics coalesce and an
accumulator of k features costs each lane k / lanes registers. A lane takes as much of a vector as
one access moves: what an arc costs beside its features is then paid by few lanes. Scalars are
computed by all lanes alike; whatever they could find different from each other rules groups out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from weft.backends.cuda.codegen.machine import Kernel, Options
from weft.backends.cuda.codegen.matrix_products import in_memory
from weft.backends.cuda.codegen.sorted_pushes import sorts_messages
from weft.backends.cuda.codegen.text import WARP, items_of
from weft.ir.ops import EMIT, LIVE_READ, LIVE_WRITE, Block, Reduction, Shape, Step, step_blocks
from weft.plan.sweeps import Sweep

# Messages that are chosen under a lock, or kept in memory of the row: by one thread.
_BY_ONE = ("argmin", "argmax", "mode")
# Bytes of a matrix that a lane has at most: of one that is used and forgotten, and of one that is
# kept, as what a row gathers or a system that is solved.
PASSING, KEPT = 256, 128
# Where vectors are multiplied several at a time, a lane has one access of bytes of each: as long as
# that makes neither too few lanes nor too many, which each shuffle for all.
PACK, FINER = 16, (4, 8)
_KEEPING = ("solve", "inverse", "matmul")

# What turns matrices, or moves features between lanes one by one: by shuffles of a warp.
WITHIN_WARPS = frozenset({
    "take", "scatter", "argmin_feature", "argmax_feature", "outer", "matvec", "matvec_max",
    "matmul", "transpose", "solve", "inverse",
})  # fmt: skip

Kind = tuple[Any, Shape]  # dtype and shape of a value


def lanes_for(kinds: Iterable[Kind], options: Options, most: int = KEPT) -> int:
    """Return the width of a group that values of some kinds are spread over.

    A lane has `most` bytes of a matrix, unless lanes were requested.
    """
    wanted = max((_wanted(kind, options.lane_bytes, most) for kind in kinds if kind[1]), default=1)
    lanes = 1
    while lanes < min(wanted, options.feature_lanes):
        lanes *= 2
    return lanes


def _wanted(kind: Kind, lane_bytes: int, most: int) -> int:
    """Return how many lanes a value has work for."""
    dtype, shape = kind
    lanes = -(-shape[-1] * dtype.itemsize // lane_bytes)
    if len(shape) > 1:  # registers are what it lacks
        lanes = max(lanes, -(-math.prod(shape) * dtype.itemsize // most))
    return min(shape[-1], lanes)


def spread_lanes(kernel: Kernel, sweep: Sweep) -> int:
    """Return how many lanes share the features of an item of a sweep; 1 where they cannot."""
    if _refused(kernel, sweep):
        return 1
    most = KEPT if _keeps_matrices(kernel, sweep) else PASSING
    kinds = _kinds(kernel, sweep)
    if _suits_blocks(kernel, sweep, kinds):
        return kernel.options.group_block
    lanes = lanes_for(kinds, kernel.options, most)
    if any(in_memory(step) for step in sweep.steps):
        # Several vectors at a time are in registers.
        finer = lanes_for(kinds, replace(kernel.options, lane_bytes=PACK), most)
        lanes = max(lanes, finer) if FINER[0] <= finer <= FINER[1] else lanes
    return lanes


def _suits_blocks(kernel: Kernel, sweep: Sweep, kinds: list[Kind]) -> bool:
    """Whether blocks were asked for, and a sweep has features for more than a warp."""
    if not kernel.options.group_block or any(len(shape) > 1 for _, shape in kinds):
        return False
    values = [v for step in sweep.steps for block in _blocks(step) for v in block.walk()]
    ours = not any(v.op in WITHIN_WARPS for v in values)
    return ours and any(shape and shape[-1] > WARP for _, shape in kinds)


def _keeps_matrices(kernel: Kernel, sweep: Sweep) -> bool:
    """Whether matrices are in registers for longer than the arc, or vertex, that they are of."""
    values = [v for step in sweep.steps for block in _blocks(step) for v in block.walk()]
    shapes = [kernel.types[name][1] for step in sweep.steps for name in step.into]
    for value in values:
        if value.op == "gather":
            shapes += [value.shape, *(shape for _, shape in value.results)]
    return any(v.op in _KEEPING for v in values) or any(len(shape) > 1 for shape in shapes)


def widest_items(kernel: Kernel, sweeps: list[Sweep]) -> int:
    """Return the most features of one value that a lane has in registers."""
    found = [
        items_of(shape, spread_lanes(kernel, sweep))
        for sweep in sweeps
        for _, shape in _kinds(kernel, sweep)
        if shape
    ]
    return max(found, default=0)


def _kinds(kernel: Kernel, sweep: Sweep) -> list[Kind]:
    """Return the kinds of all that a sweep computes and writes."""
    kinds = [kernel.types[name] for step in sweep.steps for name in step.into]
    for step in sweep.steps:
        outside = in_memory(step)
        for value in (value for block in _blocks(step) for value in block.walk()):
            if id(value) not in outside:
                kinds += [(value.dtype, value.shape), *value.results]
    return kinds


def _blocks(step: Step) -> list[Block]:
    return [*step_blocks(step), *(block for _, block in step.hoisted)]


def _refused(kernel: Kernel, sweep: Sweep) -> bool:
    """Whether lanes of a group could see different scalars, or one thread must act alone."""
    in_place = set(sweep.last.into) if sweep.mode == "online" else set()
    if sweep.mode == "once" or sweep.in_order or sweep.facts.live or kernel.pairs:
        return True
    if sweep.kind == "edge" and sorts_messages(sweep, kernel.options):
        return True
    for step in sweep.steps:
        if any(_by_one(reduction) for reduction in step.reductions):
            return True
        for value in (value for block in _blocks(step) for value in block.walk()):
            if value.op in LIVE_READ | LIVE_WRITE | EMIT | {"common", "gather_by"}:
                return True
            if value.op == "gather" and any(_by_one(group[0]) for group in value.attr[1]):
                return True
            scalar = value.op == "load" and not value.shape and value.attr[0] == "field"
            if scalar and value.attr[2] in in_place:
                return True
    return False


def _by_one(reduction: Reduction) -> bool:
    return reduction.name in _BY_ONE
