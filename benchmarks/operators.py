"""Measure frontier operators: ``python benchmarks/operators.py``.

Four tables:

- *programs*: BFS and one iteration of PageRank with operators called one by one, the same under
  `weft.capture`, and the same as one `Graph.iterate`, on a Kronecker graph, a road grid, a planted
  graph, a random geometric graph and, with ``--file``, a graph of the user's; cuGraph where it is
  installed and the device is a GPU. With the number of runs (launches on a GPU) of each, and the
  time of an operator beyond twice that of `iterate`.
- *balance*: a BFS of the road grid and of the Kronecker graph whose advances balance over their
  input, over their output, or by the rule that decides for every frontier.
- *duplicates*: how many items of the queues of a BFS each heuristic leaves.
- *lines*: the lines of the example programs (``--lines`` prints this one alone).

``--size small`` (the default) and ``large`` take graphs for a CPU; ``paper`` those of the paper:
kron21, road4900, 2^21 planted vertices, 2^24 points. ``--budget SECONDS`` measures as often as time
allows, and leaves out what it does not allow. On a CPU one thread is used and its own time is
measured, since machines are seldom idle; the median of several runs in alternation counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import weft
from benchmarks import graph_names
from benchmarks.operator_lines import table as lines_table
from benchmarks.protocol import alternate
from weft.arrays.device import to_host
from weft.operators import Queue, advance, compute, filter, neighbor_reduce

MOST_RUNS, LEAST_RUNS = 7, 3
ITERATIONS = 10  # of PageRank; times are those of one
MOST_LEVELS = 250  # of a search whose queues are compared
SIZES = {
    "small": {"kron": 14, "points": 2**15, "road": 300, "planted": 2**14},
    "large": {"kron": 18, "points": 2**18, "road": 1000, "planted": 2**17},
    "paper": {"kron": 21, "points": 2**24, "road": 4900, "planted": 2**21},
}
HEURISTICS = ("none", "bitmask", "history", "warp", "exact")
Row = list[str]


# -- programs


def unseen(u: Any, v: Any, e: Any) -> Any:
    """Hold where an arc leads to a vertex without a level."""
    return v.level < 0


def visit(u: Any, v: Any, e: Any) -> None:
    """Give v the next level, on which all of its arcs agree."""
    v.level = u.level + 1


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def visit_step(u: Any, v: Any, e: Any) -> Any:
    """Send the next level."""
    return u.level + 1


def share(u: Any, v: Any, e: Any) -> Any:
    """Return the share of the source of an arc."""
    return v.rank / v.out_degree


def settle(v: Any) -> None:
    """Form the new rank."""
    v.rank = 0.15 / weft.num_vertices() + 0.85 * v.sum


@weft.vertex(on="all")
def rank_step(v: Any) -> None:
    """Gather shares and form the new rank."""
    total = v.gather(lambda u, e: u.rank / u.out_degree, weft.sum)
    v.rank = 0.15 / weft.num_vertices() + 0.85 * total


class Bench:
    """One graph on a device, and the ways to search it and to rank its vertices."""

    def __init__(self, name: str, g: weft.Graph, config: weft.Config | None) -> None:
        self.name, self.g, self.config = name, g, config
        self.source = int(g.out_degree.argmax())

    def levels(self) -> Any:
        """Return a state at the beginning of a search."""
        return self.g.state(level=weft.full(-1, weft.int32).but(self.source, 0))

    def search(self, frontier: Any, state: Any, schedule: str | None = None) -> Any:
        """Visit the neighbours of a frontier."""
        return advance(
            self.g, frontier, None, state, cond=unseen, apply=visit, idempotent=True,
            schedule=schedule, config=self.config,
        )  # fmt: skip

    def by_operators(self, schedule: str | None = None) -> Any:
        """Search by one advance after another."""
        state, frontier = self.levels(), self.g.frontier([self.source])
        while frontier:
            frontier = self.search(frontier, state, schedule)
        return state.level

    def captured(self) -> Any:
        """Search by a captured loop."""
        state, frontier = self.levels(), self.g.frontier([self.source])
        with weft.capture(strict=True):
            while frontier:
                frontier = self.search(frontier, state)
        return state.level

    def iterated(self) -> Any:
        """Search by `Graph.iterate`."""
        state = self.levels()
        self.g.iterate(visit_step, state, [self.source], config=self.config)
        return state.level

    def ranks(self) -> Any:
        """Return a state of equal ranks."""
        return self.g.state(rank=weft.full(1 / self.g.num_vertices), sum=weft.full(0.0))

    def rank_by_operators(self, times: int, recorded: bool = False) -> Any:
        """Iterate PageRank by operators."""
        state = self.ranks()
        if recorded:
            with weft.capture():
                self._rank(state, times)
        else:
            self._rank(state, times)
        return state.rank

    def _rank(self, state: Any, times: int) -> None:
        for _ in range(times):
            neighbor_reduce(
                self.g, None, share, weft.sum, state, into="sum", along="in", output=None,
                config=self.config,
            )  # fmt: skip
            compute(self.g, None, settle, state, config=self.config)

    def rank_iterated(self, times: int) -> Any:
        """Iterate PageRank by `Graph.iterate`."""
        state = self.g.state(rank=weft.full(1 / self.g.num_vertices))
        self.g.iterate(rank_step, state, max_iter=times, config=self.config)
        return state.rank


def runs_of(call: Callable[[], Any]) -> tuple[int, int]:
    """Return the runs of a call, and on a GPU its launches."""
    with weft.profile() as p:
        call()
    launches = sum(int(fact.get("launches", 1)) for fact in p.facts)  # type: ignore[call-overload]
    return len(p.facts), launches


class Stopwatch:
    """The clock of a device, and how much time is left."""

    def __init__(self, device: str, budget: float | None) -> None:
        self.on_cpu = not device.startswith("cuda")
        self.clock = time.process_time if self.on_cpu else settled
        self._end = float("inf") if budget is None else time.perf_counter() + budget

    @property
    def left(self) -> float:
        """Seconds of the budget that are left."""
        return self._end - time.perf_counter()

    def compare(self, calls: dict[str, Callable[[], Any]]) -> dict[str, Any] | None:
        """Time calls in alternation, as often as time allows; None if it does not allow it."""
        if self.left <= 0:
            return None
        for call in calls.values():
            call()  # compiles, and builds what is kept
        began = time.perf_counter()
        for call in calls.values():
            call()
        once = time.perf_counter() - began
        fitting = int(self.left / 3 / once) if self.left < float("inf") else MOST_RUNS
        return alternate(calls, max(LEAST_RUNS, min(MOST_RUNS, fitting)), clock=self.clock)


def programs(bench: Bench, watch: Stopwatch) -> list[Row]:
    """Compare operators, captured operators and `iterate` on one graph."""
    rows = []
    tasks: dict[str, tuple[int, dict[str, Callable[[], Any]]]] = {
        "BFS": (1, {
            "operators": bench.by_operators,
            "captured": bench.captured,
            "iterate": bench.iterated,
        }),
        "PageRank, an iteration": (ITERATIONS, {
            "operators": lambda: bench.rank_by_operators(ITERATIONS),
            "captured": lambda: bench.rank_by_operators(ITERATIONS, True),
            "iterate": lambda: bench.rank_iterated(ITERATIONS),
        }),
    }  # fmt: skip
    if not watch.on_cpu:
        for task, call in cugraph_calls(bench, ITERATIONS).items():
            tasks[task][1]["cuGraph"] = call
    for task, (many, calls) in tasks.items():
        found = watch.compare(calls)
        if found is None:
            continue
        results = [to_host(found[name].results[-1]) for name in list(calls)[:3]]
        for other in results[:2]:
            np.testing.assert_allclose(other, results[2], rtol=1e-9, err_msg=task)
        base = found["iterate"].median_ms
        row = [bench.name, task, f"{base / many:.3f}"]
        for name in ("captured", "operators"):
            ms = found[name].median_ms
            runs, launches = runs_of(calls[name])
            row += [f"{ms / many:.3f} ({ms / base:.2f}, {launches})"]
            if name == "operators":
                row += [f"{(ms - 2 * base) / runs * 1e3:.1f}"]
        rows.append(
            [*row, f"{found['cuGraph'].median_ms / many:.3f}" if "cuGraph" in found else "–"]
        )
    return rows


def cugraph_calls(bench: Bench, many: int) -> dict[str, Callable[[], Any]]:
    """Return the same tasks by cuGraph; none where it is not installed."""
    try:
        import cudf
        import cugraph
    except ImportError:
        return {}
    edges = bench.g.to_edges()
    frame = cudf.DataFrame({"src": edges.src, "dst": edges.dst})
    made = cugraph.Graph(directed=bench.g.directed)
    made.from_cudf_edgelist(frame, source="src", destination="dst", renumber=False)
    return {
        "BFS": lambda: cugraph.bfs(made, bench.source),
        "PageRank, an iteration": lambda: cugraph.pagerank(
            made, max_iter=many, tol=0.0, fail_on_nonconvergence=False
        ),
    }


# -- balance and duplicates


def balance(bench: Bench, watch: Stopwatch) -> list[Row]:
    """Compare the ways to balance the advances of a search."""
    ways = ("input", "output", "auto")
    found = watch.compare({way: lambda way=way: bench.by_operators(way) for way in ways})
    if found is None:
        return []
    return [[bench.name, *(f"{found[way].median_ms:.2f}" for way in ways)]]


def alone(v: Any) -> Any:
    """Hold where no level is known."""
    return v.level < 0


def duplicates(bench: Bench, watch: Stopwatch) -> list[Row]:
    """Count the items of the queues of a search that each heuristic leaves."""
    totals = dict.fromkeys(HEURISTICS, 0)
    g, state = bench.g, bench.levels()
    frontier: Any = g.frontier([bench.source])
    levels = 0
    while frontier and levels < MOST_LEVELS:
        if watch.left <= 0:
            return []
        levels += 1
        queue = Queue(g, advance(g, frontier, unseen, state, output="arcs"))
        for name in HEURISTICS:
            totals[name] += len(filter(g, queue, alone, state, dedup=name))
        frontier = bench.search(frontier, state)
    least = max(1, totals["exact"])
    return [[bench.name, *(f"{totals[name] / least:.2f}×" for name in HEURISTICS[:-1]),
             f"{totals['exact']:,}", f"{levels}"]]  # fmt: skip


# -- the whole


def graphs(
    size: dict[str, int], device: str, more: Sequence[str] = ()
) -> dict[str, Callable[[], weft.Graph]]:
    """Return the graphs by name, or those named; each is made when it is needed."""
    points, planted = size["points"], size["planted"]
    where: dict[str, Any] = {"seed": 1, "device": device}
    made: dict[str, Callable[[], weft.Graph]] = {
        f"kron{size['kron']}": lambda: weft.generators.rmat(size["kron"], 16, **where),
        f"road{size['road']}": lambda: weft.generators.road(size["road"], 0.7, **where),
        f"planted, {planted:,} vertices": lambda: weft.generators.planted(planted, **where),
        f"geometric, {points:,} points": lambda: weft.generators.geometric(
            points, float(np.sqrt(16 / (np.pi * points))), seed=1
        ),
    }
    named = {
        graph_names.short(name): lambda name=name: graph_names.generate(name, device, weights=None)
        for name in more
    }
    return named or made


def show(head: Row, rows: list[Row]) -> None:
    """Print a table."""
    print("\n| " + " | ".join(head) + " |\n|---" + "|--:" * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", choices=sorted(SIZES), default="small")
    graph_names.add_graphs(parser, ())
    parser.add_argument("--budget", type=float, help="seconds that all of it may take")
    parser.add_argument("--lines", action="store_true", help="count lines only")
    given = parser.parse_args()
    if given.lines:
        print(lines_table())
        return
    watch = Stopwatch(given.device, given.budget)
    config = weft.Config(threads=1) if given.device == "cpu" else None
    benches: list[Bench] = []
    measured: list[Row] = []
    for name, make in graphs(SIZES[given.size], given.device, graph_names.chosen(given)).items():
        if watch.left <= 0:
            print(f"no time for {name}")
            continue
        benches.append(Bench(name, make().to(given.device), config))
        for row in programs(benches[-1], watch):
            print(*row, sep="  ", flush=True)  # whatever becomes of the rest
            measured.append(row)
    wide_and_narrow = [bench for bench in benches if bench.name.startswith(("road", "kron"))]
    balanced = [row for bench in wide_and_narrow for row in balance(bench, watch)]
    counted = [row for bench in benches for row in duplicates(bench, watch)]
    unit = "CPU time of one thread in ms" if watch.on_cpu else "ms"
    print(f"\n{given.device}, {unit}, median of {LEAST_RUNS} to {MOST_RUNS}", end="")
    print(" (ratio to iterate, launches)")
    show(
        ["graph", "task", "iterate", "captured", "operators", "µs an operator beyond 2 × iterate",
         "cuGraph"], measured,
    )  # fmt: skip
    show(["BFS by operators, ms", "input", "output", "auto"], balanced)
    show(["items of the queues of a BFS", *HEURISTICS, "levels"], counted)
    print("\n" + lines_table())


def settled() -> float:
    """Return the time when the GPU has finished."""
    import cupy

    cupy.cuda.runtime.deviceSynchronize()
    return time.perf_counter()


if __name__ == "__main__":
    main()
