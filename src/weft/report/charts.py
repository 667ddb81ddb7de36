"""Charts as inline SVG for self-contained pages.

Horizontal positions are percentages and vertical ones pixels, so a chart fills the width of its
figure while its text keeps its size. Colours come from the variables of the page (`--ink`,
`--soft`, `--push`, ...) and follow its light or dark scheme. Text of class `minor` disappears in
narrow figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from weft.report.histograms import DASH, Bars, short, ticks

HEIGHT, STEPS_HEIGHT = 280, 190
LEFT, TOP, BOTTOM = 64, 34, 48  # room for the text around the plot, in pixels
MAX_MARKS = 1000
FEW_BARS = 8  # up to this many bars, each shows its count
PLOT_WIDTH, LETTER = 420, 8  # the narrowest plot that shows minor text, and one letter of it
LOG_BASE = 0.5  # where the axis of a logarithmic chart starts: a count of 1 is still visible


def draw_bars(bars: Bars) -> str:
    """Draw a bar chart; a bar shows its count when pointed at."""
    base, slot = HEIGHT - BOTTOM, 100 / max(len(bars.counts), 1)
    top = max([*bars.counts, 1])
    if bars.logarithmic:
        marks: list[float] = [10**k for k in range(math.ceil(math.log10(top)) + 1)]
        levels = [math.log10(mark / LOG_BASE) for mark in marks]
    else:
        marks = [mark for mark in ticks(0, top) if mark == int(mark)]
        levels = list(marks)
    scale = (base - TOP) / max(levels[-1], math.log10(top / LOG_BASE) if bars.logarithmic else top)
    parts = [_grid(marks, [base - level * scale for level in levels], base)]
    for i, (label, count) in enumerate(zip(bars.labels, bars.counts, strict=True)):
        level = math.log10(count / LOG_BASE) if bars.logarithmic and count else count
        height = max(level * scale, 1.0) if count else 0.0  # small counts stay visible
        parts.append(
            f'<rect class="bar" x="{(i + 0.07) * slot:.3f}%" y="{base - height:.1f}" '
            f'width="{slot * 0.86:.3f}%" height="{height:.1f}">'
            f"<title>{escape(label)}: {count:,}</title></rect>"
        )
        if len(bars.counts) <= FEW_BARS:
            parts.append(_text((i + 0.5) * slot, base - height - 6, f"{count:,}", "name minor"))
    parts.append(_bar_names(bars.labels, slot, base))
    return _svg(
        "".join(parts) + _axis_names(bars.x_label, bars.y_label, base), HEIGHT, bars.x_label
    )


def _bar_names(labels: Sequence[str], slot: float, base: float) -> str:
    """Name single values under the middle of their bars, bins by their lower ends."""
    binned = any(DASH in label for label in labels)
    names = [label.partition(f" {DASH} ")[0] for label in labels]
    longest = max(map(len, names), default=1)
    every = max(1, math.ceil(len(names) / (PLOT_WIDTH / (LETTER * longest + 14))))
    parts = []
    for place, i in enumerate(range(0, len(names), every)):
        x = (i if binned else i + 0.5) * slot
        parts.append(_text(x, base + 20, names[i], "minor" if place % 2 else ""))
        if binned:
            parts.append(
                f'<line class="tick" x1="{x:.3f}%" x2="{x:.3f}%" y1="{base}" y2="{base + 5}"/>'
            )
    return "".join(parts)


def draw_steps(values: Sequence[float], kinds: Sequence[str], y_label: str, x_label: str) -> str:
    """Draw a quantity superstep by superstep, coloured by direction.

    In very long runs neighbouring supersteps share a mark, which shows the largest of them.
    """
    base = STEPS_HEIGHT - BOTTOM
    group = max(1, -(-len(values) // MAX_MARKS))
    starts = range(0, len(values), group)
    shown = [max(range(s, min(s + group, len(values))), key=lambda i: values[i]) for s in starts]
    marks = ticks(0, max(values, default=0.0) or 1.0, about=3)
    scale = (base - TOP) / marks[-1]
    across, start = (98 / (len(values) - 1), 1) if len(values) > 1 else (0, 50)
    spots = [(start + i * across, base - values[i] * scale, i) for i in shown]
    path = "".join(
        f'<line class="path" x1="{a[0]:.3f}%" y1="{a[1]:.1f}" x2="{b[0]:.3f}%" y2="{b[1]:.1f}"/>'
        for a, b in pairwise(spots)
    )
    radius = 3.5 if len(spots) <= 120 else 2
    dots = "".join(
        f'<circle cx="{x:.3f}%" cy="{y:.1f}" r="{radius}" class="{kinds[i]}">'
        f"<title>superstep {i:,}, {kinds[i]}: {values[i]:,.6g}</title></circle>"
        for x, y, i in spots
    )
    numbers = [int(i) for i in ticks(0, max(len(values) - 1, 1), about=8) if i == int(i)]
    names = "".join(
        _text(start + i * across, base + 20, f"{i:,}", "minor" if place % 2 else "")
        for place, i in enumerate(i for i in numbers if i < len(values))
    )
    body = _grid(marks, [base - mark * scale for mark in marks], base) + path + dots + names
    return _svg(body + _axis_names(x_label, y_label, base), STEPS_HEIGHT, y_label)


def draw_heat_map(
    cells: Mapping[tuple[str, str], float],
    rows: Sequence[str],
    columns: Sequence[str],
    y_label: str,
    x_label: str,
    unit: str,
) -> str:
    """Draw positive numbers by row and column; smaller ones have the stronger colour."""
    row_height, slot = 36, 100 / max(len(columns), 1)
    base = TOP + row_height * len(rows)
    low, high = min(cells.values(), default=1.0), max(cells.values(), default=1.0)
    spread = math.log(high / low) or 1.0
    parts = []
    for i, row in enumerate(rows):
        y = TOP + i * row_height
        parts.append(_text(0, y + row_height / 2 + 4, row, "end", shift=-8))
        for j, column in enumerate(columns):
            value = cells.get((row, column))
            if value is None:
                continue
            opacity = 0.08 + 0.47 * (1 - math.log(value / low) / spread)
            parts.append(
                f'<rect class="bar" x="{j * slot + 0.15:.3f}%" y="{y + 1}" '
                f'width="{slot - 0.3:.3f}%" height="{row_height - 2}" fill-opacity="{opacity:.2f}">'
                f"<title>{escape(f'{row}, {column}: {value:.4g} {unit}')}</title></rect>"
            )
            middle = y + row_height / 2 + 4
            parts.append(_text((j + 0.5) * slot, middle, f"{value:.3g}", "name"))
    parts += [_text((j + 0.5) * slot, base + 20, name) for j, name in enumerate(columns)]
    parts.append(_axis_names(x_label, y_label, base))
    name = f"{y_label} and {x_label}, {unit}"
    return _svg("".join(parts), base + BOTTOM, name, _room(rows))


def draw_ratios(names: Sequence[str], ratios: Sequence[float], notes: Sequence[str]) -> str:
    """Draw ratios of at least 1 as horizontal bars of logarithmic length."""
    row_height = 28
    scale = 88 / math.log2(max([*ratios, 1.1]))
    parts = []
    for i, (name, ratio, note) in enumerate(zip(names, ratios, notes, strict=True)):
        y, length = i * row_height, max(0.2, math.log2(max(ratio, 1.0)) * scale)
        parts.append(_text(0, y + 19, name, "end", shift=-8))
        parts.append(
            f'<rect class="bar" x="0" y="{y + 4}" width="{length:.2f}%" height="{row_height - 8}">'
            f"<title>{escape(f'{name}: {note}')}</title></rect>"
        )
        parts.append(_text(length, y + 19, f"{ratio:.2f}×", "name start", shift=6))
    return _svg("".join(parts), row_height * len(names) + 8, "effects of the axes", _room(names))


def _grid(marks: Sequence[float], heights: Sequence[float], base: float) -> str:
    parts = [f'<line class="axis" x1="0" x2="100%" y1="{base}" y2="{base}"/>']
    for mark, y in zip(marks, heights, strict=True):
        if y < base:
            parts.append(f'<line class="rule" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(0, y + 4, short(mark), "end", shift=-8))
    return "".join(parts)


def _axis_names(x_label: str, y_label: str, base: float) -> str:
    return _text(50, base + 41, x_label, "name") + _text(0, 13, y_label, "name start")


def _text(percent: float, y: float, text: str, kind: str = "", shift: float = 0) -> str:
    moved = f' dx="{shift:g}"' if shift else ""
    return f'<text x="{percent:.3f}%" y="{y:.1f}" class="{kind}"{moved}>{escape(text)}</text>'


def _room(names: Sequence[str]) -> int:
    return max(LEFT, LETTER * max(map(len, names), default=0) + 16)


def _svg(body: str, height: float, label: str, left: int = LEFT) -> str:
    return (
        f'<svg class="chart" height="{height:g}" style="--left: {left}px" role="img" '
        f'aria-label="{escape(label)}">{body}</svg>'
    )
