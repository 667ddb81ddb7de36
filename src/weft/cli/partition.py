"""`weft partition`: writes edge files as blocks, for graphs that do not fit into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def partition_files(
    edges: Annotated[
        list[str],
        typer.Argument(
            metavar="EDGES... FOLDER",
            help="Edge files, or a pattern in quotes; then the folder to write.",
            show_default=False,
        ),
    ],
    blocks: Annotated[
        int | None,
        typer.Option(help="The number of blocks; by default what the memory asks for."),
    ] = None,
    memory: Annotated[str, typer.Option(help="The memory limit of sorting.")] = "2GB",
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Treat every edge as undirected.")
    ] = False,
    simple: Annotated[
        bool, typer.Option("--simple", help="Drop self-loops and parallel edges.")
    ] = False,
    keep: Annotated[str, typer.Option(help="Directions to write: both, out or in.")] = "both",
) -> None:
    """Write edge files as a graph in blocks, which weft.open opens.

    The edges need not fit into memory. If the command is interrupted, the same command continues.

    Example: "weft partition edges.parquet big.weft --blocks 64 --memory 4GB".
    """
    if len(edges) < 2:
        raise typer.BadParameter("expected at least one edge file and a folder to write.")
    from weft.blocks.manifest import read_manifest
    from weft.io.partitioned import partition

    *files, folder = edges
    partition(
        files,
        folder,
        blocks=blocks,
        memory=memory,
        directed=False if undirected else None,
        duplicates="first" if simple else "keep",
        self_loops="drop" if simple else "keep",
        keep=keep,  # type: ignore[arg-type]
    )
    made = read_manifest(Path(folder))
    size = f"{made.num_vertices:,} vertices, {made.num_edges:,} edges, {made.num_blocks} blocks"
    typer.echo(f"{folder}: {size}", err=True)
