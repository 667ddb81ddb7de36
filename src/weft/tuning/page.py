"""The page of a tuning: best configurations, charts, trials, search space and kernel."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from weft.report.charts import draw_heat_map, draw_ratios
from weft.report.html import page_html, page_table
from weft.tuning.report import axes_of, chosen

if TYPE_CHECKING:
    from weft.tuning.report import TuningReport

MOST_EFFECTS = 20
MOST_TRIALS = 400


def page(report: TuningReport) -> str:
    """Return the self-contained page of a tuning."""
    title = f"Tuning of {report.algorithm}"
    graph = report.graph
    ended = ", stopped by Ctrl-C" if report.interrupted else ""
    lead = (
        f"{graph.vertices:,} vertices, {graph.arcs:,} arcs, largest degree {graph.largest:,}, "
        f"sampled diameter {graph.diameter}; {report.device}. "
        f"{len(report.trials):,} configurations in {report.seconds:.1f} s{ended}."
    )
    sections = [
        ("Result", _result(report)),
        _heat_map(report),
        ("Effects of the axes", _effects(report)),
        ("Trials", _trials(report)),
        ("Errors", _errors(report)),
        ("Search space", _space(report)),
        ("Generated kernel", f"<pre>{html.escape(report.kernel)}</pre>"),
    ]
    return page_html(title, f'<p class="soft">{html.escape(lead)}</p>', sections)


def _result(report: TuningReport) -> str:
    rows = [("best", f"{report.best.ms:.3f}", "1.00", chosen(report.config))]
    for name, trial in (("runner-up", report.runner_up), ("default", report.default)):
        if trial is not None:
            ratio = f"{trial.ms / report.best.ms:.2f}"
            rows.append((name, f"{trial.ms:.3f}", ratio, chosen(trial.config)))
    return page_table(("", "ms", "× best", "configuration"), rows, [0, 3])


def _heat_map(report: TuningReport) -> tuple[str, str]:
    down, across, cells = report.grid()
    title = " and ".join(axis for axis in (down, across) if axis).capitalize()
    if not cells:
        return title, ""
    drawn = draw_heat_map(cells, *axes_of(cells), down, across, "ms")
    return (
        title,
        f'<p class="soft">The fastest call of each pair, in ms.</p><figure>{drawn}</figure>',
    )


def _effects(report: TuningReport) -> str:
    effects = report.effects()[:MOST_EFFECTS]
    if not effects:
        return ""
    drawn = draw_ratios(
        [e.axis for e in effects],
        [e.ratio for e in effects],
        [f"{e.fastest} fastest, {e.slowest} slowest" for e in effects],
    )
    note = (
        "Slowest over fastest time between configurations that differ in this axis only. "
        "Slow configurations are stopped early, so a ratio is a lower bound."
    )
    return f'<p class="soft">{note}</p><figure>{drawn}</figure>'


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
    return page_table(("ms", "runs", "status", "configuration", "note"), rows, [2, 3, 4])


def _errors(report: TuningReport) -> str:
    rows = [(t.status, chosen(t.config), t.reason) for t in report.errors]
    return page_table(("status", "configuration", "reason"), rows, range(3)) if rows else ""


def _space(report: TuningReport) -> str:
    rows = [(name, str(count), values) for name, count, values in report.space.rows()]
    excluded = [
        (", ".join(f"{name}={value}" for name, value in choice.items()), reason)
        for choice, reason in report.space.invalid
    ]
    excluded += [(name, f"not tuned: {reason}") for name, reason in report.space.fixed.items()]
    table = page_table(("not possible, or not tuned", "reason"), excluded, range(2))
    return (
        f"<p>{report.space.size:,} combinations in all.</p>"
        + page_table(("axis", "count", "values"), rows, [0, 2])
        + (table if excluded else "")
    )
