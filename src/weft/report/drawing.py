"""Drawings of small graphs as inline SVG, coloured by BFS level."""

from __future__ import annotations

from collections.abc import Sequence

UNIT, RADIUS = 40, 14  # distance of neighbouring places and size of a vertex, in pixels

# Colours of BFS levels from the source outwards; all stand out on light and on dark paper.
RAMP = ((245, 158, 11), (225, 29, 72), (124, 58, 237), (37, 99, 235))


def level_colour(level: int, last: int) -> tuple[str, str]:
    """Return the colour of a BFS level, and one for text on it, as CSS.

    Examples
    --------
    >>> level_colour(0, 9), level_colour(9, 9)
    (('rgb(245 158 11)', '#1e293b'), ('rgb(37 99 235)', '#ffffff'))
    """
    at = level / max(last, 1) * (len(RAMP) - 1)
    first = min(int(at), len(RAMP) - 2)
    pairs = zip(*RAMP[first : first + 2], strict=True)
    red, green, blue = (round(a + (b - a) * (at - first)) for a, b in pairs)
    is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 140
    return f"rgb({red} {green} {blue})", "#1e293b" if is_light else "#ffffff"


def draw_levels(
    places: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    levels: Sequence[int],
) -> str:
    """Draw a graph with its BFS levels; -1 stands for vertices that were not reached.

    Parameters
    ----------
    places : sequence of (float, float)
        The place of each vertex, from (0, 0) at the top left in steps of about 1.
    edges : sequence of (int, int)
        The ends of each edge; an edge between levels has the colour of the later one.
    levels : sequence of int
        The level of each vertex.
    """
    last = max(levels)
    at = [(UNIT * (x + 0.5), UNIT * (y + 0.5)) for x, y in places]
    parts = []
    for u, v in edges:
        colour, _ = level_colour(max(levels[u], levels[v]), last)
        style = f' style="stroke: {colour}"' if levels[u] != levels[v] else ""
        (x1, y1), (x2, y2) = at[u], at[v]
        parts.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"{style}/>')
    for v, ((x, y), level) in enumerate(zip(at, levels, strict=True)):
        dot = f'circle cx="{x:g}" cy="{y:g}" r="{RADIUS}"'
        if level < 0:
            parts.append(f"<{dot}><title>vertex {v}, not reached</title></circle>")
            continue
        colour, ink = level_colour(level, last)
        name = f"<title>vertex {v}, level {level}</title>"
        parts.append(f'<{dot} style="fill: {colour}">{name}</circle>')
        parts.append(f'<text x="{x:g}" y="{y + 4.5:g}" style="fill: {ink}">{level}</text>')
    width, height = (UNIT * (max(values) + 1) for values in zip(*places, strict=True))
    return (
        f'<svg class="graph" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="graph coloured by BFS level">{"".join(parts)}</svg>'
    )


def level_legend(last: int) -> str:
    """Return the legend of `draw_levels`: a swatch for each level and for unreached vertices."""
    swatches = "".join(
        f'<i style="background: {level_colour(level, last)[0]}" title="level {level}"></i>'
        for level in range(last + 1)
    )
    return (
        f'<div class="legend"><span>BFS level&ensp;0</span><span class="swatches">{swatches}</span>'
        f'<span>{last}</span><span class="unreached">not reached</span></div>'
    )
