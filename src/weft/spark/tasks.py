"""What runs in the workers of a cluster: number edges, build blocks, sweep them.

This module imports nothing of Spark: it is loaded by workers, which call these functions on Arrow
batches.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from weft.backends.blocks.combine import start_of_scalar
from weft.backends.blocks.kernels import BlockRun, BlockSpace
from weft.backends.blocks.stages import ArcPart
from weft.blocks.block_file import Block
from weft.blocks.manifest import Manifest
from weft.ir.request import Data, Request, RunOptions, Start

Array = np.ndarray[Any, Any]
Batches = Iterator[pa.RecordBatch]

ARCS = pa.schema([("number", pa.int32()), ("out", pa.bool_()), ("row", pa.int64()),
                  ("target", pa.int64())])  # fmt: skip
BLOCKS = pa.schema([("number", pa.int32()), ("blocks", pa.binary())])
SWEPT = pa.schema([("number", pa.int32()), ("found", pa.binary())])

_spaces: dict[str, BlockSpace] = {}


# -- building


def arcs_of_edges(
    ends: tuple[str, str], names: list[str], cuts: Array, ways: tuple[str, ...], directed: bool,
    keys: Any,
) -> Callable[[Batches], Batches]:  # fmt: skip
    """Return what turns batches of edges into arcs with the numbers of their blocks.

    `keys.value` has the key of every vertex; None: the ends are vertex numbers.
    """

    def work(batches: Batches) -> Batches:
        known = None if keys is None else pa.array(keys.value)
        for batch in batches:
            src, dst = (_numbers(batch.column(end), known) for end in ends)
            columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in names}
            for way in ways if directed else ("out", "in"):
                row, target = (src, dst) if way == "out" else (dst, src)
                kept: Any = slice(None)
                if not directed and way == "in":  # the other arc of an undirected edge
                    kept = src != dst
                row, target = row[kept], target[kept]
                number = np.searchsorted(cuts, row, "right") - 1
                is_out = np.full(row.size, way == "out" or not directed)
                held = [number.astype(np.int32), is_out, row, target]
                held += [columns[name][kept] for name in names]
                arrays = [pa.array(values) for values in held]
                yield pa.RecordBatch.from_arrays(arrays, [*ARCS.names, *names])

    return work


def _numbers(values: Any, known: Any) -> Array:
    """Return the vertices of some keys."""
    if known is None:
        return np.asarray(values.to_numpy(zero_copy_only=False)).astype(np.int64)
    import pyarrow.compute as pc

    places = pc.index_in(values.cast(known.type), value_set=known)
    return np.asarray(places.to_numpy(zero_copy_only=False)).astype(np.int64)


def build_blocks(
    cuts: tuple[int, ...], dtype: str, names: list[str], ways: tuple[str, ...]
) -> Callable[[pa.Table], pa.Table]:
    """Return what turns the arcs of one block into its rows in CSR form."""

    def work(table: pa.Table) -> pa.Table:
        number = int(table.column("number")[0].as_py())
        first, end = cuts[number], cuts[number + 1]
        held = {}
        for way in ways:
            chosen = (
                table.filter(table.column("out"))
                if way == "out"
                else table.filter(pa.compute.invert(table.column("out")))
            )
            columns = {name: chosen.column(name).to_numpy() for name in names}
            row, target = (chosen.column(end_).to_numpy() for end_ in ("row", "target"))
            held[way] = _block(first, end, row, target.astype(dtype), columns)
        packed = pickle.dumps(held, protocol=5)
        return pa.table({"number": pa.array([number], pa.int32()), "blocks": [packed]}, BLOCKS)

    return work


def _block(first: int, end: int, row: Array, target: Array, columns: dict[str, Array]) -> Block:
    order = np.lexsort((target, row))
    offsets = np.zeros(end - first + 1, np.int64)
    np.cumsum(np.bincount(row - first, minlength=end - first), out=offsets[1:])
    kept = {name: np.ascontiguousarray(values[order]) for name, values in columns.items()}
    return Block(first, offsets, np.ascontiguousarray(target[order]), kept)


# -- sweeping


@dataclass
class Shipped:
    """What a sweep needs beside its blocks, as it is broadcast."""

    part: bytes  # an `ArcPart`
    options: RunOptions
    fields: dict[str, Array]
    scalars: dict[str, Array]
    parameters: dict[str, Array]
    frontier: Array | None
    direct: bool


def sweep_blocks(
    identity: str, manifest: Manifest, degrees: Any, shipped: Any
) -> Callable[[Batches], Batches]:
    """Return what sweeps blocks; `degrees` and `shipped` are broadcast variables."""

    def work(batches: Batches) -> Batches:
        if not _spaces:
            _settle()
        if identity not in _spaces:
            _spaces.clear()
            _spaces[identity] = BlockSpace(manifest, degrees.value)
        sent: Shipped = shipped.value
        part: ArcPart = pickle.loads(sent.part)
        for batch in batches:
            for number, packed in zip(*map(pa.Array.to_pylist, batch.columns), strict=True):
                found = _swept(_spaces[identity], part, sent, number, pickle.loads(packed))
                made = pickle.dumps(found, protocol=5)
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number], pa.int32()), pa.array([made], pa.binary())], schema=SWEPT
                )

    return work


def _settle() -> None:
    """Leave what is loaded out of garbage collections: Spark's workers run one after every task.

    With the compiler in memory it takes longer than a sweep.
    """
    gc.collect()
    gc.freeze()


@dataclass
class Found:
    """What came of one block: who was put out, what was written there, and scalars."""

    output: Array
    values: dict[str, Array]
    scalars: dict[str, Any]


def _swept(
    space: BlockSpace, part: ArcPart, sent: Shipped, number: int, blocks: dict[str, Block]
) -> Found:
    """Sweep one block on fields of its own."""
    manifest = space.manifest
    n, cuts = manifest.num_vertices, manifest.cuts
    first, end = cuts[number], cuts[number + 1]
    if sent.frontier is None:
        members = np.arange(first, end, dtype=space.dtype)
    else:
        low, high = np.searchsorted(sent.frontier, (first, end))
        members = sent.frontier[low:high]
    scalars = {name: value.copy() for name, value in sent.scalars.items()}
    fields = dict(sent.fields)
    names = part.step.into
    if sent.direct:
        assert part.direct is not None
        names = part.direct.steps[0].into
        fields |= {name: fields[name].copy() for name in names}
    for name, ((dtype, shape), start) in part.hidden.items():
        fields[name] = np.full((n, *shape), start, dtype)
    data = Data(fields, {}, lambda name, order: np.zeros(0), scalars, sent.parameters)
    program = part.direct if sent.direct else part.program
    assert program is not None
    frontier = Start(frontier=sent.frontier)
    run = BlockRun(space, Request(program, space.topology, sent.options, data, frontier, 1))
    ways = {space.stored_way(way) for way in part.ways}
    totals = {name: start_of_scalar(reduction, dtype) for name, reduction, dtype in part.scalars}
    output = members[:0]
    if members.size:
        output = run.block(members, {way: [blocks[way]] for way in sorted(ways)})
        totals = {name: scalars[name][0] for name in totals}
    run.end()
    if part.step.kind == "vertex":
        return Found(members, {name: fields[name][members] for name in part.hidden}, totals)
    return Found(output, {name: fields[name][output] for name in names}, totals)
