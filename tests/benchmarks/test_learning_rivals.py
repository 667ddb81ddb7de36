"""The rivals of the learning benchmark compute the formulas, and its report adds up."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

import dense
import weft
from benchmarks import learning, learning_hand, learning_report, learning_tasks
from weft.backends.cuda.drivers import driver_of

ROWS = Path(learning.__file__).with_suffix(".json")


@pytest.fixture
def g():
    g = weft.generators.tree(2, 2)
    g.edge["weight"] = np.arange(1, g.num_edges + 1, dtype=np.float32)
    return g


CLOSE = {"rtol": 1e-4, "atol": 1e-6}


def test_propagation(g):
    task = learning.Task("LP", g, 3)
    want, _ = dense.label_propagation(g, task.data.x, learning_tasks.ALPHA, "weight", (), 0, 5)
    np.testing.assert_allclose(task.rival("arrays")(5), want, **CLOSE)
    task = learning.Task("MMR", g, 3)
    want, _ = dense.manifold_ranking(g, task.data.x, learning_tasks.ALPHA, "near", 0, 5)
    np.testing.assert_allclose(task.rival("arrays")(5), want, **CLOSE)
    task = learning.Task("MML", g, 3)
    want, _ = dense.multimodal(g, task.data.x, task.mixture, "by", 0, 5)
    np.testing.assert_allclose(task.rival("arrays")(5), want, **CLOSE)


def test_beliefs(g):
    task = learning.Task("BP", g, 2)
    want = dense.brute_force_marginals(g, task.data.x.astype(float), [task.psi] * g.num_edges)
    np.testing.assert_allclose(task.rival("arrays")(8), want, **CLOSE)


def test_factors(g):
    task = learning.Task("ALS", g, 2)
    src, dst, weight = dense.arcs(task.g)
    ratings, rated = np.zeros((2, 14, 14))
    np.add.at(ratings, (src, dst), weight)
    np.add.at(rated, (src, dst), 1)
    want = task.data.x.astype(float)
    for _ in range(2):
        want = dense.als_sweep(ratings, rated, want, task.users, learning_tasks.RIDGE)
    rated_ones = rated.sum(axis=1) > 0
    found = task.rival("arrays")(2)
    np.testing.assert_allclose(found[rated_ones], want[rated_ones], rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize(("name", "kind", "k"), [("LP", "kron", 8), ("BP", "kron", 4),
                                                 ("BP", "road", 4)])  # fmt: skip
def test_hand_written_kernels(monkeypatch, name, kind, k):
    for what, few in (("CUT", 24), ("PIECE", 20), ("BLOCKS", 1), ("LONG", 4)):
        monkeypatch.setattr(learning_hand, what, few)
    monkeypatch.setattr(learning_tasks, "SKEWED", 20)
    task = learning.Task(name, learning_tasks.make_graph(kind, 6, "emulated"), k)
    by_hand = learning_hand.ByHand(task, driver_of("emulated", 0))
    assert (by_hand.cut.size > 0) == (kind == "kron")
    np.testing.assert_allclose(by_hand(3), task.rival("arrays")(3), rtol=1e-3, atol=1e-6)


def test_report():
    def row(graph, task, variant, ms=None, **others):
        return learning_report.Row("k = 4", graph, task, 4, variant, ms, **others)

    rows = [row("kron", "LP", "weft", 2.0), row("kron", "LP", "CuPy", 8.0, gbytes_per_s=25.0),
            row("road", "LP", "weft", 1.0), row("road", "LP", "CuPy", 1.0, agrees=False),
            row("road", "BP", "CuPy", error="MemoryError: none")]  # fmt: skip
    report = learning_report.Report("cuda", rows)
    assert learning_report.means(report, lambda r: True) == {"CuPy": 2.0}
    text = [learning_report.line(r, report) for r in rows]
    assert "4.00x" in text[1] and "MemoryError" in text[-1]
    assert "CuPy 2.0x" in learning_report.summary(report)


def test_plan():
    groups = learning.plan(["kron", "road"], list(learning_tasks.TASKS), [16, 128])
    assert len(set(groups)) == len(groups)
    sections = {"k = 4", "widths", "folding", "modes", "factors"}
    assert {group.section for group in groups} == sections
    assert max(group.k for group in groups if group.task == "ALS") == 16
    table = learning.table([*learning.GRAPHS, *learning.MORE], list(learning_tasks.TASKS))
    assert len({(group.graph, group.task) for group in table}) == 6 * 5


def test_rows_of_earlier_runs_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    drawn = []
    for name in ("one.svg", "other.svg"):
        report = learning_report.read([str(ROWS)])
        learning_report.plot(report, str(tmp_path / name))
        drawn.append((tmp_path / name).read_text(encoding="utf-8"))
    assert drawn[0] == drawn[1] and "CuPy over weft" in drawn[0] and "weft blind" in drawn[0]


def test_the_later_of_two_measurements_counts(tmp_path):
    row = {"section": "widths", "graph": "kron", "task": "LP", "k": 8, "variant": "weft"}
    for name, ms in (("old", 2.0), ("new", 1.0)):
        held = {"device": "cuda", "skipped": [], "rows": [{**row, "ms": ms}]}
        (tmp_path / name).write_text(json.dumps(held), encoding="utf-8")
    (kept,) = learning_report.read([str(tmp_path / "old"), str(tmp_path / "new")]).rows
    assert kept.ms == 1.0


def test_the_table_of_all_ways_shows_what_both_gain():
    rows = [
        learning_report.Row(learning_report.TABLE, "er", "LP", 4, way, ms=ms, unit="run")
        for way, ms in zip(learning_report.WAYS, (4.0, 2.0, 9.0, None), strict=True)
    ]
    text = learning_report.ways(learning_report.Report("cuda", rows))
    assert "| er | LP | 4 | 2 | 9 | – | 4.50 × |" in text
    assert learning_report.ways(learning_report.Report("cuda", [])) == ""
