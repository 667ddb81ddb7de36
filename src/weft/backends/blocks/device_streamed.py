"""The streamed carrier of a GPU: state on the device, blocks from the host or from disk.

While a kernel works on a block, the next one is copied to the device from pinned memory, and the
one after it is read from disk. Blocks that fit into `memory` stay in host memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.arrays.device import Device, to_host
from weft.backends.blocks.refusals import refuse
from weft.backends.blocks.stages import ArcPart
from weft.backends.blocks.streamed import AHEAD, StreamedCarrier
from weft.backends.cuda.host.block_run import DeviceSpace
from weft.blocks.block_file import Block, BlockReader
from weft.blocks.manifest import Manifest

Array = np.ndarray[Any, Any]


class DeviceCarrier(StreamedCarrier):
    """Sweeps block files on a GPU of this machine.

    Parameters
    ----------
    folder
        The folder of the block files.
    manifest
        The graph.
    degrees
        The degrees of its vertices by direction.
    memory
        The limit of host memory for blocks, in bytes.
    device
        The GPU, whose memory holds the state, and twice the largest block.
    """

    pulls = False

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        degrees: dict[str, Array],
        memory: int,
        device: Device,
    ) -> None:
        self.device = device
        self._present: dict[str, int] = {}  # which block is on the device, by direction
        self._leaving: dict[int, Any] = {}  # by block, the event that the host may let it go
        self._ahead: tuple[int, set[str]] | None = None  # sent for the sweep that follows
        self._every: list[Any] = []  # all vertices, by block
        super().__init__(folder, manifest, degrees, memory)

    def _space(self, degrees: dict[str, Array]) -> Any:
        return DeviceSpace(self.manifest, degrees, self.device)

    def _reader(self) -> BlockReader:
        return BlockReader(self.folder, allocate=self.space.link.allocate)

    def _blocks_in_flight(self) -> int:
        return AHEAD + 3  # one more is being copied

    @property
    def counters(self) -> dict[str, int]:
        """Bytes read and copied to the device, and blocks swept and skipped."""
        return {**super().counters, "bytes_copied": self.space.bytes_copied}

    def check(self, part: ArcPart) -> None:
        """Refuse common neighbours, which need two blocks on the device, and edge state."""
        if part.pairs:
            raise refuse(
                part.step, "weft.common looks at the rows of two blocks at a time",
                "Open the graph without device=, which reads both.",
            )  # fmt: skip
        if part.edges is not None:
            raise refuse(
                part.step, "it uses edge state, which takes more memory than the arcs that do not "
                "fit on the device", "Open the graph without device=.",
            )  # fmt: skip

    def _members(self, frontier: Any) -> list[Any]:
        cuts, dtype, xp = self.manifest.cuts, self.space.dtype, self.device.xp
        if frontier is None:
            if not self._every:
                pairs = itertools.pairwise(cuts)
                self._every = [xp.arange(low, high, dtype=dtype) for low, high in pairs]
            return self._every
        places = to_host(xp.searchsorted(frontier, xp.asarray(cuts, dtype))).tolist()
        return [frontier[low:high] for low, high in itertools.pairwise(places)]

    def _blocks(
        self,
        numbers: Sequence[int],
        ways: tuple[str, ...],
        rows: Mapping[int, Any] | None = None,
        keep: bool = True,
    ) -> Iterator[tuple[int, dict[str, Block]]]:
        """Yield blocks: the current one is on the device while the next one is copied.

        A sweep over a single block finds it where the last one left it. Behind the last one the
        first is sent again: the sweep that follows begins with it if it has the same blocks.
        """
        stored = {self.space.stored_way(way) for way in ways}
        if len(numbers) == 1 and all(self._present.get(way) == numbers[0] for way in stored):
            yield numbers[0], {}
            return
        coming = super()._blocks(numbers, ways, keep=keep)
        try:
            following = self._sent(coming, stored)
            while following is not None:
                present = following
                self.space.receive()
                self._present.update(dict.fromkeys(present[1], present[0]))
                following = self._sent(coming, stored)
                if following is None and len(numbers) > 1:
                    self._send_ahead(numbers, stored)
                yield present
        except BaseException:
            self._ahead = None
            self.space.link.wait()
            raise

    def _sent(self, coming: Iterator[tuple[int, dict[str, Block]]], stored: set[str]) -> Any:
        """Start to copy the next block to the device, if there is one and it was not sent ahead."""
        found = next(coming, None)
        if found is not None:
            if self._ahead != (found[0], stored):
                self._leaving[found[0]] = self.space.send(found[1])
            self._ahead = None
        return found

    def _send_ahead(self, numbers: Sequence[int], stored: set[str]) -> None:
        """Start to copy the block that the same sweep would begin with, if the host keeps it."""
        for number in numbers:
            held = {way: self._held.get((way, number)) for way in sorted(stored)}
            if None not in held.values():
                self.space.send(held)
                self._ahead = number, stored
                return

    def _recycle(self, number: int, blocks: dict[str, Block]) -> None:
        """Allow overwriting a block once its copy is done; kernels wait for that, not the host."""
        left = self._leaving.pop(number, None)
        if left is not None:
            left.synchronize()
        super()._recycle(number, blocks)
