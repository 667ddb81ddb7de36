"""The graphs of the GPU benchmark, generated on the device, and their sources."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.gpu_checks import Arcs, count_roots, minimal_labels

SEED = 1
KEEP = 0.7
# Edges drawn per vertex, by family.
EDGE_FACTORS = {"kron": 48, "rmat": 16}
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


def split_name(name: str) -> tuple[str, int]:
    """Split a name: ``"kron21"`` becomes ``("kron", 21)``."""
    match = re.fullmatch(r"(kron|rmat|road|planted)(\d+)", name)
    if match is None:
        raise ValueError(
            f"graph {name!r} is not known. Expected kron<scale>, rmat<scale>, planted<scale> "
            "or road<side>, e.g. 'kron21'."
        )
    return match[1], int(match[2])


def generate(name: str, device: str, weights: str | None = "int") -> Any:
    """Generate the weft graph of a name."""
    from weft import generators

    family, size = split_name(name)
    if family == "road":
        return generators.road(size, KEEP, seed=SEED, weights=weights, device=device)
    if family == "planted":  # mean degree above 40, more than nine arcs of ten inside
        return generators.planted(1 << size, seed=SEED, weights=weights, device=device)
    return generators.rmat(size, EDGE_FACTORS[family], seed=SEED, weights=weights, device=device)


def make(name: str, device: str) -> Workload:
    """Generate a graph and choose its sources."""
    began = time.perf_counter()
    graph = generate(name, device)
    synchronize(graph)
    seconds = time.perf_counter() - began
    xp, rows = graph.topology.xp, graph.topology.out
    arcs = Arcs(xp, rows.offsets, rows.targets, graph.edge.in_slots("weight", "out"))
    family, size = split_name(name)
    label = minimal_labels(arcs)
    if family == "road":
        giant = xp.argmax(xp.bincount(label))
        start = min(size + 8, arcs.n - 1)
        source = start + int(xp.flatnonzero(label[start:] == giant)[0])
    else:
        source = int(xp.argmax(arcs.degree))
    members = xp.flatnonzero(label == label[source])
    chosen = np.random.default_rng(SEED).integers(0, int(members.size), SOURCES)
    sources = [int(members[int(place)]) for place in chosen]
    return Workload(name, graph, arcs, source, sources, count_roots(arcs, label), seconds)


def synchronize(graph: Any) -> None:
    """Wait for all work queued on the device."""
    if graph.device.startswith("cuda"):
        graph.topology.xp.cuda.get_current_stream().synchronize()
