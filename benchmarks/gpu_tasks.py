"""The tasks of the GPU benchmark: the timed call, its work and its check."""

from __future__ import annotations

import functools
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmarks import gpu_checks as checks
from benchmarks import graph_names
from benchmarks.gpu_graphs import Workload
from benchmarks.gpu_timing import Clock, Times

RUNS = 5
Call = Callable[..., Any]
RANK_TOL, MOST_RANKING = 1e-8, 200  # of PageRank to a tolerance


@dataclass(frozen=True)
class Task:
    """A task: `call(graph, source, **options)` is timed, and its time divided by `steps`.

    With an `order` the graph is reordered first, which is timed separately.
    """

    name: str
    call: Call
    check: Callable[[Workload, Any], str | None]
    searches: bool = False
    steps: int = 1
    order: str = ""


def _pagerank(dtype: str) -> Call:
    def call(graph: Any, source: int, **given: Any) -> Any:
        import weft

        options = {"tol": 0, "max_iter": checks.ITERATIONS, "on_unconverged": "return"}
        return weft.pagerank(graph, dtype=dtype, **options, **given)

    return call


def _ranks(adaptive: bool) -> Call:
    """Return PageRank to a tolerance, plain or adaptive."""

    def call(graph: Any, source: int, **given: Any) -> Any:
        import weft

        options = {"tol": RANK_TOL, "max_iter": MOST_RANKING, "adaptive": adaptive}
        return weft.pagerank(graph, **options, **given)

    return call


def _named(name: str, *, searches: bool = False) -> Call:
    """Return a function of weft, imported when it is called."""

    def call(graph: Any, source: int, **given: Any) -> Any:
        import weft

        function = getattr(weft, name)
        return function(graph, source, **given) if searches else function(graph, **given)

    return call


TASKS = {
    task.name: task
    for task in (
        Task(
            "bfs",
            _named("bfs", searches=True),
            lambda w, r: checks.check_bfs(w.arcs, w.source, r.level, r.parent),
            searches=True,
        ),
        Task(
            "sssp",
            _named("sssp", searches=True),
            lambda w, r: checks.check_sssp(w.arcs, w.source, r.dist, r.parent),
            searches=True,
        ),
        *(
            Task(
                name,
                _pagerank(dtype),
                lambda w, r: checks.check_pagerank(w.arcs, r),
                steps=checks.ITERATIONS,
                order=order,
            )
            for name, dtype, order in (
                ("pagerank", "float64", ""),
                ("pagerank_single", "float32", ""),
                ("pagerank_ordered", "float32", "degree"),
            )
        ),
        *(
            Task(
                name,
                _ranks(adaptive),
                lambda w, r: checks.check_pagerank(w.arcs, r, MOST_RANKING, RANK_TOL),
            )
            for name, adaptive in (("ranks", False), ("ranks_adaptive", True))
        ),
        Task(
            "components",
            _named("connected_components"),
            lambda w, r: checks.check_components(w.arcs, r, w.components),
        ),
        Task("triangles", _named("triangle_count"), lambda w, r: checks.check_triangles(w.arcs, r)),
        Task("cores", _named("core_number"), lambda w, r: checks.check_cores(w.arcs, r)),
    )
}


@dataclass
class Row:
    """The measurements of one task on one graph; no times if it failed."""

    graph: str
    task: str
    ms: float | None = None
    wall_ms: float | None = None
    order_ms: float | None = None
    runs: int = 0
    times_ms: list[float] = field(default_factory=list)
    first_call_ms: float | None = None
    arcs_per_second: float | None = None
    sources: int = 0
    sources_mean_ms: float | None = None
    sources_worst_ms: float | None = None
    memory_bytes: int | None = None
    configuration: str = "auto"
    supersteps: str = ""
    check_seconds: float | None = None
    fault: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def measure(
    workload: Workload,
    task: Task,
    clock: Clock,
    seconds: float,
    runs: int = RUNS,
    config: Any = None,
) -> Row:
    """Time a task and check its result; the row records a failure.

    `config` has the fields of the `weft.Config` that all calls get, if any.
    """
    if config:
        task = configured(task, config)
    row = Row(workload.name, task.name)
    try:
        _measure(row, workload, task, clock, seconds, runs)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())[:300]
        fault = f"{type(error).__name__}: {text} ({where.name}, line {where.lineno})"
        row.fault = row.fault or (fault if row.ms is None else f"not proved: {fault}")
    return row


