"""A plugin of pytest: tests of NetworkX that weft is expected not to pass, each with the reason."""

import pytest

LAST_BIT = "two sums in another order differ in the last bit, and the test compares with =="
TIES = "the test wants NetworkX's choice among equally short paths"
SNAPSHOT = "weft has ordered the graph before the test changes it under NetworkX's generator"
DICE = "weft draws other random numbers, and the test wants those of one seed"

DIFFERENCES = {
    "test_betweenness_centrality_subset.py::test_equivalence_non_subset": LAST_BIT,
    "test_cycles.py::TestMinimumCycleBasis::test_weighted_diamond": TIES,
    "test_cycles.py::TestMinimumCycleBasis::test_gh6787_and_edge_attribute_names": TIES,
    "test_dag.py::TestDAG::test_topological_sort6": SNAPSHOT,
    "test_mis.py::test_random_seed": DICE,
}


def pytest_collection_modifyitems(items):
    for item in items:
        for ending, reason in DIFFERENCES.items():
            if item.nodeid.endswith(ending):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
