"""Every function gives what NetworkX gives: values, types, order of keys, exceptions."""

import inspect
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, ValuesView

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from networkx.utils.backends import _registered_algorithms
from scipy.sparse import issparse

import networkx_calls as calls
from weft.networkx.metadata import FUNCTIONS

GRAPHS = calls.graphs()

# The order of sets, and what is chosen at random, is nobody's promise.
UNORDERED = {
    "harmonic_centrality", "bipartite_degree_centrality", "bipartite_closeness_centrality",
    "voronoi_cells", "greedy_color", "generalized_degree", "floyd_warshall",
    "floyd_warshall_predecessor_and_distance",
}  # fmt: skip
# Equal paths: the same lengths, along other nodes.
TIES = {"bidirectional_dijkstra", "bellman_ford_path", "single_source_bellman_ford",
        "single_source_bellman_ford_path", "all_pairs_bellman_ford_path",
        "single_source_bellman_ford_path_length", "all_pairs_bellman_ford_path_length"}  # fmt: skip
# Lists of sets, or in the order of sets.
LISTS_OF_SETS = {"bfs_layers", "edge_boundary", "all_triangles",
                 "kosaraju_strongly_connected_components"}  # fmt: skip
RANDOM = {"maximal_independent_set"}
# Partitions by other random numbers; NetworkX has no method of Leiden at all.
PARTITIONS = {"asyn_lpa_communities", "fast_label_propagation_communities",
              "leiden_communities", "leiden_partitions"}  # fmt: skip


def public(name):
    """Return a function of NetworkX by its dispatch name, with its checks around it."""
    function = inspect.unwrap(_registered_algorithms[name])
    function = getattr(function, "orig_func", function)
    return getattr(sys.modules[function.__module__], function.__name__)


