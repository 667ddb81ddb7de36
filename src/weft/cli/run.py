"""`weft run`: runs an algorithm on a graph file, with one command per algorithm."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.algorithms import algorithm_names
from weft.cli.commands import MadeOnDemand
from weft.cli.files import File, Json, Labels, Undirected, graph_facts, read_graph
from weft.cli.progress import working
from weft.cli.results import (
    Result,
    check_output,
    jsonable,
    result_of,
    summary,
    top,
    write_result,
)
from weft.cli.show import print_result
from weft.cli.signatures import (
    first_sentence,
    own_parameters,
    pairs,
    parameters,
    with_signature,
)
from weft.cli.vertices import (
    counts_of,
    personalization_of,
    sources_of,
    vertex_of,
    vertices_of,
)

VERTEX_OPTIONS: dict[str, Callable[[Any, str], Any]] = {
    "source": vertex_of,
    "target": vertex_of,
    "center": vertex_of,
    "seeds": vertices_of,
    "sources": sources_of,
    "vertices": vertices_of,
    "fanouts": counts_of,
    "scores": personalization_of,
    "states": personalization_of,
    "personalization": personalization_of,
}
Where = Annotated[
    str, typer.Option("--device", help="The device to run on: cpu, cuda, cuda:1, ... or emulated.")
]
SUPPLIED = ("g", "config", "warm_start", "since")  # without command line options
LONG = "personalization"  # becomes an array, but is reported as given
HELPS = {
    "sources": "The vertices that paths start from: a number takes a sample of that size, a list "
    "such as 3,17,4 (or 3, with a comma) these. All by default.",
    "personalization": "Where jumps go to, such as 3=1,17=0.5; everywhere alike by default.",
}


@dataclass(frozen=True)
class Report:
    """Everything known about one run, for the table, the JSON and the page."""

    algorithm: str
    file: str
    graph: dict[str, object]
    options: dict[str, Any]
    config: dict[str, Any]
    ms: float
    result: Result
    profile: Any = None
    shown: int = 10
    summary: dict[str, Any] = field(default_factory=dict)
    top: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        told = {
            "algorithm": self.algorithm,
            "file": self.file,
            "graph": self.graph,
            "options": self.options,
            "config": self.config,
            "ms": self.ms,
            "summary": self.summary,
            "top": self.top,
        }
        if self.profile is not None:
            told["profile"] = json.loads(self.profile.to_json())
        return dict(jsonable(told))


class Algorithms(MadeOnDemand):
    """The algorithms of weft as commands."""

    kind = "an algorithm"

    def names(self) -> list[str]:
        """Return the names of the algorithms."""
        return algorithm_names()

    def make(self, name: str) -> Callable[..., None]:
        """Return the command that runs one algorithm."""
        import weft

        return algorithm_command(name, getattr(weft, name), execute)


def list_algorithms(
    listed: Annotated[
        bool, typer.Option("--list", help="List the algorithms and what they compute.")
    ] = False,
) -> None:
    """Print the table of the registry if requested."""
    if not listed:
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from weft.algorithms.registry import algorithms

    table = Table(box=SIMPLE_HEAD)
    for title in ("algorithm", "group", "computes", "weights", "directions"):
        table.add_column(title)
    for one in sorted(algorithms().values(), key=lambda one: (one.group, one.name)):
        table.add_row(one.name, one.group, one.summary, one.weights, one.directed)
    Console().print(table)
    raise typer.Exit


def algorithm_command(
    name: str, function: Callable[..., Any], execute: Callable[..., None]
) -> Callable[..., None]:
    """Return a command with the options of an algorithm and of its output.

    `execute` receives the name, the function, the given options of the algorithm, and its own.
    """
    made = parameters(function, skip=SUPPLIED, text=(*VERTEX_OPTIONS, "dtype"), overrides=HELPS)

    def command(**given: Any) -> None:
        own = {p.name for p in made}
        options = {k: v for k, v in given.items() if k in own and v is not None}
        execute(name, function, options, **{k: v for k, v in given.items() if k not in own})

    taken = {"name", "function", "options"} | {p.name for p in made}  # `labels` of communities
    shared = [p for p in own_parameters(execute) if p.name not in taken]
    return with_signature(command, [*shared, *made], first_sentence(function))


def with_vertices(g: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an algorithm with vertex names resolved."""
    return {
        key: VERTEX_OPTIONS[key](g, value) if key in VERTEX_OPTIONS else value
        for key, value in options.items()
    }


def execute(
    name: str,
    function: Callable[..., Any],
    options: dict[str, Any],
    file: File,
    top_count: Annotated[
        int,
        typer.Option(
            "--top",
            min=0,
            metavar="N",
            help="Show the N vertices with the largest values (groups: the N largest).",
        ),
    ] = 10,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the values of all vertices: .csv, .parquet, .npy or .npz.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Write an HTML page: summary, distribution, profile, configuration.",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Tell what every superstep did.")
    ] = False,
    undirected: Undirected = False,
    labels: Labels = False,
    device: Where = "cpu",
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            metavar="KEY=VALUE",
            help="How to run it, a field of weft.Config such as direction=pull or threads=4; may "
            "be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run an algorithm; print and write the requested output."""
    import weft

    for path in (output, report):
        if path is not None:
            check_output(path if path is output else path.with_suffix(".csv"))
    settings = config_of(config or [])
    g = read_graph(file, undirected, labels)
    used = with_vertices(g, options)
    g = g.to(device)
    with working(f"Running {name}"), weft.profile() as recorded:
        start = time.perf_counter()
        result = result_of(name, function(g, **used, config=settings), g)
        ms = (time.perf_counter() - start) * 1e3
    told = Report(
        algorithm=name,
        file=str(file),
        graph=graph_facts(g),
        options=all_options(function, used | {k: options[k] for k in options if k == LONG}),
        config={} if settings is None else settings.given(),
        ms=ms,
        result=result,
        profile=recorded if profile or report is not None else None,
        summary=summary(result),
        top=top(result, top_count),
    )
    if output is not None:
        with working(f"Writing {output}"):
            write_result(result, output)
    if report is not None:
        from weft.cli.report import page

        report.write_text(page(told), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(told.as_dict(), indent=2))
    else:
        print_result(told, with_profile=profile)
    for path in (output, report):
        if path is not None:
            typer.echo(f"wrote {path}", err=True)


def config_of(items: list[str]) -> Any:
    """Return the configuration given on a command line; None leaves it to the engine."""
    from dataclasses import fields

    from weft.config import BY_SIDE, Config
    from weft.errors import ConfigError, unknown

    if not items:
        return None
    given = pairs(items, "--config")
    known = [f.name for f in fields(Config)]
    for key in given:
        if key not in known:
            raise ConfigError(unknown("--config key", key, known))
    for key in BY_SIDE:
        if ":" in str(given.get(key, "")):  # schedule=push:twc,pull:vertex
            given[key] = dict(part.partition(":")[::2] for part in given[key].split(","))
    if isinstance(given.get("passes_off"), str):
        given["passes_off"] = frozenset(given["passes_off"].split(","))
    return Config(**given)


def all_options(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return all options of an algorithm, including defaults."""
    known = inspect.signature(function).parameters
    told = {}
    for name, parameter in known.items():
        if name in SUPPLIED:
            continue
        value = given.get(name, parameter.default)
        told[name] = getattr(value, "__name__", value) if isinstance(value, type) else value
    return told
