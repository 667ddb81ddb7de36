"""Unions and intersections of matrices on a device: rows are merged as those of graphs are."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graph.merging.merge import Rows, merged_on_device
from weft.graphblas.gpu.entries import DeviceMatrix, place_of, resident
from weft.graphblas.gpu.places import combined_functions
from weft.graphblas.options import current, is_compiled
from weft.graphblas.settings import config
from weft.graphblas.storage.matrix import MatrixStore, empty_matrix


def is_away(left: Any, right: Any) -> bool:
    """Return whether two matrices should be combined on the current device.

    They should if it alone has one of them, or if they are large.
    """
    device = current["device"]
    if device == "cpu" or current["kernel"] == "numpy" or not isinstance(left, MatrixStore):
        return False
    away = [each for each in (left, right) if each.is_away]
    if any(device not in each.resident for each in away) or max(left.shape) >= 1 << 31:
        return False
    return bool(away) or is_compiled() or left.nvals + right.nvals > config["small"]


def combine(
    left: MatrixStore,
    right: MatrixStore,
    op: Any,
    union: bool,
    defaults: tuple[Any, Any] | None = None,
) -> MatrixStore:
    """Return the union or the intersection of two matrices; defaults stand for lone operands."""
    device, np_type = current["device"], op.return_type.np_type
    both, lone = combined_functions(op, defaults)
    mine, theirs = resident(left, device), resident(right, device)
    types = mine.dtype, theirs.dtype
    functions = {"both": (both, types), "one": (lone[0], types[:1]), "other": (lone[1], types[1:])}
    rows, others = (Rows(each.offsets, each.cols, each.values) for each in (mine, theirs))
    made = merged_on_device(rows, others, functions, np.dtype(np_type), union, place_of(device))
    if int(made.cols.size) == 0:
        return empty_matrix(left.shape, np_type)
    entries = DeviceMatrix(mine.xp, left.shape, made.values, made.offsets, made.cols)
    return MatrixStore.on_device(device, entries)
