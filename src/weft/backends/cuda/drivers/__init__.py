"""Drivers that run generated CUDA: on a GPU, or in the emulation on the host."""

from __future__ import annotations

import functools
from typing import Any

from weft.backends.cuda.drivers.base import Driver, Kernel, Limits, Module

__all__ = ["Driver", "Kernel", "Limits", "Module", "driver_of"]


@functools.cache
def driver_of(kind: str, index: int = 0) -> Any:
    """Return the driver of a device: kind "cuda" or "emulated"."""
    if kind == "emulated":
        from weft.backends.cuda.drivers.emulated import EmulatedDriver

        return EmulatedDriver()
    from weft.backends.cuda.drivers.gpu import GpuDriver

    return GpuDriver(index)
