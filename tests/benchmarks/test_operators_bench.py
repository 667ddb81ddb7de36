"""The benchmark of operators compares programs that agree, and counts what heuristics leave."""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.format_lines import ROOMS, counted, cuda_lines_of
from benchmarks.operator_lines import lines_of
from benchmarks.operators import HEURISTICS, Bench, Stopwatch, duplicates, graphs, programs, runs_of

import weft
import weft.formats


def test_the_ways_to_search_and_to_rank_agree():
    bench = Bench("kron", weft.generators.rmat(6, 4, seed=1).to("reference"), None)
    want = bench.iterated()
    assert bench.by_operators().tolist() == bench.captured().tolist() == want.tolist()
    assert runs_of(bench.captured)[0] == 1 < runs_of(bench.by_operators)[0]
    rank = bench.rank_iterated(4)
    for recorded in (False, True):
        np.testing.assert_allclose(bench.rank_by_operators(4, recorded), rank, rtol=1e-12)


def test_heuristics_leave_at_least_what_an_exact_filter_leaves():
    bench = Bench("kron", weft.generators.rmat(6, 4, seed=1).to("reference"), None)
    (row,) = duplicates(bench, Stopwatch("cpu", None))
    factors = [float(cell.rstrip("×")) for cell in row[1 : len(HEURISTICS)]]
    assert min(factors) >= 1 and factors[0] == max(factors)
    level = np.asarray(bench.iterated())
    assert int(row[-2]) == (level > 0).sum() and int(row[-1]) == level.max() + 1


def test_a_budget_leaves_out_what_it_does_not_allow():
    bench = Bench("kron", weft.generators.rmat(6, 4, seed=1).to("reference"), None)
    assert programs(bench, Stopwatch("cpu", 0.0)) == []
    assert duplicates(bench, Stopwatch("cpu", 0.0)) == []
    bench = Bench("path", weft.generators.path(4).to("reference"), None)
    rows = programs(bench, Stopwatch("cpu", 1e6))
    assert [row[1] for row in rows] == ["BFS", "PageRank, an iteration"]


def test_each_family_of_graphs_is_there(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("0 1\n1 2\n")
    size = {"kron": 5, "points": 64, "road": 5, "planted": 64}
    made = [make() for make in graphs(size, "cpu").values()]
    assert len(made) == 4 and all(g.num_edges for g in made)
    own = graphs(size, "cpu", [str(path)])
    assert list(own) == ["own.txt"] and own["own.txt"]().num_edges == 2


def test_lines_of_schedules_and_formats_are_all_counted():
    formats = {row[0]: row[1:] for row in counted(ROOMS["format"], list(weft.formats.formats()))}
    for name in weft.formats.formats():
        assert any(name in found.split(", ") for found in formats)
    python = sum(lines_of(path.read_text()) for path in ROOMS["format"].rglob("*.py"))
    assert sum(row[0] for row in formats.values()) == python
    assert cuda_lines_of("// a comment\n\nint a; /* and\n another */\nint b;  // here\n") == 2
