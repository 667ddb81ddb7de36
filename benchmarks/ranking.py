"""Measure PageRank to a tolerance, plain, adaptive and with ACC: ``python benchmarks/ranking.py``.

For each graph and tolerance the command prints the median time of a call and the supersteps and
arcs that the engine counts. Every result is compared with one to 1e-13; the exit status is 1 if any
differs by more than its tolerance allows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft
from benchmarks import graph_names
from benchmarks.gpu_timing import Clock, Times

TOLERANCES = (1e-6, 1e-8, 1e-10)
MOST = 400  # iterations
DAMPING = 0.85


def contestants(g: Any, tol: float) -> dict[str, Callable[[], Any]]:
    """Return the compared calls by name."""
    options = {"tol": tol, "max_iter": MOST}
    return {
        "plain": lambda: weft.pagerank(g, **options),
        "adaptive": lambda: weft.pagerank(g, adaptive=True, **options),
        "acc": lambda: weft.acc.pagerank(g, tol=tol),
    }


def measure(call: Callable[[], Any], clock: Clock, runs: int) -> tuple[float, int, int, Any]:
    """Return milliseconds, supersteps, visited arcs and ranks."""
    with weft.profile() as profile:
        ranks = call()
    times = Times()
    for _ in range(runs):
        clock.time(call, times)
    steps = len({(record.call, record.step) for record in profile.records})
    arcs = sum(record.edges for record in profile.records)
    return statistics.median(times.device_ms), steps, arcs, ranks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    graph_names.add_graphs(parser, ("rmat16", "road256", "planted16"))
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    clock, far = Clock(args.device), False
    print(f"{'graph':10} {'tol':>7} {'':9} {'ms':>9} {'steps':>6} {'sweeps':>7} {'error/tol':>10}")
    for name in graph_names.chosen(args):
        g = graph_names.generate(name, args.device, weights=None)
        name = graph_names.short(name)
        exact = weft.pagerank(g, tol=1e-13, max_iter=MOST, on_unconverged="return")
        for tol in TOLERANCES:
            for way, call in contestants(g, tol).items():
                ms, steps, arcs, ranks = measure(call, clock, args.runs)
                error = float(abs(ranks - exact).sum()) / tol
                far |= error > 2 / (1 - DAMPING)
                sweeps = arcs / g.topology.num_arcs
                print(
                    f"{name:10} {tol:7.0e} {way:9} {ms:9.2f} {steps:6} {sweeps:7.1f} {error:10.2f}",
                    flush=True,
                )
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
