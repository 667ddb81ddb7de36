"""Every case of every algorithm: awkward and random graphs, threads, wide ids, the emulation.

Awkward graphs come in many kinds, each with kernels of its own; what can be evaluated without them
is. Random graphs and threads run compiled kernels. The emulation runs a sample, and all as slow
tests.
"""

import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from library import cases
from networks import wide

NAMES = sorted(cases())
EMULATED = [
    pytest.param(name, marks=() if place % 6 == 0 else pytest.mark.slow)
    for place, name in enumerate(NAMES)
]


@pytest.mark.parametrize("name", NAMES)
def test_awkward_graphs(name, monkeypatch):
    monkeypatch.setenv("WEFT_EVALUATE", "on")
    case, wrong = cases()[name], {}
    for graph, make in AWKWARD.items():
        g = make()
        if case.takes(graph, g):
            try:
                case.run(g)
            except AssertionError as error:
                wrong[graph] = str(error)
    assert not wrong


@pytest.mark.parametrize("name", NAMES)
def test_random_graphs(name):
    case = cases()[name]
    drawn = graphs(
        min_vertices=case.least, index_dtype=None, weights=case.weights, directed=case.directed
    )

    @given(drawn)
    @settings(max_examples=20)
    def test(g):
        case.run(g)

    test()


@pytest.mark.parametrize("name", NAMES)
def test_several_threads(name):
    case = cases()[name]
    for graph in ("social", "social undirected", "road"):
        g = AWKWARD[graph]()
        if case.takes(graph, g):
            case.run(g, config=weft.Config(threads=3))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_deterministic_runs(name):
    case = cases()[name]
    for graph in ("social", "social undirected"):
        g = AWKWARD[graph]()
        if case.takes(graph, g):
            case.run(g, config=weft.Config(deterministic=True, threads=2))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_wide_ids(name):
    case = cases()[name]
    for graph in ("social", "two cliques"):
        g = wide(AWKWARD[graph]())
        if case.takes(graph, g):
            case.run(g)


@pytest.mark.parametrize("name", EMULATED)
def test_in_the_emulation(name):
    case = cases()[name]
    for graph in ("disconnected", "two cliques", "weights of int64 ids"):
        g = AWKWARD[graph]()
        if case.takes(graph, g):
            case.run(g, "emulated")
