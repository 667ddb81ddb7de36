"""`weft info`: size, degrees, components and memory of the graph in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from weft.cli.files import File, Json, Undirected, graph_facts, read_graph
from weft.cli.progress import working
from weft.cli.results import jsonable
from weft.cli.show import console, facts_table

QUANTILES = ((0.5, "median"), (0.9, "90 %"), (0.99, "99 %"))


def info(
    file: File,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the distribution of degrees: .png, .svg or .pdf. Needs matplotlib.",
            show_default=False,
        ),
    ] = None,
    components: Annotated[
        bool, typer.Option(help="Count the connected components (weak ones of a directed graph).")
    ] = True,
    undirected: Undirected = False,
    as_json: Json = False,
) -> None:
    """Tell the size of a graph, its weights, degrees, components and memory.

    Example: "weft info social.mtx --plot degrees.png".
    """
    g = read_graph(file, undirected)
    told = facts(g, file, components)
    if plot is not None:
        from weft.cli.degree_plot import plot_degrees

        plot_degrees(degrees(g), f"{file.name}: degrees", plot)
    if as_json:
        typer.echo(json.dumps(jsonable(told), indent=2))
    else:
        flat = {}
        for name, value in told.items():
            parts = value.items() if isinstance(value, dict) else [("", value)]
            flat.update({f"{name} {part}".strip(): one for part, one in parts})
        console().print(facts_table(flat))
    if plot is not None:
        typer.echo(f"wrote {plot}", err=True)


def facts(g: Any, file: Path, components: bool) -> dict[str, Any]:
    """Return everything that `weft info` tells."""
    from weft.devices import bytes_text

    told: dict[str, Any] = {
        **{key: value for key, value in graph_facts(g).items() if key != "device"},
        "labels": getattr(g, "labels", None) is not None,
        "memory": bytes_text(g.memory_bytes),
        "file": bytes_text(file.stat().st_size),
    }
    if g.weighted and g.num_edges:
        weight = np.asarray(g.edge["weight"])
        told["weight"] = {
            "dtype": str(weight.dtype),
            "smallest": weight.min().item(),
            "mean": float(weight.mean(dtype=np.float64)),
            "largest": weight.max().item(),
        }
    for name, values in degrees(g).items():
        told[name] = statistics(values)
    told["isolated vertices"] = int((sum(degrees(g).values()) == 0).sum())
    src, dst = g.to_edges()[:2]
    told["self-loops"] = int((src == dst).sum())
    if components:
        import weft

        with working("Counting components"):
            sizes = np.unique(weft.connected_components(g), return_counts=True)[1]
        told["components"] = {"number": len(sizes), "largest": int(sizes.max(initial=0))}
    return told


def degrees(g: Any) -> dict[str, Any]:
    """Return the degrees by name: one kind of an undirected graph, two of a directed one."""
    if not g.directed:
        return {"degree": np.asarray(g.out_degree)}
    return {"out-degree": np.asarray(g.out_degree), "in-degree": np.asarray(g.in_degree)}


def statistics(values: Any) -> dict[str, float]:
    """Return the least, the mean, some quantiles and the largest of the degrees."""
    if not len(values):
        return {}
    told: dict[str, float] = {"smallest": int(values.min()), "mean": float(values.mean())}
    told |= {name: float(np.quantile(values, share)) for share, name in QUANTILES}
    return told | {"largest": int(values.max())}
