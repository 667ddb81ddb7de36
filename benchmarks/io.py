"""Measure how fast files are read: weft beside pandas, SciPy, NetworKit and igraph.

    python benchmarks/io.py [--graph kron19x8] [--runs 3] [--only mtx,csv] [--open-edges 1000]

Each reader gets the same file, written once from a Kronecker graph of 2**scale vertices and 8 edges
each; libraries that are not installed are skipped. A reader's time ends with its result: a graph
for weft, NetworKit and igraph, a table for pandas, a matrix for SciPy. weft reads on one core;
SciPy and NetworKit may use more. The last line shows the time to open a `.weft` file of 100 million
edges.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import weft
from benchmarks import graph_names
from benchmarks.protocol import alternate

Readers = dict[str, Callable[[Path], Any]]


def installed(*names: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


def pandas_readers(separator: str, header: int | None) -> Readers:
    if not installed("pandas"):
        return {}
    import pandas

    options = {"sep": separator, "header": header, "comment": "#"}
    readers: Readers = {"pandas": lambda path: pandas.read_csv(path, **options)}
    if installed("pyarrow"):
        readers["pandas (pyarrow)"] = lambda path: pandas.read_csv(
            path, sep=separator, header=header, engine="pyarrow"
        )
    return readers


def list_readers() -> Readers:
    readers: Readers = {"weft": weft.read, **pandas_readers(" ", None)}
    if installed("networkit"):
        import networkit

        readers["NetworKit"] = lambda path: networkit.readGraph(
            str(path), networkit.Format.EdgeListSpaceZero, directed=True
        )
    if installed("igraph"):
        import igraph

        readers["igraph"] = lambda path: igraph.Graph.Read_Edgelist(str(path), directed=True)
    return readers


def csv_readers() -> Readers:
    readers: Readers = {"weft": weft.read, **pandas_readers(",", 0)}
    if installed("pyarrow"):
        from pyarrow import csv

        options = csv.ReadOptions(use_threads=False)
        readers["pyarrow.csv"] = lambda path: csv.read_csv(path, read_options=options)
    return readers


def matrix_readers() -> Readers:
    import scipy.io

    return {"weft": weft.read, "SciPy mmread": lambda path: scipy.io.mmread(path).tocsr()}


def metis_readers() -> Readers:
    readers: Readers = {"weft": weft.read}
    if installed("networkit"):
        import networkit

        readers["NetworKit"] = lambda path: networkit.readGraph(str(path), networkit.Format.METIS)
    return readers


CASES: dict[str, tuple[str, Callable[[], Readers]]] = {
    "el": ("plain", list_readers),
    "csv": ("real", csv_readers),
    "mtx": ("real", matrix_readers),
    "gr": ("integer", lambda: {"weft": weft.read}),
    "graph": ("undirected", metis_readers),
    "parquet": ("real", lambda: {"weft": weft.read}),
    "weft": ("real", lambda: {"weft": weft.read}),
}


def make_graph(kind: str, name: str) -> weft.Graph:
    rng = np.random.default_rng(1)
    src, dst, _ = graph_names.generate(name, weights=None).to_edges()
    weight = {"real": rng.random(src.size), "integer": rng.integers(1, 1000, src.size)}.get(kind)
    if kind == "undirected":
        return weft.Graph.from_edges(src, dst, directed=False, self_loops="drop")
    return weft.Graph.from_edges(src, dst, weight)


def measure(folder: Path, name: str, graph: str, runs: int) -> None:
    kind, readers_of = CASES[name]
    if name == "parquet" and not installed("pyarrow"):
        return
    path = folder / f"g.{name}"
    g = make_graph(kind, graph)
    began = time.perf_counter()
    weft.write(g, path)
    wrote_s = time.perf_counter() - began
    size_mb = path.stat().st_size / 1e6
    print(
        f"\n.{name}: {g.num_edges} edges, {size_mb:.0f} MB, written at {size_mb / wrote_s:.0f} MB/s"
    )
    calls = {
        reader: (lambda call=call: (call(path), None)[1]) for reader, call in readers_of().items()
    }
    for reader, outcome in alternate(calls, runs).items():
        if outcome.error is not None:
            print(f"  {reader:18} failed: {str(outcome.error)[:80]}")
            continue
        seconds = outcome.median_ms / 1e3
        print(f"  {reader:18} {seconds:8.3f} s {size_mb / seconds:8.0f} MB/s")
    path.unlink()


def measure_opening(folder: Path, num_edges: int) -> None:
    from weft.topology.topology import Adjacency, Topology

    n = num_edges // 16
    offsets = np.arange(n + 1, dtype=np.int64) * 16
    targets = (np.arange(n * 16, dtype=np.int32) % 16) * (n // 16)
    path = folder / "large.weft"
    began = time.perf_counter()
    topology = Topology(Adjacency(offsets, targets), directed=True, num_edges=n * 16)
    weft.write(weft.Graph(topology), path)
    wrote_s = time.perf_counter() - began
    del offsets, targets, topology
    times = []
    for _ in range(5):
        began = time.perf_counter()
        g = weft.read(path)
        times.append(time.perf_counter() - began)
    began = time.perf_counter()
    weft.read(path, verify=True)
    verified_s = time.perf_counter() - began
    size_mb = path.stat().st_size / 1e6
    print(
        f"\n.weft with {g.num_edges} edges, {size_mb:.0f} MB: written in {wrote_s:.2f} s, "
        f"opened in {min(times) * 1e3:.2f} ms, opened and verified in {verified_s:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    graph_names.add_graph(parser, "kron19x8")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default=",".join(CASES), help="which suffixes, with commas")
    parser.add_argument("--open-edges", type=int, default=100_000_000, help="0 to leave it out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only.split(","):
            if name:
                measure(Path(folder), name, arguments.graph, arguments.runs)
        if arguments.open_edges:
            measure_opening(Path(folder), arguments.open_edges)


if __name__ == "__main__":
    main()
