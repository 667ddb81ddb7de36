"""The carrier on Spark: every sweep is one job over cached blocks, its results meet in the driver.

The state that a sweep reads is broadcast; what blocks write comes back for the vertices that got a
message. A job depends on the blocks alone, so its lineage stays as short in the fiftieth superstep
as in the first, and Spark repeats the tasks of executors that it loses.

Spark keeps the blocks. The first sweep is given their contents and leaves them in files on the
machines of its tasks, from which later ones map them: passing arcs from Spark to Python would take
longer than sweeping them. Where a file is missing, that block is passed on again.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from weft.backends.blocks.carrier import Resumed, Swept, Work
from weft.backends.blocks.combine import combined, merge, start_of_scalar
from weft.backends.blocks.kernels import BlockRun, BlockSpace
from weft.backends.blocks.stages import ArcPart
from weft.backends.blocks.streamed import union
from weft.blocks.block_file import Block
from weft.blocks.manifest import Manifest
from weft.ir.ops import Program
from weft.ir.request import Request, Start
from weft.plan.queries import END_ROW, LEAST_ROW
from weft.spark import tasks
from weft.spark.checkpoints import Checkpoints
from weft.topology.topology import Adjacency, Direction, Topology

Array = np.ndarray[Any, Any]


class SparkCarrier:
    """Sweeps blocks in the tasks of a Spark cluster.

    Parameters
    ----------
    blocks
        A DataFrame with the number and the contents of each block, cached.
    manifest
        The graph.
    degrees
        The degrees of its vertices by direction.
    checkpoints
        Where the state of runs is kept.
    """

    shares_state = False
    folder = None

    def __init__(
        self, blocks: Any, manifest: Manifest, degrees: dict[str, Array], checkpoints: Checkpoints
    ) -> None:
        self.blocks, self.manifest, self.checkpoints = blocks, manifest, checkpoints
        self.context = blocks.sparkSession.sparkContext
        self._numbers = blocks.select("number").rdd  # planned once
        self._places = dict(self._numbers.mapPartitionsWithIndex(tasks.partitions).collect())
        self.space = BlockSpace(manifest, degrees)
        self._degrees = self.context.broadcast(degrees)
        facts = (self.context.applicationId, id(self), repr(manifest))
        self._identity = hashlib.sha256(repr(facts).encode()).hexdigest()
        self._swept = self._skipped = 0

    @property
    def vertices(self) -> Topology:
        """A topology without arcs."""
        return self.space.vertices

    @property
    def counters(self) -> dict[str, int]:
        """Blocks swept and skipped."""
        return {"blocks_swept": self._swept, "blocks_skipped": self._skipped}

    def begin(self, program: Program, work: Work) -> Resumed | None:
        """Restore and return the checkpoint of an earlier run of the same program."""
        return self.checkpoints.begin(program, work)

    def superstep(self, number: int, work: Work, frontier: Array | None) -> None:
        """Save the state from time to time."""
        self.checkpoints.superstep(number, work, frontier)

    def settle(self, work: Work) -> None:
        """Do nothing: there is one state."""

    def end(self, work: Work, resumed: Resumed) -> None:
        """Save the final state of a run."""
        self.checkpoints.end(work, resumed)

    def check(self, part: ArcPart) -> None:
        """Refuse nothing: rows of other blocks are broadcast."""

    # -- sweeps

    def sweep(self, part: ArcPart, work: Work, frontier: Array | None) -> Swept:
        """Sweep the rows of a frontier; see `Carrier.sweep`."""
        direct = self._is_direct(part, work, frontier)
        fields = work.data.fields
        names = set(part.reads) | (
            set(part.direct.steps[0].into) if direct and part.direct else set()
        )
        sent = tasks.Shipped(
            part=pickle.dumps(part),
            options=replace(work.options, config=replace(work.config, threads=1)),
            fields={name: fields[name] for name in sorted(names) if name in fields},
            scalars=work.data.scalars,
            parameters=work.data.parameters,
            frontier=frontier,
            direct=direct,
        )
        met = self._met(sent, self.space.stored_way(part.ways[0])) if part.pairs else [sent]
        found = [one for each in met for one in self._collected(each)]
        reductions = {name: reduction for name, reduction, _ in part.scalars}
        totals = {name: start_of_scalar(r, dtype) for name, r, dtype in part.scalars}
        for one in found:
            if direct or part.step.kind == "vertex":
                for name, values in one.values.items():
                    fields[name][one.output] = values
            else:
                merge(part.groups, fields, one.output, one.values)
            for name, value in one.scalars.items():
                totals[name] = combined(reductions[name], totals[name], value)
        for name, total in totals.items():
            work.data.scalars[name][0] = total
        parts = [one.output for one in found]
        return Swept(union(parts, self.space.dtype, self.manifest.num_vertices), direct)

    def _is_direct(self, part: ArcPart, work: Work, frontier: Array | None) -> bool:
        """Whether the proof holds that messages close the vertices they reach for good."""
        if part.direct is None:
            return False
        start = Start(frontier=frontier)
        request = Request(part.direct, self.space.topology, work.options, work.data, start, 1)
        return BlockRun(self.space, request).writes_once

    def _met(self, sent: tasks.Shipped, way: str) -> Iterator[tasks.Shipped]:
        """Yield a sweep for every block, with whose rows it looks for common neighbours."""
        cuts = self.manifest.cuts
        for number in range(self.manifest.num_blocks):
            (row,) = self.blocks.filter(self.blocks["number"] == number).collect()
            least, end = np.array([cuts[number]]), np.array([cuts[number + 1]])
            scalars = {**sent.scalars, LEAST_ROW: least, END_ROW: end}
            yield replace(sent, scalars=scalars, met=pickle.loads(row["blocks"])[way])

    def _collected(self, sent: tasks.Shipped) -> list[tasks.Found]:
        """Run one job over the blocks with work, and return what each found, in order."""
        shipped = self.context.broadcast(sent)
        try:
            return self._found(shipped, sent.frontier)
        finally:
            shipped.destroy()

    def _found(self, shipped: Any, frontier: Array | None) -> list[tasks.Found]:
        active = list(range(self.manifest.num_blocks))
        if frontier is not None:
            ends = np.searchsorted(frontier, self.manifest.cuts)
            active = np.flatnonzero(np.diff(ends)).tolist()
        self._swept += len(active)
        self._skipped += self.manifest.num_blocks - len(active)
        sweep = tasks.Sweep(self._identity, self.manifest, self._degrees, shipped)
        places = sorted({self._places[number] for number in active})
        found = dict(self.context.runJob(self._numbers, sweep.of_numbers, places))
        missing = [number for number in active if found[number] is None]
        if missing:  # the first time, and where an executor was lost
            rows = self.blocks.filter(self.blocks["number"].isin(missing))
            found |= rows.mapInArrow(sweep.of_contents, "number int, found binary").collect()
        return [pickle.loads(found[number]) for number in active]

    # -- the whole graph

    def adjacency(self, direction: Direction) -> Adjacency:
        """Return all arcs of a direction, in memory."""
        offsets = np.zeros(self.manifest.num_vertices + 1, np.int64)
        parts = [np.zeros(0, self.space.dtype)]
        for block in self._all(direction):
            offsets[block.first + 1 : block.first + block.num_rows + 1] = np.diff(block.offsets)
            parts.append(block.targets)
        np.cumsum(offsets, out=offsets)
        return Adjacency(offsets, np.concatenate(parts))

    def column(self, name: str) -> Array:
        """Return an edge column by edge id: of an undirected edge the arc to its upper end."""
        kind = self.manifest.columns[name]
        parts = [np.zeros((0, *kind.shape), kind.dtype)]
        for block in self._all(self.space.topology.primary_direction):
            rows = np.arange(block.first, block.first + block.num_rows)
            kept = np.repeat(rows, np.diff(block.offsets)) <= block.targets
            parts.append(block.columns[name][kept | self.manifest.directed])
        return np.concatenate(parts)

    def _all(self, way: str) -> list[Block]:
        rows = sorted(self.blocks.collect(), key=lambda row: row["number"])
        return [pickle.loads(row["blocks"])[way] for row in rows]
