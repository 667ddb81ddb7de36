"""The page of `weft run --report`: result, distribution, profile, options and machine."""

from __future__ import annotations

import html
import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import weft
from weft.arrays.device import parse_device
from weft.cli.results import group_sizes
from weft.cli.show import cell, number, time_text
from weft.report.charts import draw_bars, draw_steps
from weft.report.histograms import histogram
from weft.report.html import page_facts, page_html, page_table

if TYPE_CHECKING:
    from weft.cli.run import Report

MAX_ROWS = 60


def page(report: Report) -> str:
    """Return the page of a run, which needs no other file and no network."""
    title = f"{report.algorithm} on {report.file}"
    g = report.graph
    kind = "directed" if g["directed"] else "undirected"
    weights = "weighted" if g["weighted"] else "without weights"
    sections = [
        ("Result", f'<div class="beside">{_facts(report.summary)}{_rows(report.top)}</div>'),
        ("Distribution", _distribution(report)),
        ("Profile", _profile(report.profile)),
        ("Options", _facts({**report.options, **_named("config ", report.config)})),
        ("Machine", _facts(_machine(report))),
    ]
    lead = (
        f"{g['vertices']:,} vertices, {g['edges']:,} edges, {kind}, {weights}. "
        f"{time_text(report.ms)} on {g['device']}, including compiling or loading compiled code."
    )
    return page_html(title, f'<p class="soft">{html.escape(lead)}</p>', sections)


def machine_facts() -> dict[str, str]:
    """Return the versions of weft and Python, the system and the processor."""
    return {
        "weft": weft.__version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": parse_device("cpu").model.removeprefix("cpu "),
    }


def _machine(report: Report) -> dict[str, Any]:
    """Return the facts of the machine, and those shared by all runs of the profile."""
    facts = report.profile.facts if report.profile is not None else []
    shared = [(k, v) for k, v in (facts[0].items() if facts else ()) if _in_all(facts, k, v)]
    return {**machine_facts(), **dict(shared)}


def _in_all(facts: Sequence[Mapping[str, object]], key: str, value: object) -> bool:
    return all(key in one and one[key] == value for one in facts)


def _named(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}{key}": value for key, value in values.items()}


def _facts(values: Mapping[str, Any]) -> str:
    return page_facts({k: "–" if v is None else number(v) for k, v in values.items()})


def _rows(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    return page_table(list(rows[0]), [[cell(k, v) for k, v in row.items()] for row in rows], [0])


def _distribution(report: Report) -> str:
    """Return a histogram of the main column, or of the sizes of its groups."""
    result = report.result
    if not result.per_vertex:
        return ""
    if result.grouped:
        sizes = group_sizes(result)[1]
        if not len(sizes):
            return ""
        bars = histogram(sizes, f"vertices per {result.main}", f"{result.main}s")
    else:
        values = result.reached()
        if not len(values):
            return ""
        bars = histogram(values, result.main)
    return f"<figure>{draw_bars(bars)}</figure>"


def _profile(profile: Any) -> str:
    """Return charts and a table of the supersteps."""
    records = profile.records if profile is not None else []
    if not records:
        return ""
    steps: dict[tuple[int, int], list[Any]] = {}
    for record in records:
        steps.setdefault((record.call, record.step), []).append(record)
    phases = list(steps.values())
    kinds = [max(group, key=lambda r: r.edges).direction for group in phases]
    charts = "".join(
        f"<figure>{draw_steps(values, kinds, name, 'superstep' if name == 'ms' else '')}</figure>"
        for name, values in (
            ("vertices in the frontier", [max(r.frontier for r in group) for group in phases]),
            ("edges visited", [sum(r.edges for r in group) for group in phases]),
            ("ms", [sum(r.ms for r in group) for group in phases]),
        )
    )
    keys = "".join(
        f'<span class="key {kind}">{kind}</span>' for kind in sorted(set(kinds), key=str)
    )
    runs = len({record.call for record in records})
    edges = sum(record.edges for record in records)
    summary = (
        f"<p>{runs:,} run{'s' * (runs != 1)}, {len(phases):,} superstep{'s' * (len(phases) != 1)}, "
        f"{edges:,} edges visited, {profile.total_ms:,.3f} ms in supersteps. {keys}</p>"
    )
    return summary + charts + _records(records)


def _records(records: Sequence[Any]) -> str:
    names = ("run", "call", "step", "phase", "direction", "frontier", "edges", "M edges/s", "ms")
    half, hidden = MAX_ROWS // 2, max(0, len(records) - MAX_ROWS)
    rows = [_record(record) for record in records[:half]]
    if hidden:
        rows.append((f"… {hidden:,} more", *("",) * (len(names) - 1)))
    rows += [_record(record) for record in records[half + hidden :]]
    return page_table(names, rows, [0, 4])


def _record(record: Any) -> tuple[str, ...]:
    return (
        record.run,
        f"{record.call}",
        f"{record.step}",
        f"{record.phase}",
        record.direction,
        f"{record.frontier:,}",
        f"{record.edges:,}",
        f"{record.edges_per_second / 1e6:,.1f}",
        f"{record.ms:,.3f}",
    )
