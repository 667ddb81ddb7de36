"""The demo: PageRank and BFS on a social-like and a road-like graph, as a table and a page.

Run it with `python -m weft.cli.demo`.
"""

from __future__ import annotations

import inspect
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import weft
from weft.cli import demo_program
from weft.cli.report import machine_facts
from weft.report.charts import draw_bars
from weft.report.drawing import draw_levels, level_legend
from weft.report.histograms import Bars, histogram
from weft.report.html import page_facts, page_html, page_table

REPEATS = 3
EDGE_FACTOR = 16
KEEP = 0.7
SMALL_SIDE, SMALL_KEEP, SMALL_SEED = 12, 0.72, 4
COLUMNS = (
    "graph",
    "vertices",
    "edges",
    "algorithm",
    "first ms",
    "median ms",
    "M edges/s",
    "result",
)
TEXT_COLUMNS = ("graph", "algorithm", "result")
NOTE = (
    "first: includes compiling, or loading compiled code; "
    f"median: of {REPEATS} further runs; M edges/s: edges of the graph over the median time."
)
LEAD = (
    "weft is a programmable graph-processing framework for Python. You write an algorithm as small "
    "functions of a vertex or an edge; weft compiles them, together with the whole loop around "
    "them, into multi-threaded machine code or into CUDA."
)


@dataclass(frozen=True)
class Measurement:
    """The times and the result of one algorithm on one graph."""

    graph: str
    vertices: int
    edges: int
    algorithm: str
    first_ms: float
    median_ms: float
    summary: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The values of `COLUMNS` as text."""
        speed = self.edges / self.median_ms / 1e3 if self.median_ms else 0.0
        return (
            self.graph,
            f"{self.vertices:,}",
            f"{self.edges:,}",
            self.algorithm,
            f"{self.first_ms:,.1f}",
            f"{self.median_ms:,.2f}",
            f"{speed:,.1f}",
            self.summary,
        )


def timed(function: Callable[[], Any]) -> tuple[Any, float, float]:
    """Call a function once, then `REPEATS` times; return its result, first and median ms."""
    times_ms = []
    for _ in range(1 + REPEATS):
        start = time.perf_counter()
        result = function()
        times_ms.append((time.perf_counter() - start) * 1e3)
    return result, times_ms[0], statistics.median(times_ms[1:])


def measure(name: str, g: weft.Graph) -> tuple[list[Measurement], dict[str, Bars]]:
    """Run both algorithms on a graph; return their times, and histograms by title."""
    degrees = np.asarray(g.out_degree)
    source = int(degrees.argmax())

    rank, first_ms, median_ms = timed(lambda: weft.pagerank(g))
    top = int(np.argmax(rank))
    summary = f"top vertex {top}, rank {rank[top]:.2e}"
    sizes = g.num_vertices, g.num_edges
    rows = [Measurement(name, *sizes, "PageRank", first_ms, median_ms, summary)]

    found, first_ms, median_ms = timed(lambda: weft.bfs(g, source))
    levels = np.asarray(found.level)
    summary = f"{levels.max() + 1:,} levels, {np.count_nonzero(levels >= 0):,} vertices reached"
    rows.append(Measurement(name, *sizes, "BFS", first_ms, median_ms, summary))
    return rows, {
        f"{name.capitalize()} graph: degrees": histogram(degrees, "degree"),
        f"{name.capitalize()} graph: BFS levels": histogram(levels[levels >= 0], "BFS level"),
    }


def small_figure() -> str:
    """Run the program of `demo_program` on a small road graph; return a drawing of its levels."""
    g = weft.generators.road(SMALL_SIDE, keep=SMALL_KEEP, seed=SMALL_SEED)
    found: Any = demo_program.bfs(g, 0)  # type: ignore[no-untyped-call]
    levels = found.tolist()
    ends = g.to_edges()
    places = [(v % SMALL_SIDE, v // SMALL_SIDE) for v in range(g.num_vertices)]
    edges = list(zip(ends.src.tolist(), ends.dst.tolist(), strict=True))
    return (
        f"<figure><figcaption>BFS on a road graph of {g.num_vertices} vertices "
        "<span>from the top left corner</span></figcaption>"
        f"{draw_levels(places, edges, levels)}{level_legend(max(levels))}</figure>"
    )


def page(
    measurements: Sequence[Measurement], charts: Mapping[str, Bars], facts: Mapping[str, str]
) -> str:
    """Return the self-contained page of the demo."""
    program = inspect.getsource(demo_program).partition('"""\n\n')[2].replace("\n\n\n", "\n\n")
    code = (
        f"{program}\ng = weft.generators.road({SMALL_SIDE}, keep={SMALL_KEEP}, seed={SMALL_SEED})\n"
        "level = bfs(g, 0)"
    )
    text = [at for at, name in enumerate(COLUMNS) if name in TEXT_COLUMNS]
    table = page_table(COLUMNS, [m.cells for m in measurements], text)
    drawn = "\n".join(
        f"<figure><figcaption>{escape(title)}</figcaption>{draw_bars(bars)}</figure>"
        for title, bars in charts.items()
    )
    lead = (
        f'<div class="pair first">\n<div><p class="soft">{LEAD}</p>\n{page_facts(facts)}'
        f"<pre>{escape(code)}</pre></div>\n{small_figure()}\n</div>"
    )
    return page_html(
        "weft demo",
        lead,
        [
            ("Results", f'<div class="full">{table}</div>\n<p class="soft">{escape(NOTE)}</p>'),
            ("Degrees and BFS levels", f'<div class="pair">\n{drawn}\n</div>'),
        ],
    )


