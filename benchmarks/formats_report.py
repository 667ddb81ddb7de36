"""Report on formats: a row each, tables, and the promises of CR² line by line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

# Geometric means of the other format's time over cr2's, on the thesis' graphs.
THESIS_CSR = {"pagerank": 1.65, "bfs": 13.3, "components": 8.2, "sssp": 6.8}
THESIS_TIGR = {"pagerank": 1.44, "bfs": 1.69, "components": 2.12, "sssp": 1.01}
THESIS_EXPAND, THESIS_BLOCKS = 1.7, 4.5
MOST_BYTES, MOST_BUILD = 0.8, 3.0  # of csr's
CLUSTERED = "planted"


@dataclass
class Row:
    """The measurements of one format on one graph."""

    graph: str
    format: str
    order: str
    csr_build_ms: float = math.nan
    bytes_per_arc: float = math.nan
    build_ms: float = math.nan
    facts: dict[str, float] = field(default_factory=dict)
    refused: str = ""
    times: dict[str, dict[str, float]] = field(default_factory=dict)  # task -> schedule -> ms
    sides: dict[str, dict[str, str]] = field(default_factory=dict)  # task -> direction -> ms
    bounds: dict[str, dict[str, float]] = field(default_factory=dict)  # as times: stopped after ms
    troubles: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The identity of the row among those of its graph."""
        return f"{self.format} {self.order}"

    def note(self, task: str, schedule: str, ms: float, side: str = "") -> None:
        """Record the time of a schedule, or of the best one in a direction."""
        if side:
            self.sides.setdefault(task, {})[side] = f"{ms:.3g}"
        else:
            self.times.setdefault(task, {})[schedule] = ms

    def stopped(self, task: str, schedule: str, ms: float, side: str = "") -> None:
        """Record that a run was stopped after some milliseconds."""
        if side:
            self.sides.setdefault(task, {})[side] = f">{ms:.3g}"
        else:
            self.bounds.setdefault(task, {})[schedule] = ms

    def best(self, task: str) -> tuple[float, str]:
        """Return the best time of a task and its schedule."""
        found = [(ms, schedule) for schedule, ms in self.times.get(task, {}).items()]
        return min(found, default=(math.inf, ""))

    @property
    def build_ratio(self) -> float:
        """Return the build time over that of csr from shuffled edges."""
        return self.build_ms / self.csr_build_ms

    def described(self) -> str:
        """Return size and build time as a line."""
        if self.refused:
            return f"  {self.format}: refused: {self.refused}"
        size = f"{self.bytes_per_arc:.2f} bytes per arc"
        if self.format == "csr":
            return f"  csr in the order {self.order}: {size}"
        facts = "".join(f", {name} {value:.4g}" for name, value in self.facts.items())
        return (
            f"  {self.format} in the order {self.order}: {size}, "
            f"built in {self.build_ms:.4g} ms ({self.build_ratio:.2f} × csr){facts}"
        )

    def times_text(self, task: str) -> str:
        """Return the times of a task as a line."""
        ranked = sorted(self.times.get(task, {}).items(), key=lambda item: item[1])
        times = ", ".join(f"{schedule} {ms:.3g}" for schedule, ms in ranked) or self.untimed(task)
        return f"  {task} {self.graph} {self.format} ({self.order}): {times}"

    def untimed(self, task: str) -> str:
        """Return the text for a task of which no run finished."""
        bounds = self.bounds.get(task, {}).values()
        return f">{min(bounds):.3g}" if bounds else "-"


def report(rows: Sequence[Row], tasks: Sequence[str]) -> None:
    """Print a table for each graph, the promises, and what went wrong."""
    head = ["format", "order", "B/arc", "build ms", "× csr"]
    head += [cell for task in tasks for cell in (task, "push", "pull")]
    for graph in dict.fromkeys(row.graph for row in rows):
        print(f"\n{graph}: ms and schedule, and ms of only pushing and only pulling\n")
        cells = [_cells(row, tasks) for row in rows if row.graph == graph]
        for line in (head, ["---"] * len(head), *cells):
            print(f"| {' | '.join(line)} |")
    print("\nWhat CR² promises:")
    for line in promises(rows, tasks):
        print(f"- {line}")
    for row in rows:
        for trouble in row.troubles:
            print(f"{row.format} on {row.graph}: {trouble}")


def _cells(row: Row, tasks: Sequence[str]) -> list[str]:
    if row.refused:
        return [row.format, row.order, "refused", *[""] * (2 + 3 * len(tasks))]
    build = ["-", "-"]  # csr always exists
    if row.format != "csr":
        build = [f"{row.build_ms:.3g}", f"{row.build_ratio:.2f}"]
    size = [f"{row.bytes_per_arc:.2f}", *build]
    times = []
    for task in tasks:
        ms, schedule = row.best(task)
        sides = row.sides.get(task, {})
        times.append(f"{ms:.3g} {schedule}" if schedule else row.untimed(task))
        times += [sides.get(side, "-") for side in ("push", "pull")]
    return [row.format, row.order, *size, *times]


