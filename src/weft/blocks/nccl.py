"""An exchange of GPUs by NCCL: arrays go from device to device."""

from __future__ import annotations

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
        By which the processes find each other, and tell how long their arrays are.
    device : str
        The GPU of this process, as in `weft.open`; no other process may have the same.
    """

    def __init__(self, host: Exchange, device: str = "cuda") -> None:
        self.host, self.rank, self.size, self.bytes_sent = host, host.rank, host.size, 0
        gpu = open_device(device)
        self.xp = gpu.xp
        nccl = getattr(self.xp.cuda, "nccl", None)
        if nccl is None:
            raise DeviceError(
                "CuPy finds no NCCL here. Install the package nvidia-nccl-cu13 (or -cu12, by the "
                "CUDA version of CuPy), or exchange by weft.HostExchange alone."
            )
        own = nccl.get_unique_id() if self.rank == 0 else ()
        identifiers = host.gather(np.array(own, np.int64))
        identifier = tuple(int(number) for number in identifiers[0])
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
