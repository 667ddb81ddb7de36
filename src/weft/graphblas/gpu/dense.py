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
KERNELS = (
    "dense_rows", "dense_parts", "dense_joins", "dense_shares", "dense_carries", "dense_masked",
)  # fmt: skip
# Bytes that a lane reads of a row at once, at most.
WIDEST = 16
# Entries of a row that a warp takes alone, at most; longer rows are cut into parts of as many.
LONGEST = 1024
# Entries of the rows that a group of lanes takes together, about, and as many groups as keep a
# device busy. More of them spread the rows that are worked on at a time over more memory.
TOGETHER, BUSY = 32, 8192
# Entries of a share, and from how many entries on it is the larger one: a share brings a carry.
SHARE, LARGE_SHARE, LARGE = 128, 256, 1 << 24


def lanes_and_pack(width: int, itemsize: int) -> tuple[int, int]:
    """Return how many lanes work on a row of so many columns, and how many columns each takes."""
    pack = 1
    while pack < 4 and width % (2 * pack) == 0 and 2 * pack * itemsize <= WIDEST:
        pack *= 2
    lanes = 1
    while lanes < WARP and lanes * pack < width:
        lanes *= 2
    return lanes, pack


def merges(entries: DeviceMatrix) -> bool:
    """Return whether the entries of a matrix are shared out evenly, not its rows."""
    if current["kernel"] in {"row", "merge"}:
        return bool(current["kernel"] == "merge")
    return bool(entries.nvals < config["merge_below"] * entries.shape[0])


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
    run = _by_shares if merges(mine) else _by_rows
    run(kernels, mine, (*given, out), width, lanes)
    out = cast(out, op.return_type.np_type)
    if entries is None or entries.nvals == 0:
        return MatrixStore.on_device(device, _of_rows(mine, out, width), mask)
    named = resident(entries, device)
    return MatrixStore.on_device(device, _outside(mine, out, named), mask)


def _by_rows(kernels: Any, mine: DeviceMatrix, arrays: Any, width: int, lanes: int) -> None:
    """Compute the rows of a product, several short ones at once and long ones in parts."""
    nrows, teams, out = mine.shape[0], BLOCK // lanes, arrays[-1]
    parts = mine.parts(LONGEST)
    if parts is not None:
        count = int(parts.row.size)
        carry = mine.xp.empty(count * width, out.dtype)
        kernels.launch(
            "dense_parts",
            (mine.offsets, *arrays, width, parts.row, parts.begin, count, LONGEST, carry),
            -(-count // teams), in_order=True,
        )  # fmt: skip
    each = max(1, min(lanes, TOGETHER * nrows // mine.nvals, nrows // BUSY))
    kernels.launch(
        "dense_rows",
        (mine.offsets, *arrays, nrows, width, each, LONGEST),
        -(-nrows // (each * teams)), in_order=True,
    )  # fmt: skip
    if parts is not None:
        count = int(parts.rows.size)
        kernels.launch(
            "dense_joins", (parts.rows, parts.first, carry, out, count, width), -(-count // teams)
        )


def _by_shares(kernels: Any, mine: DeviceMatrix, arrays: Any, width: int, lanes: int) -> None:
    """Compute a product by equal shares of the entries, and join rows that several of them have."""
    xp, teams, out = mine.xp, BLOCK // lanes, arrays[-1]
    share = LARGE_SHARE if mine.nvals > LARGE else SHARE
    shares = -(-mine.nvals // share)
    carry, carry_row = xp.empty(shares * width, out.dtype), xp.empty(shares, np.int32)
    kernels.launch(
        "dense_shares",
        (mine.offsets, mine.rows, *arrays, mine.nvals, width, share, carry, carry_row),
        -(-shares // teams), in_order=True,
    )  # fmt: skip
    kernels.launch(
        "dense_carries",
        (mine.offsets, carry, carry_row, out, shares, share, width),
        -(-shares // teams),
    )


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
