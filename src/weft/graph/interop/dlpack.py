"""Read tensors of other libraries through DLPack."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.arrays.device import is_device_array, open_device
from weft.errors import GraphError

_ON_GPU: Final = (2, 13)  # DLPack device types of CUDA memory and CUDA managed memory


def tensor_ends(edge_index: Any) -> tuple[Any, Any]:
    """Return the sources and targets in a tensor of shape (2, m).

    Raises
    ------
    GraphError
        If it is not a tensor, or has another shape.
    """
    ends = read_tensor(edge_index, "edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2:
        turn = " Transpose it: edge_index.T." if ends.ndim == 2 and ends.shape[1] == 2 else ""
        raise GraphError(
            f"edge_index has shape {tuple(ends.shape)}. Expected (2, m): the sources in "
            f"row 0, the targets in row 1.{turn}"
        )
    return ends[0], ends[1]


def read_tensor(value: Any, what: str) -> Any:
    """Return a tensor as a NumPy or CuPy array, without copying it."""
    if hasattr(value, "detach"):
        value = value.detach()
    if isinstance(value, np.ndarray) or is_device_array(value):
        return value
    if not hasattr(value, "__dlpack__"):
        raise GraphError(
            f"{what} is a {type(value).__name__} without __dlpack__. Expected a tensor or an "
            "array; for lists, use Graph.from_edges."
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
            f"{what} cannot be read through DLPack: {error}. Expected a dense tensor of a dtype "
            "that NumPy or CuPy supports; convert it with .to(...) first."
        ) from error
