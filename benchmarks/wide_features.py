"""Compare a warp with a block per edge for many features: ``python benchmarks/wide_features.py``.

(Onyx's rule for k beyond a warp.) One iteration of three programs, k from 64 to 1024, float32, on a
Kronecker and a road graph: *sum*, the sparse product; *normalize*, which needs a sum over features
at every vertex; *push*, messages by atomics. Each with groups of a warp (the default), with a block
of as many threads as features up to 256, and with blocks of 128. Results must agree to 1e-4 of the
largest value. Kernels compile in parallel, narrow widths first, so that a table that ends early has
all programs. ``--device emulated --graphs kron5,road6 --widths 64 --runs 1`` runs without a GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import weft
from benchmarks import graph_names
from benchmarks.ahead import Ahead
from benchmarks.gpu_timing import Clock

GRAPHS = ("kron16x16", "road300")
WIDTHS = (64, 128, 256, 512, 1024)
WAYS: dict[str, dict[str, Any]] = {
    "warp": {}, "block": {"lanes": "block"}, "block of 128": {"lanes": "block", "block_size": 128},
}  # fmt: skip
FEW, MANY = 2, 12  # iterations of the runs whose difference is taken
TOLERANCE = 1e-4


@weft.vertex(wake="all")
def add_up(v: Any, scale: Any) -> None:
    v.x = scale * v.gather(lambda u, e: u.x, weft.sum)
    v.changed = True


@weft.vertex(wake="all")
def norm(v: Any, scale: Any) -> None:
    v.x = weft.normalize(v.x + scale * v.gather(lambda u, e: u.x, weft.sum), "l2")
    v.changed = True


@weft.edge(into="sums", reduce=weft.sum, on="all", active=lambda v, old: True)
def send(u: Any, v: Any, e: Any) -> Any:
    return u.x


@weft.vertex(on="all")
def take(v: Any, scale: Any) -> None:
    v.x = scale * v.sums
    v.sums = 0
    v.changed = True


PROGRAMS: dict[str, tuple[Any, str]] = {
    "sum": (add_up, "auto"), "normalize": (norm, "auto"), "push": ([send, take], "push"),
}  # fmt: skip


def run(g: Any, name: str, start: Any, iterations: int, way: dict[str, Any]) -> Any:
    """Return the features after some iterations."""
    functions, direction = PROGRAMS[name]
    more = {"sums": weft.full(0, np.float32, start.shape[1])} if name == "push" else {}
    scale = weft.scalar(np.float32(1 / max(1.0, float(g.in_degree.max()))))
    state = g.state(x=start, scale=scale, **more)
    g.iterate(functions, state, max_iter=iterations,
              config=weft.Config(direction=direction, **way))  # fmt: skip
    return state.x


def per_iteration(
    g: Any, name: str, start: Any, way: dict[str, Any], clock: Clock, runs: int
) -> Any:
    """Return milliseconds of an iteration, and the features after a few."""
    found = run(g, name, start, FEW, way)  # compiles
    spans = []
    for count in (FEW, MANY):
        measured, _ = clock.repeat(lambda c=count: run(g, name, start, c, way), runs, 1.0)
        spans.append(measured.median_ms)
    return max(0.0, spans[1] - spans[0]) / (MANY - FEW), found


def compiling(ahead: Ahead, g: Any, widths: list[int]) -> dict[tuple[int, str], list[Future[None]]]:
    """Start compiling everything; return what to wait for, by width and program."""
    found = {}
    for k in widths:
        start = g.topology.xp.zeros((g.num_vertices, k), np.float32)
        for name in PROGRAMS:
            calls = [lambda w=way, s=start, n=name: run(g, n, s, FEW, w) for way in WAYS.values()]
            found[k, name] = ahead.begin(calls)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each graph, program and width; return 1 if results differ."""
    parser = argparse.ArgumentParser(description="A warp or a block per edge, by width.")
    graph_names.add_graphs(parser, GRAPHS)
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)), help="between commas")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--budget", type=float, default=140.0, help="seconds in all")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    options = parser.parse_args(arguments)
    began, rows, clock = time.monotonic(), [], Clock(options.device)
    print(
        f"| graph | program | k | {' | '.join(f'{w}, ms' for w in WAYS)} | warp / block | agree |"
    )
    print("|---|---|--:|" + "--:|" * (len(WAYS) + 1) + "---|", flush=True)
    widths, ahead = [int(k) for k in options.widths.split(",")], Ahead(options.device)
    for graph in graph_names.chosen(options):
        g = graph_names.generate(graph, options.device, weights=None)
        xp, begun = g.topology.xp, compiling(ahead, g, widths)
        for k in widths:
            start = xp.asarray(np.random.default_rng(1).random((g.num_vertices, k), np.float32))
            for name in PROGRAMS:
                if time.monotonic() - began > options.budget:
                    print(f"{graph} {name} k={k}: no time left")
                    continue
                wait(begun[k, name], max(0.0, began + options.budget - time.monotonic()))
                want: Any = None
                row: dict[str, Any] = {"graph": graph, "program": name, "k": k, "agree": True}
                for label, way in WAYS.items():
                    row[label], found = per_iteration(g, name, start, way, clock, options.runs)
                    want = found if want is None else want
                    far = float(abs(found - want).max()) / max(float(abs(want).max()), 1e-30)
                    row["agree"] &= far <= TOLERANCE
                rows.append(row)
                gain = row["warp"] / row["block"] if row["block"] else float("nan")
                times = " | ".join(f"{row[label]:.3g}" for label in WAYS)
                print(f"| {graph} | {name} | {k} | {times} | {gain:.2f} | {row['agree']} |",
                      flush=True)  # fmt: skip
    ahead.close()
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(not all(row["agree"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