def main(
    scale: Annotated[int, typer.Option(help="The social graph has 2^scale vertices.")] = 16,
    side: Annotated[int, typer.Option(help="The road graph has side x side vertices.")] = 500,
    out: Annotated[Path, typer.Option(help="Folder for the HTML page.")] = Path("demo-output"),
) -> None:
    """Run PageRank and BFS on two generated graphs; print a table and write an HTML page."""
    console = Console()
    if not console.is_terminal:
        console.width = 120
    machine = machine_facts()
    title = f"weft demo: {machine['processor']}, Python {machine['Python']}"
    table = Table(title=title, caption=NOTE, box=SIMPLE_HEAD)
    for column in COLUMNS:
        table.add_column(
            column,
            justify="left" if column in TEXT_COLUMNS else "right",
            no_wrap=column != "result",
        )

    measurements: list[Measurement] = []
    charts: dict[str, Bars] = {}
    facts = dict(machine)
    builders: dict[str, tuple[str, Callable[[], weft.Graph]]] = {
        "social": (
            f"R-MAT of scale {scale}, edge factor {EDGE_FACTOR}",
            lambda: weft.generators.rmat(scale=scale, edge_factor=EDGE_FACTOR, seed=1),
        ),
        "road": (
            f"{side} × {side} grid that keeps {KEEP:.0%} of its edges",
            lambda: weft.generators.road(side, keep=KEEP, seed=1),
        ),
    }
    for name, (kind, build) in builders.items():
        console.print(f"[dim]{name} graph: generating, running PageRank and BFS ...[/dim]")
        g = build()
        rows, histograms = measure(name, g)
        measurements += rows
        charts |= histograms
        facts[f"{name} graph"] = (
            f"{kind}: {g.num_vertices:,} vertices, {g.num_edges:,} edges, "
            f"largest degree {int(g.out_degree.max()):,}"
        )
    for measurement in measurements:
        table.add_row(*measurement.cells)
    console.print(table)

    out.mkdir(parents=True, exist_ok=True)
    target = out / "index.html"
    target.write_text(page(measurements, charts, facts), encoding="utf-8")
    console.print(f"Wrote {target}")


if __name__ == "__main__":
    typer.run(main)
