"""Report a CPU run as a table and as JSON: one row per graph, task and contestant."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

# A larger spread means other load on the machine, so the median is unreliable.
NOISY_SPREAD = 0.5


@dataclass(frozen=True)
class Target:
    """The least factor by which weft should be faster than `peer`."""

    peer: str
    factor: float


TARGETS = {
    ("kron18", "bfs"): Target("scipy", 8.0),
    ("road1000", "bfs"): Target("scipy", 1.4),
    ("kron18", "sssp"): Target("scipy", 3.0),
    ("road1000", "sssp"): Target("scipy", 3.0),
    ("kron18", "pagerank"): Target("graphblas", 4.0),
    ("road1000", "pagerank"): Target("graphblas", 4.0),
    ("kron18", "components"): Target("scipy", 15.0),
    ("road1000", "components"): Target("scipy", 3.0),
    ("kron18", "triangles"): Target("graphblas", 5.0),
}


@dataclass
class Row:
    """One contestant at one task; no times if it failed."""

    graph: str
    task: str
    contestant: str
    times_ms: list[float] = field(default_factory=list)
    median_ms: float | None = None
    min_ms: float | None = None
    spread: float | None = None
    fault: str | None = None
    weft_speedup: float | None = None
    weft_speedup_of_minima: float | None = None
    noisy: bool = False
    target: float | None = None

    @property
    def target_met(self) -> bool | None:
        if self.target is None or self.weft_speedup is None:
            return None
        return self.weft_speedup >= self.target


def compare(rows: Iterable[Row]) -> None:
    """Fill in weft's speed-up over each peer and the target.

    A wrong result gets no ratio, and nothing is compared with it.
    """
    rows = list(rows)
    own_rows = {
        (row.graph, row.task): row
        for row in rows
        if row.contestant == "weft" and row.median_ms is not None and row.fault is None
    }
    for row in rows:
        if row.contestant == "weft":
            continue
        target = TARGETS.get((row.graph, row.task))
        if target is not None and target.peer == row.contestant:
            row.target = target.factor
        own = own_rows.get((row.graph, row.task))
        if own is not None and row.median_ms is not None and row.fault is None:
            row.weft_speedup = row.median_ms / own.median_ms
            row.weft_speedup_of_minima = row.min_ms / own.min_ms
            row.noisy = max(row.spread, own.spread) > NOISY_SPREAD


def table(graph: str, rows: Iterable[Row]) -> Table:
    """Return the rows of one graph as a table for the terminal."""
    grid = Table(title=graph, title_justify="left")
    for column in ("task", "contestant"):
        grid.add_column(column)
    for column in ("median ms", "min ms", "spread", "peer / weft", "of minima", "target"):
        grid.add_column(column, justify="right")
    grid.add_column("result")
    last_task = None
    for row in rows:
        if row.graph != graph:
            continue
        if last_task not in (None, row.task):
            grid.add_section()
        grid.add_row(
            row.task if row.task != last_task else "",
            row.contestant,
            _number(row.median_ms, "{:.1f}"),
            _number(row.min_ms, "{:.1f}"),
            _number(row.spread, "{:.0%}"),
            _number(row.weft_speedup, "{:.2f}×"),
            _number(row.weft_speedup_of_minima, "{:.2f}×"),
            _target_text(row),
            _verdict(row),
        )
        last_task = row.task
    return grid


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _target_text(row: Row) -> str:
    if row.target is None:
        return ""
    verdict = {None: "", True: " [green]met[/]", False: " [yellow]missed[/]"}[row.target_met]
    return f"≥ {row.target:g}×{verdict}{' (noisy)' if row.noisy else ''}"


def _verdict(row: Row) -> str:
    if row.fault is None:
        return "ok"
    what = "WRONG" if row.times_ms else "FAILED"
    return f"[bold red]{what}[/]: {escape(row.fault)}"


def machine() -> dict[str, Any]:
    """Return the facts about the machine that the numbers depend on."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 2),
    }


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def as_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [asdict(row) | {"target_met": row.target_met} for row in rows]
