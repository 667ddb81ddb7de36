"""The streamed carrier: vertex state in memory, blocks read from disk while kernels run.

Blocks without a row of the frontier are skipped. As many blocks as fit into memory stay there for
the next superstep; a thread reads the next of the others while the current one is swept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.arrays.device import bytes_text
from weft.backends.blocks.arc_state import ArcState, opposite_arcs
from weft.backends.blocks.carrier import Resumed, Swept, Work
from weft.backends.blocks.combine import combined, start_of_scalar
from weft.backends.blocks.kernels import BlockRun, BlockSpace
from weft.backends.blocks.pulls import PullPlan, plan_pull, run_of
from weft.backends.blocks.refusals import refuse
from weft.backends.blocks.stages import ArcPart
from weft.blocks.block_file import Block, BlockReader
from weft.blocks.manifest import Manifest
from weft.blocks.read_ahead import Need, blocks_ahead
from weft.errors import ConfigError
from weft.ir.ops import Program
from weft.plan.queries import END_ROW, LEAST_ROW
from weft.topology.topology import Adjacency, Direction, Topology

Array = np.ndarray[Any, Any]

DENSE = 64  # sets of more than one vertex in this many are marked in an array, not sorted
ARCS_OF_A_READ = 1 << 12  # number of arcs read in the latency of one read
AHEAD = 1  # blocks that are read before they are needed


class StreamedCarrier:
    """Sweeps block files on this machine.

    Parameters
    ----------
    folder
        The folder of the block files.
    manifest
        The graph.
    degrees
        The degrees of its vertices by direction.
    memory
        The limit of memory for blocks, in bytes.
    """

    shares_state = True
    pulls = True  # whether sweeps may pull

    def __init__(
        self, folder: Path, manifest: Manifest, degrees: dict[str, Array], memory: int
    ) -> None:
        self.folder, self.manifest, self.memory = folder, manifest, memory
        self.own = range(manifest.num_blocks)  # the blocks that it sweeps
        self.space: Any = self._space(degrees)
        self.reader = self._reader()
        self._held: dict[tuple[str, int], Block] = {}
        self._opposite: Array | None = None
        self._room = memory - self._in_flight()
        self._swept = self._skipped = 0
        if self._room < 0:
            raise ConfigError(
                f"memory={bytes_text(memory)} is too little to read blocks ahead: it takes "
                f"{bytes_text(self._in_flight())}. Expected at least that, or a partition into "
                "smaller blocks (weft partition --blocks)."
            )

    def _space(self, degrees: dict[str, Array]) -> Any:
        return BlockSpace(self.manifest, degrees)

    def _blocks_in_flight(self) -> int:
        return AHEAD + 2

    def _reader(self) -> BlockReader:
        return BlockReader(self.folder)

    def _in_flight(self) -> int:
        """Return the bytes of the blocks that are swept or read concurrently."""
        largest = sum(
            max((entry.bytes for entry in entries), default=0)
            for entries in self.manifest.blocks.values()
        )
        return self._blocks_in_flight() * largest

    @property
    def vertices(self) -> Topology:
        """A topology without arcs."""
        return self.space.vertices

    @property
    def counters(self) -> dict[str, int]:
        """Bytes read, and blocks swept and skipped."""
        return {
            "bytes_read": self.reader.bytes_read, "blocks_swept": self._swept,
            "blocks_skipped": self._skipped,
        }  # fmt: skip

    def check(self, part: ArcPart) -> None:
        """Refuse opposite arcs where there may be none: all blocks are within reach."""
        if part.edges is not None and part.edges.reverse and self.manifest.directed:
            raise refuse(
                part.step, "e.reverse needs an opposite arc for every arc, and the graph is "
                "directed", "Partition the edges as undirected ones (--undirected).",
            )  # fmt: skip

    def begin(self, program: Program, work: Work) -> Resumed | None:
        """Return None: a run that is killed begins again."""
        return None

    def superstep(self, number: int, work: Work, frontier: Array | None) -> None:
        """Keep nothing."""

    def end(self, work: Work, resumed: Resumed) -> None:
        """Keep nothing."""

    def settle(self, work: Work) -> None:
        """Do nothing: there is one state."""

    # -- sweeps

    def sweep(self, part: ArcPart, work: Work, frontier: Array | None) -> Swept:
        """Sweep the rows of a frontier; see `Carrier.sweep`."""
        plan = plan_pull(self, part, work, frontier)
        if plan is not None:
            return self._pull(part, work, plan)
        work.pulling.discard(part)
        if frontier is not None and part.step.kind == "edge":  # rows without arcs send nothing
            degree = self.space.degrees[self.space.stored_way(part.ways[0])]
            frontier = frontier[degree[frontier] > 0]
        members = self._members(frontier)
        numbers = [number for number in self.own if members[number].size]
        self._count(len(numbers))
        run = run_of(self.space, part, work, work.options, frontier)
        arcs = None if part.edges is None else ArcState(part.edges, work.data.edge_fields, self)
        totals = _Totals(part, work.data.scalars)
        found: list[Array] = []
        if part.pairs:
            for group in self._groups(numbers, part.ways[0]):
                found += self._pairs(run, part, work, totals, group, members)
        else:
            some = dict(enumerate(members)) if frontier is not None else {}
            for number, blocks in self._blocks(numbers, part.ways, some):
                held = {way: [block] for way, block in blocks.items()}
                local = None if arcs is None else arcs.of(number)
                totals.begin()
                found.append(run.block(members[number], held, local))
                totals.end()
                if arcs is not None and local is not None:
                    arcs.put(number, local)
                self._recycle(number, blocks)
        run.end()
        totals.publish()
        direct = run.request.program is part.direct
        xp, n = self.vertices.xp, self.manifest.num_vertices
        return Swept(union(found, self.space.dtype, n, xp), direct)

    def _pull(self, part: ArcPart, work: Work, plan: PullPlan) -> Swept:
        """Pull along the rows of blocks in which a vertex accepts."""
        self._count(len(plan.rows))
        run, cuts = plan.run, self.manifest.cuts
        totals = _Totals(part, work.data.scalars)
        found: list[Array] = []
        for number, blocks in self._blocks(list(plan.rows), (part.pull_way,), plan.rows):
            held = {way: [block] for way, block in blocks.items()}
            totals.begin()
            found.append(run.pull(cuts[number], cuts[number + 1], held))
            totals.end()
            self._recycle(number, blocks)
        run.end()
        totals.publish()
        plan.learn(part, work)
        direct = run.request.program is part.direct
        return Swept(
            union(found, self.space.dtype, self.manifest.num_vertices), direct, pulled=True
        )

    def unread(self, way: str, rows: Mapping[int, Array | None]) -> int:
        """Return the number of arcs to be read for some rows of blocks, None for all."""
        stored = self.space.stored_way(way)
        entries, degree = self.manifest.blocks[stored], self.space.degrees[stored]
        total = 0
        for number, members in rows.items():
            if (stored, number) in self._held:
                continue
            arcs = entries[number].arcs
            if members is not None and members.size * ARCS_OF_A_READ < arcs:
                some = int(degree[members].sum(dtype=np.int64)) + members.size * ARCS_OF_A_READ
                arcs = min(arcs, some)
            total += arcs
        return total

    def _count(self, swept: int) -> None:
        self._swept += swept
        self._skipped += len(self.own) - swept

    def _recycle(self, number: int, blocks: dict[str, Block]) -> None:
        for way, block in blocks.items():
            if (way, number) not in self._held:
                self.reader.recycle(block)

    def _fits(self, way: str) -> bool:
        """Whether all blocks of a direction may stay in memory."""
        entries = self.manifest.blocks[self.space.stored_way(way)]
        return sum(entry.bytes for entry in entries) <= self.memory - self._in_flight()

    def _groups(self, numbers: Sequence[int], way: str) -> list[list[int]]:
        """Return blocks in groups that fit into memory together.

        Every group is combined with all blocks, so large groups are better than a few permanent
        blocks.
        """
        entries = self.manifest.blocks[self.space.stored_way(way)]
        if not self._fits(way):
            self._held.clear()
            self._room = self.memory - self._in_flight()
        groups: list[list[int]] = []
        room = 0
        for number in numbers:
            room -= entries[number].bytes
            if not groups or room < 0:
                groups.append([])
                room = self._room
            groups[-1].append(number)
        return groups

    def _pairs(
        self,
        run: BlockRun,
        part: ArcPart,
        work: Work,
        totals: _Totals,
        group: list[int],
        members: list[Array],
    ) -> Iterator[Array]:
        """Sweep the rows of some blocks together with every block that may contain targets."""
        (way,) = part.ways
        cuts, scalars = self.manifest.cuts, work.data.scalars
        keep, every = self._fits(way), range(self.manifest.num_blocks)
        own = dict(self._blocks(group, (way,), keep=keep))
        for column, blocks in self._blocks(every, (way,), keep=keep):
            scalars[LEAST_ROW][0], scalars[END_ROW][0] = cuts[column], cuts[column + 1]
            for row, held in own.items():
                ((stored, first),) = held.items()
                both = [first] if column == row else [first, blocks[stored]]
                totals.begin()
                ordered = sorted(both, key=lambda block: block.first)
                yield run.block(members[row], {stored: ordered})
                totals.end()
            self._recycle(column, blocks)
        for row, held in own.items():
            self._recycle(row, held)

    def _members(self, frontier: Array | None) -> list[Array]:
        """Return the members of a frontier by block."""
        cuts, dtype = self.manifest.cuts, self.space.dtype
        if frontier is None:
            return [np.arange(low, high, dtype=dtype) for low, high in itertools.pairwise(cuts)]
        places = np.searchsorted(frontier, cuts)
        return [frontier[low:high] for low, high in itertools.pairwise(places)]

    # -- blocks

    def _blocks(
        self,
        numbers: Sequence[int],
        ways: tuple[str, ...],
        rows: Mapping[int, Array | None] | None = None,
        keep: bool = True,
    ) -> Iterator[tuple[int, dict[str, Block]]]:
        """Yield blocks, those in memory first, by the directions in which they are stored.

        With `rows`, only these need their arcs; blocks that stay in memory are complete. `keep`
        states whether they stay if there is room.
        """
        stored = tuple(dict.fromkeys(self.space.stored_way(way) for way in ways))
        there = [n for n in numbers if all((way, n) in self._held for way in stored)]
        for number in there:
            yield number, {way: self._held[way, number] for way in stored}
        known, room, needs, kept = set(there), self._room if keep else -1, [], set()
        for number in numbers:
            if number in known:
                continue
            size = sum(
                self.manifest.blocks[way][number].bytes
                for way in stored
                if (way, number) not in self._held
            )
            if size <= room:
                room -= size
                kept.add(number)
            chosen = None if number in kept or rows is None else rows.get(number)
            some = (
                {}
                if chosen is None
                else {way: self.space.some_rows(way, number, chosen) for way in stored}
            )
            needs.append(Need(number, stored, {w: r for w, r in some.items() if r is not None}))
        for number, blocks in blocks_ahead(self.reader, self.manifest, needs, AHEAD):
            for block in blocks.values():
                block.offsets[0], block.offsets[-1] = 0, block.targets.size
            if number in kept:
                self._keep(number, blocks)
            yield number, blocks

    def _keep(self, number: int, blocks: dict[str, Block]) -> None:
        """Keep a block in memory: a cyclic scan profits most from keeping the first ones."""
        for way, block in blocks.items():
            if (way, number) not in self._held:
                self._held[way, number] = block
                self._room -= self.manifest.blocks[way][number].bytes

    # -- the whole graph

    def adjacency(self, direction: Direction) -> Adjacency:
        """Return all arcs of a direction, in memory."""
        offsets = np.zeros(self.manifest.num_vertices + 1, np.int64)
        parts = []
        for block in self.all_blocks(direction):
            lengths = np.diff(block.offsets.astype(np.int64))
            offsets[block.first + 1 : block.first + 1 + lengths.size] = lengths
            parts.append(block.targets.copy())
        np.cumsum(offsets, out=offsets)
        empty = np.zeros(0, self.space.dtype)
        return Adjacency(offsets, np.concatenate([empty, *parts]))

    def column(self, name: str) -> Array:
        """Return an edge column by edge id: of an undirected edge the arc to its upper end."""
        way: Direction = self.space.topology.primary_direction
        kind = self.manifest.columns[name]
        parts = [np.zeros((0, *kind.shape), kind.dtype)]
        for block in self.all_blocks(way):
            kept: Any = slice(None)
            if not self.manifest.directed:
                lengths: Array = np.diff(block.offsets.astype(np.int64))
                rows = np.arange(block.first, block.first + lengths.size)
                kept = np.repeat(rows, lengths) <= block.targets
            parts.append(block.columns[name][kept].copy())
        return np.concatenate(parts)

    def opposite_arcs(self) -> Array:
        """Return the opposite arc of each canonical arc; they are found once."""
        if self._opposite is None:
            self._opposite = opposite_arcs(self)
        return self._opposite

    def all_blocks(self, way: str) -> Iterator[Block]:
        """Yield all blocks of a direction in order."""
        needs = [Need(number, (way,)) for number in range(self.manifest.num_blocks)]
        for _, blocks in blocks_ahead(self.reader, self.manifest, needs):
            yield blocks[way]


class _Totals:
    """The scalars that a sweep reduces: each block computes its own, and all are combined."""

    def __init__(self, part: ArcPart, scalars: dict[str, Array]) -> None:
        self.reduced, self.scalars = part.scalars, scalars
        self.began = {name: scalars[name].copy() for name, _, _ in part.scalars}
        self.totals = {
            name: start_of_scalar(reduction, dtype) for name, reduction, dtype in part.scalars
        }

    def begin(self) -> None:
        """Give a block the initial values of the sweep."""
        for name, value in self.began.items():
            self.scalars[name][...] = value

    def end(self) -> None:
        """Combine the reduced scalars of a block."""
        for name, reduction, _ in self.reduced:
            self.totals[name] = combined(reduction, self.totals[name], self.scalars[name][0])

    def publish(self) -> None:
        """Set the scalars."""
        for name, total in self.totals.items():
            self.scalars[name][0] = total


def union(parts: list[Array], dtype: Any, n: int, xp: Any = np) -> Array:
    """Return the distinct members, sorted, of sorted arrays of numbers below n.

    All are arrays of the module `xp`, the result too.
    """
    filled = [part for part in parts if part.size]
    if len(filled) < 2:
        return filled[0] if filled else xp.zeros(0, dtype)
    if all(int(a[-1]) < int(b[0]) for a, b in itertools.pairwise(filled)):
        return xp.concatenate(filled).astype(dtype, copy=False)
    if sum(part.size for part in filled) * DENSE < n:
        return xp.unique(xp.concatenate(filled)).astype(dtype, copy=False)
    present = xp.zeros(n, bool)
    for part in filled:
        present[part] = True
    return xp.flatnonzero(present).astype(dtype)
