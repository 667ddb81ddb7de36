"""Runs one superstep of a program over the blocks of a graph, which come to a GPU one by one.

The kernel is the one of any graph. It gets offsets for all vertices, of which only the rows of the
present block are set, and a frontier of vertices among these rows. A block is copied to a second
place on the device while the kernel works on the one before, and from there, which takes a
fraction of the time, to where the kernel expects it: so all blocks are one graph to the engine.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from weft.arrays.device import Device
from weft.backends.cuda.host.run import Compiled, compile_program, prepare, run_request
from weft.blocks.block_file import PAGE, Block, anonymous
from weft.blocks.manifest import Manifest
from weft.ir.request import Deferred, Request
from weft.plan.prepare import Form, proven_form
from weft.topology.topology import Adjacency, Keep, Topology

TO_DEVICE: Final = 1  # cudaMemcpyHostToDevice


class Link:
    """Copies from the host in a stream of its own, in turn with the stream of the kernels."""

    def __init__(self, device: Device) -> None:
        self.xp = device.xp
        self._cuda = None if device.on_host else self.xp.cuda
        if self._cuda is not None:
            self._stream = self._cuda.Stream(non_blocking=True)
            self._taken = self._cuda.Event(disable_timing=True)
            self._sent: Any = None

    def allocate(self, size: int) -> memoryview:
        """Return memory of the host from which copies run while the host goes on."""
        if self._cuda is None:
            return anonymous(size)
        memory = self._cuda.alloc_pinned_memory(size + PAGE)
        first = -int(memory.ptr) % PAGE
        whole: Any = np.frombuffer(memory, np.uint8, size + PAGE)
        return memoryview(whole[first : first + size])

    def send(self, target: Any, source: Any) -> None:
        """Start to copy an array of the host to the beginning of one of the device."""
        if self._cuda is None:
            target[: source.shape[0]] = source
            return
        self._cuda.runtime.memcpyAsync(
            target.data.ptr, source.ctypes.data, source.nbytes, TO_DEVICE, self._stream.ptr
        )

    def sent(self) -> Any:
        """Return the event that all of a block has left the host, None if it has already."""
        if self._cuda is not None:
            self._sent = self._cuda.Event(disable_timing=True)
            self._sent.record(self._stream)
            return self._sent
        return None

    def receive(self) -> None:
        """Make kernels started from now on wait for the sent data."""
        if self._cuda is not None:
            self._cuda.get_current_stream().wait_event(self._sent)

    def taken(self) -> None:
        """Make further copies wait for kernels started so far."""
        if self._cuda is not None:
            self._taken.record(self._cuda.get_current_stream())
            self._stream.wait_event(self._taken)

    def wait(self) -> None:
        """Wait for all copies."""
        if self._cuda is not None:
            self._stream.synchronize()


class _Arcs:
    """Room on the device for the arcs of one block of a direction."""

    def __init__(self, manifest: Manifest, way: str, xp: Any) -> None:
        arcs = max((entry.arcs for entry in manifest.blocks[way]), default=0)
        self.targets = xp.zeros(arcs, manifest.index_dtype)
        self.columns = {
            name: xp.zeros((arcs, *column.shape), column.dtype)
            for name, column in manifest.columns.items()
        }

    def arrays(self) -> Mapping[str, Any]:
        """Return the targets and the columns by name, targets as ""."""
        return {"": self.targets, **self.columns}


class DeviceSpace:
    """The state shared by all sweeps over the blocks of one graph on a GPU.

    Parameters
    ----------
    manifest
        The graph.
    degrees
        The degrees of its vertices by direction, in the memory of the host.
    device
        The GPU.
    """

    def __init__(self, manifest: Manifest, degrees: Mapping[str, Any], device: Device) -> None:
        self.manifest, self.device, self.xp = manifest, device, device.xp
        self.link = Link(device)
        xp, n = self.xp, manifest.num_vertices
        self.dtype = np.dtype(manifest.index_dtype)
        self.degrees = {way: xp.asarray(degree) for way, degree in degrees.items()}
        self.offsets = {way: xp.zeros(n + 1, np.int64) for way in manifest.blocks}
        self._arcs = {way: _Arcs(manifest, way, xp) for way in manifest.blocks}
        self._staged: dict[str, tuple[_Arcs, Any]] = {}  # arcs and offsets on their way
        self._under_way: dict[str, Block] = {}
        self.bytes_copied = 0
        plain = replace(device, streams=False)
        self.topology = self._topology(plain)
        nothing = Adjacency(xp.zeros(n + 1, np.int64), xp.zeros(0, self.dtype))
        self.vertices = Topology(
            nothing, directed=manifest.directed, num_edges=manifest.num_edges, device=plain
        )
        self.vertices._degrees = dict(self.degrees)

    def __del__(self) -> None:
        """Let no copy run on in memory that others get."""
        link = getattr(self, "link", None)
        if link is not None and not sys.is_finalizing():
            link.wait()

    def _topology(self, device: Device) -> Topology:
        manifest = self.manifest
        keep: Keep = manifest.keep  # type: ignore[assignment]
        rows = {way: Adjacency(self.offsets[way], arcs.targets) for way, arcs in self._arcs.items()}
        first = "in" if manifest.directed and keep == "in" else "out"
        topology = Topology(
            rows[first], directed=manifest.directed, keep=keep, num_edges=manifest.num_edges,
            device=device,
        )  # fmt: skip
        if manifest.directed and keep == "both":
            topology._secondary = rows["in"]
        topology._degrees = dict(self.degrees)
        topology.num_arcs = max(int(adjacency.targets.size) for adjacency in rows.values())
        return topology

    def stored_way(self, way: str) -> str:
        """Return the direction whose blocks hold the rows of another: an undirected graph's."""
        return way if self.manifest.directed else "out"

    def column(self, name: str, way: str) -> Any:
        """Return the values of an edge column of the current block."""
        return self._arcs[self.stored_way(way)].columns[name]

    def run(self, request: Request, form: Form | None = None) -> DeviceBlockRun:
        """Return a sweep of a program over blocks; see `DeviceBlockRun`."""
        return DeviceBlockRun(self, request, form)

    # -- copies

    def send(self, blocks: Mapping[str, Block]) -> Any:
        """Start to copy a block to the device, beside the present one; see `Link.sent`."""
        self._under_way = dict(blocks)
        for way, block in blocks.items():
            arrays = (block.offsets, block.targets, *block.columns.values())
            self.bytes_copied += sum(array.nbytes for array in arrays)
            if way not in self._staged:
                rows = max(
                    b - a for a, b in zip(self.manifest.cuts, self.manifest.cuts[1:], strict=False)
                )
                self._staged[way] = (
                    _Arcs(self.manifest, way, self.xp),
                    {kind: self.xp.zeros(rows + 1, kind) for kind in ("uint32", "int64")},
                )
                self.link.taken()  # the fills run in the kernels' stream, the copies do not
            arcs, offsets = self._staged[way]
            self.link.send(offsets[block.offsets.dtype.name], block.offsets)
            self.link.send(arcs.targets, block.targets)
            for name, values in block.columns.items():
                self.link.send(arcs.columns[name], values)
        return self.link.sent()

    def receive(self) -> None:
        """Copy the last sent block to where kernels expect it."""
        self.link.receive()
        for way, block in self._under_way.items():
            staged, offsets = self._staged[way]
            rows, arcs = block.num_rows + 1, int(block.targets.size)
            place = self.offsets[way][block.first : block.first + rows]
            place[:] = offsets[block.offsets.dtype.name][:rows]
            for name, target in self._arcs[way].arrays().items():
                target[:arcs] = staged.arrays()[name][:arcs]
        self.link.taken()


class DeviceBlockRun:
    """One sweep of a program over blocks; the fields of the request are written in place.

    Parameters
    ----------
    space
        Of the graph.
    request
        What to run; its frontier is that of the whole sweep.
    form
        Its compiled form, if all that it assumes about the state is known to hold.
    """

    def __init__(self, space: DeviceSpace, request: Request, form: Form | None = None) -> None:
        self.space = space
        self.request = replace(request, data=replace(request.data, column=space.column))
        self.form = form or proven_form(self.request, compile_program(self.request), prepare)

    @property
    def writes_once(self) -> bool:
        """Whether the proof holds that messages close the vertices they reach for good."""
        compiled: Compiled = self.form[0]
        return compiled.sweeps[0].mode == "once"

    def block(self, members: Any, blocks: Any, edge_state: None = None) -> Any:
        """Sweep the rows of some members of the present block; return who is put out, sorted."""
        start = replace(self.request.start, frontier=members)
        found = run_request(replace(self.request, start=start), self.form).frontier
        if isinstance(found, Deferred):
            found = found.get()
        if found is None:
            found = self.space.xp.arange(self.space.manifest.num_vertices, dtype=self.space.dtype)
        return found

    def end(self) -> None:
        """Do nothing: every run has already written back its results."""
