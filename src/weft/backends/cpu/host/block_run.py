"""Runs one superstep of a program over the blocks of a graph, which share all arrays of vertices.

The kernel is the one of any graph. It gets offsets for all vertices, of which only the rows of the
present block are set, and the frontier's members among these rows; so it never looks at others.
From block to block only the targets and the edge columns are exchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weft.backends.cpu.host import workspace as workspaces
from weft.backends.cpu.host.bind import flat, unsigned
from weft.backends.cpu.host.evaluate_small import evaluated
from weft.backends.cpu.host.gang import num_threads, run
from weft.backends.cpu.host.run import (
    _SLOT,
    SMALL_GRAPH,
    Compiled,
    _Run,
    compile_program,
    prepare,
)
from weft.backends.cpu.runtime.control import FAULT
from weft.blocks.block_file import Block, Rows
from weft.blocks.manifest import Manifest
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form, proven_form
from weft.plan.queries import END_ROW, LEAST_ROW
from weft.topology.topology import Adjacency, Keep, Topology

LOOKED = 4  # place of the arcs looked at, in a record of the ring

Array = np.ndarray[Any, Any]
Blocks = Mapping[str, Sequence[Block]]  # by direction, the rows of lower vertices first
EdgeState = dict[str, Array]


def joined(blocks: Sequence[Block]) -> tuple[Array, dict[str, Array]]:
    """Return the targets and the columns of some blocks, one after another."""
    if len(blocks) == 1:
        return blocks[0].targets, dict(blocks[0].columns)
    targets = np.concatenate([block.targets for block in blocks])
    names = blocks[0].columns
    return targets, {n: np.concatenate([b.columns[n] for b in blocks]) for n in names}


class BlockSpace:
    """The state shared by all sweeps over the blocks of one graph: offsets, and degrees.

    Parameters
    ----------
    manifest
        The graph.
    degrees
        The degrees of its vertices by direction.
    """

    def __init__(self, manifest: Manifest, degrees: Mapping[str, Array]) -> None:
        self.manifest = manifest
        self.degrees = dict(degrees)
        n, self.dtype = manifest.num_vertices, np.dtype(manifest.index_dtype)
        ways = tuple(manifest.blocks)
        self.offsets = {way: np.zeros(n + 1, np.int64) for way in ways}
        self._placed: set[tuple[str, int]] = set()  # whose rows stand there, but for both ends
        keep: Keep = manifest.keep  # type: ignore[assignment]
        nothing = np.zeros(0, self.dtype)
        first = "in" if manifest.directed and keep == "in" else "out"
        self.topology = Topology(
            Adjacency(self.offsets[first], nothing),
            directed=manifest.directed,
            keep=keep,
            num_edges=manifest.num_edges,
        )
        if manifest.directed and keep == "both":
            self.topology._secondary = Adjacency(self.offsets["in"], nothing)
        self.topology._degrees = dict(degrees)
        self.topology.num_arcs = manifest.num_arcs
        self.topology._row_bits = (None,)  # rows come block by block
        self.topology._reverse = np.zeros(0, np.int64)  # and opposite arcs with them
        # Vertex functions run over all vertices and no arcs.
        self.vertices = Topology(
            Adjacency(np.zeros(n + 1, np.int64), nothing),
            directed=manifest.directed,
            num_edges=manifest.num_edges,
        )
        self.vertices._degrees = dict(degrees)

    def run(self, request: Request, form: Form | None = None) -> BlockRun:
        """Return a sweep of a program over blocks; see `BlockRun`."""
        return BlockRun(self, request, form)

    def stored_way(self, way: str) -> str:
        """Return the direction whose blocks hold the rows of another: an undirected graph's."""
        return way if self.manifest.directed else "out"

    def place(self, way: str, blocks: Sequence[Block]) -> tuple[Array, dict[str, Array]]:
        """Set the rows of some blocks; return their targets and columns, one after another."""
        offsets, base = self.offsets[way], 0
        for block in blocks:
            rows = slice(block.first, block.first + block.num_rows + 1)
            np.add(block.offsets, base, out=offsets[rows], dtype=np.int64, casting="unsafe")
            (self._placed.discard if base else self._placed.add)((way, block.first))
            base += int(block.targets.size)
        return joined(blocks)

    def some_rows(self, way: str, number: int, members: Array) -> Rows | None:
        """Return some rows of a block if it is known where they begin, or None."""
        first, end = self.manifest.cuts[number : number + 2]
        if (way, first) not in self._placed:
            return None
        return Rows(first, members, self.offsets[way][first : end + 1])

    def small(self, way: str, blocks: Sequence[Block]) -> tuple[Topology, dict[str, Array]]:
        """Return a topology of the arcs of some blocks alone, of which all rows are whole."""
        targets, columns = joined(blocks)
        n = self.manifest.num_vertices
        offsets = np.zeros(n + 1, np.int64)
        for block in blocks:
            first = block.first
            lengths = np.diff(block.offsets.astype(np.int64))
            offsets[first + 1 : first + 1 + lengths.size] = lengths
        np.cumsum(offsets, out=offsets)
        keep: Keep = way  # type: ignore[assignment]
        topology = Topology(
            Adjacency(offsets, targets), directed=True, keep=keep, num_edges=targets.size
        )
        out = self.degrees["out"]
        topology._degrees = {"out": out, "in": self.degrees.get("in", out)}
        return topology, columns


