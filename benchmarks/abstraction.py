"""Compare generated with hand-written CUDA of the same configuration.

``python benchmarks/abstraction.py`` runs PageRank, BFS, SSSP and components on kron18 to kron21,
each as generated under one fixed configuration (schedule `warp`, csr, one cooperative kernel) and
as written in `benchmarks.handwritten`, with the same grid and block. CUDA events around every
launch time the kernels alone; results are compared. The target for the geometric mean of the ratios
is 1.05.

``--device emulated --graphs kron7`` runs the same kernels in the host emulation.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gpu_report, graph_names, handwritten
from benchmarks.gpu_timing import OF_PROGRAMS
from weft.backends.cuda.drivers.base import Geometry

AIM = 1.05
RUNS = 7
ITERATIONS = 20
BARE = {"schedule": "warp", "format": "csr", "fuse": "all", "width": "grid", "compaction": "online",
        "dedup": "exact", "combine": "atomic"}  # fmt: skip


class Launches:
    """Record a driver's launches: the last run's arguments and kernel times."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.grid, self.block = 1, 32
        self.spans: list[tuple[Any, Any]] = []
        self.wall_ms = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        original = self.driver.launch
        self.spans, self.wall_ms = [], 0.0

        def launch(kernel: Any, geometry: Geometry, *arguments: Any) -> None:
            if kernel.name not in OF_PROGRAMS:  # initial values are written in both forms, untimed
                return original(kernel, geometry, *arguments)
            if geometry.grid > 1:
                self.grid, self.block = geometry.grid, geometry.block
            with self.timed():
                original(kernel, geometry, *arguments)

        self.driver.launch = launch
        try:
            yield
        finally:
            del self.driver.launch

    @contextmanager
    def timed(self) -> Iterator[None]:
        if self.driver.xp is np:
            began = time.perf_counter()
            yield
            self.wall_ms += (time.perf_counter() - began) * 1e3
            return
        cuda = self.driver.xp.cuda
        start, stop = cuda.Event(), cuda.Event()
        start.record()
        yield
        stop.record()
        self.spans.append((start, stop))

    def milliseconds(self) -> float:
        """Return the time of all kernels since the last call."""
        if self.driver.xp is np:
            total, self.wall_ms = self.wall_ms, 0.0
            return total
        cuda = self.driver.xp.cuda
        cuda.get_current_stream().synchronize()
        total = sum(cuda.get_elapsed_time(start, stop) for start, stop in self.spans)
        self.spans = []
        return float(total)


