"""Measure waiting times: small graphs, the first call, from a file to a result."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import graph_names

NAME = "startup"
SMALL_VERTICES, SMALL_EDGES = 1000, 8000
SMALL_CALLS = 200
WARM_CALLS = 20
FILE_SCALE = 18  # of the graph that is read from a file: 4 million edges

# Runs in its own process; the first line of its output is the answer.
FROM_FILE = """
import json, sys, time
began = time.perf_counter()
import numpy as np
import weft
device, path = sys.argv[1], sys.argv[2]
times = {"import": time.perf_counter()}
edges = np.load(path)
times["read file"] = time.perf_counter()
g = weft.Graph.from_edges(edges[0], edges[1], directed=False, duplicates="first",
                          self_loops="drop", device=device)
times["build graph"] = time.perf_counter()
found = weft.bfs(g, 0)
times["first call"] = time.perf_counter()
level = found.level.get() if hasattr(found.level, "get") else found.level
times["read result"] = time.perf_counter()
weft.bfs(g, 0)
times["second call"] = time.perf_counter()
before = began
spans = {}
for name, moment in times.items():
    spans[name] = (moment - before) * 1e3
    before = moment
print(json.dumps({"spans_ms": spans, "reached": int((level >= 0).sum())}))
"""


def measure(device: str, limit: float) -> dict[str, Any]:
    """Return all figures; a failed one is replaced by its reason."""
    facts: dict[str, Any] = {}
    for name, part in (("small_bfs", small_bfs), ("from_file", from_file)):
        try:
            facts[name] = part(device, limit)
        except Exception as error:
            facts[name] = {"fault": f"{type(error).__name__}: {error}"[-400:]}
    return facts


def small_bfs(device: str, limit: float) -> dict[str, float]:
    """Return wall times of BFS on 1000 vertices, with the result left on the device."""
    import weft

    g = weft.generators.erdos_renyi(SMALL_VERTICES, m=SMALL_EDGES, seed=1).to(device)
    for _ in range(WARM_CALLS):
        weft.bfs(g, 0)
    times = []
    began = time.perf_counter()
    for _ in range(SMALL_CALLS):
        start = time.perf_counter()
        weft.bfs(g, 0)
        times.append((time.perf_counter() - start) * 1e6)
        if time.perf_counter() - began > limit / 4:
            break
    return {
        "vertices": SMALL_VERTICES,
        "calls": len(times),
        "median_us": statistics.median(times),
        "min_us": min(times),
        "p95_us": sorted(times)[int(len(times) * 0.95)],
    }


def from_file(device: str, limit: float) -> dict[str, Any]:
    """Time the way from an edge file to a result on the host, cold and warm."""
    scale = FILE_SCALE if device.startswith("cuda") else 8
    g = graph_names.generate(f"kron{scale}x16", weights=None)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
        path = Path(directory) / "edges.npy"
        edges = g.to_edges()
        np.save(path, np.stack([edges.src, edges.dst]))
        environment = {**os.environ, "WEFT_CACHE_DIR": str(Path(directory) / "cache")}
        cold, warm = (_run_process(device, path, environment, limit / 2) for _ in range(2))
    first = [run["spans_ms"]["first call"] for run in (cold, warm)]
    return {
        "vertices": g.num_vertices,
        "edges": g.num_edges,
        "cold": cold,
        "warm": warm,
        "compile_ms": max(0.0, first[0] - first[1]),
    }


def _run_process(
    device: str, path: Path, environment: dict[str, str], limit: float
) -> dict[str, Any]:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", FROM_FILE, device, str(path)],
        capture_output=True, text=True, env=environment, timeout=limit, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    facts = json.loads(done.stdout.strip().splitlines()[-1])
    return {**facts, "process_ms": (time.perf_counter() - began) * 1e3}
