"""`partition` and `open`: graphs that do not fit into memory, in blocks on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from weft.arrays.device import Device, open_device
from weft.blocks.build import BuildPlan, build
from weft.blocks.exchange import Exchange
from weft.blocks.sizes import bytes_of
from weft.errors import ConfigError, GraphError, unknown
from weft.graph import Graph
from weft.graph.build import (
    DUPLICATES,
    MOST_VERTICES,
    SELF_LOOPS,
    Duplicates,
    SelfLoops,
    check_count,
)
from weft.graph.partitioned import streamed_graph
from weft.io.chunks import EdgeFiles, Paths
from weft.topology.topology import KEEPS, Keep

DEFAULT_MEMORY = "2GB"


def partition(  # noqa: PLR0913
    edges: Paths,
    folder: str | os.PathLike[str],
    *,
    blocks: int | None = None,
    memory: int | str = DEFAULT_MEMORY,
    directed: bool | None = None,
    num_vertices: int | None = None,
    duplicates: Duplicates = "keep",
    self_loops: SelfLoops = "keep",
    keep: Keep = "both",
    columns: Sequence[str] | None = None,
) -> None:
    """Write the edges of files as a partitioned graph, which `weft.open` opens.

    The edges need not fit into memory: they are distributed to runs on disk, and each run is sorted
    separately. Needs twice the disk space of the arcs. If interrupted, the same call continues.

    Parameters
    ----------
    edges : path, or list of paths
        Edge files of any format that `weft.read` knows, or a pattern such as ``"part-*.parquet"``.
    folder : path
        The folder to write; created if it does not exist.
    blocks : int, optional
        The number of blocks; chosen by the memory limit by default. A sweep skips blocks without
        work and reads ahead, so some dozens are better than a few.
    memory : int or str
        The memory limit of sorting, such as "4GB", in addition to 16 bytes per vertex.
    directed : bool, optional
        Whether edges run one way; by default as the files state, else True.
    num_vertices : int, optional
        The number of vertices; by default the largest id plus one.
    duplicates, self_loops, keep
        As in `Graph.from_edges`. With keep="out" or "in" only one direction is written, which
        halves the space: PageRank needs "in", searches need "out".
    columns : sequence of str, optional
        The columns to read, including "src" and "dst"; by default all.

    Raises
    ------
    GraphError
        If a file cannot be read, or the disk is full.
    ConfigError
        If a block does not fit into the memory.

    Examples
    --------
    >>> import pathlib, tempfile, weft
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> weft.write(weft.generators.grid(4, 4), folder / "grid.txt")
    >>> weft.partition(folder / "grid.txt", folder / "grid", blocks=4, directed=False)
    >>> g = weft.open(folder / "grid")
    >>> weft.bfs(g, 0).level.tolist()
    [0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6]
    """
    for name, value, known in (
        ("duplicates", duplicates, DUPLICATES), ("self_loops", self_loops, SELF_LOOPS),
        ("keep", keep, KEEPS),
    ):  # fmt: skip
        if value not in known:
            raise ConfigError(unknown(name, value, known))
    if blocks is not None and check_count("blocks", blocks) < 1:
        raise ConfigError(f"blocks={blocks} is not possible. Expected 1 or more.")
    if num_vertices is not None and check_count("num_vertices", num_vertices) > MOST_VERTICES:
        raise GraphError(f"num_vertices={num_vertices} is too large. Expected at most 2**40.")
    files = EdgeFiles(edges, columns)
    directed = files.directed if directed is None else bool(directed)
    if num_vertices is None and files.num_vertices:
        num_vertices = files.num_vertices
    plan = BuildPlan(
        memory=bytes_of("memory", memory),
        blocks=blocks,
        directed=directed,
        keep=keep,
        duplicates=duplicates,
        self_loops=self_loops,
        num_vertices=num_vertices,
        fingerprint=files.fingerprint(),
    )
    build(Path(folder), lambda rows: files.chunks(rows, plan.directed), plan)


def open(
    path: str | os.PathLike[str],
    *,
    memory: int | str = DEFAULT_MEMORY,
    device: str | Device = "cpu",
    exchange: Exchange | None = None,
) -> Graph:
    """Open a graph: a folder that `weft.partition` wrote, or a file that `weft.read` knows.

    The arcs of a partitioned graph stay on disk. Programs and algorithms run on it as on any graph:
    the fields of the vertices are in memory, and blocks of arcs are read while others are swept.

    Parameters
    ----------
    path : str or path
        The folder or file.
    memory : int or str
        The memory limit of the blocks, such as "2GB", in addition to the vertex fields. Blocks that
        fit are cached for the next superstep.
    device : str
        Where sweeps run: "cpu", or "cuda" for a GPU, whose memory then holds the vertex fields and
        twice the largest block; the other blocks stay on disk and in `memory`.
    exchange : HostExchange or NcclExchange, optional
        Connects several processes that open the same graph and run the same program; each sweeps a
        part of the blocks, on its own device.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If there is no such graph. Its subclass `FileFormatError` if a file is damaged.
    ConfigError
        If the memory limit is less than a few blocks.

    Examples
    --------
    >>> import pathlib, tempfile, weft
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> weft.write(weft.Graph.from_edges([0, 1, 2, 3], [2, 2, 0, 2]), folder / "edges.txt")
    >>> weft.partition(folder / "edges.txt", folder / "graph")
    >>> weft.pagerank(weft.open(folder / "graph", memory="100MB")).round(3).tolist()
    [0.445, 0.038, 0.48, 0.038]
    """
    size = bytes_of("memory", memory)
    if Path(path).is_dir():
        return streamed_graph(Path(path), size, open_device(device), exchange)
    if exchange is not None:
        raise ConfigError(
            f"exchange= shares the blocks of a partitioned graph, but {path} is a file. Expected "
            "a folder; write it with weft.partition."
        )
    from weft.io.base import read

    return read(path).to(device)
