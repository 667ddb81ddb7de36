"""The demo's charts and page, and the whole job on small graphs."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from weft.cli import demo

ROW = demo.Measurement("social", 8, 2_000, "BFS", 12.0, 0.5, "3 levels <b>")


def test_small_degrees_are_counted_one_by_one():
    chart = demo.degree_histogram("road", np.array([0, 1, 4, 4, 3]))
    assert dict(zip(chart.labels, chart.counts, strict=True)) == {
        "0": 1,
        "1": 1,
        "2": 0,
        "3": 1,
        "4": 2,
    }


def test_large_degrees_are_counted_by_powers_of_two():
    chart = demo.degree_histogram("social", np.array([0, 1, 2, 3, 4, 7, 8, 16]))
    assert chart.labels == ["0", "1", "2-3", "4-7", "8-15", "16-31"]
    assert chart.counts == [1, 1, 2, 2, 1, 1]
    assert chart.logarithmic


def test_levels_leave_out_what_was_not_reached():
    chart = demo.level_histogram("road", np.array([0, 1, 1, -1, 2]))
    assert chart.labels == ["0", "1", "2"]
    assert chart.counts == [1, 2, 1]


def test_many_levels_share_bars_and_none_is_lost():
    chart = demo.level_histogram("road", np.repeat(np.arange(1001), 3))
    assert len(chart.counts) <= demo.MAX_BARS
    assert sum(chart.counts) == 3003
    assert chart.labels[-1].endswith("1000")


@pytest.mark.parametrize("counts", [[], [0], [5], [1, 0, 1000]])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_a_chart_is_well_formed_svg_with_a_bar_per_count(counts, logarithmic):
    labels = [f"<{i}>" for i in range(len(counts))]
    chart = demo.Histogram("a & b", "x", "y", labels, counts, logarithmic)
    svg = ElementTree.fromstring(demo.bar_chart(chart))
    bars = svg.findall(".//rect")
    assert len(bars) == len(counts)
    assert all(0 <= float(bar.get("height")) <= 260 for bar in bars)


def test_speed_is_edges_over_time():
    assert ROW.cells[6] == "4.0"


def test_the_page_stands_alone_and_escapes_text():
    text = demo.page([ROW], [demo.level_histogram("road", np.array([0, 1]))])
    assert not re.search(r"https?://|src=|href=|@import|url\(", text)
    assert "3 levels &lt;b&gt;" in text
    assert text.count("<svg") == 1


def test_timed_calls_once_and_then_repeats():
    calls = []
    result, first_ms, median_ms = demo.timed(lambda: calls.append(1) or len(calls))
    assert result == len(calls) == 1 + demo.REPEATS
    assert first_ms >= 0
    assert median_ms >= 0


def test_the_whole_job_prints_a_table_and_writes_a_page(tmp_path):
    import typer

    app = typer.Typer()
    app.command()(demo.main)
    done = CliRunner().invoke(app, ["--scale", "7", "--side", "12", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    for word in ("social", "road", "PageRank", "BFS", "144", "levels"):
        assert word in done.output
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert text.count("<svg") == 4
    assert text.count("<tr>") == 5
