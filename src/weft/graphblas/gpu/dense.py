"""Products of a sparse matrix and one that has all values (SpMM), by rows or by equal shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backends.device_functions import BLOCK
from weft.graphblas.gpu.entries import DeviceMatrix, FullRows, compacted, resident
from weft.graphblas.gpu.module import kernels_of
from weft.graphblas.options import current
from weft.graphblas.settings import config
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.matrix import MatrixStore, empty_matrix

WARP = 32
KERNELS = ("dense_rows", "dense_shares", "dense_carries", "dense_masked")
# Bytes that a lane reads of a row at once, at most.
WIDEST = 16
# Entries of a row that a warp takes alone, at most.
LONGEST = 8192
# Entries of a share, and from how many entries on it is the larger one: a share brings a carry.
SHARE, LARGE_SHARE, LARGE = 128, 256, 1 << 24


def lanes_and_pack(width: int, itemsize: int) -> tuple[int, int]:
    """Return how many lanes work on a row of so many columns, and how many columns each takes."""
    pack = 1
    while (
        pack < 4
        and width % (2 * pack) == 0
        and 2 * pack * itemsize <= WIDEST
        and width >= 2 * pack * WARP
    ):
        pack *= 2
    lanes = 1
    while lanes < WARP and lanes * pack < width:
        lanes *= 2
    return lanes, pack


def merges(entries: DeviceMatrix) -> bool:
    """Return whether the entries of a matrix are shared out evenly, not its rows.

    They are if rows are short, or one is so long that a warp would still be busy with it when all
    others are done.
    """
    if current["kernel"] in {"row", "merge"}:
        return bool(current["kernel"] == "merge")
    short = entries.nvals < config["merge_below"] * entries.shape[0]
    return bool(short or entries.longest_row() > LONGEST)


def product_with_full(left: MatrixStore, right: MatrixStore, op: Any, mask: Any) -> MatrixStore:
    """Return the product with a matrix that has all values.

    Of a mask that names places those alone are computed; others act on the finished product.
    """
    device = current["device"]
    mine, theirs = resident(left, device), resident(right, device)
    xp, width, np_type = mine.xp, right.ncols, op.monoid.type.np_type
    lanes, pack = lanes_and_pack(width, max(theirs.values.itemsize, np_type.itemsize))
    extra = f"constexpr unsigned dense_lanes = {lanes}, dense_pack = {pack};\n"
    types = np.dtype(mine.values.dtype), np.dtype(theirs.values.dtype)
    kernels = kernels_of(device, op, types, "dense.cuh", f"namespace weft {{ {extra} }}\n", KERNELS)
    teams = BLOCK // lanes
    given = mine.cols, mine.values, theirs.values
    entries = None if mask is None else mask.entries()
    if entries is not None and not mask.complement:
        if entries.nvals == 0:
            return empty_matrix((left.nrows, width), op.return_type.np_type)
        named = resident(entries, device)
        out = xp.empty(named.nvals, np_type)
        kernels.launch(
            "dense_masked",
            (mine.offsets, *given, named.offsets, named.cols, out, left.nrows, width),
            -(-left.nrows // teams),
        )
        there = (mine.offsets[1:] > mine.offsets[:-1])[named.rows]
        made = compacted(named, cast(out, op.return_type.np_type), there)
        return MatrixStore.on_device(device, made, mask)
    out = xp.empty(left.nrows * width, np_type)
    if merges(mine):
        share = LARGE_SHARE if mine.nvals > LARGE else SHARE
        shares = -(-mine.nvals // share)
        carry, carry_row = xp.empty(shares * width, np_type), xp.empty(shares, np.int32)
        kernels.launch(
            "dense_shares",
            (mine.offsets, mine.rows, *given, out, mine.nvals, width, share, carry, carry_row),
            -(-shares // teams),
        )
        kernels.launch(
            "dense_carries",
            (mine.offsets, carry, carry_row, out, shares, share, width),
            -(-shares // teams),
        )
    else:
        arguments = mine.offsets, *given, out, left.nrows, width
        kernels.launch("dense_rows", arguments, -(-left.nrows // teams))
    out = cast(out, op.return_type.np_type)
    if entries is None or entries.nvals == 0:
        return MatrixStore.on_device(device, _of_rows(mine, out, width), mask)
    named = resident(entries, device)
    return MatrixStore.on_device(device, _outside(mine, out, named), mask)


def _outside(left: DeviceMatrix, out: Any, named: DeviceMatrix) -> DeviceMatrix:
    """Return the product of the left factor's rows that have entries, without a mask's places."""
    xp, width = left.xp, named.shape[1]
    there = xp.repeat(left.offsets[1:] > left.offsets[:-1], width)
    there[named.rows.astype(np.int64) * width + named.cols] = False
    return compacted(DeviceMatrix(xp, named.shape, out, None, None), out, there)


def _of_rows(left: DeviceMatrix, out: Any, width: int) -> DeviceMatrix:
    """Return the product of the left factor's rows that have entries: they are full."""
    shape = left.shape[0], width
    if int(left.filled_rows().size) == shape[0]:
        return DeviceMatrix(left.xp, shape, out, None, None)
    return FullRows(left.xp, shape, out, left)
