"""The command line: `weft run`, `tune`, `info`, `convert`, ...; or `python -m weft`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from weft.cli.cache import cache
from weft.cli.commands import Commands, show_warning
from weft.cli.convert import convert
from weft.cli.doctor import doctor
from weft.cli.generate import Kinds
from weft.cli.info import info
from weft.cli.partition import partition_files
from weft.cli.run import Algorithms, list_algorithms
from weft.cli.tune import Tunings, stored
from weft.cli.weave import weave


class TopLevel(Commands):
    """The commands of weft, in the order of typical use."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return [
            "run", "tune", "info", "convert", "partition", "generate", "weave", "cache", "doctor",
        ]  # fmt: skip


app = typer.Typer(
    name="weft",
    cls=TopLevel,
    context_settings={"max_content_width": 100},
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _tell_version(asked: bool) -> None:
    if asked:
        from weft import __version__

        typer.echo(f"weft {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Graph processing on CPUs and GPUs.

    Start with "weft generate rmat 12 -o social.weft", "weft info social.weft" and "weft run
    pagerank social.weft". Every command explains itself with --help.

    Exit codes: 0 if all went well, 1 if something failed (a file, an option's value, a device), 2
    if the command line itself is wrong. Results go to standard output, everything else to standard
    error.
    """
    warnings.showwarning = show_warning


def _group(
    name: str,
    cls: type[Commands],
    text: str,
    metavar: str,
    callback: Callable[..., None] = lambda: None,
) -> None:
    group = typer.Typer(
        name=name,
        cls=cls,
        help=text,
        subcommand_metavar=metavar,
        no_args_is_help=True,
        invoke_without_command=callback in (stored, list_algorithms),
        rich_markup_mode=None,
    )
    group.callback()(callback)
    app.add_typer(group)


_group(
    "run",
    Algorithms,
    """Run an algorithm on the graph in a file.

    Prints a summary and the vertices with the largest values; -o writes the values of all vertices,
    --report a page with the summary, the profile and the configuration. "weft run bfs --help" lists
    the options of bfs, "weft run --list" the algorithms.

    Examples: "weft run pagerank web.txt.gz --top 20", "weft run sssp roads.gr --source 5 -o
    distances.csv", "weft run connected_components social.mtx --json".
    """,
    "ALGORITHM FILE [OPTIONS]...",
    list_algorithms,
)
_group(
    "tune",
    Tunings,
    """Find the fastest configuration of an algorithm on the graph in a file.

    Runs the algorithm under many configurations, tells the best, and keeps it: later runs of the
    same algorithm on the same graph and device use it by themselves. "weft tune bfs --help" lists
    the options of bfs.

    Examples: "weft tune pagerank web.txt.gz --device cuda", "weft tune bfs roads.gr --source 5
    --budget 60 --report tuning.html", "weft tune --list", "weft tune --forget bfs".
    """,
    "ALGORITHM FILE [OPTIONS]...",
    stored,
)
app.command()(info)
app.command()(convert)
app.command(name="partition")(partition_files)
_group(
    "generate",
    Kinds,
    """Generate a graph and write it to a file.

    The same numbers and the same seed give the same graph everywhere. "weft generate rmat --help"
    lists the options of rmat.

    Examples: "weft generate rmat 16 -o social.weft", "weft generate road 500 --keep 0.7 --weights
    int -o road.gr.gz".
    """,
    "KIND [NUMBERS]... [OPTIONS]...",
)
app.add_typer(weave)
app.add_typer(cache)
app.command()(doctor)
