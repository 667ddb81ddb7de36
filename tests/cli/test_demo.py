"""The page of the demo, and the whole job on small graphs."""

import re

import numpy as np
from typer.testing import CliRunner

import weft
from weft.cli import demo
from weft.report.histograms import histogram

ROW = demo.Measurement("social", 8, 2_000, "BFS", 12.0, 0.5, "3 levels <b>")


def test_speed_is_edges_over_time():
    assert ROW.cells[6] == "4.0"


def test_the_page_stands_alone_and_escapes_text():
    charts = {"a & b": histogram(np.array([0, 1]), "level")}
    text = demo.page([ROW], charts, {"processor": "<i>"})
    assert not re.search(r"https?://|src=|href=|@import|url\(", text)
    assert "3 levels &lt;b&gt;" in text
    assert "a &amp; b" in text and "&lt;i&gt;" in text
    assert text.count("<svg") == 1 + len(charts)


def test_the_drawing_shows_the_levels_of_weft_bfs():
    g = weft.generators.road(demo.SMALL_SIDE, keep=demo.SMALL_KEEP, seed=demo.SMALL_SEED)
    levels = weft.bfs(g, 0).level
    shown = re.findall(r"<title>vertex (\d+), level (\d+)</title>", demo.small_figure())
    assert {int(v): int(level) for v, level in shown} == {
        int(v): int(levels[v]) for v in np.flatnonzero(levels >= 0)
    }


def test_the_page_shows_the_program_that_ran():
    text = demo.page([ROW], {}, {})
    assert "<pre>import weft\n\n@weft.edge(" in text
    assert "mypy" not in text


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
    assert text.count('class="chart"') == 4
    assert text.count('class="graph"') == 1
    assert text.count('<td class="text">BFS</td>') == 2
    assert "144 vertices" in text
