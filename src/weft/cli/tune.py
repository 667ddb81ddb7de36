"""`weft tune`: finds the fastest configuration of an algorithm on a graph file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.commands import INTERRUPTED
from weft.cli.files import File, Json, Labels, Undirected, read_graph
from weft.cli.run import Algorithms, Where, algorithm_command, with_vertices
from weft.cli.show import console, rows_table

ALL = "all"


class Tunings(Algorithms):
    """The algorithms of weft as tuning commands."""

    def make(self, name: str) -> Callable[..., None]:
        """Return the command that tunes one algorithm."""
        import weft

        return algorithm_command(name, getattr(weft, name), execute)


def execute(
    name: str,
    function: Callable[..., Any],
    options: dict[str, Any],
    file: File,
    budget: Annotated[
        float, typer.Option("--budget", metavar="SECONDS", help="Time that the search may take.")
    ] = 30.0,
    top_count: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Show the N fastest configurations.")
    ] = 12,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Write an HTML page: heat map, effects of the choices, trials, kernel.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    undirected: Undirected = False,
    labels: Labels = False,
    device: Where = "cpu",
) -> None:
    """Tune an algorithm; print the report."""
    import weft

    g = read_graph(file, undirected, labels)
    used = with_vertices(g, options)
    found = weft.tune(g.to(device), function, budget_s=budget, **used)
    if report is not None:
        found.html(report)
    if as_json:
        typer.echo(found.to_json())
    else:
        out = console()
        out.print(str(found), markup=False, soft_wrap=True)
        names = ("ms", "× best", "runs", "configuration")
        rows = [dict(zip(names, row, strict=True)) for row in found.rows(top_count)]
        out.print(rows_table(rows))
    if report is not None:
        typer.echo(f"wrote {report}", err=True)
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)


def stored(
    ctx: typer.Context,
    list_: Annotated[bool, typer.Option("--list", help="List what was found, and end.")] = False,
    forget: Annotated[
        str | None,
        typer.Option(
            "--forget",
            metavar="ALGORITHM|all",
            help="Forget what was found for an algorithm, or everything, and end.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List or delete stored configurations if requested."""
    if not list_ and forget is None:
        return
    from weft.engine.tuning_store import Store
    from weft.storage.cache_dir import tunings_path

    path = tunings_path()
    store = None if path is None else Store(path)
    if forget is not None:
        count = 0 if store is None else store.forget(None if forget == ALL else forget)
        typer.echo(f"forgot {count} stored configuration{'s' * (count != 1)}")
    if list_:
        _print_list([] if store is None else store.all(), path)
    raise typer.Exit()


def _print_list(tunings: list[Any], path: Path | None) -> None:
    from weft.tuning.report import chosen

    out = console()
    if not tunings:
        out.print(f"nothing is stored in {path}" if path else "WEFT_TUNINGS=off: nothing is stored")
        return
    seen: dict[tuple[str, ...], Any] = {}
    for tuning in tunings:  # an algorithm of several programs has a row for each
        seen.setdefault((tuning.graph.digest, tuning.algorithm, tuning.device), tuning)
    rows = [
        {
            "algorithm": t.algorithm,
            "vertices": t.graph.vertices,
            "arcs": t.graph.arcs,
            "device": t.device,
            "ms": f"{t.ms:.3f}",
            "× default": f"{t.default_ms / t.ms:.2f}",
            "when": datetime.fromtimestamp(t.created).strftime("%Y-%m-%d %H:%M"),
            "configuration": chosen(t.config),
        }
        for t in seen.values()
    ]
    out.print(f"{len(rows)} tuned in {path}", soft_wrap=True)
    out.print(rows_table(rows))
