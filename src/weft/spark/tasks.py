"""What runs in the workers of a cluster: number edges, build blocks, sweep them.

This module imports nothing of Spark: it is loaded by workers, which call these functions on Arrow
batches.
"""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipimport import zipimporter

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

ARCS = pa.schema([("place", pa.int64()), ("out", pa.bool_()), ("row", pa.int64()),
                  ("target", pa.int64())])  # fmt: skip
BLOCKS = pa.schema([("number", pa.int32()), ("blocks", pa.binary())])
SWEPT = pa.schema([("number", pa.int32()), ("found", pa.binary())])
PAGE = 4096

_spaces: dict[str, BlockSpace] = {}
_opened: dict[tuple[str, int], dict[str, Block]] = {}  # blocks in files of this machine
_known_parts: set[bytes] = set()


# -- building


def arcs_of_edges(
    ends: tuple[str, str], names: list[str], cuts: Array, ways: tuple[str, ...],
    placed: list[int], keys: Any,
) -> Callable[[Batches], Batches]:  # fmt: skip
    """Return a function from batches of edges to arcs with the values that place their blocks.

    `keys.value` has the key of every vertex; None: the ends are vertex numbers.
    """
    directed, places = len(ways) == 2, np.array(placed, np.int64)

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
                place = places[np.searchsorted(cuts, row, "right") - 1]
                is_out = np.full(row.size, way == "out" or not directed)
                held = [place, is_out, row, target]
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
    cuts: tuple[int, ...], dtype: str, names: list[str], ways: tuple[str, ...], placed: list[int]
) -> Callable[[pa.Table], pa.Table]:
    """Return a function from the arcs of one block to its rows in CSR form."""

    def work(table: pa.Table) -> pa.Table:
        number = placed.index(table.column("place")[0].as_py())
        first, end = cuts[number], cuts[number + 1]
        is_out, rows = (table.column(name).to_numpy() for name in ("out", "row"))
        held = {}
        for way in ways:
            chosen = (is_out == (way == "out")) & (rows >= 0)
            columns = {name: table.column(name).to_numpy()[chosen] for name in names}
            target = table.column("target").to_numpy()[chosen]
            held[way] = _block(first, end, rows[chosen], target.astype(dtype), columns)
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
    met: Block | None = None  # further rows, in which targets may have theirs


def partitions(place: int, rows: Iterator[Any]) -> Iterator[tuple[int, int]]:
    """Return the numbers of the blocks in a partition, with its own number."""
    return ((number, place) for (number,) in rows)


Answer = tuple[int, bytes | None]  # the number of a block, and what it found as a pickled `Found`


class Sweep:
    """A sweep as it is sent to workers; `degrees` and `shipped` are broadcast variables."""

    def __init__(self, identity: str, manifest: Manifest, degrees: Any, shipped: Any) -> None:
        self.identity, self.manifest = identity, manifest
        self.degrees, self.shipped = degrees, shipped

    def of_numbers(self, rows: Iterator[Any]) -> Iterator[Answer]:
        """Sweep blocks by their numbers; None for one that is not in a file of this machine."""
        sent: Shipped = self.shipped.value
        for (number,) in rows:
            blocks = _opened_block(self.identity, number)
            yield number, None if blocks is None else self._found(sent, number, blocks)
        _settle(sent.part)

    def of_contents(self, batches: Batches) -> Batches:
        """Sweep blocks that are given whole, and leave them in files for the next sweep."""
        sent: Shipped = self.shipped.value
        for batch in batches:
            for number, packed in zip(*map(pa.Array.to_pylist, batch.columns), strict=True):
                blocks = pickle.loads(packed)
                _leave(self.identity, number, blocks)
                made = self._found(sent, number, blocks)
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number], pa.int32()), pa.array([made], pa.binary())], schema=SWEPT
                )
        _settle(sent.part)

    def _found(self, sent: Shipped, number: int, blocks: dict[str, Block]) -> bytes:
        if self.identity not in _spaces:
            _spaces.clear()
            _spaces[self.identity] = BlockSpace(self.manifest, self.degrees.value)
        part: ArcPart = pickle.loads(sent.part)
        found = _swept(_spaces[self.identity], part, sent, number, blocks)
        return pickle.dumps(found, protocol=5)


def _settle(part: bytes) -> None:
    """Make the ends of tasks cheap, at which Spark's workers collect garbage and forget imports.

    What is loaded stays out of collections: with the compiler in memory one takes longer than a
    sweep. Finders of archives would read their directories again, Spark's own among them.
    """
    if part not in _known_parts:  # it was compiled in this task
        _known_parts.add(part)
        gc.collect()
        gc.freeze()
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]


# -- blocks in files


def _file_of(identity: str, number: int) -> Path:
    """Return the file of a block, in a folder that Spark removes with the executor."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", "/tmp")
    return Path(folders.split(",")[0], f"weft-{identity[:32]}", f"{number}.block")


def _leave(identity: str, number: int, blocks: dict[str, Block]) -> None:
    """Write a block to a file of this machine, if there is room, for all of its workers."""
    path = _file_of(identity, number)
    buffers: list[pickle.PickleBuffer] = []
    packed = pickle.dumps(blocks, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    head = pickle.dumps((packed, [view.nbytes for view in views]))
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for view in views:
                file.seek(-(-file.tell() // PAGE) * PAGE)
                file.write(view)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _opened_block(identity: str, number: int) -> dict[str, Block] | None:
    """Return a block whose arrays are mapped from its file, or None if there is none."""
    found = _opened.get((identity, number))
    if found is not None:
        return found
    for key in [key for key in _opened if key[0] != identity]:
        del _opened[key]
    try:
        with _file_of(identity, number).open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError:
        return None
    at = 8 + int.from_bytes(data[:8], "little")
    packed, sizes = pickle.loads(data[8:at])
    buffers = []
    for size in sizes:
        at = -(-at // PAGE) * PAGE
        buffers.append(data[at : at + size])
        at += size
    blocks: dict[str, Block] = pickle.loads(packed, buffers=buffers)
    _opened[identity, number] = blocks
    return blocks


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
        held = {way: [blocks[way]] for way in sorted(ways)}
        if sent.met is not None and sent.met.first != first:
            ((way, own),) = held.items()
            held = {way: sorted([*own, sent.met], key=lambda block: block.first)}
        output = run.block(members, held)
        totals = {name: scalars[name][0] for name in totals}
    run.end()
    if part.step.kind == "vertex":
        return Found(members, {name: fields[name][members] for name in part.hidden}, totals)
    return Found(output, {name: fields[name][output] for name in names}, totals)
