"""The manifest of a partitioned graph: its size, its columns and its block files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from weft.errors import FileFormatError, GraphError

Array = np.ndarray[Any, Any]

NAME: Final = "manifest.json"
FORMAT: Final = "weft partitioned graph"
VERSION: Final = 1


@dataclass(frozen=True)
class Column:
    """An edge column: its dtype, the shape of one item, and the range of its values.

    `low` and `high` are NaN if any value is.
    """

    dtype: str
    shape: tuple[int, ...] = ()
    low: float = 0.0
    high: float = 0.0

    @property
    def item_bytes(self) -> int:
        """Bytes of one item."""
        return int(np.dtype(self.dtype).itemsize * int(np.prod(self.shape, dtype=np.int64)))


@dataclass(frozen=True)
class BlockEntry:
    """One block file.

    Attributes
    ----------
    file
        Its name within the folder.
    arcs
        The number of arcs in it.
    bytes
        Its length.
    crc
        The CRC-32 of its head, which holds those of its arrays.
    """

    file: str
    arcs: int
    bytes: int
    crc: int


@dataclass(frozen=True)
class Manifest:
    """The description of a partitioned graph.

    Attributes
    ----------
    num_vertices, num_edges, num_arcs
        Its size; an arc is a stored connection.
    directed
        Whether an edge is one arc.
    keep
        Which directions have blocks: "both", "out" or "in".
    index_dtype
        The dtype of vertex ids.
    cuts
        Block i holds the rows of the vertices from ``cuts[i]`` up to ``cuts[i + 1]``.
    columns
        The edge columns.
    blocks
        The block files of each direction, one per block.
    loops, parallel
        How many arcs are self-loops, and how many repeat the arc before them in their row.
    """

    num_vertices: int
    num_edges: int
    num_arcs: int
    directed: bool
    keep: str
    index_dtype: str
    cuts: tuple[int, ...]
    columns: Mapping[str, Column] = field(default_factory=dict)
    blocks: Mapping[str, tuple[BlockEntry, ...]] = field(default_factory=dict)
    loops: int = 0
    parallel: int = 0

    @property
    def num_blocks(self) -> int:
        """The number of blocks of each direction."""
        return len(self.cuts) - 1

    @property
    def is_simple(self) -> bool:
        """Whether there are neither self-loops nor parallel arcs."""
        return self.loops == 0 and self.parallel == 0

    def write(self, folder: Path) -> None:
        """Write the manifest; it appears when it is complete."""
        text = json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1)
        replace_file(folder / NAME, text.encode())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file that appears when it is complete."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder.

    Raises
    ------
    GraphError
        If the folder does not hold a partitioned graph, or its building was interrupted.
    FileFormatError
        If the manifest is damaged.
    """
    path = folder / NAME
    if not path.is_file():
        unfinished = (folder / "building.json").exists()
        raise GraphError(
            f"{folder} holds no partitioned graph: {NAME} is missing"
            + (", because its building was interrupted" if unfinished else "")
            + ". Expected a folder made by weft.partition; run weft partition"
            + (" again with the same options to continue." if unfinished else " on the edge file.")
        )
    try:
        held = json.loads(path.read_bytes())
        if held.pop("format") != FORMAT or held.pop("version") != VERSION:
            raise ValueError(f"it is not {FORMAT!r} of version {VERSION}")
        held["cuts"] = tuple(int(cut) for cut in held["cuts"])
        held["columns"] = {
            name: Column(**{**column, "shape": tuple(column["shape"])})
            for name, column in held["columns"].items()
        }
        held["blocks"] = {
            direction: tuple(BlockEntry(**entry) for entry in entries)
            for direction, entries in held["blocks"].items()
        }
        found = Manifest(**held)
        if any(len(entries) != found.num_blocks for entries in found.blocks.values()):
            raise ValueError("a direction has another number of blocks")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(
            path, f"the manifest cannot be read ({error}). Expected what weft.partition writes; "
            "partition the graph again."
        ) from None  # fmt: skip
    return found
