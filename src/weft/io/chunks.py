"""Edges of files in chunks, to partition graphs that do not fit into memory.

Parquet files are read in batches, edge lists in pieces of text. Other formats are read as a whole;
a `.weft` file is memory-mapped.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.blocks.build import Chunk
from weft.errors import GraphError
from weft.io.base import both_ways, find_format, read
from weft.io.compression import Source
from weft.io.formats.edge_list import chunks_of_list, said_by_list
from weft.io.formats.parquet import chunks_of_table, said_by_table
from weft.topology.adjacency import Array

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class EdgeFiles:
    """The edges of some files, one after another.

    Parameters
    ----------
    paths
        One file, a pattern such as ``"edges-*.parquet"``, or a list of files.
    columns
        The columns to read; by default all.
    """

    def __init__(self, paths: Paths, columns: Sequence[str] | None = None) -> None:
        self.columns = columns
        self.files = _files(paths)
        self.found: list[tuple[Source, str, bool]] = []
        self.num_vertices = 0  # as the files say, 0 if they say nothing
        for path in self.files:
            source, format = find_format(path)
            kind = format.name if not source.compression else ""
            directed, count = _said(source, kind, columns)
            self.num_vertices = max(self.num_vertices, count)
            self.found.append((source, kind, directed))

    @property
    def directed(self) -> bool:
        """Whether the edges of any file run one way, as the files say."""
        return any(directed for _, _, directed in self.found)

    def fingerprint(self) -> str:
        """Return a value that changes when the files do."""
        facts = [(str(path.resolve()), path.stat()) for path in self.files]
        parts = [f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in facts]
        return "\n".join([*parts, repr(self.columns)])

    def chunks(self, rows: int, directed: bool) -> Iterator[Chunk]:
        """Yield the edges in chunks of about `rows`.

        With `directed`, an undirected edge of a file gives one edge each way.
        """
        for source, kind, one_way in self.found:
            doubled = directed and not one_way
            if kind == "Parquet":
                parts = chunks_of_table(source, self.columns, rows)
            elif kind == "edge list":
                parts = chunks_of_list(source, self.columns, rows)
            else:
                parts = _chunks_of_graph(source, rows)
            for src, dst, columns in parts:
                yield Chunk(*(both_ways(src, dst, columns) if doubled else (src, dst, columns)))


def _said(source: Source, kind: str, columns: Sequence[str] | None) -> tuple[bool, int]:
    """Return whether a file is directed, and its number of vertices, as far as it states them."""
    if kind == "Parquet":
        return said_by_table(source)
    if kind == "edge list":
        return said_by_list(source, columns)
    g = read(source.path)
    return g.directed, g.num_vertices


def _files(paths: Paths) -> list[Path]:
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files: list[Path] = []
    for path in listed:
        matches = sorted(glob.glob(os.fspath(path))) if not Path(path).exists() else [path]
        if not matches:
            raise GraphError(f"{path} does not exist. Expected an edge file, or a pattern of some.")
        files += [Path(match) for match in matches]
    return files


def _chunks_of_graph(source: Source, rows: int) -> Iterator[tuple[Array, Array, dict[str, Array]]]:
    """Yield the edges of a graph, by rows of its adjacency."""
    g = read(source.path)
    if g.labels is not None:
        raise source.error(
            "the vertices have labels, which a partitioned graph does not hold. Expected vertex "
            "numbers; write the file without labels."
        )
    columns = {name: g.edge.storage(name) for name in g.edge}
    if not g.directed:
        src, dst = g.topology.edge_endpoints()
        for begin in range(0, max(src.size, 1), rows):
            part = slice(begin, begin + rows)
            yield src[part], dst[part], {name: held[part] for name, held in columns.items()}
        return
    arcs = g.topology.adjacency(g.topology.primary_direction)
    for begin in range(0, max(arcs.targets.size, 1), rows):
        part = slice(begin, min(begin + rows, arcs.targets.size))
        slots = np.arange(part.start, part.stop)
        ends = np.searchsorted(arcs.offsets, slots, "right") - 1, arcs.targets[part]
        src, dst = ends if g.topology.primary_direction == "out" else ends[::-1]
        held: Any = {name: column[part] for name, column in columns.items()}
        yield src, dst, held