class BlockRun:
    """One sweep of a program over blocks; the fields of the request are written in place.

    Parameters
    ----------
    space
        Of the graph.
    request
        What to run; its topology is `space.topology`, its frontier that of the whole sweep.
    form
        Its compiled form, if all that it assumes about the state is known to hold.
    """

    def __init__(self, space: BlockSpace, request: Request, form: Form | None = None) -> None:
        self.space, self.request = space, request
        self.form = form or proven_form(request, compile_program(request), prepare)
        self.compiled: Compiled
        self.compiled, self.constants = self.form
        self._kernel: _BlockKernel | None = None

    @property
    def writes_once(self) -> bool:
        """Whether the proof holds that messages close the vertices they reach for good."""
        return self.compiled.sweeps[0].mode == "once"

    def block(self, members: Array, blocks: Blocks, edge_state: EdgeState | None = None) -> Array:
        """Sweep the rows of some members; return the vertices that are put out, sorted.

        `edge_state` has the values of the arcs of the one block, which are changed, and behind them
        those of their opposite arcs if the program reads these.
        """
        outcome = self._evaluated(members, blocks, edge_state)
        if outcome is None:
            if self._kernel is None:
                self._kernel = _BlockKernel(self)
            outcome = self._kernel.block(members, blocks, edge_state)
        frontier = outcome.frontier
        if frontier is None:
            return np.arange(self.space.manifest.num_vertices, dtype=self.space.dtype)
        assert isinstance(frontier, np.ndarray)
        return frontier

    def pull(self, first: int, end: int, blocks: Blocks) -> Array:
        """Pull along the rows of a block, from all of the frontier; return the output, sorted.

        The request's direction is "pull", and its frontier that of the whole sweep.
        """
        outcome = self._evaluated(self.request.start.frontier, blocks)
        if outcome is None:
            if self._kernel is None:
                self._kernel = _BlockKernel(self)
            outcome = self._kernel.pull(first, end, blocks)
        assert isinstance(outcome.frontier, np.ndarray)
        return outcome.frontier

    @property
    def exits_early(self) -> bool:
        """Whether a pull stops at the first message of a row."""
        return self.compiled.sweeps[0].early_exit

    @property
    def looked(self) -> int:
        """The number of arcs that pulls have visited, as counted by their kernel."""
        return 0 if self._kernel is None else self._kernel.looked

    def end(self) -> None:
        """Write back results that the kernel stores in other forms."""
        if self._kernel is not None:
            self._kernel.end()

    def _evaluated(
        self, members: Array | None, blocks: Blocks, edge_state: EdgeState | None = None
    ) -> Outcome | None:
        """Run a small block without a kernel, if that pays."""
        if self._kernel is not None or self.compiled.kernel is not None or len(blocks) > 1:
            return None
        ((way, held),) = blocks.items()
        arcs = sum(block.targets.size for block in held)
        if self.space.manifest.num_vertices + arcs > SMALL_GRAPH:
            return None
        topology, columns = self.space.small(self._way(way), held)
        if edge_state:
            topology._reverse = np.arange(topology.num_arcs) + topology.num_arcs
        data = replace(
            self.request.data, column=lambda name, order: columns[name],
            edge_fields=edge_state or {},
        )  # fmt: skip
        start = replace(self.request.start, frontier=members)
        request = replace(self.request, topology=topology, data=data, start=start)
        return evaluated(request, self.compiled)

    def _way(self, way: str) -> str:
        """Return the direction in which the step sees the rows of a block."""
        step = self.request.program.steps[0]
        if step.kind == "edge":
            turned = self.request.options.config.direction == "pull"
            return {"out": "in", "in": "out"}[step.along] if turned else step.along
        ways = {v.attr[0] for v in step.body.body if v.op in ("gather", "gather_by")}
        return ways.pop() if len(ways) == 1 and ways != {"both"} else way


