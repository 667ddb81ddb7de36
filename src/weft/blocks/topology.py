"""The topology of a graph whose arcs are not in memory."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from weft.arrays.device import BLOCKS, Device
from weft.blocks.manifest import Manifest
from weft.blocks.scratch import scratch_array
from weft.errors import GraphError
from weft.topology.topology import Adjacency, Array, Direction, Keep, Topology

REMEDY = (
    "Use functions of u, v and e, or an algorithm that works on partitioned graphs; if the arcs "
    "fit into memory, g.to('cpu') loads them."
)


class PartitionedTopology(Topology):
    """Degrees and counts of a partitioned graph; its arcs are where the carrier has them.

    Parameters
    ----------
    manifest : Manifest
        What the graph consists of.
    degrees : dict of str to ndarray
        The degrees by direction; of an undirected graph those by "out" only.
    carrier
        What runs sweeps over the blocks.
    device : Device, optional
        Where the state of the vertices and the degrees are.
    """

    def __init__(
        self,
        manifest: Manifest,
        degrees: dict[str, Array],
        carrier: Any,
        device: Device = BLOCKS,
    ) -> None:
        dtype, xp = np.dtype(manifest.index_dtype), device.xp
        nothing = Adjacency(xp.zeros(1, np.int64), xp.zeros(0, dtype))
        keep: Keep = manifest.keep  # type: ignore[assignment]
        super().__init__(
            nothing,
            directed=manifest.directed,
            keep=keep,
            num_edges=manifest.num_edges,
            device=device,
        )
        self.num_vertices, self.num_arcs = manifest.num_vertices, manifest.num_arcs
        self.manifest, self.carrier = manifest, carrier
        self._degrees = dict(degrees)

    @property
    def known_simple(self) -> bool | None:
        """Whether there are neither self-loops nor parallel arcs, as found when it was built."""
        return self.manifest.is_simple

    def adjacency(self, direction: Direction) -> Adjacency:
        """Refuse: the arcs are not in memory."""
        self.refuse("its rows")

    def endpoints(self) -> tuple[Array, Array]:
        """Refuse: the arcs are not in memory."""
        self.refuse("the ends of all edges")

    def slot_values(self, values: Array, direction: Direction) -> Array:
        """Refuse: the arcs are not in memory."""
        self.refuse("values for every edge")

    def arcs(self, direction: Direction) -> Array | None:
        """Refuse: the arcs are not in memory."""
        self.refuse("the numbers of all arcs")

    def edges(self, direction: Direction) -> Array | None:
        """Refuse: the arcs are not in memory."""
        self.refuse("the ids of all edges")

    def empty_arcs(self, shape: Any, dtype: Any) -> Array:
        """Return an array for edge state: on a CPU a file, if it is large."""
        if self.device != BLOCKS:
            return self.xp.empty(shape, dtype)
        extent = (shape,) if isinstance(shape, int) else tuple(shape)
        return scratch_array(self.carrier.folder, extent, np.dtype(dtype))

    def arranged(self, order: Array) -> Topology:
        """Refuse: blocks stay in the order in which they were built."""
        self.refuse("another order of the vertices")

    def reversed(self) -> Topology:
        """Return itself if undirected; refuse otherwise."""
        if not self.directed:
            return self
        self.refuse("all edges reversed")

    def with_edges(self, src: Array, dst: Array, num_vertices: int) -> Topology:
        """Refuse: block files do not change."""
        self.refuse("other edges")

    def without_edges(self, src: Array, dst: Array) -> Topology:
        """Refuse: block files do not change."""
        self.refuse("other edges")

    def refuse(self, what: str) -> NoReturn:
        """Raise the error about something that needs all arcs at once."""
        raise GraphError(
            f"This needs {what} in memory, but the graph is partitioned: {self.num_arcs} arcs in "
            f"{self.manifest.num_blocks} blocks. {REMEDY}"
        )

    def _moved(self, device: Device) -> Topology:
        """Return the same structure with its arcs in memory."""
        primary = self.carrier.adjacency(self.primary_direction)
        whole = Topology(primary, directed=self.directed, keep=self.keep, num_edges=self.num_edges)
        return whole if device.on_host and device == whole.device else whole.to(device)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the degrees."""
        return sum(degree.nbytes for degree in self._degrees.values())

    def _degree(self, direction: Direction) -> Array:
        return self._degrees[direction if self.directed else "out"]
