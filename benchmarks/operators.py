"""Measure frontier operators: ``python benchmarks/operators.py``.

Four tables:

- *programs*: BFS and one iteration of PageRank with operators called one by one, the same under
  `weft.capture`, and the same as one `Graph.iterate`, on a Kronecker graph, a random geometric
  graph, a road grid, a planted graph and, with ``--file``, a graph of the user's; cuGraph where it
  is installed and the device is a GPU. With the number of runs (launches on a GPU) of each.
- *balance*: a BFS of the road grid and of the Kronecker graph whose advances balance over their
  input, over their output, or by the rule that decides for every frontier.
- *duplicates*: how many items of the queues of a BFS each heuristic leaves.
- *lines*: the lines of the example programs (``--lines`` prints this one alone).

``--size small`` (the default) takes graphs for a CPU; ``--size paper`` those of the paper: kron21,
2^24 points, road4900. On a CPU one thread is used and its own time is measured, since machines are
seldom idle; the median of several runs in alternation counts.
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
from weft.operators import Queue, advance, compute, filter, neighbor_reduce

RUNS = 7
SIZES = {
    "small": {"kron": 14, "points": 2**15, "road": 300, "planted": 2**14},
    "paper": {"kron": 21, "points": 2**24, "road": 4900, "planted": 2**21},
}
HEURISTICS = ("none", "bitmask", "history", "warp", "exact")
Row = list[str]


# -- programs


def visit(u: Any, v: Any, e: Any) -> Any:
    """Give v the next level if that is smaller."""
    return v.level.min(u.level + 1)


@weft.edge(into="level", reduce=weft.min)
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
        self.source = int(np.asarray(g.out_degree.argmax()))

    def levels(self) -> Any:
        """Return a state at the beginning of a search."""
        far = weft.full(2**31 - 2, weft.int32)
        return self.g.state(level=far.but(self.source, 0))

    def by_operators(self, schedule: str | None = None) -> Any:
        """Search by one advance after another."""
        g, state, frontier = self.g, self.levels(), self.g.frontier([self.source])
        while frontier:
            frontier = advance(g, frontier, visit, state, schedule=schedule, config=self.config)
        return state.level

    def captured(self) -> Any:
        """Search by a captured loop."""
        g, state, frontier = self.g, self.levels(), self.g.frontier([self.source])
        with weft.capture(strict=True):
            while frontier:
                frontier = advance(g, frontier, visit, state, config=self.config)
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


def runs_of(call: Callable[[], Any]) -> int:
    """Return the runs of a call; on a GPU, its launches."""
    with weft.profile() as p:
        call()
    return sum(int(fact.get("launches", 1)) for fact in p.facts)  # type: ignore[call-overload]


def programs(bench: Bench, clock: Callable[[], float], peers: bool) -> list[Row]:
    """Compare operators, captured operators and `iterate` on one graph."""
    rows = []
    many = 10
    tasks: dict[str, dict[str, Callable[[], Any]]] = {
        "BFS": {
            "operators": bench.by_operators,
            "captured": bench.captured,
            "iterate": bench.iterated,
        },
        "PageRank, 10 iterations": {
            "operators": lambda: bench.rank_by_operators(many),
            "captured": lambda: bench.rank_by_operators(many, True),
            "iterate": lambda: bench.rank_iterated(many),
        },
    }
    if peers:
        for task, call in cugraph_calls(bench, many).items():
            tasks[task]["cuGraph"] = call
    for task, calls in tasks.items():
        found = alternate(calls, RUNS, clock=clock)
        results = [np.asarray(found[name].results[-1]) for name in list(calls)[:3]]
        for other in results[:2]:
            np.testing.assert_allclose(other, results[2], rtol=1e-9, err_msg=task)
        base = found["iterate"].median_ms
        row = [bench.name, task]
        for name in ("operators", "captured", "iterate"):
            ms = found[name].median_ms
            row += [f"{ms:.2f} ({ms / base:.2f}, {runs_of(calls[name])})"]
        rows.append([*row, f"{found['cuGraph'].median_ms:.2f}" if "cuGraph" in found else "–"])
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
        "PageRank, 10 iterations": lambda: cugraph.pagerank(
            made, max_iter=many, tol=0.0, fail_on_nonconvergence=False
        ),
    }


# -- balance and duplicates


def balance(bench: Bench, clock: Callable[[], float]) -> list[Row]:
    """Compare the ways to balance the advances of a search."""
    ways = ("input", "output", "auto")
    found = alternate({way: lambda way=way: bench.by_operators(way) for way in ways},
                      RUNS, clock=clock)  # fmt: skip
    return [[bench.name, *(f"{found[way].median_ms:.2f}" for way in ways)]]


def unseen(v: Any) -> Any:
    """Hold where no level is known."""
    return v.level == 2**31 - 2


def passing(u: Any, v: Any, e: Any) -> Any:
    """Hold where an arc leads to a vertex without a level."""
    return v.level == 2**31 - 2


def duplicates(bench: Bench) -> list[Row]:
    """Count the items of the queues of a search that each heuristic leaves."""
    totals = dict.fromkeys(HEURISTICS, 0)
    g, state = bench.g, bench.levels()
    frontier: Any = g.frontier([bench.source])
    while frontier:
        arcs = advance(g, frontier, passing, state, output="arcs")
        queue = Queue(g, arcs)
        for name in HEURISTICS:
            totals[name] += len(filter(g, queue, unseen, state, dedup=name))
        frontier = advance(g, frontier, visit, state)
    least = max(1, totals["exact"])
    return [[bench.name, *(f"{totals[name] / least:.2f}×" for name in HEURISTICS[:-1]),
             f"{totals['exact']:,}"]]  # fmt: skip


# -- the whole


def graphs(size: dict[str, int], more: Sequence[str] = ()) -> dict[str, Callable[[], weft.Graph]]:
    """Return the graphs by name, and those named; each is made when it is needed."""
    points, planted = size["points"], size["planted"]
    made: dict[str, Callable[[], weft.Graph]] = {
        f"kron{size['kron']}": lambda: weft.generators.rmat(size["kron"], 16, seed=1),
        f"geometric, {points:,} points": lambda: weft.generators.geometric(
            points, float(np.sqrt(16 / (np.pi * points))), seed=1
        ),
        f"road{size['road']}": lambda: weft.generators.road(size["road"], 0.7, seed=1),
        f"planted, {planted:,} vertices": lambda: weft.generators.planted(planted, seed=1),
    }
    named = {
        graph_names.short(name): lambda name=name: graph_names.generate(name, weights=None)
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
    parser.add_argument("--lines", action="store_true", help="count lines only")
    given = parser.parse_args()
    if given.lines:
        print(lines_table())
        return
    on_cpu = given.device == "cpu"
    config = weft.Config(threads=1) if on_cpu else None
    clock = time.process_time if on_cpu else settled
    measured: list[Row] = []
    balanced: list[Row] = []
    counted: list[Row] = []
    for name, make in graphs(SIZES[given.size], graph_names.chosen(given)).items():
        bench = Bench(name, make().to(given.device), config)
        measured += programs(bench, clock, not on_cpu)
        if name.startswith(("road", "kron")):
            balanced += balance(bench, clock)
        counted += duplicates(bench)
    unit = "CPU time of one thread in ms" if on_cpu else "ms"
    print(f"{given.device}, {unit}, median of {RUNS} (ratio to iterate, runs)")
    show(["graph", "task", "operators", "captured", "iterate", "cuGraph"], measured)
    show(["BFS by operators, ms", "input", "output", "auto"], balanced)
    show(["items of all queues of a BFS", *HEURISTICS], counted)
    print("\n" + lines_table())


def settled() -> float:
    """Return the time when the GPU has finished."""
    import cupy

    cupy.cuda.runtime.deviceSynchronize()
    return time.perf_counter()


if __name__ == "__main__":
    main()
