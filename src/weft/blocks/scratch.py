"""Large arrays of a run over blocks, in files that go with them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

IN_MEMORY: Final = 1 << 22  # bytes of an array that is not worth a file


def scratch_array(folder: Path | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return a new array; if it is large it is mapped from a file in a folder (None: any).

    The system then keeps as much of it in memory as there is room for. All of the file's room on
    the disk is taken at once: where that is not there, this fails, and no later write does.

    Raises
    ------
    OSError
        If the disk is full.
    """
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size <= IN_MEMORY:
        return np.empty(shape, dtype)
    where = folder if folder is not None and os.access(folder, os.W_OK) else None
    with tempfile.TemporaryFile(dir=where) as file:
        os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, dtype, "r+", shape=shape)
