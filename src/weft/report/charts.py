"""Charts as SVG text, for pages that need nothing else.

Colours come from the variables of the page (`--ink`, `--soft`, `--line`, `--push`, `--pull`,
`--vertex`), so that a chart follows its light or dark scheme.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 70, 16, 16, 42
MAX_BARS = 60
MAX_MARKS = 2000
SKEWED = 50.0  # largest over median beyond which a histogram has logarithmic bins


@dataclass(frozen=True)
class Bars:
    """A histogram: how many values lie in each stretch."""

    labels: Sequence[str]
    counts: Sequence[int]
    x_label: str
    y_label: str = "vertices"


def histogram(values: np.ndarray[Any, Any], x_label: str) -> Bars:
    """Count values: each integer by itself where there are few, else stretches of one width.

    Values above 0 that spread over orders of magnitude are put into stretches that grow.
    """
    values = np.asarray(values)
    low, high = values.min(), values.max()
    if values.dtype.kind in "iub" and int(high) - int(low) < MAX_BARS:
        counts = np.bincount(values.astype(np.int64) - int(low))
        return Bars([str(int(low) + i) for i in range(len(counts))], counts.tolist(), x_label)
    positive = values[values > 0]
    if len(positive) and low >= 0 and high > SKEWED * float(np.median(positive)):
        return _growing(values, positive, x_label)
    counts, edges = np.histogram(values, bins=MAX_BARS // 2)
    labels = [f"{a:.4g} – {b:.4g}" for a, b in pairwise(edges)]
    return Bars(labels, counts.tolist(), x_label)


def _growing(values: np.ndarray[Any, Any], positive: np.ndarray[Any, Any], x_label: str) -> Bars:
    first = math.floor(math.log2(float(positive.min())))
    last = math.floor(math.log2(float(positive.max()))) + 1
    step = max(1, -(-(last - first) // (MAX_BARS // 2)))
    edges = [2.0**k for k in range(first, last + step, step)]
    counts = np.histogram(positive, bins=edges)[0].tolist()
    labels = [f"{a:.3g} – {b:.3g}" for a, b in pairwise(edges)]
    zeros = len(values) - len(positive)
    if zeros:
        labels, counts = ["0", *labels], [zeros, *counts]
    return Bars(labels, counts, f"{x_label} (each stretch {2**step} × the one before)")


def draw_bars(bars: Bars) -> str:
    """Draw a histogram; each bar tells its count when pointed at."""
    top = max(max(bars.counts, default=0), 1)
    marks = ticks(0, top)
    scale = (HEIGHT - TOP - BOTTOM) / max(marks[-1], top)
    slot = (WIDTH - LEFT - RIGHT) / max(len(bars.counts), 1)
    base = HEIGHT - BOTTOM
    drawn = []
    for i, (label, count) in enumerate(zip(bars.labels, bars.counts, strict=True)):
        height = max(count * scale, 1.0) if count else 0.0  # a small count can still be seen
        drawn.append(
            f'<rect x="{LEFT + (i + 0.08) * slot:.1f}" y="{base - height:.1f}" '
            f'width="{slot * 0.84:.1f}" height="{height:.1f}">'
            f"<title>{html.escape(label)}: {count:,}</title></rect>"
        )
    every = max(1, -(-len(bars.labels) // 12))
    names = [
        # A stretch is named by its lower end, under its left edge.
        _text(LEFT + (i + 0.5 * (dash == "")) * slot, base + 15, lower, "middle")
        for i in range(0, len(bars.labels), every)
        for lower, dash, _ in [bars.labels[i].partition(" – ")]
    ]
    lines = _grid(marks, scale, base, whole=True)
    body = f'{lines}<g class="bars">{"".join(drawn)}</g>{"".join(names)}'
    return _svg(body + _axis_names(bars.x_label, bars.y_label, base), HEIGHT, bars.x_label)


def draw_steps(values: Sequence[float], kinds: Sequence[str], y_label: str, x_label: str) -> str:
    """Draw a quantity superstep by superstep, coloured by direction.

    Of very long runs, neighbouring supersteps share a mark, which shows the largest of them.
    """
    height, base = 170, 170 - BOTTOM
    group = max(1, -(-len(values) // MAX_MARKS))
    starts = range(0, len(values), group)
    shown = [max(range(s, min(s + group, len(values))), key=lambda i: values[i]) for s in starts]
    marks = ticks(0, max(values, default=0.0) or 1.0)
    scale = (base - TOP) / marks[-1]
    across = (WIDTH - LEFT - RIGHT - 12) / max(len(values) - 1, 1)
    spots = [(LEFT + 6 + i * across, base - values[i] * scale, i) for i in shown]
    if len(values) == 1:
        spots = [((WIDTH + LEFT) / 2, base - values[0] * scale, 0)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in spots)
    radius = 3.0 if len(spots) <= 120 else 1.6
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="{kinds[i]}">'
        f"<title>superstep {i}, {kinds[i]}: {values[i]:,.6g}</title></circle>"
        for x, y, i in spots
    )
    names = "".join(
        _text(LEFT + 6 + i * across, base + 15, str(i), "middle")
        for i in (ticks(0, len(values) - 1) if len(values) > 1 else [])
        if i == int(i) and i < len(values)
        for i in [int(i)]
    )
    body = f'{_grid(marks, scale, base)}<polyline points="{line}" class="path"/>{dots}{names}'
    return _svg(body + _axis_names(x_label, y_label, base), height, y_label)


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Return round numbers from `low` to the first one at or above `high`.

    Examples
    --------
    >>> ticks(0, 870)
    [0, 250, 500, 750, 1000]
    """
    raw = max(high - low, 1e-12) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    count = math.ceil((high - low) / step - 1e-9)
    found = [low + i * step for i in range(count + 1)]
    return [int(value) if value == int(value) else value for value in found]


