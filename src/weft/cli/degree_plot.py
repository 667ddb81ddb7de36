"""Plots of degree distributions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import ConfigError, WeftError

COLOURS = ("#2563eb", "#d97706")
FEW = 32  # up to this largest degree, each degree has a bar


def plot_degrees(degrees: Mapping[str, Any], title: str, path: Path) -> None:
    """Plot the degree distribution: as bars, or with logarithmic axes for wide ranges."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise WeftError(
            "a plot needs matplotlib, which is not installed. Install it with the extra 'viz': "
            "pip install 'weft[viz]'."
        ) from error

    figure = Figure(figsize=(8, 5), layout="constrained")
    if path.suffix[1:] not in figure.canvas.get_supported_filetypes():
        raise ConfigError(
            f"a plot cannot be written to {str(path)!r}: its suffix is {path.suffix!r}. Expected "
            ".png, .svg or .pdf."
        )
    axes = figure.subplots()
    largest = max(int(values.max(initial=0)) for values in degrees.values())
    for place, (name, values) in enumerate(degrees.items()):
        counts = np.bincount(values)
        if largest <= FEW:
            width = 0.8 / len(degrees)
            shift = (place - (len(degrees) - 1) / 2) * width
            at = np.arange(len(counts)) + shift
            axes.bar(at, counts, width, color=COLOURS[place], label=name)
        else:
            _scatter(axes, counts, name, COLOURS[place])
    if largest <= FEW:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
    axes.set_xlabel("degree")
    axes.set_ylabel("vertices")
    axes.set_title(title, loc="left", fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e2e8f0", linewidth=0.8)
    axes.set_axisbelow(True)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        figure.legend(frameon=False, loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(path, dpi=150)


def _scatter(axes: Any, counts: Any, name: str, colour: str) -> None:
    """Draw a dot per degree, and a line for the number of vertices of at least that degree.

    A logarithmic axis cannot show vertices without edges; the legend counts them.
    """
    at = np.flatnonzero(counts[1:]) + 1
    zero = f" ({counts[0]:,} have 0)" if len(counts) and counts[0] else ""
    at_least = np.cumsum(counts[::-1])[::-1]
    dots = {"color": colour, "alpha": 0.4, "markersize": 4}
    axes.plot(at, counts[at], ".", label=f"exactly this {name}{zero}", **dots)
    axes.plot(at, at_least[at], color=colour, linewidth=1.5, label=f"this {name} or more")
