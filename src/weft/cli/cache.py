"""`weft cache`: lists, measures, fills and clears the caches on disk."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.commands import Commands

_PARTS = {
    "cpu": "code for the CPU",
    "cubin": "code for GPUs",
    "simt": "code of the emulation",
    "graphs": "orders and formats of graphs",
}


class Cache(Commands):
    """The commands of `weft cache`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return ["list", "size", "warm", "clear"]


cache = typer.Typer(
    name="cache",
    cls=Cache,
    help="""Show, fill or clear what weft keeps on disk between processes.

    Orders and formats of large graphs, and compiled code. WEFT_CACHE_DIR says where,
    WEFT_CACHE_LIMIT how much of the former is kept (8G by default). What "weft tune" found is kept
    apart: see "weft tune --forget".
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@cache.command("list")
def list_entries() -> None:
    """List the cached orders and formats, the most recently used first."""
    from weft.arrays.device import bytes_text
    from weft.storage.graph_cache import DAMAGED, entries

    _report_refusals()
    held = entries()
    for entry in held:
        typer.echo(f"{bytes_text(entry.nbytes):>10}  {_ago(entry.used):>14}  {entry.what}")
    if any(entry.what == DAMAGED for entry in held):
        told = 'Damaged entries are rebuilt when needed. "weft cache clear" removes them.'
        typer.echo(told, err=True)
    if not held:
        typer.echo("Nothing is kept.", err=True)


@cache.command("size")
def size() -> None:
    """Show where the cache is and the size of each part."""
    from weft.arrays.device import bytes_text
    from weft.storage.cache_dir import used_dir

    _report_refusals()
    typer.echo(str(used_dir()))
    for part, what in _PARTS.items():
        typer.echo(f"{bytes_text(_total(used_dir(part))):>10}  {what}")


@cache.command("warm")
def warm(
    algorithms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ALGORITHM]...",
            help="Built-in algorithms; by default all that need a graph and some vertices.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", help="The device to compile for: cpu, cuda, cuda:1, ...")
    ] = "cpu",
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            help="Compile for weights of one kind: none, float (float64) or int (int64). By "
            "default for graphs without weights and with float64.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compile algorithms ahead of time, so that their first call need not.

    Example: "weft cache warm bfs pagerank". Cached kernels take no time.
    """
    from weft.algorithms import algorithm_names
    from weft.cli.warm import warm as compile_algorithm

    _report_refusals()
    for name in algorithms or algorithm_names():
        seconds = compile_algorithm(name, device, weights)
        if seconds is not None:
            typer.echo(f"{seconds:8.2f} s  {name}")
        elif algorithms:
            typer.echo(
                f"weft: {name} needs more than a graph and vertices; call it once.", err=True
            )


@cache.command("clear")
def clear(
    code: Annotated[bool, typer.Option("--code", help="Remove compiled code, too.")] = False,
) -> None:
    """Remove the cached orders and formats."""
    from weft.arrays.device import bytes_text
    from weft.storage.cache_dir import used_dir
    from weft.storage.graph_cache import clear as clear_stored

    _report_refusals()
    typer.echo(f"Removed {bytes_text(clear_stored())} of orders and formats.", err=True)
    if code:
        for part in ("cpu", "cubin", "simt"):
            shutil.rmtree(used_dir(part), ignore_errors=True)
        typer.echo("Removed compiled code.", err=True)


def _report_refusals() -> None:
    """Report why the configured cache directory, or a subdirectory of it, is not used."""
    from weft.storage.cache_dir import REMEDY, refusals, used_dir

    for part, directory, problem in refusals():
        told = f"the cache directory {str(directory)!r} is not used: {problem}."
        typer.echo(f"weft: {told} weft uses {str(used_dir(part))!r} instead. {REMEDY}", err=True)


def _total(folder: Path) -> int:
    """Return the total size of the files in a folder; files that disappear are skipped."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(place, name)).st_size
    return total


def _ago(moment: float) -> str:
    """Return a past time in words, such as "2 hours ago"."""
    passed = max(0.0, time.time() - moment)
    for seconds, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        count = int(passed // seconds)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
