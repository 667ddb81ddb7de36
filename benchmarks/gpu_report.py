"""Targets of the GPU benchmark, and its tables for the terminal and Markdown."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 110
TITLES = {
    "bfs": "BFS",
    "sssp": "SSSP",
    "pagerank": "PageRank / iter.",
    "pagerank_single": "float32",
    "pagerank_ordered": "float32, by degree",
    "ranks": "PageRank to 1e-8",
    "ranks_adaptive": "adaptive, to 1e-8",
    "components": "components",
    "triangles": "triangles",
    "cores": "core numbers",
}


@dataclass(frozen=True)
class Aim:
    """Milliseconds on one H200: the best listed peer, the target, and the goal after it."""

    best: float | None
    who: str
    must: float
    then: float


# Peers were measured with each system's own code on the same GPU and graphs.
AIMS = {
    ("bfs", "kron21"): Aim(0.37, "GSWITCH", 0.45, 0.25),
    ("bfs", "rmat24"): Aim(0.94, "GSWITCH", 1.2, 0.7),
    ("bfs", "road4900"): Aim(94, "Lonestar", 50, 25),
    ("sssp", "kron21"): Aim(4.8, "GSWITCH", 6, 3),
    ("sssp", "rmat24"): Aim(19.9, "GSWITCH", 20, 12),
    ("sssp", "road4900"): Aim(395, "GSWITCH", 300, 100),
    ("pagerank", "kron21"): Aim(1.34, "cuSPARSE", 1.15, 0.9),
    ("pagerank", "rmat24"): Aim(5.03, "cuSPARSE", 4.7, 3.8),
    ("pagerank", "road4900"): Aim(0.36, "cuSPARSE", 0.30, 0.22),
    ("components", "kron21"): Aim(1.86, "ECL-CC", 2.5, 1.5),
    ("components", "rmat24"): Aim(7.8, "ECL-CC", 9, 6),
    ("components", "road4900"): Aim(2.25, "ECL-CC", 3.5, 2),
    ("triangles", "kron21"): Aim(227, "TRUST*", 400, 150),
    ("triangles", "rmat24"): Aim(4276, "cuGraph", 900, 500),
    ("triangles", "road4900"): Aim(51, "cuGraph", 20, 5),
    ("cores", "kron21"): Aim(471, "cuGraph", 150, 60),
    ("cores", "rmat24"): Aim(628, "cuGraph", 250, 120),
    ("cores", "road4900"): Aim(None, "", 20, 8),
}


def aim_of(task: str, graph: str) -> Aim | None:
    """Return the targets of a task or one of its variants."""
    return AIMS.get((task.split("_")[0], graph))


SMALL_BFS_MUST_US, SMALL_BFS_THEN_US = 250, 150

NOTES = """\
Median of 5 calls after a warm-up of 0.1 s: CUDA events around the whole call, and the wall clock.
Results stay on the device. Orientation (triangles) and all other preparation inside a call count;
reordering happens only in the row "by degree", where its time is in brackets and does not count.
Generating the graph, compilation and checks do not count either.
G arcs/s: stored arcs over time; for a search, the arcs of the vertices reached. x best, must and
then: weft's time over that of the best listed peer, the target, and the goal after it.
* TRUST's 227 ms leave out the orientation of the graph."""


def time_rows(rows: Iterable[dict[str, Any]], graph: str) -> list[list[str]]:
    """Return the cells of a graph's table of times."""
    cells = []
    for row in rows:
        if row["graph"] != graph:
            continue
        aim = aim_of(row["task"], graph)
        ms = row["ms"]
        cells.append(
            [
                TITLES[row["task"]],
                _number(ms),
                _number(row["wall_ms"]),
                _number(row["arcs_per_second"] and row["arcs_per_second"] / 1e9),
                _against(ms, aim.best) + (f" {aim.who}" if aim.best else "") if aim else "",
                _against(ms, aim.must) if aim else "",
                _against(ms, aim.then) if aim else "",
                _number(row["sources_mean_ms"]),
                _number(row["sources_worst_ms"]),
                verdict(row),
            ]
        )
    return cells


TIME_HEAD = ["task", "ms", "wall ms", "G arcs/s", "x best", "x must", "x then", "16 src", "worst",
             "result"]  # fmt: skip


def detail_rows(rows: Iterable[dict[str, Any]], graph: str) -> list[list[str]]:
    """Return the cells of a graph's table of memory and configuration."""
    return [
        [
            TITLES[row["task"]],
            "" if row["memory_bytes"] is None else f"{row['memory_bytes'] / 1e9:.2f}",
            _number(row["first_call_ms"]),
            row["supersteps"],
            row["configuration"]
            + (f"; ordered in {_number(row['order_ms'])} ms" if row["order_ms"] else ""),
        ]
        for row in rows
        if row["graph"] == graph
    ]


DETAIL_HEAD = ["task", "GB", "first call ms", "supersteps", "configuration"]


def verdict(row: dict[str, Any]) -> str:
    if row["fault"] is None:
        return "ok"
    if row["fault"].startswith("not proved"):
        return "unproved"
    return "WRONG" if row["ms"] is not None else "FAILED"


def table(head: Sequence[str], cells: Sequence[Sequence[str]], title: str = "") -> str:
    """Return a table for the terminal, at most `WIDTH` wide; plain without rich."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return _plain(head, cells, title)
    grid = Table(title=title, title_justify="left", padding=(0, 1), pad_edge=False)
    for position, name in enumerate(head):
        number = 0 < position < len(head) - 1 and not name.startswith(("super", "conf", "result"))
        grid.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in cells:
        grid.add_row(*row)
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(grid, markup=False)
    return capture.get().rstrip("\n")


def _plain(head: Sequence[str], cells: Sequence[Sequence[str]], title: str) -> str:
    widths = [max(len(row[k]) for row in [head, *cells]) for k in range(len(head))]
    lines = [title] if title else []
    for row in [head, ["-" * width for width in widths], *cells]:
        lines.append("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())
    return "\n".join(lines)


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of RESULTS.md: tasks down, graphs across."""
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    tasks = [t for t in TITLES if any(row["task"] == t for row in rows)]
    by_place = {(row["task"], row["graph"]): row for row in rows}
    lines = [
        "| task | " + " | ".join(f"{graph} | best / must / then" for graph in graphs) + " |",
        "|---" * (1 + 2 * len(graphs)) + "|",
    ]
    for task in tasks:
        cells = []
        for graph in graphs:
            row, aim = by_place.get((task, graph)), aim_of(task, graph)
            cells.append("" if row is None else _markdown_cell(row))
            best = "–" if aim is None or aim.best is None else f"{aim.best:g} {aim.who}"
            cells.append(f"{best} / {aim.must:g} / {aim.then:g}" if aim else "")
        lines.append(f"| {TITLES[task]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _markdown_cell(row: dict[str, Any]) -> str:
    if row["ms"] is None:
        return verdict(row)
    aim = aim_of(row["task"], row["graph"])
    text = f"{_number(row['ms'])}"
    if aim is not None:
        text = f"**{text}**" if row["ms"] <= aim.must else text
    if row["order_ms"] is not None:
        text += f" (order {_number(row['order_ms'])})"
    if row["sources_mean_ms"] is not None:
        text += (
            f" ({_number(row['sources_mean_ms'])} mean, {_number(row['sources_worst_ms'])} worst)"
        )
    return text if row["fault"] is None else f"{text} {verdict(row)}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _against(ms: float | None, figure: float | None) -> str:
    if ms is None or figure is None:
        return ""
    return f"{ms / figure:.2f}" if ms / figure < 100 else f"{ms / figure:.0f}"
