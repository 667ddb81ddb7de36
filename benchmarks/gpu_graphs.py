"""The graphs of the GPU benchmark, generated on the device, and their sources."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import graph_names
from benchmarks.gpu_checks import Arcs, count_roots, minimal_labels

FULL = ("kron21", "rmat24", "road4900")
SMALL = ("kron14", "rmat14", "road300")
TINY = ("kron8", "rmat8", "road24")
SOURCES = 16


@dataclass
class Workload:
    """One undirected, simple graph with integer weights 1..64 on a device.

    Attributes
    ----------
    graph : weft.Graph
        The graph.
    arcs : Arcs
        Its arrays, for the checks.
    source : int
        Where BFS and SSSP start: at the vertex of largest degree; in a road network at the first
        vertex from side + 8 on that lies in the largest component.
    sources : list of int
        Random vertices of the component of `source`.
    components : int
        The number of components, found without weft.
    seconds : float
        How long it took to generate the graph.
    """

    name: str
    graph: Any
    arcs: Arcs
    source: int
    sources: list[int]
    components: int
    seconds: float


def make(name: str, device: str) -> Workload:
    """Return the graph called `name` (see `benchmarks.graph_names`) and choose its sources."""
    began = time.perf_counter()
    graph = graph_names.generate(name, device)
    synchronize(graph)
    seconds = time.perf_counter() - began
    xp, rows = graph.topology.xp, graph.topology.out
    arcs = Arcs(xp, rows.offsets, rows.targets, graph.edge.in_slots("weight", "out"))
    told = graph_names.parse(name)
    label = minimal_labels(arcs)
    if told.family == "road":
        giant = xp.argmax(xp.bincount(label))
        start = min(told.size + 8, arcs.n - 1)
        source = start + int(xp.flatnonzero(label[start:] == giant)[0])
    else:
        source = int(xp.argmax(arcs.degree))
    members = xp.flatnonzero(label == label[source])
    chosen = np.random.default_rng(graph_names.SEED).integers(0, int(members.size), SOURCES)
    sources = [int(members[int(place)]) for place in chosen]
    components = count_roots(arcs, label)
    short = graph_names.short(name)
    return Workload(short, graph, arcs, source, sources, components, seconds)


def synchronize(graph: Any) -> None:
    """Wait for all work queued on the device."""
    if graph.device.startswith("cuda"):
        graph.topology.xp.cuda.get_current_stream().synchronize()
