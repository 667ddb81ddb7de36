"""Out-of-core building of block files: count, scatter into runs, sort each block.

1. *Count*: one pass over the edges gives the degrees, from which rows are cut into blocks of about
   equal work.
2. *Scatter*: a second pass appends every arc to the run file of its block.
3. *Sort*: each run is read, sorted by row and target, and written as a block file.

Memory holds one chunk of edges, one block, and a few numbers per vertex. A journal records how far
the work has come, so that an interrupted build continues where it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from weft.blocks.block_file import Block, BlockReader, write_block
from weft.blocks.manifest import BlockEntry, Column, Manifest, replace_file
from weft.errors import ConfigError, GraphError
from weft.topology.adjacency import index_dtype_for

Array = np.ndarray[Any, Any]

JOURNAL: Final = "building.json"
COPIES: Final = 6  # of a chunk or a block that sorting holds at most
LEAST_CHUNK: Final = 1 << 12


class Chunk(NamedTuple):
    """Some edges of the input, in order."""

    src: Array
    dst: Array
    columns: Mapping[str, Array]


Chunks = Callable[[int], Iterator[Chunk]]
"""Takes a number of edges and yields the input in chunks of at most that many, always the same."""


@dataclass(frozen=True)
class BuildPlan:
    """The options of building; see `weft.partition`."""

    memory: int
    blocks: int | None = None
    directed: bool = True
    keep: str = "both"
    duplicates: str = "keep"
    self_loops: str = "keep"
    num_vertices: int | None = None
    fingerprint: str = ""  # of the input

    @property
    def ways(self) -> tuple[str, ...]:
        """The directions that get block files."""
        if not self.directed:
            return ("out",)
        return {"both": ("out", "in"), "out": ("out",), "in": ("in",)}[self.keep]


def build(folder: Path, chunks: Chunks, plan: BuildPlan) -> Manifest:
    """Build the block files of a graph and its manifest; continue an interrupted build.

    Raises
    ------
    GraphError
        If the disk is full; building can then be continued.
    ConfigError
        If a block does not fit into the memory.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return _Build(folder, chunks, plan).run()
    except OSError as error:
        raise GraphError(
            f"the graph could not be written to {folder}: {error.strerror or error}. Expected "
            "enough space for twice the arcs; free some, then run the same command again, which "
            "continues where it stopped."
        ) from error