def short(value: float) -> str:
    """Return a number for an axis.

    Examples
    --------
    >>> [short(v) for v in (0, 250, 12_500, 3e6, 0.05)]
    ['0', '250', '12.5k', '3M', '0.05']
    """
    for power, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= power:
            return f"{value / (1e3 if letter == 'k' else power):.4g}{letter}"
    return f"{value:.4g}"


def _grid(marks: Sequence[float], scale: float, base: float, whole: bool = False) -> str:
    parts = []
    for mark in marks:
        if whole and mark != int(mark):
            continue
        y = base - mark * scale
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 8, y + 4, short(mark), "end"))
    return f'<g class="grid">{"".join(parts)}</g>'


def _axis_names(x_label: str, y_label: str, base: float) -> str:
    middle = (TOP + base) / 2
    side = (
        f'<text x="14" y="{middle:.0f}" text-anchor="middle" class="name" '
        f'transform="rotate(-90 14 {middle:.0f})">{html.escape(y_label)}</text>'
    )
    below = html.escape(x_label)
    x = (LEFT + WIDTH - RIGHT) / 2
    return (
        side
        + f'<text x="{x:.0f}" y="{base + 34:.0f}" text-anchor="middle" class="name">{below}</text>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _svg(body: str, height: int, label: str) -> str:
    name = html.escape(label)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{name}">{body}</svg>'


def draw_heat_map(
    cells: Mapping[tuple[str, str], float],
    rows: Sequence[str],
    columns: Sequence[str],
    y_label: str,
    x_label: str,
    unit: str,
) -> str:
    """Draw numbers above 0 by row and column: the smaller, the stronger; each is written out."""
    height_of_row, top = 34, TOP + 14
    slot = (WIDTH - LEFT - RIGHT - 40) / max(len(columns), 1)
    left, base = LEFT + 40, top + height_of_row * len(rows)
    low, high = min(cells.values(), default=1.0), max(cells.values(), default=1.0)
    spread = math.log(high / low) or 1.0
    parts = []
    for i, row in enumerate(rows):
        y = top + i * height_of_row
        parts.append(_text(left - 8, y + height_of_row / 2 + 4, row, "end"))
        for j, column in enumerate(columns):
            value = cells.get((row, column))
            if value is None:
                continue
            x, strength = left + j * slot, 1 - math.log(value / low) / spread
            name = f"{row}, {column}: {value:.4g} {unit}"
            parts.append(
                f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{slot - 2:.1f}" '
                f'height="{height_of_row - 2}" fill="var(--push)" '
                f'fill-opacity="{0.08 + 0.72 * strength:.2f}"><title>{html.escape(name)}</title>'
                f"</rect>"
            )
            middle = x + slot / 2, y + height_of_row / 2 + 4
            parts.append(
                f'<text x="{middle[0]:.1f}" y="{middle[1]:.1f}" text-anchor="middle" '
                f'class="name">{value:.3g}</text>'
            )
    parts += [_text(left + (j + 0.5) * slot, base + 15, c, "middle") for j, c in enumerate(columns)]
    parts.append(_axis_names(x_label, y_label, base))
    return _svg("".join(parts), base + BOTTOM, f"{y_label} and {x_label}, {unit}")


def draw_ratios(names: Sequence[str], ratios: Sequence[float], notes: Sequence[str]) -> str:
    """Draw ratios from 1 on as bars side by side, one below another, each with a note."""
    row, left = 24, 190
    longest = max([*ratios, 1.0])
    scale = (WIDTH - left - 150) / math.log2(max(longest, 1.1))
    parts = []
    for i, (name, ratio, note) in enumerate(zip(names, ratios, notes, strict=True)):
        y, length = TOP + i * row, max(1.0, math.log2(max(ratio, 1.0)) * scale)
        parts.append(_text(left - 8, y + 15, name, "end"))
        parts.append(
            f'<rect x="{left}" y="{y + 3}" width="{length:.1f}" height="{row - 7}">'
            f"<title>{html.escape(f'{name}: {note}')}</title></rect>"
        )
        parts.append(
            f'<text x="{left + length + 6:.1f}" y="{y + 15}" class="name">{ratio:.2f}×</text>'
        )
    body = f'<g class="bars">{"".join(parts)}</g>'
    return _svg(body, TOP + row * len(names) + 8, "effects of the axes")
