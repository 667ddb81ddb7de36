"""The headline chart, its data and the tables of README, RESULTS and landing page agree."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.gpu_report import AIMS

from benchmarks import headline

RESULTS = (headline.ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
DETAILS = RESULTS.split("<!-- /headline -->", 1)[1]
KEYS = {name: key for key, name in headline.TASKS.items()}


@pytest.fixture
def data():
    return headline.load()


@pytest.mark.parametrize("page", headline.PAGES, ids=lambda path: path.name)
def test_the_table_of_a_page_is_that_of_the_data(page, data):
    text = page.read_text(encoding="utf-8")
    assert headline.write_table(text, data, page) == text


def test_every_task_has_a_row_on_every_graph(data):
    graphs = [graph for device in data["devices"] for graph in headline.graphs_of(data, device)]
    assert graphs == ["kron21", "rmat24", "road4900", "kron18", "road1000"]
    places = [(row["graph"], row["task"]) for row in data["rows"]]
    assert sorted(places) == sorted((g, task) for g in graphs for task in headline.TASKS.values())


def test_gpu_peers_are_those_of_the_benchmark(data):
    for row in data["rows"]:
        if row["device"] == "GPU":
            aim = AIMS[KEYS[row["task"]], row["graph"]]
            assert (row["peer"], row["peer_ms"]) == (aim.who.rstrip("*") or None, aim.best)


def numbers_of(line):
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", line)}


def test_the_numbers_are_those_of_the_detailed_tables(data):
    gpu, cpu = DETAILS.split("\n## Algorithms on a CPU\n", 1)
    kron, road = cpu.split("\n## ", 1)[0].split("| road1000 |", 1)
    for row in data["rows"]:
        part = gpu if row["device"] == "GPU" else kron if row["graph"] == "kron18" else road
        line = next(line for line in part.splitlines() if line.startswith(f"| {row['task']}"))
        assert {row["weft_ms"], row["peer_ms"]} - {None} <= numbers_of(line)


def test_the_chart_is_drawn(data, tmp_path):
    path = tmp_path / "headline.svg"
    headline.draw(data, path)
    drawn = path.read_text(encoding="utf-8")
    for name in (*headline.TASKS.values(), "kron21", "GSWITCH", "NVIDIA H200"):
        assert name in drawn
    assert 0 < len(drawn) < 60_000
    assert 0 < headline.CHART.stat().st_size < 60_000


def test_the_command_draws_and_writes(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- headline -->\nold\n<!-- /headline -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr(headline, "PAGES", (page,))
    headline.main(["--chart", str(tmp_path / "chart.svg")])
    assert (tmp_path / "chart.svg").exists()
    assert "| BFS |" in page.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="expected one headline table"):
        headline.write_table("no table", headline.load(), page)


def test_new_runs_update_the_data(data, tmp_path):
    gpu = {
        "date": "2030-01-02",
        "rows": [{"task": "cores", "graph": "kron21", "ms": 50.1234}],
    }
    times = {"weft": 2.04, "scipy": 20.0, "igraph": 9.96}
    cpu = {
        "date": "2030-01-03",
        "rows": [
            {"task": "bfs", "graph": "kron18", "contestant": name, "median_ms": ms, "fault": None}
            for name, ms in times.items()
        ],
    }
    found = {(row["graph"], row["task"]): row for row in data["rows"]}
    before = found["rmat24", "core numbers"]["weft_ms"]
    headline.update(data, gpu, cpu)
    assert found["kron21", "core numbers"]["weft_ms"] == 50.1
    assert found["rmat24", "core numbers"]["weft_ms"] == before
    bfs = found["kron18", "BFS"]
    assert (bfs["weft_ms"], bfs["peer"], bfs["peer_ms"]) == (2.0, "igraph", 10.0)
    assert [facts["date"] for facts in data["devices"].values()] == ["2030-01-02", "2030-01-03"]
    headline.save(data, tmp_path / "data.json")
    assert headline.load(tmp_path / "data.json") == data
