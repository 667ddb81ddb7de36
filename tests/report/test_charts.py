"""Histograms, charts and drawings: every value is counted, and the SVG is well-formed."""

import xml.etree.ElementTree as xml

import numpy as np
import pytest

from weft.report.charts import draw_bars, draw_heat_map, draw_ratios, draw_steps
from weft.report.drawing import draw_levels, level_legend
from weft.report.histograms import MAX_BARS, Bars, histogram, ticks


def test_a_small_range_of_integers_gets_a_bar_each():
    bars = histogram(np.array([0, 1, 4, 4, 3]), "degree")
    assert bars.labels == ["0", "1", "2", "3", "4"]
    assert bars.counts == [1, 1, 0, 1, 2]
    assert not bars.logarithmic


def test_skewed_integers_are_counted_by_powers_of_two():
    bars = histogram(np.array([0, 1, 1, 2, 3, 4, 7, 8, 200]), "degree")
    assert bars.labels[:5] == ["0", "1", "2 – 3", "4 – 7", "8 – 15"]
    assert bars.labels[-1] == "128 – 255"
    assert bars.counts == [1, 2, 2, 2, 1, 0, 0, 0, 1]
    assert bars.logarithmic


@pytest.mark.parametrize("last", [60, 99, 100, 993, 1000, 12_345])
def test_a_wide_range_of_integers_gets_round_bins(last):
    bars = histogram(np.repeat(np.arange(last + 1), 3), "level")
    assert 2 <= len(bars.counts) <= MAX_BARS
    assert sum(bars.counts) == 3 * (last + 1)
    assert len(set(bars.counts[:-1])) == 1
    for label, after in zip(bars.labels, bars.labels[1:], strict=False):
        ends = [int(end.replace(",", "")) for end in f"{label} – {after}".split(" – ")]
        assert ends[1] + 1 == ends[2]


def test_values_that_differ_by_rounding_share_a_bar():
    bars = histogram(np.array([0.1 + 0.2, 0.3]), "rank")
    assert (bars.labels, bars.counts) == (["0.3"], [2])


def test_bins_of_close_values_have_different_names():
    bars = histogram(1 + np.linspace(0, 1e-7, 100), "rank")
    assert len(set(bars.labels)) == len(bars.labels) > 10


@pytest.mark.parametrize("counts", [[], [0], [5], [1, 0, 1000], [10**7] * 40])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_bars_have_heights_within_the_chart(counts, logarithmic):
    labels = [f"<{i}>" for i in range(len(counts))]
    svg = xml.fromstring(draw_bars(Bars(labels, counts, "a & b", "y", logarithmic)))
    bars = svg.findall("rect")
    assert len(bars) == len(counts)
    for bar, count in zip(bars, counts, strict=True):
        assert (float(bar.get("height")) > 0) == (count > 0)
        assert 0 <= float(bar.get("y")) <= float(svg.get("height"))


def test_names_of_bars_leave_room_for_each_other():
    labels = [f"{i / 1e6:.6f} – {(i + 1) / 1e6:.6f}" for i in range(40)]
    svg = xml.fromstring(draw_bars(Bars(labels, [1] * 40, "x")))
    names = [text.text for text in svg.findall("text") if text.text in {x[:8] for x in labels}]
    assert 2 <= len(names) <= 6


@pytest.mark.parametrize(
    "values",
    [
        np.array([3]),
        np.arange(10),
        np.array([0, 0, 1, 10_000]),
        np.array([0.0, 1e-9, 1e-3, 1.0]),
        np.random.default_rng(1).normal(size=1000),
        np.full(5, 0.25),
        np.array([-5, 2**40]),
    ],
)
def test_histograms_hold_every_value(values):
    bars = histogram(values, "x")
    assert sum(bars.counts) == len(values) and len(bars.labels) == len(bars.counts)
    xml.fromstring(draw_bars(bars))


@pytest.mark.parametrize("count", [1, 2, 3, 17, 5000])
def test_steps_are_drawn(count):
    values = [float(i % 7) for i in range(count)]
    drawn = xml.fromstring(draw_steps(values, ["push"] * count, "edges", "superstep"))
    assert 1 <= len(drawn.findall(".//circle")) <= 2000


def test_labels_cannot_break_out_of_a_chart():
    assert "<b>" not in draw_bars(Bars(["<b>"], [1], "<b>", "<b>"))


@pytest.mark.parametrize("high", [1e-9, 0.3, 1, 7, 99, 12345.6, 3e12])
def test_ticks_are_few_and_reach_the_top(high):
    marks = ticks(0, high)
    assert marks[0] == 0 and marks[-1] >= high * (1 - 1e-9) and 2 <= len(marks) <= 7


def test_a_heat_map_and_ratios_are_well_formed():
    cells = {("a", "x"): 1.0, ("<b>", "x"): 2.0, ("a", "y"): 4.0}
    svg = xml.fromstring(draw_heat_map(cells, ["a", "<b>"], ["x", "y"], "down", "across", "ms"))
    assert len(svg.findall("rect")) == 3
    svg = xml.fromstring(draw_ratios(["<a>", "b"], [4.0, 1.0], ["x", "y"]))
    widths = [float(bar.get("width").rstrip("%")) for bar in svg.findall("rect")]
    assert 0 < widths[1] < widths[0] < 100


def test_a_drawing_shows_every_vertex_edge_and_level():
    places = [(0, 0), (1, 0), (0, 1), (1, 1)]
    svg = xml.fromstring(draw_levels(places, [(0, 1), (0, 2), (2, 1)], [0, 1, 1, -1]))
    assert [text.text for text in svg.findall("text")] == ["0", "1", "1"]
    assert len(svg.findall("circle")) == 4
    names = [circle.find("title").text for circle in svg.findall("circle")]
    assert names[2:] == ["vertex 2, level 1", "vertex 3, not reached"]
    coloured = [line.get("style") is not None for line in svg.findall("line")]
    assert coloured == [True, True, False]
    assert level_legend(1).count("<i ") == 2
