"""Backends: render, compile and launch typed IR on a kind of device.

This is the only place that chooses a backend; everything else calls `backend_of`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from weft.arrays.device import Device

if TYPE_CHECKING:
    from weft.backends.base import Backend

# The module of each kind of device; its `BACKEND` follows the protocol of `weft.backends.base`.
HOMES = {
    "blocks": "weft.backends.blocks.backend",
    "cpu": "weft.backends.cpu.backend",
    "cuda": "weft.backends.cuda.backend",
    "emulated": "weft.backends.cuda.backend",
    "reference": "weft.backends.reference.backend",
    "relational": "weft.backends.relational.backend",
}


def _home(device: Device) -> str:
    return HOMES["blocks" if device.streams else device.kind]


def backend_of(device: Device) -> Backend:
    """Return the backend of a device, imported when it is first needed."""
    name = _home(device)
    backend: Backend = (sys.modules.get(name) or import_module(name)).BACKEND
    return backend


def loaded_backend_of(device: Device) -> Backend | None:
    """Return the backend of a device if anything has used it in this process, else None."""
    module = sys.modules.get(_home(device))
    return None if module is None else module.BACKEND
