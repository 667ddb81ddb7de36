"""Measure configurations one after another on one graph, each within a time limit."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import beliefs, gpu_checks, gpu_graphs
from benchmarks.gpu_tasks import TASKS
from benchmarks.gpu_timing import OF_PROGRAMS, Clock

RUNS = 3
NO_TIME = "no time left"
# The kind of answer of each task, which decides how answers are compared.
KINDS = {
    "bfs": "level", "sssp": "dist", "pagerank": "rank", "components": "label", "cores": "core",
    "k_core16": "in core 16", "k_core32": "in core 32", "bp": "belief",
}  # fmt: skip
CORES = {"in core 16": 16, "in core 32": 32}
NAMES = {"components": "connected_components", "cores": "core_number"}
RANK_TOLERANCE = 1e-9
BELIEF_TOLERANCE = 1e-6


@dataclass
class Measured:
    """The measurements of one configuration."""

    ms: float | None = None
    arcs: int = 0
    launches: int | None = None
    registers: str = ""
    published: float | None = None
    fault: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Bench:
    """A graph on a device, with its correct answers and a time budget in seconds."""

    def __init__(self, name: str, device: str, budget: float, row_limit: float) -> None:
        self.began = time.perf_counter()
        self.budget, self.row_limit = budget, row_limit
        self.workload = gpu_graphs.make(name, device)
        self.clock = Clock(device)
        self.answers: dict[str, Any] = {}
        signal.signal(signal.SIGALRM, _ring)

    def task(self, task: str, **options: Any) -> Measured:
        """Measure an algorithm of weft under a configuration."""
        return self.measure(KINDS[task], lambda: self.call(task, **options))

    def call(self, task: str, **options: Any) -> Any:
        import weft

        config = weft.Config(**options)
        g, source = self.workload.graph, self.workload.source
        if task == "bfs":
            return weft.bfs(g, source, config=config).level
        if task == "sssp":
            return weft.sssp(g, source, config=config).dist
        if task == "pagerank":
            return weft.pagerank(
                g, tol=0, max_iter=gpu_checks.ITERATIONS, on_unconverged="return", config=config
            )
        if task.startswith("k_core"):
            return weft.acc.k_core(g, CORES[KINDS[task]], config=config)
        if task == "bp":
            return weft.acc.belief_propagation(
                g, *beliefs.inputs(g.num_vertices), tol=0.0, max_iter=beliefs.ITERATIONS,
                config=config,
            )  # fmt: skip
        return getattr(weft, NAMES[task])(g, config=config)

    def filters(self, task: str, **options: Any) -> list[Any]:
        """Return the records of a profile of an algorithm of weft."""
        import weft

        self.call(task, **options)
        with weft.profile() as told:
            self.call(task, **options)
        return list(told.records)

    def measure(
        self, kind: str, call: Callable[[], Any], published: float | None = None
    ) -> Measured:
        """Time a call and compare its result with the correct answer of that kind."""
        measured = Measured(arcs=self.workload.arcs.m, published=published)
        if time.perf_counter() - self.began > self.budget:
            measured.fault = NO_TIME
            return measured
        try:
            answer = self.answer(kind)
            signal.setitimer(signal.ITIMER_REAL, self.row_limit)
            watch = Watch(self.workload.graph)
            with watch:
                call()
            measured.launches, measured.registers = watch.launches, watch.registers()
            self.clock.warm_up(call)
            times, result = self.clock.repeat(call, RUNS, self.row_limit / 4)
            signal.setitimer(signal.ITIMER_REAL, 0)
            measured.ms = times.median_ms
            if not self.same(kind, result, answer):
                measured.fault = "WRONG"
        except Exception as error:
            measured.fault = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return measured

    def answer(self, kind: str) -> Any:
        """Return the correct answer of a kind, computed once and proved."""
        if kind not in self.answers:
            if kind == "rank":
                arcs = self.workload.arcs
                self.answers[kind] = gpu_checks.power_iteration(arcs, gpu_checks.ITERATIONS)
            elif kind == "belief":
                self.answers[kind] = beliefs.reference(self.workload.arcs)
            elif kind in CORES:
                self.answers[kind] = self.answer("core") >= CORES[kind]
            else:
                task = TASKS[next(t for t, k in KINDS.items() if k == kind)]
                result = task.call(self.workload.graph, self.workload.source)
                fault = task.check(self.workload, result)
                if fault is not None:
                    raise RuntimeError(f"the default configuration of {task.name}: {fault}")
                self.answers[kind] = result[0] if isinstance(result, tuple) else result
        return self.answers[kind]

    def same(self, kind: str, result: Any, answer: Any) -> bool:
        xp = self.workload.arcs.xp
        if kind == "belief":
            return float(xp.abs(result - answer).max()) <= BELIEF_TOLERANCE
        if kind == "rank":
            return float(xp.abs(result - answer).sum()) <= RANK_TOLERANCE
        return bool((result == answer).all())


class Watch:
    """Count a driver's launches and record the launched kernels."""

    def __init__(self, graph: Any) -> None:
        self.driver: Any = None
        self.launches: int | None = None
        self.kernels: dict[str, Any] = {}
        place = graph.topology.device
        with suppress(ImportError):
            from weft.backends.cuda.drivers import driver_of

            if place.kind != "cpu":
                self.driver = driver_of(place.kind, place.index)

    def __enter__(self) -> Watch:
        if self.driver is None:
            return self
        original, self.launches = self.driver.launch, 0

        def launch(kernel: Any, *arguments: Any, **options: Any) -> None:
            if kernel.name in OF_PROGRAMS:  # skip kernels that write initial values
                self.launches += 1
                self.kernels[kernel.name] = kernel
            original(kernel, *arguments, **options)

        self.driver.launch = launch
        return self

    def __exit__(self, *exc: object) -> None:
        if self.driver is not None:
            del self.driver.launch

    def registers(self) -> str:
        """Return registers and spilled bytes as ``run_push 64 (16), run_pull 40 (0)``."""
        parts = []
        for name, kernel in self.kernels.items():
            used = kernel.resources()
            if used is not None and name != "run_turn":
                parts.append(f"{name} {used.registers} ({used.spilled_bytes})")
        return ", ".join(parts)


class OutOfTimeError(Exception):
    """A row exceeded its time limit."""


def _ring(*_: object) -> None:
    raise OutOfTimeError("the time limit of the row has passed")
