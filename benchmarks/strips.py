"""Strips: a letter, or a coloured cell, for each superstep, by what assembled its frontier."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape

LETTERS = {"online": "o", "ballot": "B", "map": "m", "other": "."}
LEGEND = "o online, B ballot, m bitmap or bytemap, . other"
COLOURS = {"o": "#93c5fd", "B": "#1d4ed8", "m": "#d97706", ".": "#e5e7eb"}
LONG = 12  # equal letters in a row from here on are counted
CELL, HEIGHT, LABEL, MOST_WIDTH = 8, 18, 170, 800


def strip(records: Iterable[Any]) -> str:
    """Return the letters of the supersteps of a profile, those that visit edges.

    Examples
    --------
    >>> from types import SimpleNamespace as Record
    >>> strip(Record(direction="push", filter=f) for f in ("online", "ballot", "bytemap"))
    'oBm'
    """
    found = []
    for record in records:
        if record.direction != "vertex":
            name = "map" if record.filter in ("bitmap", "bytemap") else record.filter
            found.append(LETTERS.get(name, LETTERS["other"]))
    return "".join(found)


def short(letters: str) -> str:
    """Return letters with long stretches of one counted.

    Examples
    --------
    >>> short("oo" + 20 * "B" + "o")
    'oo B×20 o'
    """
    runs = [(letter, len(list(group))) for letter, group in itertools.groupby(letters)]
    return " ".join(f"{k}×{count}" if count >= LONG else k * count for k, count in runs)


def svg(strips: Mapping[str, str]) -> str:
    """Return the strips as an SVG image, one row each by name.

    Examples
    --------
    >>> svg({"bfs": "oB"}).count("<rect")
    2
    """
    longest = max((len(letters) for letters in strips.values()), default=1)
    cell = min(CELL, MOST_WIDTH / longest)
    width, height = LABEL + cell * longest + 10, HEIGHT * (len(strips) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        'font-family="sans-serif" font-size="11">'
    ]
    for row, (name, letters) in enumerate(strips.items()):
        y = HEIGHT * row
        parts.append(f'<text x="4" y="{y + 13}">{escape(name)}</text>')
        at = 0
        for letter, group in itertools.groupby(letters):
            count = len(list(group))
            parts.append(
                f'<rect x="{LABEL + at * cell:.2f}" y="{y + 3}" width="{count * cell:.2f}" '
                f'height="{HEIGHT - 6}" fill="{COLOURS[letter]}"/>'
            )
            at += count
    parts.append(f'<text x="4" y="{HEIGHT * len(strips) + 13}">{escape(LEGEND)}</text></svg>')
    return "\n".join(parts) + "\n"
