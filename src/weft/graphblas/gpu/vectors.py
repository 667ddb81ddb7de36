"""Products of a matrix and a vector on a device: pushed along columns, or pulled along rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backends.device_functions import BLOCK, Kernels, c_type, stored_type
from weft.graphblas.gpu.entries import DeviceMatrix, resident
from weft.graphblas.gpu.module import kernels_of
from weft.graphblas.gpu.places import (
    OUT_FULL,
    X_FULL,
    DeviceVector,
    MaskPlaces,
    mask_places,
    stored_words,
    vector_of,
)
from weft.graphblas.kernels.masks import MaskView
from weft.graphblas.kernels.plan import ENDING, Sides, choose, forced
from weft.graphblas.options import current
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore

Array = Any
PUSHES = ("push_start", "push_spread")
PULLS = ("pull_rows", "pull_parts", "pull_joins")
# Entries of a row that one group of lanes pulls, at most; longer rows are cut into parts.
LONGEST = 4096
# Of what a push lists, a part has at least so many entries; see pushes.cuh.
PART_OF_PUSH = 256
# Entries for each lane of a group: of a row that is summed up to its end, and of one that may end
# with any of them.
EACH, EACH_ENDING = 4, 32
MOST_LANES, MOST_LANES_ENDING = 32, 8


def product(
    matrix: Sides, vector: VectorStore, op: Any, flip: bool, mask: MaskView | None
) -> VectorStore:
    """Return matrix times vector; `flip` exchanges the factors.

    Of places that the mask does not admit none gets a value, so that a write has nothing to add.
    """
    run = _push if _pushes(matrix, vector) else _pull
    made = run(matrix, vector, op, flip, mask)
    made.dense = cast(made.dense, op.return_type.np_type)
    return VectorStore.on_device(made, mask)


def _pushes(matrix: Sides, vector: VectorStore) -> bool:
    """Return whether to push; the device is waited for only where that depends on the vector."""
    chosen = forced(matrix, vector)
    return choose(matrix, vector, None, compiles=True).pushes if chosen is None else chosen


def _kernels(
    entries: DeviceMatrix, x: DeviceVector, op: Any, flip: bool, mask: MaskPlaces, lanes: int = 0
) -> Kernels:
    """Return the kernels of a product: of a pull with so many lanes to a row, or of a push."""
    types = np.dtype(entries.dtype), np.dtype(x.dense.dtype)
    header, names = ("pulls.cuh", PULLS) if lanes else ("pushes.cuh", PUSHES)
    lines = [
        "namespace weft {",
        f"using M = {c_type(mask.dtype)};",
        f"using MStored = {stored_type(mask.dtype)};",
        f"constexpr bool flipped = {str(flip).lower()};",
    ]
    if lanes:
        name = op.monoid.parent.name
        is_end = {"any": "true", "lor": "sum != 0", "land": "sum == 0"}.get(name, "false")
        lines += [
            f"constexpr bool ends = {str(name in ENDING).lower()};",
            f"constexpr unsigned pull_lanes = {lanes};",
            f"template <class T> WEFT_DEVICE bool is_end(T sum) {{ return {is_end}; }}",
        ]
    before = "\n".join((*lines, "}\n"))
    return kernels_of(x.device, op, types[::-1] if flip else types, header, before, names)


def _push(
    matrix: Sides, vector: VectorStore, op: Any, flip: bool, mask: MaskView | None
) -> DeviceVector:
    """Spread the values of a vector along the columns of a matrix."""
    x, columns = vector_of(vector), matrix.columns
    entries, named = resident(columns, x.device), mask_places(mask, x)
    run = _kernels(entries, x, op, flip, named)
    xp, size = x.xp, columns.ncols
    out, out_words = stored_words(xp, size, op.monoid.type.np_type)
    there, there_words = stored_words(xp, size, np.dtype(np.bool_))
    room = columns.nrows + entries.nvals // PART_OF_PUSH + 1
    queue, counts = xp.empty(room, np.int64), xp.zeros(3, np.int64)
    x_map, full = x.map()
    flags = named.flags | (X_FULL if full else 0)
    most = max(columns.nrows, size)
    run.launch(
        "push_start",
        (
            entries.offsets, x_map, out_words, there_words, queue, counts, columns.nrows, size,
            room, flags,
        ),
        -(-most // BLOCK),
    )  # fmt: skip
    run.launch(
        "push_spread",
        (
            entries.offsets, entries.cols, entries.values, x.dense, queue, named.values,
            named.there, out_words, there_words, counts, room, flags,
        ),
        -(-room // BLOCK),
    )  # fmt: skip
    return DeviceVector(x.device, out, there, counts)


def _pull(
    matrix: Sides, vector: VectorStore, op: Any, flip: bool, mask: MaskView | None
) -> DeviceVector:
    """Sum up the rows of a matrix."""
    x, rows = vector_of(vector), matrix.rows
    entries, named = resident(rows, x.device), mask_places(mask, x)
    lanes = _lanes(rows, op)
    run = _kernels(entries, x, op, flip, named, lanes)
    xp, np_type = x.xp, op.monoid.type.np_type
    x_map, full = x.map()
    flags = named.flags | (X_FULL if full else 0)
    out, there, count = xp.empty(rows.nrows, np_type), x_map, x_map
    known = full and mask is None
    if known:
        # Every row that has an entry gets a value.
        flags |= OUT_FULL
    else:
        there, count = xp.empty(rows.nrows, np.bool_), xp.zeros(1, np.int64)
    factors = entries.offsets, entries.cols, entries.values, x.dense, x_map
    admitted = named.values, named.there
    run.launch(
        "pull_rows",
        (*factors, *admitted, out, there, count, rows.nrows, LONGEST, flags),
        -(-rows.nrows * lanes // BLOCK), in_order=True,
    )  # fmt: skip
    parts = entries.parts(LONGEST)
    if parts is not None:
        num, num_long = int(parts.row.size), int(parts.rows.size)
        sums, sums_there = xp.empty(num, np_type), xp.empty(num, np.bool_)
        run.launch(
            "pull_parts",
            (*factors, *admitted, parts.row, parts.begin, sums, sums_there, num, LONGEST, flags),
            -(-num * 32 // BLOCK),
        )
        run.launch(
            "pull_joins",
            (parts.rows, parts.first, sums, sums_there, out, there, count, num_long, flags),
            -(-num_long * 32 // BLOCK),
        )
    if known:
        return DeviceVector(x.device, out, entries.filled(), int(entries.filled_rows().size))
    return DeviceVector(x.device, out, there, count)


def _lanes(rows: MatrixStore, op: Any) -> int:
    """Return how many lanes sum up a row."""
    ending = op.monoid.parent.name in ENDING
    each, most = (EACH_ENDING, MOST_LANES_ENDING) if ending else (EACH, MOST_LANES)
    lanes = 1
    while lanes < most and lanes * each * rows.nrows < rows.nvals:
        lanes *= 2
    return lanes


def is_chosen() -> bool:
    """Return whether these kernels make products; programs of weft have schedules and sorts."""
    return bool(current["schedule"] == "auto" and current["combine"] != "radix")