def promises(rows: Sequence[Row], tasks: Sequence[str]) -> list[str]:
    """Return the promises of CR², each with the measurement and the thesis' figure."""
    lines = []
    for graph in dict.fromkeys(row.graph for row in rows):
        cr2, csr, tigr = (_row(rows, graph, name) for name in ("cr2", "csr", "tigr"))
        if cr2 is None or math.isnan(cr2.bytes_per_arc):
            continue
        size = cr2.bytes_per_arc
        if csr is not None and graph.startswith(CLUSTERED):
            share = size / csr.bytes_per_arc
            lines.append(
                f"{graph}: {share:.2f} of csr's bytes"
                f"{_judged(share <= MOST_BYTES)} at most {MOST_BYTES})"
            )
        if tigr is not None and not tigr.refused:
            share = size / tigr.bytes_per_arc
            lines.append(f"{graph}: {share:.2f} of tigr's bytes{_judged(share < 1)} below 1)")
        if not math.isnan(cr2.build_ratio):
            ratio = cr2.build_ratio
            lines.append(
                f"{graph}: built in {ratio:.2f} × csr"
                f"{_judged(ratio <= MOST_BUILD)} at most {MOST_BUILD})"
            )
    for task in tasks:
        lines += _faster(rows, task, "csr under row", THESIS_CSR[task])
        lines += _faster(rows, task, "tigr", THESIS_TIGR[task])
    if "bfs" in tasks:
        lines += _faster(rows, "bfs", "cr2_bare", THESIS_EXPAND, THESIS_EXPAND)
    blocks = [text for task in tasks for text in _blocks(rows, task)]
    if blocks:
        lines.append(f"block_coo beside coo, both under edge: {', '.join(blocks)} (thesis: up to "
                     f"{THESIS_BLOCKS})")  # fmt: skip
    return lines


def _faster(
    rows: Sequence[Row], task: str, other: str, thesis: float, least: float = 1.0
) -> list[str]:
    """Return another format's time over cr2's, per graph and in the mean."""
    found = ratios(rows, task, other)
    if not found:
        return []
    signs = {graph: ">" if least else "" for graph, (_, least) in found.items()}
    each = ", ".join(f"{graph} {signs[graph]}{ratio:.2f}" for graph, (ratio, _) in found.items())
    mean = _mean([ratio for ratio, _ in found.values()])
    sign = "more than " if any(signs.values()) else ""
    return [
        f"{task}: {other} takes {sign}{mean:.2f} × cr2's time ({each})"
        f"{_judged(mean >= least)} at least {least}; thesis {thesis})"
    ]


def ratios(rows: Sequence[Row], task: str, other: str) -> dict[str, tuple[float, bool]]:
    """Return the time of another format over that of cr2, for each graph where both ran.

    The second item is true if the other format was stopped, so the ratio is a lower bound.
    """
    found = {}
    name, _, schedule = other.partition(" under ")
    for graph in dict.fromkeys(row.graph for row in rows):
        cr2, row = _row(rows, graph, "cr2"), _row(rows, graph, name)
        if cr2 is None or row is None:
            continue
        theirs = row.times.get(task, {}).get(schedule, math.inf) if schedule else row.best(task)[0]
        bound = row.bounds.get(task, {}).get(schedule, math.inf)
        if max(min(theirs, bound), cr2.best(task)[0]) < math.inf:
            is_bound = math.isinf(theirs)
            found[graph] = (min(theirs, bound) / cr2.best(task)[0], is_bound)
    return found


def _blocks(rows: Sequence[Row], task: str) -> list[str]:
    found = []
    for graph in dict.fromkeys(row.graph for row in rows):
        plain, blocked = _row(rows, graph, "coo"), _row(rows, graph, "block_coo")
        times = [r.times.get(task, {}).get("edge") for r in (plain, blocked) if r is not None]
        if len(times) == 2 and None not in times:
            found.append(f"{task} {graph} {times[0] / times[1]:.2f} ×")  # type: ignore[operator]
    return found


def _row(rows: Sequence[Row], graph: str, name: str) -> Row | None:
    """Return the first row of a format on a graph, in its own vertex order."""
    return next((row for row in rows if (row.graph, row.format) == (graph, name)), None)


def _judged(holds: bool) -> str:
    return f": {'holds' if holds else 'DOES NOT HOLD'} (promised:"


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