def outcome(function, args, kwargs, backend):
    """Return what a call returns, or the exception that it raises."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = function(*args, backend=backend, **kwargs)
            return list(found) if isinstance(found, Iterator) else found
    except Exception as error:
        return error


def same(ours, theirs, ordered=True):
    """Whether two results are equal: exactly, but for the last digits of floats."""
    if isinstance(theirs, nx.Graph):
        return ours.__class__ is theirs.__class__ and nx.utils.graphs_equal(ours, theirs)
    if issparse(theirs) or isinstance(theirs, np.ndarray):
        if type(ours) is not type(theirs) or ours.shape != theirs.shape:
            return False
        if issparse(theirs):
            ours, theirs = ours.toarray(), theirs.toarray()
        return ours.dtype.kind == theirs.dtype.kind and np.allclose(
            np.sort_complex(ours.ravel()) if ours.dtype.kind == "c" else ours,
            np.sort_complex(theirs.ravel()) if ours.dtype.kind == "c" else theirs,
            equal_nan=True,
        )
    if isinstance(theirs, pd.DataFrame):
        pd.testing.assert_frame_equal(ours, theirs, check_like=True)
        return True
    if isinstance(theirs, Mapping):
        in_order = not ordered or list(ours) == list(theirs)
        return (
            in_order
            and ours.keys() == theirs.keys()
            and all(same(ours[key], theirs[key], ordered) for key in theirs)
        )
    if isinstance(theirs, list | tuple):
        if type(ours) is not type(theirs) or len(ours) != len(theirs):
            return False
        return all(same(a, b, ordered) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, ValuesView):
        return isinstance(ours, ValuesView) and list(ours) == list(theirs)
    if isinstance(theirs, float) and isinstance(ours, int | float):
        return math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-9) or (
            math.isnan(ours) and math.isnan(theirs)
        )
    return type(ours) is type(theirs) and ours == theirs


def check(name, graph):
    """Compare one call; return whether weft served it."""
    function = public(name)
    args, kwargs = calls.call(name, graph)
    theirs = outcome(function, args, kwargs, "networkx")
    ours = outcome(function, args, kwargs, "weft")
    if isinstance(ours, NotImplementedError) and not isinstance(ours, nx.NetworkXException):
        return False
    if isinstance(theirs, Exception) and not isinstance(theirs, NotImplementedError):
        assert isinstance(ours, type(theirs)), (ours, theirs)
        return True
    assert not isinstance(ours, Exception), repr(ours)
    if name in PARTITIONS:
        for found in ours if name == "leiden_partitions" else [ours]:
            assert nx.community.is_partition(graph, found), found
    elif name in RANDOM:
        assert nx.is_dominating_set(graph, ours)
        assert not graph.subgraph(ours).edges
    elif name == "hits":
        assert leads(graph, *ours), (ours, theirs)
    elif name in TIES:
        assert same_ends(ours, theirs), (ours, theirs)
    else:
        if name in LISTS_OF_SETS:
            ours, theirs = (
                [sorted(map(str, x)) for x in ours],
                [sorted(map(str, x)) for x in theirs],
            )
            ours, theirs = sorted(ours), sorted(theirs)
        assert same(ours, theirs, ordered=name not in UNORDERED), (ours, theirs)
    return True


def leads(graph, hubs, authorities):
    """Whether authorities are a leading right singular vector, and hubs what it leads to.

    Where several singular values are the largest any mixture of their vectors is right, and ARPACK
    starts some of its searches at random: NetworkX does not agree with itself on such graphs.
    """
    assert list(hubs) == list(authorities) == list(graph)
    matrix = nx.to_numpy_array(graph)
    largest = np.linalg.norm(matrix, 2)
    if largest == 0:
        return True
    right, left = (np.array(list(scores.values())) for scores in (authorities, hubs))
    image = matrix @ right
    turned = abs(image @ left) / np.linalg.norm(left)
    return np.allclose([np.linalg.norm(image), turned], largest * np.linalg.norm(right), rtol=1e-6)


def same_ends(ours, theirs):
    """Whether distances are equal, and paths have the same ends."""
    if isinstance(theirs, Mapping):
        return ours.keys() == theirs.keys() and all(same_ends(ours[k], theirs[k]) for k in theirs)
    if isinstance(theirs, tuple):  # of distances and paths
        return all(same_ends(a, b) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], tuple):  # from every node
        return all(same_ends(dict([a]), dict([b])) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, list) and theirs:
        return (ours[0], ours[-1]) == (theirs[0], theirs[-1])
    return same(ours, theirs, ordered=False)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_function_gives_the_result_of_networkx(name):
    served = [check(name, graph) for graph in GRAPHS.values()]
    assert sum(served) >= 2, f"{name} is served for {sum(served)} of the graphs"


ENGINE = [
    "single_source_shortest_path_length", "single_target_shortest_path_length",
    "single_source_dijkstra_path_length", "single_source_dijkstra_path", "connected_components",
    "weakly_connected_components", "is_tree", "closeness_centrality", "eccentricity",
    "number_connected_components", "descendants", "ancestors", "is_strongly_connected",
    "single_source_bellman_ford_path_length", "wiener_index", "harmonic_centrality",
]  # fmt: skip


@pytest.mark.parametrize("name", ENGINE)
def test_the_engine_gives_the_same(name, monkeypatch):
    monkeypatch.setattr(nx.config.backends.weft, "engine_entries", 0)
    function = public(name)
    for graph in calls.graphs().values():
        args, kwargs = calls.call(name, graph)
        theirs = outcome(function, args, kwargs, "networkx")
        ours = outcome(function, args, kwargs, "weft")
        if isinstance(theirs, Exception):
            assert isinstance(ours, type(theirs)), (ours, theirs)
        elif name == "single_source_dijkstra_path":
            assert {k: (v[0], v[-1]) for k, v in ours.items()} == {
                k: (v[0], v[-1]) for k, v in theirs.items()
            }
        else:
            assert same(ours, theirs, ordered=False), (ours, theirs)
