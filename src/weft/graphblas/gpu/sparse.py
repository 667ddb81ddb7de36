"""Products of two sparse matrices (SpGEMM): by rows, which are binned by their size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.arrays.reduce import count_true
from weft.backends.device_functions import BLOCK, Kernels
from weft.graphblas.gpu.entries import DeviceMatrix, compacted, resident
from weft.graphblas.gpu.module import kernels_of
from weft.graphblas.options import current
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.matrix import MatrixStore, empty_matrix

Array = Any


class Bin(NamedTuple):
    """Rows that are computed alike: with at most so many entries, in places for them."""

    name: str
    entries: int
    places: int
    block: int
    teams: int
    products: int  # of a row whose entries are known, at most: more are for a larger team


LIST = Bin("list", 16, 16, 128, 128, 64)
BINS = (
    LIST,
    # Hash tables, which are half full then.
    Bin("small", 32, 64, 256, 32, 256),
    Bin("warp", 128, 256, 256, 8, 4096),
    Bin("wide", 512, 1024, 128, 4, 16384),
    Bin("block", 4096, 8192, 512, 1, 1 << 62),
)
TILE = Bin("tile", 0, 0, 512, 1, 1 << 62)
# Columns of a tile of sums, in bytes of theirs, and of one that is only counted; see sparse.cuh.
TILE_BYTES, COUNTED_COLUMNS = 65536, 262144
NAMES = tuple(f"{task}_{each.name}" for task in ("count", "fill") for each in (*BINS, TILE))
MASKED = tuple(f"masked_{each.name}" for each in (*BINS, TILE))


def product(left: MatrixStore, right: MatrixStore, op: Any, mask: Any) -> MatrixStore:
    """Return the product of two matrices, inside of a mask or outside of it."""
    named = None if mask is None else mask.entries()
    if named is not None and not mask.complement:
        return _inside(left, right, op, mask, named)
    device = current["device"]
    run = _Run(left, right, op, device, named if named is not None and named.nvals else None, NAMES)
    xp, nrows = run.xp, left.nrows
    limits = xp.minimum(run.products, right.ncols)
    if run.mask is not None:
        # What the mask keeps out is in the table, too.
        limits += xp.where(limits > 0, run.mask.offsets[1:] - run.mask.offsets[:-1], 0)
    bins = run.binned(limits, known=False)
    counts = xp.zeros(nrows, np.int64)
    none = run.placeholders()
    for each, rows in bins:
        run.launch("count", each, rows, (counts, none.offsets, none.cols, none.values, none.there))
    offsets = xp.zeros(nrows + 1, np.int64)
    offsets[1:] = xp.cumsum(counts)
    total = int(offsets[-1])
    if total == 0:
        return empty_matrix((nrows, right.ncols), op.return_type.np_type)
    cols, values = xp.empty(total, np.int32), xp.empty(total, run.np_type)
    for each, rows in bins:
        run.launch("fill", each, rows, (counts, offsets, cols, values, none.there))
    values = cast(values, op.return_type.np_type)
    made = DeviceMatrix(xp, (nrows, right.ncols), values, offsets, cols)
    return MatrixStore.on_device(device, made, mask)


def _inside(
    left: MatrixStore, right: MatrixStore, op: Any, mask: Any, entries: MatrixStore
) -> MatrixStore:
    """Return the product at the places that a mask names."""
    if entries.nvals == 0:
        return empty_matrix((left.nrows, right.ncols), op.return_type.np_type)
    device = current["device"]
    run = _Run(left, right, op, device, entries, MASKED)
    xp, named = run.xp, run.mask
    lengths = named.offsets[1:] - named.offsets[:-1]
    bins = run.binned(lengths, known=True)
    values, there = xp.zeros(named.nvals, run.np_type), xp.zeros(named.nvals, np.bool_)
    none = run.placeholders()
    for each, rows in bins:
        run.launch("masked", each, rows, (none.counts, none.offsets, none.cols, values, there))
    made = compacted(named, cast(values, op.return_type.np_type), there)
    return MatrixStore.on_device(device, made, mask)


class _Placeholders(NamedTuple):
    """Arrays that a kernel has as parameters and does not touch."""

    counts: Array
    offsets: Array
    cols: Array
    values: Array
    there: Array


class _Run:
    """The factors and the mask of one product on a device, and its kernels."""

    def __init__(
        self, left: MatrixStore, right: MatrixStore, op: Any, device: str, mask: Any,
        names: tuple[str, ...],
    ) -> None:  # fmt: skip
        self.left, self.right = resident(left, device), resident(right, device)
        self.mask: Any = None if mask is None else resident(mask, device)
        self.outside = int(self.mask is not None and names is NAMES)
        self.xp, self.np_type = self.left.xp, op.monoid.type.np_type
        types = np.dtype(self.left.values.dtype), np.dtype(self.right.values.dtype)
        extra = "#define WEFT_MASKED\n" if names is MASKED else ""
        self.kernels: Kernels = kernels_of(
            device, op, types, "sparse.cuh", extra,
            (*names, "product_counts", "few_product_counts"),
        )  # fmt: skip
        self.products = self.xp.empty(left.nrows, np.int64)
        short = self.left.longest_row() <= LIST.products
        self.kernels.launch(
            "few_product_counts" if short else "product_counts",
            (self.left.offsets, self.left.cols, self.right.offsets, left.nrows, self.products),
            -(-left.nrows * (1 if short else 8) // BLOCK), in_order=True,
        )  # fmt: skip
        self.ahead: Array = None

    def binned(self, entries: Array, *, known: bool) -> list[tuple[Bin, Array]]:
        """Return the rows of every bin, those with most entries first in the last of them.

        None stands for all rows. Entries are counted, or `known`: a row with few entries may have
        many products then.
        """
        xp = self.xp
        found: list[tuple[Bin, Array]] = []
        if int(self.products.max()) <= LIST.products and int(entries.max()) <= LIST.entries:
            return [(LIST, None)]
        left = (entries > 0) & (self.products > 0)
        rest = count_true(left)
        for each in BINS:
            if rest == 0:
                return found
            here = left & (entries <= each.entries)
            if known or each is LIST:
                here &= self.products <= each.products
            rows = xp.flatnonzero(here)
            if rows.size:
                left, rest = left & ~here, rest - int(rows.size)
                found.append((each, rows.astype(np.int32)))
        rows = xp.flatnonzero(left)
        if rows.size:
            order = xp.argsort(-self.products[rows])
            found.append((TILE, rows[order].astype(np.int32)))
            self.ahead = xp.empty(self.left.nvals, np.int64)
        return found

    def placeholders(self) -> _Placeholders:
        """Return arrays for what a kernel does not touch."""
        xp = self.xp
        types = (np.int64, np.int64, np.int32, self.np_type, np.bool_)
        return _Placeholders(*(xp.empty(1, each) for each in types))

    def launch(self, task: str, each: Bin, rows: Array, result: tuple[Any, ...]) -> None:
        """Start the kernel of a task for the rows of a bin."""
        mine, theirs, mask = self.left, self.right, self.mask
        all_rows = rows is None
        count = mine.shape[0] if all_rows else int(rows.size)
        # Without a mask nothing is read of what stands in its place.
        named = (mine.offsets, mine.cols) if mask is None else (mask.offsets, mask.cols)
        ahead = result[0] if self.ahead is None else self.ahead
        word = max(4, self.np_type.itemsize)
        if each is TILE:
            columns = COUNTED_COLUMNS if task == "count" else TILE_BYTES // word
            shared = 2 * columns // 8 + (0 if task == "count" else TILE_BYTES)
        else:
            shared = each.places * each.teams * (4 if task == "count" else 4 + word)
        self.kernels.launch(
            f"{task}_{each.name}",
            (
                mine.offsets, mine.cols, mine.values, theirs.offsets, theirs.cols, theirs.values,
                mine.cols if all_rows else rows, count, *named, self.outside, *result, ahead,
                int(all_rows),
            ),
            -(-count // each.teams), block=each.block, shared_bytes=shared,
            in_order=each is LIST,
        )  # fmt: skip
