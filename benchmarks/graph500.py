"""Graph500's searches over a range of scales: ``python benchmarks/graph500.py --scales 16 25``.

For each scale a Kronecker graph with 16 edges drawn per vertex; BFS (kernel 2) and SSSP (kernel 3)
from 16 random vertices of the largest component. A search traverses the edges of its component, and
the speed of a scale is the harmonic mean over its searches, as the benchmark's rules have it, in
billions of edges a second (GTEPS). Unlike the rules, parallel edges and self-loops are dropped, so
that fewer edges count, and weights are integers from 1 to 64. Every search is checked.

Prints a table; ``--plot FILE`` draws both kernels over the scales as one SVG figure, and ``--draw
FILE`` draws the table that ``--json`` wrote earlier. Scales that no longer fit into ``--budget`` or
into memory are left out and named. ``--graphs`` and ``--file`` search other graphs instead.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gpu_graphs, graph_names
from benchmarks.gpu_tasks import TASKS
from benchmarks.gpu_timing import Clock, Times

SCALES = (16, 25)
EDGE_FACTOR = 16
KERNELS = ("bfs", "sssp")
COLOURS = {"bfs": "#2563eb", "sssp": "#d97706"}
GROWTH = 2.6  # times as long as the scale before, with its generation and its checks
WIDTH, HEIGHT, LEFT, BOTTOM = 520, 300, 60, 40


def measure(name: str, device: str) -> dict[str, Any]:
    """Return the speeds of one graph; its scale is the logarithm of its number of vertices."""
    workload = gpu_graphs.make(name, device)
    scale = round(math.log2(max(1, workload.graph.num_vertices)), 1)
    clock, row = Clock(device), {"graph": name, "scale": scale, "edges": workload.arcs.m // 2}
    for name in KERNELS:
        task = TASKS[name]
        task.call(workload.graph, workload.source)  # compiles
        seconds, faults = [], []
        for source in workload.sources:
            times = Times()
            result = clock.time(functools.partial(task.call, workload.graph, source), times)
            seconds.append(times.device_ms[0] / 1e3)
            fault = task.check(replace(workload, source=source), result)
            faults += [] if fault is None else [f"{name} from {source}: {fault}"]
        reached = result.level >= 0 if name == "bfs" else ~workload.arcs.xp.isinf(result.dist)
        traversed = int(workload.arcs.degree[reached].sum()) // 2  # the same for all sources
        mean = len(seconds) / sum(s / traversed for s in seconds) if traversed else 0.0
        row |= {name: mean / 1e9, f"{name}_ms": 1e3 * sum(seconds) / len(seconds)}
        row.setdefault("faults", []).extend(faults)
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table."""
    lines = ["| graph | scale | edges | BFS ms | BFS GTEPS | SSSP ms | SSSP GTEPS | result |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|---|")
    lines += [
        f"| {Path(r['graph']).name} | {r['scale']:g} | {r['edges']:,} | "
        f"{r['bfs_ms']:.3g} | {r['bfs']:.3g} | "
        f"{r['sssp_ms']:.3g} | {r['sssp']:.3g} | {'; '.join(r['faults']) or 'ok'} |"
        for r in rows
    ]
    return "\n".join(lines)


def svg(rows: list[dict[str, Any]]) -> str:
    """Return one figure of both kernels over the scales, with a logarithmic axis of speeds."""
    speeds = [row[name] for row in rows for name in KERNELS if row[name] > 0]
    low = math.floor(math.log10(min(speeds, default=0.1)))
    high = max(low + 1, math.ceil(math.log10(max(speeds, default=1.0))))
    scales = [row["scale"] for row in rows]
    wide = (WIDTH - LEFT - 20) / max(1, scales[-1] - scales[0])
    tall = (HEIGHT - BOTTOM - 20) / (high - low)

    def place(scale: float, speed: float) -> tuple[float, float]:
        x = LEFT + (scale - scales[0]) * wide
        return x, HEIGHT - BOTTOM - (math.log10(speed) - low) * tall

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="11">'
    ]
    for power in range(low, high + 1):
        _, y = place(scales[0], 10.0**power)
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - 20}" stroke="#e5e7eb"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
        )
    for scale in scales:
        x, y = place(scale, 10.0**low)
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{scale:g}</text>')
    for number, name in enumerate(KERNELS):
        points = [place(row["scale"], row[name]) for row in rows if row[name] > 0]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        colour = COLOURS[name]
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(
            f'<text x="{WIDTH - 20}" y="{16 + 14 * number}" text-anchor="end" fill="{colour}">'
            f"{name.upper()}</text>"
        )
    parts.append(f'<text x="4" y="16">GTEPS</text><text x="{WIDTH - 20}" y="{HEIGHT - 6}" '
                 'text-anchor="end">scale</text></svg>')  # fmt: skip
    return "\n".join(parts) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and draw; return 1 if a search was wrong."""
    parser = argparse.ArgumentParser(description="Graph500's searches over a range of scales.")
    parser.add_argument("--scales", nargs=2, type=int, default=SCALES, metavar=("FROM", "TO"))
    graph_names.add_graphs(parser, ())
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu or emulated")
    parser.add_argument("--budget", type=float, default=140.0, help="seconds in all")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    parser.add_argument("--plot", type=Path, help="where to write the figure, as SVG")
    parser.add_argument("--draw", type=Path, help="rows to draw, measuring nothing")
    options = parser.parse_args(arguments)
    if options.draw is not None:
        rows = json.loads(options.draw.read_text(encoding="utf-8"))
    else:
        rows = searched(options)
        print(table(rows))
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.plot is not None and rows:
        options.plot.write_text(svg(rows), encoding="utf-8")
    return int(any(row["faults"] for row in rows))


def searched(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows of all graphs that there is time and memory for, in order of their scale."""
    began, rows, last = time.monotonic(), [], 0.0
    scales = range(options.scales[0], options.scales[1] + 1)
    names = graph_names.chosen(options) or [f"kron{scale}x{EDGE_FACTOR}" for scale in scales]
    for name in names:
        left = options.budget - (time.monotonic() - began)
        if GROWTH * last > left:
            print(f"from {name} on: no time left")
            break
        start = time.monotonic()
        try:
            rows.append(measure(name, options.device))
        except MemoryError as error:
            print(f"{name}: {str(error).splitlines()[0]}")
            break
        last = time.monotonic() - start
        print(f"[{time.monotonic() - began:6.1f} s] {name}", flush=True)
    return sorted(rows, key=lambda row: row["scale"])


if __name__ == "__main__":
    sys.exit(main())
