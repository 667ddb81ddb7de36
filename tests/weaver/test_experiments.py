"""The experiments at small sizes: every table, and the trends that do not depend on size."""

import re

import pytest

from benchmarks import weaver as experiments

BENCH = experiments.Bench(shrink=5, names=("G500", "WK"))


def numbers(text):
    return [float(word) for word in re.findall(r"-?\d+\.?\d*", text)]


@pytest.fixture(scope="module")
def tables():
    found = {}

    def rows(name):
        if name not in found:
            found[name] = experiments.EXPERIMENTS[name](BENCH)
        return found[name]

    return rows


EACH = [  # the emulation compiles a program for each schedule of T41
    pytest.param(name, marks=pytest.mark.slow) if name == "T41" else name
    for name in experiments.EXPERIMENTS
]


@pytest.mark.parametrize("name", EACH)
def test_every_experiment_gives_a_table(name, tables):
    rows = tables(name)
    assert rows and all(row.what and row.ours for row in rows)
    text = experiments.table(name, rows)
    assert text.count("\n| ") >= len(rows) + 1


def test_a_slower_dram_costs_cycles(tables):
    cycles = [numbers(row.ours) for row in tables("E3")]
    for schedule in range(3):
        column = [row[schedule] for row in cycles]
        assert column == sorted(column)


def test_read_ahead_hides_the_latency_of_the_tables(tables):
    with_it, without = tables("E4")[:5], tables("E4")[5:]
    assert numbers(with_it[-1].ours)[1] < numbers(without[-1].ours)[1]


def test_the_unit_beats_gathering_hardware():
    """On a graph that gives every core several rounds."""
    larger = experiments.Bench(shrink=2, names=("G500",))
    name, g = larger.first
    cycles = {s: larger.run(name, g, "pagerank", s).cycles for s in ("eghw", "weaver")}
    assert cycles["eghw"] > 2 * cycles["weaver"]


def test_runs_are_made_once(tables):
    tables("E7")
    before = BENCH.instructions
    experiments.e7(BENCH)
    assert BENCH.instructions == before
