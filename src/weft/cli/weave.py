"""`weft weave`: simulates a GPU with the SparseWeaver unit; shows its streams and hardware."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.commands import Commands
from weft.cli.files import File, Json, Undirected, read_graph
from weft.cli.progress import working

TRACED = 20_000  # instructions of each kernel in a timeline
SHOWN_ROWS = 12  # in the step view
Algorithm = Annotated[
    str,
    typer.Option("--algorithm", help="bfs, sssp, connected_components (cc) or pagerank (pr)."),
]
Direction = Annotated[str, typer.Option("--direction", help="push or pull.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write to a file.", show_default=False)
]


class Weave(Commands):
    """The commands of `weft weave`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return ["sim", "asm", "rtl"]


weave = typer.Typer(
    name="weave",
    cls=Weave,
    help="""Simulate the SparseWeaver unit, show its instruction streams, emit its hardware.

    Examples: "weft weave sim social.weft --algorithm pagerank --schedule weaver,vertex,eghw --cores
    6 --trace out.json", "weft weave asm --algorithm bfs", "weft weave rtl --lanes 8 -o weaver.v".
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


def program(name: str, source: int) -> Any:
    """Return the function that simulates an algorithm."""
    from weft.errors import ConfigError, unknown
    from weft.weaver import programs

    known = {
        "bfs": lambda g: programs.bfs(g, source), "sssp": lambda g: programs.sssp(g, source),
        "connected_components": programs.connected_components, "pagerank": programs.pagerank,
    }  # fmt: skip
    known |= {"cc": known["connected_components"], "pr": known["pagerank"]}
    if name not in known:
        raise ConfigError(unknown("algorithm", name, known))
    return known[name]


@weave.command("sim")
def sim(
    file: File,
    algorithm: Algorithm = "pagerank",
    schedule: Annotated[
        str, typer.Option(help="One or more of vertex, edge, warp, block, weaver, eghw.")
    ] = "weaver,vertex",
    direction: Direction = "pull",
    cores: Annotated[int, typer.Option(min=1, help="Cores of the modelled GPU.")] = 6,
    source: Annotated[int, typer.Option(help="Where bfs and sssp begin.")] = 0,
    trace: Annotated[
        Path | None, typer.Option(help="Write a timeline that Perfetto opens.", show_default=False)
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write an HTML page.", show_default=False)
    ] = None,
    as_json: Json = False,
    undirected: Undirected = False,
) -> None:
    """Run an algorithm on the modelled GPU under one or more schedules."""
    from weft.weaver import Machine, simulate
    from weft.weaver.timeline import events

    g = read_graph(file, undirected)
    sockets = 2 if cores % 2 == 0 else 1
    machine = Machine(sockets=sockets, cores_per_socket=cores // sockets)
    runs = {}
    for name in schedule.split(","):
        with working(f"Simulating {name}"):
            runs[name] = simulate(
                g, program(algorithm, source), schedule=name, direction=direction, machine=machine,
                traced=0 if trace is None and page is None else TRACED,
            ).counters  # fmt: skip
    if as_json:
        typer.echo(json.dumps({name: run.as_dict() for name, run in runs.items()}, indent=2))
    else:
        _print(runs)
    if trace is not None:
        trace.write_text(json.dumps(events(runs)), encoding="utf-8")
    if page is not None:
        from weft.weaver.page import page as page_of

        page.write_text(page_of(f"{algorithm} on {file.name}", _rows(g), runs), encoding="utf-8")
    for path in (trace, page):
        if path is not None:
            typer.echo(f"wrote {path}", err=True)


def _rows(g: Any) -> list[tuple[int, int, int]]:
    """Return the first rows of a graph as the unit registers them."""
    arcs = g.to("cpu")._topology.adjacency("in" if g.directed else "out")
    bounds = arcs.offsets[: SHOWN_ROWS + 1].tolist()
    pairs = itertools.pairwise(bounds)
    return [(v, begin, min(end - begin, 12)) for v, (begin, end) in enumerate(pairs)]


def _print(runs: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    phases = list(next(iter(runs.values())).phase_cycles())
    for title in ("schedule", "cycles", "instructions", *phases):
        table.add_column(title, justify="left" if title == "schedule" else "right")
    for name, run in runs.items():
        shares = [f"{cycles:.0f}" for cycles in run.phase_cycles().values()]
        table.add_row(name, str(run.cycles), str(run["instructions"]), *shares)
    Console().print(table)


@weave.command("asm")
def asm(
    algorithm: Algorithm = "pagerank",
    schedule: Annotated[str, typer.Option(help="The schedule of the stream.")] = "weaver",
    direction: Direction = "pull",
    macros: Annotated[
        bool, typer.Option("--macros", help="Show the unit's instructions for the GNU assembler.")
    ] = False,
) -> None:
    """Show the instruction streams of an algorithm under a schedule."""
    import weft
    from weft.weaver import simulate
    from weft.weaver.isa import directives

    if macros:
        typer.echo(directives(), nl=False)
        return
    g = weft.generators.path(4, weights="int")
    run = simulate(g, program(algorithm, 0), schedule=schedule, direction=direction)
    for stream in run.streams:
        typer.echo(stream.listing())


@weave.command("rtl")
def rtl(
    lanes: Annotated[int, typer.Option(help="Threads of a warp.")] = 32,
    warps: Annotated[int, typer.Option(help="Warps of a core.")] = 32,
    entries: Annotated[int, typer.Option(help="Entries of the sparse table.")] = 512,
    output: Output = None,
    synthesise: Annotated[
        bool, typer.Option("--synthesise", help="Run Yosys and print what the unit takes.")
    ] = False,
) -> None:
    """Emit the unit as Verilog."""
    from dataclasses import asdict

    from weft.weaver import synthesis
    from weft.weaver.unit import Parameters

    p = Parameters(lanes=lanes, warps=warps, entries=entries)
    if synthesise:
        typer.echo(json.dumps(asdict(synthesis.synthesise(p)), indent=2))
        return
    text = synthesis.verilog(p)
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        typer.echo(f"wrote {output}", err=True)
