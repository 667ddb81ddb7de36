"""The page of `weft run --report`: what was found, what ran, how and where."""

from __future__ import annotations

import html
import os
import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import weft
from weft.cli.results import group_sizes
from weft.cli.show import cell, number, time_text
from weft.report.charts import Bars, draw_bars, draw_steps, histogram
from weft.report.pages import page_html

if TYPE_CHECKING:
    from weft.cli.run import Report

MAX_ROWS = 60


def page(report: Report) -> str:
    """Return one HTML page that needs nothing else, neither files nor a network."""
    title = f"{report.algorithm} on {report.file}"
    g = report.graph
    kind = "directed" if g["directed"] else "undirected"
    weights = "weighted" if g["weighted"] else "without weights"
    sections = [
        ("Result", _facts(report.summary) + _rows(report.top)),
        ("Distribution", _distribution(report)),
        ("Profile", _profile(report.profile)),
        ("Options", _facts({**report.options, **_named("config ", report.config)})),
        ("Machine", _facts(machine(report))),
    ]
    lead = (
        f"{g['vertices']:,} vertices, {g['edges']:,} edges, {kind}, {weights}. "
        f"{time_text(report.ms)} on {html.escape(str(g['device']))}, compiling or loading compiled "
        "code included."
    )
    return page_html(title, lead, sections)


def machine(report: Report) -> dict[str, Any]:
    """Return where the numbers come from."""
    told: dict[str, Any] = {
        "weft": weft.__version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "CPU cores": os.cpu_count(),
    }
    facts = report.profile.facts if report.profile is not None else []
    shared = [(k, v) for k, v in (facts[0].items() if facts else ()) if _in_all(facts, k, v)]
    return {**told, **dict(shared)}


def _in_all(facts: Sequence[Mapping[str, object]], key: str, value: object) -> bool:
    return all(key in one and one[key] == value for one in facts)


def _named(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}{key}": value for key, value in values.items()}


def _facts(values: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(_value(value))}</td></tr>\n"
        for name, value in values.items()
    )
    return f'<table class="facts">\n{rows}</table>\n' if rows else ""


def _value(value: Any) -> str:
    return "–" if value is None else number(value)


def _rows(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell(k, v))}</td>" for k, v in row.items()) + "</tr>\n"
        for row in rows
    )
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}</table></div>'


def _distribution(report: Report) -> str:
    """Return a histogram of the main column: values, or sizes of the groups."""
    result = report.result
    if not result.per_vertex:
        return ""
    if result.grouped:
        sizes = group_sizes(result)[1]
        if not len(sizes):
            return ""
        bars = histogram(sizes, f"vertices of a {result.main}")
        bars = Bars(bars.labels, bars.counts, bars.x_label, f"{result.main}s")
    else:
        values = result.reached()
        if not len(values):
            return ""
        bars = histogram(values, result.main)
    return f"<figure>{draw_bars(bars)}</figure>"


def _profile(profile: Any) -> str:
    """Return the supersteps as pictures and as a table."""
    records = profile.records if profile is not None else []
    if not records:
        return ""
    steps: dict[tuple[int, int], list[Any]] = {}
    for record in records:
        steps.setdefault((record.call, record.step), []).append(record)
    phases = list(steps.values())
    kinds = [max(group, key=lambda r: r.edges).direction for group in phases]
    pictures = "".join(
        f"<figure>{draw_steps(values, kinds, name, 'superstep' if name == 'ms' else '')}</figure>"
        for name, values in (
            ("frontier", [max(r.frontier for r in group) for group in phases]),
            ("edges", [sum(r.edges for r in group) for group in phases]),
            ("ms", [sum(r.ms for r in group) for group in phases]),
        )
    )
    keys = "".join(
        f'<span class="key {kind}">{kind}</span>' for kind in sorted(set(kinds), key=str)
    )
    runs = len({record.call for record in records})
    edges = sum(record.edges for record in records)
    told = (
        f"<p>{runs:,} run{'s' * (runs != 1)}, {len(phases):,} superstep{'s' * (len(phases) != 1)}, "
        f"{edges:,} edges looked at, {profile.total_ms:,.3f} ms in supersteps. {keys}</p>"
    )
    return told + pictures + _records(records)


def _records(records: Sequence[Any]) -> str:
    first = list(records[: MAX_ROWS // 2])
    last = list(records[MAX_ROWS // 2 :])
    hidden = max(0, len(records) - MAX_ROWS)
    names = ("run", "call", "step", "phase", "direction", "frontier", "edges", "M edges/s", "ms")
    head = "".join(f"<th>{name}</th>" for name in names)
    gap = f'<tr><td colspan="{len(names)}">… {hidden:,} more</td></tr>\n' if hidden else ""
    body = "".join(map(_record, first)) + gap + "".join(map(_record, last[hidden:]))
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}</table></div>'


def _record(record: Any) -> str:
    cells = (
        html.escape(record.run),
        f"{record.call}",
        f"{record.step}",
        f"{record.phase}",
        record.direction,
        f"{record.frontier:,}",
        f"{record.edges:,}",
        f"{record.edges_per_second / 1e6:,.1f}",
        f"{record.ms:,.3f}",
    )
    return "<tr>" + "".join(f"<td>{text}</td>" for text in cells) + "</tr>\n"
