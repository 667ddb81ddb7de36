"""Every case of every algorithm on the device: awkward and random graphs."""

import pytest
from hypothesis import given, settings

from graphs import AWKWARD, graphs
from library import cases
from networks import wide

pytestmark = pytest.mark.cuda
NAMES = sorted(cases())


@pytest.mark.parametrize("name", NAMES)
def test_awkward_graphs(device, name):
    case, wrong = cases()[name], {}
    for graph, make in AWKWARD.items():
        g = make()
        if case.takes(graph, g):
            try:
                case.run(g, device)
            except AssertionError as error:
                wrong[graph] = str(error)
    assert not wrong


@pytest.mark.parametrize("name", NAMES)
def test_random_graphs(device, sized, name):
    case = cases()[name]
    drawn = graphs(
        min_vertices=case.least, index_dtype=None, weights=case.weights, directed=case.directed
    )

    @given(drawn)
    @settings(max_examples=sized(20, 4))
    def test(g):
        case.run(g, device)

    test()


@pytest.mark.parametrize("name", NAMES)
def test_wide_ids(device, name):
    case, g = cases()[name], wide(AWKWARD["two cliques"]())
    if case.takes("two cliques", g):
        case.run(g, device)
