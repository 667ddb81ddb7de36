"""Prints results and facts: as tables on a terminal, as plain lines into a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from weft.cli.run import Report

PIPE_WIDTH = 100


def number(value: Any) -> str:
    """Return a number as text: digits in groups, six significant ones of a fraction."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        whole = abs(value) < 1e15 and value == int(value)
        return f"{value:,.0f}" if whole else f"{value:.6g}"
    return str(value)


def time_text(ms: float) -> str:
    """Return a time as text, in a suitable unit."""
    return f"{ms:,.1f} ms" if ms < 1e4 else f"{ms / 1e3:,.1f} s"


def console() -> Console:
    """Return standard output as a console, with a fixed width if it is not a terminal."""
    from rich.console import Console

    made = Console(highlight=False)
    if not made.is_terminal:
        made.width = PIPE_WIDTH
    return made


def facts_table(facts: Mapping[str, Any]) -> Any:
    """Return names and values as a table of two columns."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for name, value in facts.items():
        table.add_row(name, number(value))
    return table


def rows_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows with the same keys as a table."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, justify="right", overflow="fold")
    for row in rows:
        table.add_row(*(cell(key, value) for key, value in row.items()))
    return table


def cell(name: str, value: Any) -> str:
    """Return the text of a table cell."""
    if name == "share":
        return f"{value:.1%}"
    return str(value) if name in LABELS else number(value)


LABELS = ("vertex", "parent", "component", "label")  # identifiers have no separators


def print_result(report: Report, with_profile: bool) -> None:
    """Print the result of a run, and its profile if requested."""
    out = console()
    g = report.graph
    kind = "directed" if g["directed"] else "undirected"
    title = (
        f"{report.algorithm} on {report.file}: {g['vertices']:,} vertices, {g['edges']:,} edges, "
        f"{kind}"
    )
    told = {
        **report.summary,
        "time": f"{time_text(report.ms)} on {g['device']}, compiling included",
    }
    out.print(title, markup=False, soft_wrap=True)
    out.print(facts_table(told))
    if report.top:
        out.print(rows_table(report.top))
    if with_profile and report.profile is not None:
        out.print(report.profile.table())
