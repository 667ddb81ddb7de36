"""Measure the host time of warm calls, where the kernel has almost nothing to do.

    python benchmarks/host.py [--device cpu|cuda|emulated] [--graph rmat10] [--calls 400]

The graph is small (rmat10: 1 024 vertices), so nearly all of a call's time is spent on the host.
`weft.bfs` and the README's own BFS search the same graph from the same vertex; `g.run` does one
superstep. Contestants alternate in batches. The modules and functions of weft that one warm call
enters are counted with `sys.setprofile`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft
from benchmarks import graph_names

BATCH = 20  # calls between two clock readings
WARM_UP = 30


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u: Any, v: Any, e: Any) -> Any:
    return u.level + 1


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax(u: Any, v: Any, e: Any) -> Any:
    return u.dist + e.weight


@weft.vertex
def halve(v: Any) -> None:
    v.value = v.value * 0.5


def readme_bfs(g: weft.Graph, source: int) -> Any:
    """Run the BFS of the README."""
    state = g.state(level=weft.full(-1, weft.int32))
    state.level[source] = 0
    g.iterate(discover, state, g.frontier([source]))
    return state.level


def own_sssp(g: weft.Graph, source: int) -> Any:
    """Run shortest paths as a user would write them."""
    state = g.state(dist=weft.full(float("inf")))
    state.dist[source] = 0.0
    g.iterate(relax, state, g.frontier([source]))
    return state.dist


def contestants(g: weft.Graph) -> dict[str, Callable[[], Any]]:
    """Return the timed calls by name."""
    state = g.state(value=weft.full(1.0))
    return {
        "weft.bfs": lambda: weft.bfs(g, 0),
        "README's BFS": lambda: readme_bfs(g, 0),
        "weft.sssp": lambda: weft.sssp(g, 0),
        "own SSSP": lambda: own_sssp(g, 0),
        "g.run of one vertex function": lambda: g.run(halve, state),
    }


def entered(call: Callable[[], Any]) -> tuple[int, int, int]:
    """Return how many modules and functions of weft a call enters, and how many calls it makes."""
    seen: set[tuple[str, str]] = set()
    calls = 0

    def look(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            if module.startswith("weft.") or module == "weft":
                seen.add((module, frame.f_code.co_qualname))
                calls += 1

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len({module for module, _ in seen}), len(seen), calls


def measure(calls: dict[str, Callable[[], Any]], count: int) -> dict[str, list[float]]:
    """Return microseconds per call of each batch, with contestants in alternation."""
    for call in calls.values():
        for _ in range(WARM_UP):
            call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(max(1, count // BATCH)):
        for name, call in calls.items():
            began = time.perf_counter()
            for _ in range(BATCH):
                call()
            times[name].append((time.perf_counter() - began) / BATCH * 1e6)
    return times


def main() -> None:
    """Measure all calls and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    graph_names.add_graph(parser, "rmat10")
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    g = graph_names.generate(options.graph, options.device)
    calls = contestants(g)
    times = measure(calls, options.calls)
    print(
        f"{graph_names.short(options.graph)} on {options.device}: {g.num_vertices} vertices, "
        f"{g.num_edges} edges"
    )
    heads = ("median µs", "least µs", "modules", "functions", "calls")
    print(f"{'call':30} " + " ".join(f"{head:>10}" for head in heads))
    for name, found in times.items():
        modules, functions, entries = entered(calls[name])
        print(
            f"{name:30} {statistics.median(found):10.1f} {min(found):10.1f} {modules:10} "
            f"{functions:10} {entries:10}"
        )


if __name__ == "__main__":
    main()
