"""`weft info`: reports size, degrees, components and memory of a graph, or the unit's sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from weft.cli.files import Json, Labels, OptionalFile, Undirected, graph_facts, read_graph
from weft.cli.progress import working
from weft.cli.results import jsonable
from weft.cli.show import console, facts_table, rows_table

QUANTILES = ((0.5, "median"), (0.9, "90 %"), (0.99, "99 %"))


def info(
    file: OptionalFile = None,
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
    formats: Annotated[
        bool,
        typer.Option("--formats", help="Tell what the graph takes in each format, built here."),
    ] = False,
    undirected: Undirected = False,
    labels: Labels = False,
    as_json: Json = False,
    unit: Annotated[
        bool,
        typer.Option(
            "--unit", help="Tell whether the device has the SparseWeaver unit, and its sizes."
        ),
    ] = False,
    device: Annotated[str, typer.Option(help="The device that --unit reports on.")] = "cpu",
) -> None:
    """Report the size of a graph, its weights, degrees, components and memory.

    Examples: "weft info social.mtx --plot degrees.png", "weft info --unit".
    """
    if unit:
        from weft.weaver.target import unit_facts

        about = unit_facts(device)
        if as_json:
            typer.echo(json.dumps(about, indent=2))
        else:
            console().print(facts_table(flat(about)))
        return
    if file is None:
        raise typer.BadParameter("Expected the file of a graph, or --unit.", param_hint="FILE")
    g = read_graph(file, undirected, labels)
    told = facts(g, file, components)
    if plot is not None:
        from weft.cli.degree_plot import plot_degrees

        plot_degrees(degrees(g), f"{file.name}: degrees", plot)
    held: dict[str, dict[str, Any]] = {}
    if formats:
        from weft.cli.formats import format_facts

        with working("Building formats"):
            held = format_facts(g)
    if as_json:
        more = {"formats": held} if held else {}
        typer.echo(json.dumps(jsonable(told | more), indent=2))
    else:
        console().print(facts_table(flat(told)))
        if held:
            from weft.cli.formats import format_rows

            console().print(rows_table(format_rows(held)))
    if plot is not None:
        typer.echo(f"wrote {plot}", err=True)


def facts(g: Any, file: Path, components: bool) -> dict[str, Any]:
    """Return everything that `weft info` reports."""
    told: dict[str, Any] = {
        **{key: value for key, value in graph_facts(g).items() if key != "device"},
        "labels": g.labels is not None,
        "memory_bytes": g.memory_bytes,
        "file_bytes": file.stat().st_size,
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


def flat(told: dict[str, Any]) -> dict[str, Any]:
    """Return the facts as a flat dictionary, with sizes in readable units."""
    from weft.arrays.device import bytes_text

    lines: dict[str, Any] = {}
    for name, value in told.items():
        if name.endswith("_bytes"):
            lines[name.removesuffix("_bytes")] = bytes_text(value)
        elif isinstance(value, dict):
            lines.update({f"{name} {part}": one for part, one in value.items()})
        else:
            lines[name] = value
    return lines


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
