"""Histograms: bins that suit the values, and how many values fall into each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

MAX_BARS = 60
SKEWED = 50.0  # bins grow once the largest value exceeds this many medians
DASH = "–"  # between the ends of a bin; a label without it names a single value

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Bars:
    """A bar chart: one count per label, on a linear or a logarithmic axis."""

    labels: Sequence[str]
    counts: Sequence[int]
    x_label: str
    y_label: str = "vertices"
    logarithmic: bool = False


def histogram(values: Values, x_label: str, y_label: str = "vertices") -> Bars:
    """Count values in bins.

    A small range of integers gets one bar per integer. Non-negative values that span orders of
    magnitude get bins that grow by powers of two, and logarithmic counts. All others get bins of
    one width between round numbers.

    Examples
    --------
    >>> bars = histogram(np.array([0, 1, 1, 3]), "degree")
    >>> bars.labels, bars.counts
    (['0', '1', '2', '3'], [1, 2, 0, 1])
    """
    values = np.asarray(values)
    whole = values.dtype.kind in "iub"
    low, high = values.min(), values.max()
    if whole and int(high) - int(low) < MAX_BARS:
        counts = np.bincount(values.astype(np.int64) - int(low)).tolist()
        labels = [f"{int(low) + i:,}" for i in range(len(counts))]
        return Bars(labels, counts, x_label, y_label)
    positive = values[values > 0]
    if len(positive) and low >= 0 and high > SKEWED * float(np.median(positive)):
        labels, counts = _growing_bins(values, positive, whole)
        return Bars(labels, counts, f"{x_label} (log scale)", f"{y_label} (log scale)", True)
    labels, counts, width = _equal_bins(values, float(low), float(high), whole)
    note = f" ({width} per bar)" if whole else ""
    return Bars(labels, counts, x_label + note, y_label)


def _growing_bins(values: Values, positive: Values, whole: bool) -> tuple[list[str], list[int]]:
    first = math.floor(math.log2(float(positive.min())))
    last = math.floor(math.log2(float(positive.max()))) + 1
    step = max(1, -(-(last - first) // (MAX_BARS // 2)))
    edges = [2.0**k for k in range(first, last + step, step)]
    counts = np.histogram(positive, bins=edges)[0].tolist()
    labels = [_bin_label(a, b, whole, 3) for a, b in pairwise(edges)]
    zeros = len(values) - len(positive)
    return (["0", *labels], [zeros, *counts]) if zeros else (labels, counts)


def _equal_bins(
    values: Values, low: float, high: float, whole: bool
) -> tuple[list[str], list[int], str]:
    step = round_step((high - low) / (2 * MAX_BARS // 3), whole)
    largest = max(abs(low), abs(high))
    if step <= 1e-12 * largest:  # the values differ by rounding errors only
        return [f"{low:.4g}"], [len(values)], "all"
    start = math.floor(low / step)
    # The last bin of np.histogram includes its upper end; that of integers must not.
    stop = math.floor(high / step) + 1
    edges = [k * step for k in range(start, stop + 1)]
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    counts = np.histogram(values, bins=edges)[0].tolist()
    digits = max(4, math.ceil(math.log10(largest / step)) + 1)
    labels = [_bin_label(a, b, whole, digits) for a, b in pairwise(edges)]
    return labels, counts, f"{step:,.0f}"


def _bin_label(low: float, high: float, whole: bool, digits: int) -> str:
    if not whole:
        return f"{low:.{digits}g} {DASH} {high:.{digits}g}"
    first, last = int(low), int(high) - 1
    return f"{first:,}" if first == last else f"{first:,} {DASH} {last:,}"


def round_step(least: float, whole: bool = False) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `least`.

    Examples
    --------
    >>> round_step(24.8, whole=True), round_step(0.03)
    (25.0, 0.05)
    """
    least = max(least, 1.0 if whole else 1e-300)
    power = 10.0 ** math.floor(math.log10(least))
    steps = (m * power for m in (1, 2, 2.5, 5, 10))
    return next(s for s in steps if s >= least * (1 - 1e-9) and not (whole and s % 1))


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Return round numbers from `low` to the first one at or above `high`.

    Examples
    --------
    >>> ticks(0, 870)
    [0, 250, 500, 750, 1000]
    """
    step = round_step(max(high - low, 1e-12) / about)
    count = math.ceil((high - low) / step - 1e-9)
    found = [low + i * step for i in range(count + 1)]
    return [int(value) if value == int(value) else value for value in found]


def short(value: float) -> str:
    """Return a number for an axis.

    Examples
    --------
    >>> [short(v) for v in (0, 250, 12_500, 3e6, 0.05)]
    ['0', '250', '12,500', '3M', '0.05']
    """
    for power, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= power:
            return f"{value / power:.4g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.4g}"
