"""An exchange of GPUs by NCCL: arrays go from device to device."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from weft.arrays.device import open_device
from weft.blocks.exchange import Exchange
from weft.errors import DeviceError


class NcclExchange:
    """An exchange of processes with a GPU each, whose arrays NCCL gathers.

    Parameters
    ----------
    host : Exchange
        Connects the processes, and exchanges the lengths of their arrays.
    device : str
        The GPU of this process, as in `weft.open`; each process needs its own.
    """

    def __init__(self, host: Exchange, device: str = "cuda") -> None:
        self.host, self.rank, self.size, self.bytes_sent = host, host.rank, host.size, 0
        gpu = open_device(device)
        self.xp = gpu.xp
        nccl = _nccl()
        if nccl is None:
            raise DeviceError(
                "CuPy finds no NCCL here. Install the package nvidia-nccl-cu13 (or -cu12, by the "
                "CUDA version of CuPy), or exchange by weft.HostExchange alone."
            )
        own = _packed(nccl.get_unique_id() if self.rank == 0 else b"")
        identifier = _unpacked(host.gather(own)[0])
        self._bytes = nccl.NCCL_INT8
        with gpu.current():
            self._group = nccl.NcclCommunicator(self.size, identifier, self.rank)

    def gather(self, array: Any) -> list[Any]:
        """Return the arrays of all processes, by rank."""
        if isinstance(array, np.ndarray):
            return self.host.gather(array)
        lengths = [int(own[0]) for own in self.host.gather(np.array([array.shape[0]]))]
        most = max(lengths)
        if most == 0:
            return [array] * self.size
        sent = self.xp.zeros((most, *array.shape[1:]), array.dtype)
        sent[: array.shape[0]] = array
        came = self.xp.empty((self.size, *sent.shape), array.dtype)
        stream = self.xp.cuda.get_current_stream().ptr
        self._group.allGather(sent.data.ptr, came.data.ptr, sent.nbytes, self._bytes, stream)
        self.bytes_sent += sent.nbytes
        return [came[rank, :length] for rank, length in enumerate(lengths)]


def _packed(identifier: bytes | tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return the identifier of a group as an array: bytes since CuPy 14, numbers before."""
    return np.array([isinstance(identifier, bytes), *identifier], np.int64)


def _unpacked(array: np.ndarray[Any, Any]) -> bytes | tuple[int, ...]:
    """Return the identifier of a group in the form that CuPy takes."""
    is_bytes, *numbers = array.tolist()
    return bytes(numbers) if is_bytes else tuple(numbers)


def _nccl() -> Any:
    """Return CuPy's module of NCCL, which is loaded only when it is imported; None if it cannot."""
    try:
        found = importlib.import_module("cupy.cuda.nccl")
    except ImportError:
        return None
    return found if hasattr(found, "NcclCommunicator") else None