class Contest:
    """One graph, and every task on it in both forms."""

    def __init__(self, name: str, device: str) -> None:
        import weft
        from weft.backends.cuda.drivers import driver_of

        self.weft, self.g = weft, graph_names.generate(name, device)
        place = self.g.topology.device
        self.driver = driver_of(place.kind, place.index)
        self.xp, self.n = self.driver.xp, self.g.num_vertices
        rows = self.g.topology.out
        self.offsets, self.targets = rows.offsets, rows.targets
        self.weights = self.g.edge.in_slots("weight", "out")
        self.source = int(self.xp.argmax(self.xp.diff(rows.offsets)))
        self.launches = Launches(self.driver)
        self.modules: dict[str, Any] = {}

    # -- generated

    def generated(self, task: str) -> Any:
        weft, g = self.weft, self.g
        if task == "pagerank":
            config = weft.Config(direction="pull", **BARE)
            return weft.pagerank(
                g, tol=0, max_iter=ITERATIONS, on_unconverged="return", config=config
            )
        config = weft.Config(direction="push", **BARE)
        if task == "bfs":
            return weft.bfs(g, self.source, config=config).level
        if task == "sssp":
            from dataclasses import replace

            return weft.sssp(g, self.source, config=replace(config, ordering=False)).dist
        from weft.algorithms.connected_components import link_all, shorten

        state = g.state(parent=weft.full(lambda v: v.id, weft.vertex_id))
        g.run([link_all, shorten], state, config=config)
        return state.parent

    # -- hand-written

    def by_hand(self, task: str) -> Any:
        return getattr(self, f"_{task}_by_hand")()

    def _launch(self, task: str, *arguments: Any) -> None:
        """Launch a hand-written kernel with the generated kernel's grid and block."""
        grid, block = self.launches.grid, self.launches.block
        key = task, grid, block
        if key not in self.modules:
            self.modules[key] = self._compiled(task, grid, block)
        with self.launches.timed():
            self.modules[key](arguments)

    def _compiled(self, task: str, grid: int, block: int) -> Callable[[Any], None]:
        blocks = -(-grid // self.driver.limits.multiprocessors)
        if self.xp is np:
            text = handwritten.source(task, block, blocks, emulated=True)
            kernel = self.driver.compile(text, [task], {}).kernel(task)
            geometry = Geometry(grid, block, cooperative=True)
            return lambda arguments: self.driver.launch(kernel, geometry, arguments)
        module = self.xp.RawModule(
            code=handwritten.source(task, block, blocks),
            options=("-std=c++17", "--fmad=false"),
            enable_cooperative_groups=True,
        )
        function = module.get_function(task)
        return lambda arguments: function((grid,), (block,), arguments)

    def _queues(self) -> tuple[Any, ...]:
        xp = self.xp
        queues = [xp.zeros(self.n, np.int32) for _ in range(2)]
        queues[0][0] = self.source
        sizes = xp.zeros(3, np.uint64)
        sizes[0] = 1
        return (*queues, sizes, xp.zeros(1, np.uint32))

    def _pagerank_by_hand(self) -> Any:
        xp, n = self.xp, self.n
        degree = xp.diff(self.offsets)
        rank = xp.full(n, 1.0 / n)
        sums = xp.zeros(6)
        sums[5] = float((degree == 0).sum()) / n  # dangling mass before the first iteration
        share = rank / xp.maximum(degree, 1)
        self._launch(
            "pagerank", np.int64(n), self.offsets, self.targets, np.float64(0.85),
            np.int32(ITERATIONS), rank, share, xp.zeros(n), sums, xp.zeros(1, np.uint32),
        )  # fmt: skip
        return rank

    def _bfs_by_hand(self) -> Any:
        level, parent = (self.xp.full(self.n, -1, np.int32) for _ in range(2))
        level[self.source], parent[self.source] = 0, self.source
        self._launch("bfs", self.offsets, self.targets, level, parent, *self._queues())
        return level

    def _sssp_by_hand(self) -> Any:
        xp = self.xp
        pair = xp.full(self.n, 2**64 - 1, np.uint64)
        pair[self.source] = self.source  # distance 0
        stamp = xp.zeros(self.n, np.uint32)
        self._launch("sssp", self.offsets, self.targets, self.weights, pair, stamp, *self._queues())
        dist = (pair >> np.uint64(32)).astype(np.int64)
        return xp.where(dist == 2**32 - 1, -1, dist)

    def _components_by_hand(self) -> Any:
        parent = self.xp.arange(self.n, dtype=np.int32)
        barrier = self.xp.zeros(1, np.uint32)
        self._launch("components", np.int64(self.n), self.offsets, self.targets, parent, barrier)
        return parent

    # -- both

    def compare(self, task: str, runs: int) -> dict[str, Any]:
        """Time both forms in alternation and compare their results."""
        times: dict[str, list[float]] = {"generated": [], "by hand": []}
        results: dict[str, Any] = {}
        for run in range(runs + 1):  # the first warms up
            for name, call in (("generated", self._generated), ("by hand", self.by_hand)):
                results[name] = None
                results[name] = call(task)
                ms = self.launches.milliseconds()
                if run:
                    times[name].append(ms)
        got, want = results["generated"], results["by hand"]
        if task == "pagerank":
            agree = float(self.xp.abs(got - want).sum()) < 1e-9
        else:
            agree = bool((got == want).all())
        medians = {name: statistics.median(values) for name, values in times.items()}
        return {
            "task": task,
            **medians,
            "ratio": medians["generated"] / medians["by hand"],
            "agree": agree,
            "grid": self.launches.grid,
            "block": self.launches.block,
        }

    def _generated(self, task: str) -> Any:
        with self.launches.watched():
            return self.generated(task)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Generated against hand-written kernels.")
    graph_names.add_graphs(parser, ("kron18", "kron19", "kron20", "kron21"))
    parser.add_argument("--tasks", default=",".join(handwritten.KERNELS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    for name in graph_names.chosen(options):
        contest = Contest(name, options.device)
        for task in options.tasks.split(","):
            rows.append({"graph": name, **_guarded(contest.compare, task, options.runs)})
            print(json.dumps(rows[-1]), flush=True)
        del contest
    head = ["task", "graph", "generated ms", "by hand ms", "ratio", "grid x block", "result"]
    print(gpu_report.table(head, [_cells(row) for row in rows]))
    ratios = [row["ratio"] for row in rows if row.get("agree")]
    mean = statistics.geometric_mean(ratios) if ratios else float("nan")
    print(f"geometric mean of {len(ratios)} ratios: {mean:.3f}; the aim is at most {AIM}")
    if options.json is not None:
        options.json.write_text(json.dumps({"rows": rows, "mean": mean}, indent=1) + "\n")
    return int(len(ratios) < len(rows))


def _guarded(call: Callable[..., dict[str, Any]], task: str, runs: int) -> dict[str, Any]:
    try:
        return call(task, runs)
    except Exception as error:
        return {"task": task, "fault": f"{type(error).__name__}: {error}"[:400]}


def _cells(row: dict[str, Any]) -> list[str]:
    if "fault" in row:
        return [row["task"], row["graph"], "", "", "", "", row["fault"][:40]]
    return [
        row["task"], row["graph"], f"{row['generated']:.3f}", f"{row['by hand']:.3f}",
        f"{row['ratio']:.3f}", f"{row['grid']} x {row['block']}",
        "agree" if row["agree"] else "DIFFER",
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
