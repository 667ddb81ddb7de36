"""Text and charts of the learning benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ORDER = ("LP", "SUM", "MMR", "MML", "BP", "ALS")
PEAK = 4.2e12  # bytes per second of the GPU's memory
# The ways of the table of all tasks: lanes (1: blind to features), and whether by changes.
WAYS: dict[str, tuple[int | None, bool]] = {
    "weft": (None, False), "weft changes": (None, True),
    "weft blind": (1, False), "weft blind changes": (1, True),
}  # fmt: skip
TABLE = "table 7.2"
THESIS = {"push, changes": 51.2, "push over tigr": 17.0, "pull over all": 6.8}
HEAD = (f"{'graph':9} {'task':4} {'k':>4} {'variant':18} {'ms':>9} {'of one':9} {'GB/s':>6} "
        f"{'of peak':>7} {'weft is':>8}  agrees")  # fmt: skip


@dataclass
class Row:
    """One measurement."""

    section: str
    graph: str
    task: str
    k: int
    variant: str
    ms: float | None = None
    unit: str = "iteration"  # or "run": the time of a whole run to a tolerance
    gbytes_per_s: float | None = None
    held_mb: float | None = None  # the most memory that a run adds
    agrees: bool | None = None
    seconds: float | None = None  # spent on the measurement
    error: str | None = None

    @property
    def case(self) -> tuple[str, str, str, int, str]:
        return self.section, self.graph, self.task, self.k, self.unit


@dataclass
class Report:
    """All measurements, and those skipped for lack of time."""

    device: str
    rows: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def ratio(self, row: Row, base: str = "weft") -> float | None:
        """Return a row's time over that of another variant of its case."""
        for other in self.rows:
            if other.case == row.case and other.variant == base and other.ms and row.ms:
                return row.ms / other.ms
        return None


def line(row: Row, report: Report) -> str:
    """Return a row as text, with its time over weft's."""
    head = f"{row.graph:9} {row.task:4} {row.k:4} {row.variant:18} "
    if row.ms is None:
        return head + f"-- {row.error}"
    speed = " " * 14
    if row.gbytes_per_s:
        speed = f"{row.gbytes_per_s:6.0f} {1e9 * row.gbytes_per_s / PEAK:7.1%}"
    ratio = report.ratio(row)
    text = head + f"{row.ms:9.3f} {row.unit:9} {speed} "
    text += f"{ratio:7.2f}x" if ratio else "      --"
    text += f"  {row.agrees}"
    if row.held_mb is not None:
        text += f"  {row.held_mb:.0f} MB held"
    if row.seconds is not None and row.seconds > 1:
        text += f"  [{row.seconds:.1f} s]"
    if row.variant in THESIS and row.task == "LP":
        text += f"  (thesis: {THESIS[row.variant]}x)"
    return text


def means(report: Report, kept: Callable[[Row], bool], base: str = "weft") -> dict[str, float]:
    """Return geometric means of the ratios to a variant over the selected rows."""
    found: dict[str, list[float]] = {}
    for row in report.rows:
        ratio = report.ratio(row, base)
        if ratio and row.variant != base and kept(row):
            found.setdefault(row.variant, []).append(float(np.log(ratio)))
    return {variant: round(float(np.exp(np.mean(logs))), 2) for variant, logs in found.items()}


def summary(report: Report) -> str:
    """Return the most informative geometric means."""

    def labelled(what: str, found: dict[str, float]) -> str:
        return f"{what}: " + (", ".join(f"{n} {r}x" for n, r in found.items()) or "--")

    lines = ["in place of weft, geometric means of the time:"]
    for section in ("k = 4", "widths", "folding"):
        kept = means(report, lambda r, s=section: r.section == s and r.unit == "iteration")
        lines.append(labelled(f"  {section}, an iteration", kept))
    for task in ("SUM",):
        kept = means(report, lambda r, t=task: r.task == t and r.unit == "iteration")
        lines.append(labelled("  the plain sparse product", kept))
    others = means(report, lambda r: r.task != "SUM" and r.unit == "iteration")
    lines.append(labelled("  all others", others))
    widths = sorted({row.k for row in report.rows})
    blind = {k: means(report, lambda r, k=k: r.k == k and r.unit == "iteration") for k in widths}
    aware = {f"k={k}": found["weft blind"] for k, found in blind.items() if "weft blind" in found}
    lines.append(labelled("  blind to features", aware))
    runs = means(report, lambda r: r.section == "k = 4" and r.unit == "run", "weft changes")
    lines.append(labelled("  in place of weft driven by changes, a run", runs))
    runs = means(report, lambda r: r.section == "factors", "weft changes")
    lines.append(labelled("  in place of alternating least squares driven by changes, a run", runs))
    return "\n".join([*lines, ways(report)])


