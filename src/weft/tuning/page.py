"""The page of a tuning: heat map, effects of the axes, all trials, the space, the kernel."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from weft.report.charts import draw_heat_map, draw_ratios
from weft.report.pages import page_html
from weft.tuning.report import axes_of, chosen

if TYPE_CHECKING:
    from weft.tuning.report import TuningReport

MOST_EFFECTS = 20
MOST_TRIALS = 400


def page(report: TuningReport) -> str:
    """Return one HTML page that needs nothing else, neither files nor a network."""
    title = f"Tuning of {report.algorithm}"
    graph = report.graph
    ended = ", ended by Ctrl-C" if report.interrupted else ""
    lead = (
        f"{graph.vertices:,} vertices, {graph.arcs:,} arcs, largest degree {graph.largest:,}, "
        f"sampled diameter {graph.diameter}; {html.escape(report.device)}. "
        f"{len(report.trials):,} configurations in {report.seconds:.1f} s{ended}."
    )
    sections = [
        ("Result", _result(report)),
        ("Formats and schedules", _heat_map(report)),
        ("Effects of the axes", _effects(report)),
        ("Trials", _trials(report)),
        ("Errors", _errors(report)),
        ("Space", _space(report)),
        ("Generated kernel", f'<pre class="wide">{html.escape(report.kernel)}</pre>'),
    ]
    return page_html(title, lead, sections)


def _result(report: TuningReport) -> str:
    rows = [("best", f"{report.best.ms:.3f}", "1.00", chosen(report.config))]
    for name, trial in (("runner-up", report.runner_up), ("default", report.default)):
        if trial is not None:
            ratio = f"{trial.ms / report.best.ms:.2f}"
            rows.append((name, f"{trial.ms:.3f}", ratio, chosen(trial.config)))
    return _table(("", "ms", "× best", "configuration"), rows)


def _heat_map(report: TuningReport) -> str:
    down, across, cells = report.grid()
    if not cells:
        return ""
    drawn = draw_heat_map(cells, *axes_of(cells), down, across, "ms")
    told = "The least milliseconds of a call that were found for each pair."
    return f'<p class="soft">{told}</p><figure>{drawn}</figure>'


def _effects(report: TuningReport) -> str:
    effects = report.effects()[:MOST_EFFECTS]
    if not effects:
        return ""
    drawn = draw_ratios(
        [e.axis for e in effects],
        [e.ratio for e in effects],
        [f"{e.fastest} fastest, {e.slowest} slowest" for e in effects],
    )
    told = "Slowest over fastest where nothing but the axis was different; at least so much."
    return f'<p class="soft">{told}</p><figure>{drawn}</figure>'


def _trials(report: TuningReport) -> str:
    shown = sorted(report.trials, key=lambda t: (not t.is_timed, t.ms))
    rows = [
        (
            "–" if t.ms == float("inf") else f"{'' if t.is_timed else '> '}{t.ms:.3f}",
            str(t.runs),
            t.status,
            chosen(t.config),
            f"same as {chosen(t.same_as)}" if t.same_as is not None else t.reason,
        )
        for t in shown[:MOST_TRIALS]
    ]
    return _table(("ms", "runs", "status", "configuration", "note"), rows)


def _errors(report: TuningReport) -> str:
    rows = [(t.status, chosen(t.config), t.reason) for t in report.errors]
    return _table(("status", "configuration", "reason"), rows) if rows else ""


def _space(report: TuningReport) -> str:
    rows = [(name, str(count), values) for name, count, values in report.space.rows()]
    told = f"<p>{report.space.size:,} combinations in all.</p>"
    excluded = [
        (", ".join(f"{name}={value}" for name, value in choice.items()), reason)
        for choice, reason in report.space.invalid
    ]
    excluded += [(name, f"not tuned: {reason}") for name, reason in report.space.fixed.items()]
    return (
        _table(("axis", "values", ""), rows)
        + told
        + (_table(("not possible, or not tuned", "why"), excluded) if excluded else "")
    )


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th class="text">{html.escape(name)}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f'<td class="text">{html.escape(cell)}</td>' for cell in row) + "</tr>\n"
        for row in rows
    )
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}</table></div>'