class _BlockKernel(_Run):
    """A kernel bound once to the arrays of vertices, and to the arcs of one block after another."""

    def __init__(self, owner: BlockRun) -> None:
        self.space = owner.space
        topology = owner.space.topology
        small = topology.num_vertices + topology.num_arcs < SMALL_GRAPH
        nt = 1 if small else int(owner.request.options.config.threads or num_threads())
        workspace = workspaces.take(topology, not small)
        dtypes = {name: c.dtype for name, c in owner.space.manifest.columns.items()}
        data = owner.request.data
        edges = {name: held[:0] for name, held in data.edge_fields.items()}
        data = replace(
            data, column=lambda name, order: np.zeros(0, dtypes[name]), edge_fields=edges
        )
        request = replace(owner.request, data=data)
        super().__init__(request, owner.compiled, owner.constants, workspace, nt)
        self._loaded = self.compiled.kernel or self.compiled.load()
        self._steady = workspace.steady(self.binder.rendered, nt, self.binder.steady)
        self._arguments = self.binder.arguments(self._steady)
        self._queues, self._bits = self._steady.queues, self._steady.bits
        self._begun: Array | None = None  # the loop's variables at the beginning of a pull
        self.looked = 0

    def block(self, members: Array, blocks: Blocks, edge_state: EdgeState | None) -> Outcome:
        """Run the kernel over the rows of some members."""
        self.request.start = replace(self.request.start, frontier=members)
        self._start(self._queues[0])
        return self._sweep(blocks, edge_state)

    def pull(self, first: int, end: int, blocks: Blocks) -> Outcome:
        """Run the kernel along the rows of a block, from the whole frontier."""
        scalars = self.request.data.scalars
        scalars[LEAST_ROW][0], scalars[END_ROW][0] = first, end
        if self._begun is None:
            self._start(self._queues[0])
            self._begun = self.ctl.copy()
        else:  # the block before has left the queue and the bitmap of the frontier as they are
            mapped = self.saved("mapped")
            self.ctl[:] = self._begun
            self.ctl[_SLOT["mapped"]], self.ctl[_SLOT["epoch"]] = mapped, self.workspace.epoch
        outcome = self._sweep(blocks)
        self.looked += int(self.workspace.ring[LOOKED])  # of the only record
        return outcome

    def _start(self, queue: Any) -> None:
        """Set the loop's variables; nothing asks for the arcs of a frontier here."""
        frontier = self.request.start.frontier
        if frontier is None:
            super()._start(queue)
            return
        self.ctl.fill(0)
        self.ctl[_SLOT["share"]], self.ctl[_SLOT["epoch"]] = 100, self.workspace.epoch
        self.ctl[_SLOT["size"]] = frontier.size
        queue[: frontier.size] = frontier

    def _sweep(self, blocks: Blocks, edge_state: EdgeState | None = None) -> Outcome:
        """Run the kernel over the arcs of a block, from what it was started with."""
        arcs = self._exchange(blocks)
        if edge_state:
            self._exchange_edges(edge_state, arcs)
        ctl, queues = self.ctl, self._queues
        sizes = (self.n, arcs, 2**62, 2**62)
        arrays = (*queues, *self._bits, self.workspace.ring, *self._arguments)
        run(self._loaded, self.nt, ctl, (*sizes, *arrays))
        if ctl[FAULT]:
            raise self._fault()
        outcome = self._outcome(0, queues[self.saved("swapped")])
        self.workspace.epoch = self.saved("epoch")
        return outcome

    def _exchange(self, blocks: Blocks) -> int:
        """Bind the arcs of a block in place of those before it; return how many there are."""
        found = {way: self.space.place(way, held) for way, held in blocks.items()}
        for position, (kind, *rest) in enumerate(self.binder.rendered.bindings.values()):
            if kind in ("targets", "column"):
                way = self.space.stored_way(rest[0] if kind == "targets" else rest[1])
                targets, columns = found.get(way, (np.zeros(0, self.space.dtype), {}))
                if kind == "targets":
                    self._arguments[position] = unsigned(targets)
                elif rest[0] in columns:
                    self._arguments[position] = flat(columns[rest[0]])
        return min(int(targets.size) for targets, _ in found.values())

    def _exchange_edges(self, edge_state: EdgeState, arcs: int) -> None:
        """Bind the edge state of a block's arcs; opposite arcs follow them in the arrays."""
        for position, (kind, *rest) in enumerate(self.binder.rendered.bindings.values()):
            if kind == "edge_state":
                self._arguments[position] = flat(edge_state[rest[0]])
            elif kind == "edge_next":
                self._arguments[position] = flat(edge_state[rest[0]][:arcs].copy())
            elif kind == "reverse":
                self._arguments[position] = unsigned(np.arange(arcs, 2 * arcs))

    def end(self) -> None:
        """Unpack pairs; keep the workspace for the next sweep."""
        self.binder.unpack()
        workspaces.give_back(self.space.topology, self.workspace)