def ways(report: Report) -> str:
    """Return the table of all tasks, graphs and ways: milliseconds, and the gain over neither."""
    rows = [row for row in report.rows if row.section == TABLE]
    if not rows:
        return ""
    lines = [
        f"| graph | task | {' | '.join(WAYS)} | gain |",
        f"|---|---|{'--:|' * (len(WAYS) + 1)}",
    ]
    for graph, task in dict.fromkeys((row.graph, row.task) for row in rows):
        ms = {r.variant: r.ms for r in rows if (r.graph, r.task) == (graph, task)}
        cells = [f"{ms[way]:.3g}" if ms.get(way) else "–" for way in WAYS]
        neither, both = ms.get("weft blind"), ms.get("weft changes")
        cells.append(f"{neither / both:.2f} ×" if neither and both else "–")
        lines.append(f"| {graph} | {task} | {' | '.join(cells)} |")
    return "\n".join(lines)


def read(paths: list[str]) -> Report:
    """Read the rows of earlier runs; a later measurement replaces an earlier one."""
    found: dict[Any, Row] = {}
    device = ""
    for path in paths:
        held = json.loads(Path(path).read_text(encoding="utf-8"))
        device = held["device"]
        rows = [Row(**row) for row in held["rows"]]
        found |= {(row.case, row.variant): row for row in rows if row.ms}
    return Report(device, list(found.values()))


def plot(report: Report, path: str) -> None:
    """Draw times by width, and at k = 4 the others' times over weft's."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "weft", "svg.fonttype": "none"}  # same rows, same file
    figure, axes = plt.subplots(3, 3, figsize=(13, 11), squeeze=False)
    tasks = [task for task in ORDER if any(row.task == task for row in report.rows)]
    for axis, task in zip(axes.flat, tasks, strict=False):
        _by_width(axis, report, task)
    _ratios(axes[2, 0], report, "CuPy over weft, an iteration, k = 4", "k = 4", "CuPy", "weft")
    _ratios(
        axes[2, 1], report, "all over changes alone, a run, k = 4", "k = 4", "weft", "weft changes"
    )
    _ratios(axes[2, 2], report, "in steps over folded, k = 4", "folding", "weft in steps", "weft")
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.endswith(".svg") else None)
    plt.close(figure)


def _by_width(axis: Any, report: Report, task: str) -> None:
    rows = [r for r in report.rows if r.section == "widths" and r.task == task and r.ms]
    for number, variant in enumerate(("weft", "weft blind", "CuPy", "PyTorch", "SciPy")):
        points = sorted((row.k, row.ms) for row in rows if row.variant == variant)
        if points:
            axis.plot(*zip(*points, strict=True), marker="o", label=variant, color=f"C{number}")
    widths = sorted({row.k for row in rows})
    axis.set(title=f"{task}, by width", xlabel="features", ylabel="ms of an iteration")
    axis.set(xscale="log", yscale="log", xticks=widths, xticklabels=widths)
    axis.minorticks_off()
    if rows:
        axis.legend()


def _ratios(axis: Any, report: Report, title: str, section: str, slow: str, base: str) -> None:
    """Draw bars for each task, one for each graph."""
    unit = "run" if base == "weft changes" else "iteration"
    rows = [r for r in report.rows if (r.section, r.variant, r.unit) == (section, slow, unit)]
    rows = [row for row in rows if report.ratio(row, base)]
    tasks = [task for task in ORDER if any(row.task == task for row in rows)]
    graphs = list(dict.fromkeys(row.graph for row in rows))
    for number, graph in enumerate(graphs):
        heights = {row.task: report.ratio(row, base) for row in rows if row.graph == graph}
        places = [k + (number + 0.5) / len(graphs) * 0.8 - 0.4 for k in range(len(tasks))]
        bars = [heights.get(task) or 0.0 for task in tasks]
        axis.bar(places, bars, 0.8 / len(graphs), label=graph)
    axis.axhline(1.0, color="black", linewidth=0.8)
    axis.set(title=title, ylabel="times", xticks=range(len(tasks)), xticklabels=tasks)
    if rows:
        axis.legend()
