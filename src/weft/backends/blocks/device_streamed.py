"""The streamed carrier of a GPU: state on the device, blocks from the host or from disk.

While a kernel works on a block, the next one is copied to the device from pinned memory, and the
one after it is read from disk. Blocks that `memory` has room for stay in the memory of the host.
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
        Where the block files are.
    manifest
        The graph.
    degrees
        The degrees of its vertices by direction.
    memory
        Bytes that blocks may take in the memory of the host at a time.
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
        """Refuse common neighbours, for which two blocks would have to be on the device."""
        if part.pairs:
            raise refuse(
                part.step, "weft.common looks at the rows of two blocks at a time",
                "Open the graph without device=, which reads both.",
            )  # fmt: skip

    def _members(self, frontier: Any) -> list[Any]:
        cuts, dtype, xp = self.manifest.cuts, self.space.dtype, self.device.xp
        if frontier is None:
            return [xp.arange(low, high, dtype=dtype) for low, high in itertools.pairwise(cuts)]
        places = to_host(xp.searchsorted(frontier, xp.asarray(cuts, dtype))).tolist()
        return [frontier[low:high] for low, high in itertools.pairwise(places)]

    def _blocks(
        self,
        numbers: Sequence[int],
        ways: tuple[str, ...],
        rows: Mapping[int, Any] | None = None,
        keep: bool = True,
    ) -> Iterator[tuple[int, dict[str, Block]]]:
        """Yield blocks, the present one on the device and the next one on its way there.

        A sweep over a single block finds it where the last one left it.
        """
        stored = {self.space.stored_way(way) for way in ways}
        if len(numbers) == 1 and all(self._present.get(way) == numbers[0] for way in stored):
            yield numbers[0], {}
            return
        coming = super()._blocks(numbers, ways, keep=keep)
        try:
            following = self._sent(coming)
            while following is not None:
                present = following
                self.space.receive()
                self._present.update(dict.fromkeys(present[1], present[0]))
                following = self._sent(coming)
                yield present
        finally:
            self.space.link.wait()

    def _sent(self, coming: Iterator[tuple[int, dict[str, Block]]]) -> Any:
        """Start to copy the next block to the device, if there is one."""
        found = next(coming, None)
        if found is not None:
            self._leaving[found[0]] = self.space.send(found[1])
        return found

    def _recycle(self, number: int, blocks: dict[str, Block]) -> None:
        """Let a block be read over when its copy is done, which kernels wait for, not the host."""
        left = self._leaving.pop(number, None)
        if left is not None:
            left.synchronize()
        super()._recycle(number, blocks)