def configured(task: Task, config: dict[str, Any]) -> Task:
    """Return the task with a configuration for its calls."""
    import weft

    return replace(task, call=functools.partial(task.call, config=weft.Config(**config)))


def _measure(
    row: Row, workload: Workload, task: Task, clock: Clock, seconds: float, runs: int
) -> None:
    graph, source = workload.graph, workload.source
    if task.order:
        reorder(small_like(graph), task.order)  # compiles the kernels it needs
        ordering = Times()
        graph = clock.time(lambda: reorder(workload.graph, task.order), ordering)
        row.order_ms = ordering.wall_ms[0]

    def call() -> Any:
        return task.call(graph, source)

    clock.forget_memory()
    first = Times()
    clock.time(call, first)
    row.first_call_ms = first.wall_ms[0]
    clock.warm_up(call)  # some structures are built in the second call
    times, result = clock.repeat(call, runs, seconds / 3)
    row.times_ms = [t / task.steps for t in times.device_ms]
    row.runs = len(row.times_ms)
    row.ms, row.wall_ms = times.median_ms / task.steps, times.median_wall_ms / task.steps
    row.memory_bytes = clock.held_bytes()
    row.arcs_per_second = _work(workload, task, result) / (row.ms * 1e-3)
    began = time.perf_counter()
    row.fault = task.check(workload, result)
    row.check_seconds = time.perf_counter() - began
    del result
    if task.searches:
        _measure_sources(row, workload, task, clock, seconds / 4)
    row.configuration, row.supersteps = chosen(call)


def reorder(graph: Any, order: str) -> Any:
    """Return the reordered graph with every array that a gather reads."""
    ordered = graph.reorder(order)
    ordered.in_degree  # noqa: B018
    return ordered


def small_like(graph: Any) -> Any:
    return graph_names.generate("kron10x16", str(graph.device), weights=None)


def _measure_sources(
    row: Row, workload: Workload, task: Task, clock: Clock, seconds: float
) -> None:
    """Time searches from random vertices, because the one of largest degree is favourable."""
    times = Times()
    clock.warm_up(lambda: task.call(workload.graph, workload.source))
    began = time.perf_counter()
    for source in workload.sources:
        clock.time(lambda source=source: task.call(workload.graph, source), times)
        if time.perf_counter() - began > seconds:
            break
    row.sources = len(times.device_ms)
    row.sources_mean_ms, row.sources_worst_ms = times.mean_ms, times.worst_ms


def _work(workload: Workload, task: Task, result: Any) -> int:
    """Return the arcs of a task: for a search, those of the vertices it reaches."""
    if not task.searches:
        return workload.arcs.m
    return int(workload.arcs.degree[result.parent >= 0].sum())


def chosen(call: Callable[[], Any]) -> tuple[str, str]:
    """Return the configuration and supersteps of one call, as weft reports them."""
    import weft

    try:
        with weft.profile() as profile:
            call()
    except Exception as error:  # optional in the table
        return "auto", f"profile failed: {type(error).__name__}"
    described = "; ".join(dict.fromkeys(map(_described, profile.facts)))
    return described or "auto", _directions(profile.records)


def _described(facts: dict[str, Any]) -> str:
    """``push twc/csr queue->queue, pull vertex/csr bitmap->bitmap, online, exact, fuse all``."""
    sides = [f"{s} {facts[s]}" for s in ("push", "pull", "gather", "narrow") if s in facts]
    rest = [facts[name] for name in ("compaction", "dedup") if name in facts]
    return ", ".join([*sides, *rest, f"fuse {facts.get('fuse', 'none')}"])


def _directions(records: Any) -> str:
    """``5 supersteps: 3 push, 2 pull``."""
    steps = {(record.call, record.step): record.direction for record in records}
    if not steps:
        return ""
    counts: dict[str, int] = {}
    for direction in steps.values():
        counts[direction] = counts.get(direction, 0) + 1
    return f"{len(steps)}: " + ", ".join(f"{count} {name}" for name, count in counts.items())
