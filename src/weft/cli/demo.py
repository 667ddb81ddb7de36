"""The main job: PageRank and BFS on a social-like and a road-like graph, as a table and a page.

Run it with `python -m weft.cli.demo`.
"""

from __future__ import annotations

import html
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import weft

REPEATS = 3
MAX_BARS = 64
EXACT_DEGREES = 16
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
    f"first: compiling (or loading compiled code) included; median: of {REPEATS} further runs; "
    "M edges/s: edges of the graph over the median time of a whole run."
)


@dataclass(frozen=True)
class Measurement:
    """One algorithm on one graph: its times and what it found."""

    graph: str
    vertices: int
    edges: int
    algorithm: str
    first_ms: float
    median_ms: float
    summary: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The values of `COLUMNS`, as text."""
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


@dataclass(frozen=True)
class Histogram:
    """A bar chart of the page: one count per label."""

    title: str
    x_label: str
    y_label: str
    labels: Sequence[str]
    counts: Sequence[int]
    logarithmic: bool = False


def timed(function: Callable[[], Any]) -> tuple[Any, float, float]:
    """Call a function once, then `REPEATS` times; return its result, first and median ms."""
    times_ms = []
    for _ in range(1 + REPEATS):
        start = time.perf_counter()
        result = function()
        times_ms.append((time.perf_counter() - start) * 1e3)
    return result, times_ms[0], statistics.median(times_ms[1:])


def degree_histogram(name: str, degrees: np.ndarray) -> Histogram:
    """Count vertices by degree, or, where degrees are large, by powers of two (2-3, 4-7, ...)."""
    title = f"{name}: degrees"
    if degrees.max(initial=0) < EXACT_DEGREES:
        counts = np.bincount(degrees)
        labels = [str(degree) for degree in range(len(counts))]
        return Histogram(title, "degree", "vertices", labels, counts.tolist())
    counts = np.bincount(np.frexp(degrees)[1])
    labels = ["0", "1"] + [f"{2**k}-{2 ** (k + 1) - 1}" for k in range(1, len(counts) - 1)]
    return Histogram(
        title, "degree", "vertices (log scale)", labels, counts.tolist(), logarithmic=True
    )


def level_histogram(name: str, levels: np.ndarray) -> Histogram:
    """Count vertices by BFS level; neighbouring levels share a bar where there are many."""
    counts = np.bincount(levels[levels >= 0])
    width = max(1, -(-len(counts) // MAX_BARS))
    starts = np.arange(0, len(counts), width)
    bars = np.add.reduceat(counts, starts) if len(counts) else counts
    ends = np.minimum(starts + width, len(counts)) - 1
    labels = [f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)]
    x_label = "BFS level" if width == 1 else f"BFS level ({width} to a bar)"
    return Histogram(f"{name}: BFS level sizes", x_label, "vertices", labels, bars.tolist())


def bar_chart(chart: Histogram, width: int = 520, height: int = 260) -> str:
    """Draw a histogram as one SVG element; each bar tells its count when pointed at."""
    left, right, top, bottom = 14, 14, 34, 46
    heights = np.asarray(chart.counts, float)
    if chart.logarithmic:
        heights = np.log10(1 + heights)
    scale = (height - top - bottom) / max(heights.max(initial=0.0), 1e-9)
    slot = (width - left - right) / max(len(heights), 1)
    base = height - bottom
    bars = "".join(
        f'<rect x="{left + i * slot:.1f}" y="{base - h * scale:.1f}" '
        f'width="{max(slot * 0.85, 0.5):.1f}" height="{h * scale:.1f}">'
        f"<title>{html.escape(label)}: {count:,}</title></rect>"
        for i, (label, count, h) in enumerate(zip(chart.labels, chart.counts, heights, strict=True))
    )
    every = max(1, -(-len(heights) // 9))
    ticks = "".join(
        f'<text x="{left + (i + 0.42) * slot:.1f}" y="{base + 14}" class="tick">'
        f"{html.escape(chart.labels[i])}</text>"
        for i in range(0, len(heights), every)
    )
    title = html.escape(chart.title)
    largest = f"{html.escape(chart.y_label)}, largest bar {max(chart.counts, default=0):,}"
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
        f'<text x="{left}" y="14" class="title">{title}</text>'
        f'<text x="{left}" y="28" class="note">{largest}</text>'
        f'<g class="bars">{bars}</g>'
        f'<line x1="{left}" y1="{base}" x2="{width - right}" y2="{base}" class="axis"/>{ticks}'
        f'<text x="{width / 2:.0f}" y="{height - 10}" class="tick">'
        f"{html.escape(chart.x_label)}</text></svg>"
    )


def html_table(measurements: Sequence[Measurement]) -> str:
    """Return the measurements as an HTML table."""

    def row(tag: str, cells: Sequence[str]) -> str:
        kinds = ["text" if name in TEXT_COLUMNS else "number" for name in COLUMNS]
        return "".join(
            f'<{tag} class="{kind}">{html.escape(cell)}</{tag}>'
            for kind, cell in zip(kinds, cells, strict=True)
        )

    body = "".join(f"<tr>{row('td', m.cells)}</tr>\n" for m in measurements)
    return f"<table>\n<thead><tr>{row('th', COLUMNS)}</tr></thead>\n<tbody>\n{body}</tbody></table>"


STYLE = """
:root { color-scheme: light dark;
        --ink: #1e293b; --paper: #ffffff; --soft: #64748b; --bar: #2563eb; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e2e8f0; --paper: #0f172a; --soft: #94a3b8; --bar: #60a5fa; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 1120px; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--soft); text-align: left; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1.5rem; }
p, .note, .tick { color: var(--soft); }
figure { margin: 0; }
svg { width: 100%; height: auto; font: 11px system-ui, sans-serif; }
svg text { fill: var(--soft); }
svg .title { fill: var(--ink); font-weight: 600; font-size: 13px; }
svg .tick { text-anchor: middle; font-size: 10px; }
svg .bars { fill: var(--bar); }
svg .axis { stroke: var(--soft); }
"""


def page(measurements: Sequence[Measurement], charts: Sequence[Histogram]) -> str:
    """Return one HTML page that needs nothing else, neither files nor a network."""
    drawn = "\n".join(f"<figure>{bar_chart(chart)}</figure>" for chart in charts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>weft demo</title>
<style>{STYLE}</style>
</head>
<body>
<h1>weft demo</h1>
<p>PageRank and BFS, {html.escape(machine())}.</p>
<div class="wide">{html_table(measurements)}</div>
<p>{html.escape(NOTE)}</p>
<div class="charts">
{drawn}
</div>
</body>
</html>
"""


def machine() -> str:
    """Say in a few words where the numbers come from."""
    return f"{os.cpu_count()} CPU cores, {platform.machine()}, Python {platform.python_version()}"


def measure(name: str, g: Any) -> tuple[list[Measurement], list[Histogram]]:
    """Run both algorithms on one graph; return their times and its two histograms."""
    degrees = np.asarray(g.out_degree)
    source = int(degrees.argmax())

    rank, first_ms, median_ms = timed(lambda: weft.pagerank(g))
    top = int(np.argmax(rank))
    summary = f"top vertex {top}, rank {rank[top]:.2e}"
    rows = [
        Measurement(name, g.num_vertices, g.num_edges, "PageRank", first_ms, median_ms, summary)
    ]

    found, first_ms, median_ms = timed(lambda: weft.bfs(g, source))
    levels = np.asarray(found.level)
    summary = f"{levels.max() + 1:,} levels, {np.count_nonzero(levels >= 0):,} vertices reached"
    rows.append(Measurement(name, g.num_vertices, g.num_edges, "BFS", first_ms, median_ms, summary))
    return rows, [degree_histogram(name, degrees), level_histogram(name, levels)]


def main(
    scale: Annotated[int, typer.Option(help="The social graph has 2^scale vertices.")] = 16,
    side: Annotated[int, typer.Option(help="The road graph has side x side vertices.")] = 500,
    out: Annotated[Path, typer.Option(help="Folder for the HTML page.")] = Path("demo-output"),
) -> None:
    """Run PageRank and BFS on two generated graphs; print a table and write an HTML page."""
    console = Console()
    if not console.is_terminal:
        console.width = 120
    table = Table(title=f"weft demo: {machine()}", caption=NOTE, box=SIMPLE_HEAD)
    for column in COLUMNS:
        table.add_column(
            column,
            justify="left" if column in TEXT_COLUMNS else "right",
            no_wrap=column != "result",
        )

    measurements: list[Measurement] = []
    charts: list[Histogram] = []
    builders: dict[str, Callable[[], weft.Graph]] = {
        "social": lambda: weft.generators.rmat(scale=scale, edge_factor=16, seed=1),
        "road": lambda: weft.generators.road(side, keep=0.7, seed=1),
    }
    for name, build in builders.items():
        console.print(f"[dim]{name} graph: generating, running PageRank and BFS ...[/dim]")
        rows, histograms = measure(name, build())
        measurements += rows
        charts += histograms
    for measurement in measurements:
        table.add_row(*measurement.cells)
    console.print(table)

    out.mkdir(parents=True, exist_ok=True)
    target = out / "index.html"
    target.write_text(page(measurements, charts), encoding="utf-8")
    console.print(f"Wrote {target}")


if __name__ == "__main__":
    typer.run(main)
