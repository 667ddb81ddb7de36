"""Reads and writes graphs for commands, and the options that several of them share."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.progress import working

_FILE = typer.Argument(
    help="File with a graph; its suffix says the format, with or without .gz, .bz2 or .xz: "
    ".weft, .mtx, .txt, .el, .wel, .csv, .tsv, .gr, .graph, .properties, .e, .v, .parquet, "
    ".graphml, .gml, .npz.",
    show_default=False,
    metavar="FILE",
)
File = Annotated[Path, _FILE]
OptionalFile = Annotated[Path | None, _FILE]
Undirected = Annotated[
    bool,
    typer.Option(
        "--undirected",
        help="Take every edge to run both ways; edges between the same two vertices become one.",
    ),
]
Labels = Annotated[
    bool,
    typer.Option(
        "--labels",
        help="Take the ids in the file for names, which vertices are then called by: in an edge "
        "list text and integers far apart, elsewhere integers as well as text.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON rather than a table.")]


def read_graph(path: Path, undirected: bool = False, labels: bool = False) -> Any:
    """Return the graph in a file, or in a folder of blocks."""
    import weft

    if path.is_dir():
        return weft.open(path)
    with working(f"Reading {path}"):
        g = weft.read(path, labels=labels)
        return g.to_undirected() if undirected and g.directed else g


def write_graph(g: Any, path: Path) -> None:
    """Write a graph to a file; standard error names the parts that the format cannot hold."""
    import weft

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        with working(f"Writing {path}"):
            weft.write(g, path)
    for warning in caught:
        typer.echo(f"Warning: {warning.message}", err=True)


def graph_facts(g: Any) -> dict[str, object]:
    """Return the facts about a graph that need no computation."""
    return {
        "vertices": g.num_vertices,
        "edges": g.num_edges,
        "directed": g.directed,
        "weighted": g.weighted,
        "device": g.device,
    }
