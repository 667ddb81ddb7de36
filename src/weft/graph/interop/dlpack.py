"""Tensors of other libraries as arrays, by DLPack."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.arrays.device import is_device_array, open_device
from weft.errors import GraphError

_ON_GPU: Final = (2, 13)  # how DLPack numbers memory of CUDA, and memory that it manages


def tensor_ends(edge_index: Any) -> tuple[Any, Any]:
    """Return the sources and the targets of a tensor of shape (2, m).

    Raises
    ------
    GraphError
        If it is no tensor, or has another shape.
    """
    ends = read_tensor(edge_index, "edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2:
        turn = " Turn it round: edge_index.T." if ends.ndim == 2 and ends.shape[1] == 2 else ""
        raise GraphError(
            f"edge_index has the shape {tuple(ends.shape)}. Expected (2, m): the sources in "
            f"row 0, the targets in row 1.{turn}"
        )
    return ends[0], ends[1]


def read_tensor(value: Any, what: str) -> Any:
    """Return a tensor as an array of NumPy or CuPy, without a copy."""
    if hasattr(value, "detach"):
        value = value.detach()
    if isinstance(value, np.ndarray) or is_device_array(value):
        return value
    if not hasattr(value, "__dlpack__"):
        raise GraphError(
            f"{what} is a {type(value).__name__} without __dlpack__. Expected a tensor or an "
            "array; use Graph.from_edges for lists."
        )
    kind, index = value.__dlpack_device__()
    try:
        if int(kind) in _ON_GPU:
            device = open_device("cuda" if index == 0 else f"cuda:{int(index)}")
            with device.current():
                return device.xp.from_dlpack(value)
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise GraphError(
            f"{what} cannot be read by DLPack: {error}. Expected a dense tensor of integers or "
            "floats that NumPy or CuPy has, too; convert it with .to(...) first."
        ) from error