class _Build:
    """One build, from its journal on."""

    def __init__(self, folder: Path, chunks: Chunks, plan: BuildPlan) -> None:
        self.folder, self.chunks, self.plan = folder, chunks, plan
        self.journal: dict[str, Any] = self._known_journal()

    def run(self) -> Manifest:
        """Run the remaining steps."""
        if "cuts" not in self.journal:
            self._note(**self._counted())
        if not self.journal.get("scattered"):
            self._scatter()
        manifest = self._sort()
        manifest.write(self.folder)
        (self.folder / JOURNAL).unlink()
        return manifest

    def _known_journal(self) -> dict[str, Any]:
        """Return the journal of an interrupted build of the same input, else an empty one."""
        asked = json.loads(json.dumps(asdict(self.plan)))
        path = self.folder / JOURNAL
        if path.is_file():
            try:
                known: dict[str, Any] = json.loads(path.read_bytes())
            except ValueError:
                known = {}
            if known.get("plan") == asked:
                return known
        self._clear()
        return {"plan": asked}

    def _clear(self) -> None:
        """Remove what an earlier build left in the folder."""
        for pattern in ("run-*.bin", "*.block", "*.tmp", "*_degree.npy", "*.json"):
            for path in self.folder.glob(pattern):
                path.unlink()

    def _note(self, **facts: Any) -> None:
        self.journal.update(facts)
        replace_file(self.folder / JOURNAL, json.dumps(self.journal).encode())

    # -- counting

    def _chunk_rows(self, item_bytes: int) -> int:
        return max(LEAST_CHUNK, self.plan.memory // (2 * COPIES * item_bytes))

    def _counted(self) -> dict[str, Any]:
        """Return the size of the graph, the cuts between blocks and the columns."""
        degrees = {way: np.zeros(self.plan.num_vertices or 0, np.int64) for way in ("out", "in")}
        kinds: dict[str, Column] = {}
        edges = 0
        for chunk in self.chunks(self._chunk_rows(32)):
            edges += chunk.src.size
            for way, ends in (("out", chunk.src), ("in", chunk.dst)):
                degrees[way] = _added(degrees[way], np.bincount(ends))
            kinds = _united(kinds, chunk.columns, first=edges == chunk.src.size)
        n = max(degree.size for degree in degrees.values())
        asked = self.plan.num_vertices
        if asked is not None and n > asked:
            raise GraphError(
                f"num_vertices={asked} was passed, but the largest vertex id is {n - 1}. Expected "
                f"{n} or more; leave it out."
            )
        out, into = (_added(np.zeros(n, np.int64), degree) for degree in degrees.values())
        if self.plan.directed:
            parts = {"out": out, "in": into}
            work = sum((parts[way] for way in self.plan.ways), np.zeros(n, np.int64))
        else:
            work = out + into
        dtype = index_dtype_for(n)
        item = 2 * dtype.itemsize + sum(kind.item_bytes for kind in kinds.values())
        cuts = self._cuts(work, item)
        return {
            "n": n, "cuts": cuts, "index": dtype.name,
            "columns": {name: asdict(kind) for name, kind in kinds.items()},
        }  # fmt: skip

    def _cuts(self, work: Array, item_bytes: int) -> list[int]:
        """Return the boundaries of blocks with about equally many arcs."""
        n = work.size
        room = max(1, self.plan.memory // (COPIES * item_bytes))
        needed = max(1, -(-int(work.sum()) // max(1, room // 2)))
        wanted = needed if self.plan.blocks is None else self.plan.blocks
        if wanted < needed:
            raise ConfigError(
                f"blocks={wanted} makes blocks that need more than memory={self.plan.memory} while "
                f"they are sorted. Expected at least {needed}, or more memory."
            )
        total = np.cumsum(work + 1)
        marks = np.linspace(0, total[-1] if n else 0, min(wanted, max(n, 1)) + 1)[1:-1]
        cuts = np.searchsorted(total, marks, "left") + 1
        return [int(cut) for cut in np.unique([0, *cuts.tolist(), n])]

    # -- scattering

    @property
    def _record(self) -> np.dtype[Any]:
        index = np.dtype(self.journal["index"])
        columns = self._columns()
        return np.dtype([
            ("row", index), ("target", index),
            *((f"edge/{name}", kind.dtype, kind.shape) for name, kind in columns.items()),
        ])  # fmt: skip

    def _columns(self) -> dict[str, Column]:
        held = self.journal["columns"]
        return {name: Column(**{**c, "shape": tuple(c["shape"])}) for name, c in held.items()}

    def _run_file(self, way: str, block: int) -> Path:
        return self.folder / f"run-{way}-{block:05d}.bin"

    def _scatter(self) -> None:
        """Append every arc to the run of its block; note after every chunk how long runs are."""
        record, cuts = self._record, np.array(self.journal["cuts"])
        done = int(self.journal.get("chunks", 0))
        sizes: dict[str, int] = self.journal.get("sizes", {})
        for way in self.plan.ways:
            for block in range(len(cuts) - 1):
                path = self._run_file(way, block)
                with path.open("ab") as file:  # of a chunk that was not finished nothing stays
                    file.truncate(sizes.get(path.name, 0))
        for number, chunk in enumerate(self.chunks(self._chunk_rows(2 * record.itemsize))):
            if number < done:
                continue
            for way in self.plan.ways:
                arcs = _arcs(chunk, way, record, self.plan)
                block_of = np.searchsorted(cuts, arcs["row"], "right") - 1
                order = np.argsort(block_of, kind="stable")
                ends = np.cumsum(np.bincount(block_of, minlength=len(cuts) - 1))
                for block, end in enumerate(ends.tolist()):
                    begin = 0 if block == 0 else int(ends[block - 1])
                    if end > begin:
                        path = self._run_file(way, block)
                        with path.open("ab") as file:
                            file.write(arcs[order[begin:end]].tobytes())
                        sizes[path.name] = path.stat().st_size
            self._note(chunks=number + 1, sizes=sizes)
        self._note(scattered=True)

    # -- sorting

    def _sort(self) -> Manifest:
        """Turn the runs into block files."""
        cuts, n = self.journal["cuts"], self.journal["n"]
        done: dict[str, Any] = self.journal.get("done", {})
        columns = self._columns()
        if self._counts_edges():
            columns["weight"] = Column("int64")
        for way in self.plan.ways:
            for block in range(len(cuts) - 1):
                name, run = f"{way}-{block:05d}.block", self._run_file(way, block)
                if name not in done:
                    arcs = np.fromfile(run, self._record)
                    found, facts = self._sorted(arcs, cuts[block], cuts[block + 1])
                    entry = write_block(self.folder / name, found)
                    done[name] = {"entry": asdict(entry), **facts}
                    self._note(done=done)
                run.unlink(missing_ok=True)
        entries = {
            way: tuple(
                BlockEntry(**done[f"{way}-{block:05d}.block"]["entry"])
                for block in range(len(cuts) - 1)
            )
            for way in self.plan.ways
        }
        first = [done[entry.file] for entry in entries[self.plan.ways[0]]]
        arcs = sum(part["entry"]["arcs"] for part in first)
        loops = sum(part["loops"] for part in first)
        manifest = Manifest(
            num_vertices=n,
            num_edges=arcs if self.plan.directed else (arcs - loops) // 2 + loops,
            num_arcs=arcs,
            directed=self.plan.directed,
            keep=self.plan.keep if self.plan.directed else "both",
            index_dtype=self.journal["index"],
            cuts=tuple(cuts),
            columns=_ranged(columns, first),
            blocks=entries,
            loops=loops,
            parallel=sum(part["parallel"] for part in first),
        )
        self._write_degrees(manifest)
        return manifest

    def _counts_edges(self) -> bool:
        return self.plan.duplicates == "sum" and "weight" not in self.journal["columns"]

    def _sorted(self, arcs: Array, first: int, end: int) -> tuple[Block, dict[str, Any]]:
        """Return the block of some arcs, parallel ones merged as asked, and facts about it."""
        rows = arcs["row"].astype(np.int64) - first
        key = rows * max(self.journal["n"], 1) + arcs["target"]
        order = np.argsort(key, kind="stable")
        key = key[order]
        fresh = np.ones(key.size, bool)
        fresh[1:] = key[1:] != key[:-1]
        merges = self.plan.duplicates != "keep"
        starts = np.flatnonzero(fresh) if merges else np.arange(key.size)
        chosen = order[starts]
        columns = {name: arcs[f"edge/{name}"][chosen] for name in self._columns()}
        if merges and self.plan.duplicates != "first":
            lengths = np.diff(np.append(starts, key.size))
            columns["weight"] = self._merged(arcs, order, starts, lengths)
        offsets = np.zeros(end - first + 1, np.int64)
        np.cumsum(np.bincount(rows[chosen], minlength=end - first), out=offsets[1:])
        targets = np.ascontiguousarray(arcs["target"][chosen])
        loops = int(np.count_nonzero(targets == arcs["row"][chosen]))
        facts: dict[str, Any] = {
            "loops": loops, "parallel": 0 if merges else int(np.count_nonzero(~fresh)),
            "ranges": {name: _range_of(values) for name, values in columns.items()},
        }  # fmt: skip
        return Block(first, offsets, targets, columns), facts

    def _merged(self, arcs: Array, order: Array, starts: Array, lengths: Array) -> Array:
        """Return the weights of merged arcs, or their number where there are none."""
        if "weight" not in self.journal["columns"]:
            return lengths.astype(np.int64) if self.plan.duplicates == "sum" else lengths
        weights = arcs["edge/weight"][order]
        if not starts.size:
            return weights
        combine = {"sum": np.add, "min": np.fmin, "max": np.fmax}[self.plan.duplicates]
        return combine.reduceat(weights, starts).astype(weights.dtype)

    def _write_degrees(self, manifest: Manifest) -> None:
        """Write the degrees of all vertices, from the blocks."""
        n, reader = manifest.num_vertices, BlockReader(self.folder, direct=False)
        degrees = {}
        for way in self.plan.ways:
            degree, far = np.zeros(n, np.int64), np.zeros(n, np.int64)
            for block, entry in enumerate(manifest.blocks[way]):
                first, end = manifest.cuts[block], manifest.cuts[block + 1]
                held = reader.read(entry, first, end - first)
                degree[first:end] = np.diff(held.offsets.astype(np.int64))
                if self.plan.directed and manifest.keep != "both":
                    far = _added(far, np.bincount(held.targets))
            degrees[way] = degree
            if self.plan.directed and manifest.keep != "both":
                degrees["in" if way == "out" else "out"] = far
        for way, degree in degrees.items():
            most = np.iinfo(manifest.index_dtype).max
            fits = not degree.size or int(degree.max()) <= most
            kind = manifest.index_dtype if fits else "int64"
            np.save(self.folder / f"{way}_degree.npy", degree.astype(kind))


def _arcs(chunk: Chunk, way: str, record: np.dtype[Any], plan: BuildPlan) -> Array:
    """Return the arcs of a chunk as records; an undirected edge gives one after the other."""
    kept: Any = slice(None)
    if plan.self_loops == "drop":
        kept = chunk.src != chunk.dst
    src, dst = chunk.src[kept], chunk.dst[kept]
    double = 1 if plan.directed else 2
    arcs = np.empty(double * src.size, record)
    row, target = (dst, src) if way == "in" else (src, dst)
    arcs["row"][::double], arcs["target"][::double] = row, target
    if double == 2:
        arcs["row"][1::2], arcs["target"][1::2] = dst, src
    for name in record.names[2:] if record.names else ():
        arcs[name] = np.repeat(chunk.columns[name[5:]][kept], double, axis=0)
    if double == 2:
        proper = np.ones(arcs.size, bool)
        proper[1::2] = src != dst
        arcs = arcs[proper]
    return arcs


def _added(held: Array, more: Array) -> Array:
    """Return the sum of two arrays of counts, as long as the longer one."""
    if more.size > held.size:
        held = np.concatenate((held, np.zeros(more.size - held.size, np.int64)))
    held[: more.size] += more
    return held


def _united(
    known: dict[str, Column], columns: Mapping[str, Array], first: bool
) -> dict[str, Column]:
    """Return columns whose dtypes hold those of a further chunk too."""
    if not first and known.keys() != columns.keys():
        raise GraphError(
            f"the edges have the columns {sorted(known)} at first and {sorted(columns)} later on. "
            "Expected the same everywhere; partition the files one by one or add the column."
        )
    united = {}
    for name, values in columns.items():
        dtype = values.dtype
        if name in known:
            dtype = np.promote_types(dtype, np.dtype(known[name].dtype))
        united[name] = Column(dtype.name, tuple(values.shape[1:]))
    return united


def _range_of(values: Array) -> list[float] | None:
    """Return the least and the largest number, NaN twice if any is; None if there are none."""
    if not values.size:
        return None
    low, high = values.min().item(), values.max().item()
    return [low, high]


def _ranged(columns: dict[str, Column], parts: list[dict[str, Any]]) -> dict[str, Column]:
    """Return columns with the range of their values over all blocks."""
    ranged = {}
    for name, kind in columns.items():
        found = [part["ranges"][name] for part in parts if part["ranges"].get(name)]
        low = min((r[0] for r in found), default=0)
        high = max((r[1] for r in found), default=0)
        if any(r[0] != r[0] for r in found):
            low = high = float("nan")
        ranged[name] = Column(kind.dtype, kind.shape, low, high)
    return ranged
