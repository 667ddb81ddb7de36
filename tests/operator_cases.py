"""Graphs and frontiers for tests of operators, and their arcs as plain arrays."""

import numpy as np
import pytest
from hypothesis import strategies as st

import weft
from graphs import edge_lists
from weft.operators import Queue

# Of one signature, so that every program is compiled once.
LISTS = edge_lists(weights="int", min_vertices=1, directed=True, max_edges=30)
on_devices = pytest.mark.parametrize("device", ["cpu", "reference"])
KINDS = ("all", "empty", "mask", "list", "queue")


@st.composite
def cases(draw):
    """Draw edges, the members of a frontier and the form that it is passed in."""
    edges = draw(LISTS)
    n = edges.num_vertices
    kind = draw(st.sampled_from(KINDS))
    members = [] if kind == "empty" else draw(st.lists(st.integers(0, n - 1), max_size=9))
    return edges, (list(range(n)) if kind == "all" else members), kind


def passed(g, members, kind):
    """Return members as an operator is given them."""
    if kind == "all":
        return None
    if kind == "queue":
        return Queue(g, members)
    if kind == "mask":
        return np.isin(np.arange(g.num_vertices), members)
    return g.frontier(members) if kind == "list" else members


def arcs_of(g):
    """Return sources, targets and weights of all arcs of a directed graph."""
    src, dst, weight = g.to_edges()
    return (np.asarray(x).astype(np.int64) for x in (src, dst, weight))


AWKWARD = {
    "empty": ([], [], 0),
    "one vertex": ([], [], 1),
    "self-loop": ([0], [0], 1),
    "parallel": ([0, 0, 1, 1], [1, 1, 0, 2], 4),
    "hub": ([0] * 40 + list(range(1, 41)), [*range(1, 41), *([0] * 40)], 42),
    "path": (list(range(60)), list(range(1, 61)), 61),
}


def awkward(name, **options):
    """Return one of the awkward graphs with weights."""
    src, dst, n = AWKWARD[name]
    weight = (np.arange(len(src)) * 7 % 5).astype(np.int32)
    return weft.Graph.from_edges(
        np.array(src, np.int64), np.array(dst, np.int64), weight, num_vertices=n, **options
    )
