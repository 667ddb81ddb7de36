"""The ablations' own parts: strips of filters, and the beliefs that runs are compared with."""

import doctest
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.ablation_bench import Bench
from benchmarks.gpu_checks import Arcs

import weft
from benchmarks import (
    ablation,
    beliefs,
    gpu_graphs,
    graph500,
    strips,
    tuner,
    tuner_nine,
    tuner_replay,
    wide_features,
)


def test_strips_by_their_examples():
    assert doctest.testmod(strips) == doctest.TestResults(0, 4)


def test_beliefs_and_cores_agree_with_what_they_are_compared_with():
    bench = Bench("kron6", "cpu", 60.0, 60.0)
    for task in ("bp", "k_core16"):
        assert bench.task(task).fault is None
    arcs = bench.workload.arcs
    assert isinstance(arcs, Arcs)
    np.testing.assert_allclose(beliefs.reference(arcs).sum(axis=1), 1)
    assert strips.strip(bench.filters("bfs")).strip("o") == ""


def test_the_table_of_pairs_has_means_and_what_is_missing():
    row = {
        "graph": "g", "task": "bfs", "best_ms": 1.0, "second_ms": 1.2, "worst_ms": 20.0,
        "best": "a", "second": "b", "worst": "c", "worst_stopped": True,
        "second_differs_in_format": True, "not_reached": 3,
    }  # fmt: skip
    text = tuner_nine.table([row, {"graph": "h", "task": "sssp", "not_reached": 9}])
    assert "| g | bfs | 1 | 1.20 | >20.0 | a | b | c |" in text
    assert "format in second place: 100%" in text and "h sssp: 9 not reached" in text
    assert len(tuner_nine.GRAPHS) == len(tuner_nine.TINY) == 9


def test_graph500_over_a_range_of_scales(tmp_path):
    figure, rows = tmp_path / "scales.svg", tmp_path / "rows.json"
    arguments = ["--device", "cpu", "--scales", "5", "6", "--json", str(rows)]
    assert graph500.main(arguments) == 0
    assert graph500.main(["--draw", str(rows), "--plot", str(figure)]) == 0
    assert figure.read_text().count("<circle") == 4
    found = json.loads(rows.read_text())
    assert [row["scale"] for row in found] == [5, 6] and "| 6 |" in graph500.table(found)


def test_graph500_searches_files_and_named_graphs(tmp_path, capsys):
    file = tmp_path / "ring.el"
    file.write_text("".join(f"{v} {(v + 1) % 32}\n" for v in range(32)))
    assert graph500.main(["--device", "cpu", "--graphs", "er4", "--file", str(file)]) == 0
    assert "| er4 | 4 |" in (told := capsys.readouterr().out) and "| ring.el | 5 | 32 |" in told


def test_the_nine_graphs_keep_to_the_budget(capsys):
    """Graphs for which no time is left are not even generated."""
    assert tuner_nine.main(["--device", "cpu", "--budget", "0"]) == 0
    assert capsys.readouterr().out.count("no time left") == 9


def test_wide_features_print_a_row_for_each_program(capsys, monkeypatch):
    monkeypatch.setattr(wide_features, "PROGRAMS", {"sum": wide_features.PROGRAMS["sum"]})
    monkeypatch.setattr(wide_features, "FEW", 1)
    monkeypatch.setattr(wide_features, "MANY", 2)
    arguments = ["--device", "cpu", "--graphs", "er5", "--widths", "4", "--runs", "1"]
    assert wide_features.main(arguments) == 0
    assert capsys.readouterr().out.count("| True |") == 1


def test_rows_without_time_are_counted_and_not_listed(capsys):
    row = {"graph": "g", "experiment": "combine", "name": "bfs push, by atomics", "ms": 2.0,
           "fault": None}  # fmt: skip
    ablation.report([row, {**row, "name": "sssp late", "ms": None, "fault": ablation.NO_TIME}])
    told = capsys.readouterr().out
    assert "by atomics" in told and "late" not in told
    assert "g, combine: no time left for 1 rows" in told


def test_pairs_are_compiled_before_they_are_measured(monkeypatch):
    said = []
    monkeypatch.setattr(tuner_replay, "every_config", lambda space: [weft.Config(schedule="edge")])
    workload = gpu_graphs.make("kron5", "emulated")
    ahead = tuner_nine.compile_pairs(workload, ["bfs"], 120.0, said.append)
    try:
        deadline = time.perf_counter() + 120.0
        row = tuner_nine.compare(workload, "bfs", deadline, tuner.Progress(), ahead)
    finally:
        ahead.close()
    assert said == ["1 programs compiled, 0 under way"]
    assert (row["timed"], row["not_reached"], row["errors"]) == (1, 0, [])


def test_a_small_table_of_pairs_is_whole(capsys):
    arguments = ["--device", "cpu", "--graphs", "kron6", "--tasks", "bfs", "--budget", "0.3"]
    assert tuner_nine.main(arguments) == 0
    assert "kron6 bfs: " in capsys.readouterr().out  # how many were not reached
