"""Partitioned copies of small graphs."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import weft
from weft.graph import Graph


@contextmanager
def on_blocks(g: Graph, blocks: int = 3, **options: Any) -> Iterator[Graph]:
    """Write a graph in blocks, and open it."""
    with tempfile.TemporaryDirectory() as folder:
        yield written(g, Path(folder), blocks, **options)


def written(g: Graph, folder: Path, blocks: int = 3, **options: Any) -> Graph:
    """Write a graph into a folder in blocks, and open it."""
    weft.write(g, folder / "whole.weft")
    weft.partition(folder / "whole.weft", folder / "blocks", blocks=blocks, **options)
    return weft.open(folder / "blocks", memory="50MB")


def for_requests(partitioned: Graph, whole: Graph) -> Any:
    """Return what `oracle.make_request` takes of a graph: its structure, and columns in memory."""
    return SimpleNamespace(topology=partitioned.topology, edge=whole.edge)
