"""`weft convert`: converts a graph between file formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.files import File, Labels, Undirected, read_graph, write_graph


def convert(
    source: File,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="File to write; its suffix says the format.", show_default=False
        ),
    ],
    undirected: Undirected = False,
    labels: Labels = False,
) -> None:
    """Convert a graph file to the format of the target's suffix.

    Example: "weft convert soc-LiveJournal1.txt.gz lj.weft".
    """
    g = read_graph(source, undirected, labels)
    write_graph(g, target)
    typer.echo(f"{target}: {g.num_vertices:,} vertices, {g.num_edges:,} edges", err=True)
