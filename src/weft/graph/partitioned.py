"""Graphs whose arcs are in blocks: opened from a folder, or provided by another carrier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from weft.arrays.device import BLOCKS, CPU, Device, move
from weft.backends.blocks.streamed import StreamedCarrier
from weft.blocks.exchange import Exchange
from weft.blocks.manifest import Column, Manifest, read_manifest
from weft.blocks.topology import PartitionedTopology
from weft.errors import ConfigError, FileFormatError, GraphError
from weft.graph.columns import EdgeColumns
from weft.graph.graph import Graph
from weft.graph.labels import Labels
from weft.graph.prepared_cache import PreparedCache
from weft.topology.adjacency import Array


class StoredColumn:
    """The dtype and shape of an edge column whose values are in blocks."""

    def __init__(self, name: str, column: Column, length: int) -> None:
        self.name = name
        self.dtype = np.dtype(column.dtype)
        self.shape = (length, *column.shape)
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape, dtype=np.int64))
        self.nbytes = 0  # in memory

    def _refuse(self) -> NoReturn:
        raise GraphError(
            f"edge column {self.name!r} is in blocks, not in memory. Expected a function of e that "
            f"reads e.{self.name}; if the arcs fit into memory, g.to('cpu') loads them."
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        self._refuse()

    def __getitem__(self, place: Any) -> Any:
        self._refuse()

    def __iter__(self) -> Iterator[Any]:
        self._refuse()

    def __len__(self) -> int:
        return self.shape[0]


class StoredEdgeColumns(EdgeColumns):
    """The edge columns of a partitioned graph: names, dtypes and ranges; values are in blocks."""

    def __init__(self, topology: PartitionedTopology) -> None:
        super().__init__(topology)
        self._manifest = topology.manifest
        length = topology.num_edges
        stored: Any = {
            name: StoredColumn(name, column, length)
            for name, column in topology.manifest.columns.items()
        }
        self._columns = stored

    def __getitem__(self, name: str) -> Array:
        held: Any = self.storage(name)
        refuse: Callable[[], NoReturn] = held._refuse
        refuse()

    def __setitem__(self, name: str, values: Any) -> None:
        raise GraphError(
            f"edge column {name!r} cannot be assigned: a partitioned graph does not change. "
            "Expected columns of the edge file; partition it again."
        )

    def extent(self, name: str) -> tuple[Any, Any]:
        """Return the minimum and maximum of a column, as found when it was built."""
        self.storage(name)
        column = self._manifest.columns[name]
        return column.low, column.high

    def moved(self, device: Device) -> dict[str, Array]:
        """Return all columns in memory, on a device."""
        carrier = self._topology.carrier
        return {name: move(carrier.column(name), device) for name in self._columns}


def partitioned_graph(
    topology: PartitionedTopology,
    vertex: Mapping[str, Array] | None = None,
    labels: Labels | None = None,
) -> Graph:
    """Return the graph of a partitioned topology."""
    g = Graph(topology, vertex=vertex, labels=labels)
    g._edge = StoredEdgeColumns(topology)
    g._prepared = PreparedCache(g._vertex, g._edge)
    return g


def streamed_graph(
    folder: Path, memory: int, device: Device = CPU, exchange: Exchange | None = None
) -> Graph:
    """Return the graph in a folder of blocks, swept on a device of this machine.

    With an exchange, other processes sweep some of the blocks.
    """
    manifest = read_manifest(folder)
    degrees, onto = _degrees(folder, manifest), BLOCKS
    with device.current():
        if device == CPU:
            carrier: Any = StreamedCarrier(folder, manifest, degrees, memory)
        elif device.takes_blocks:
            from weft.backends.blocks.device_streamed import DeviceCarrier

            carrier = DeviceCarrier(folder, manifest, degrees, memory, device)
            degrees, onto = carrier.space.degrees, replace(device, streams=True)
        else:
            raise ConfigError(
                f"device={str(device)!r} cannot sweep blocks. Expected 'cpu' or 'cuda'; "
                f"weft.open(...).to({str(device)!r}) brings all arcs there."
            )
        if exchange is not None:
            from weft.backends.blocks.ranked import RankedCarrier

            carrier = RankedCarrier(carrier, exchange)
        return partitioned_graph(PartitionedTopology(manifest, degrees, carrier, onto))


def _degrees(folder: Path, manifest: Manifest) -> dict[str, Array]:
    """Return the degrees that were stored beside the blocks."""
    degrees = {}
    for way in ("out", "in") if manifest.directed else ("out",):
        path = folder / f"{way}_degree.npy"
        try:
            degrees[way] = np.load(path, allow_pickle=False)
            if degrees[way].shape != (manifest.num_vertices,):
                raise ValueError(f"there are {degrees[way].size} degrees")
            if int(degrees[way].sum(dtype=np.int64)) != manifest.num_arcs:
                raise ValueError("the degrees do not add up to the number of arcs")
        except (OSError, ValueError, EOFError) as error:
            raise FileFormatError(
                path, f"the degrees cannot be read ({error}). Expected what weft.partition wrote; "
                "partition the graph again, or restore the file."
            ) from None  # fmt: skip
    return degrees
