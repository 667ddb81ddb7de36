"""tune: searches the configurations of an algorithm on a graph, and stores the best."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from typing import Any

import numpy as np

import weft
from weft.algorithms import algorithm_names
from weft.arrays.threads import num_threads
from weft.backends import backend_of
from weft.backends.layouts import ordered
from weft.config import SIDES, Config
from weft.engine.fingerprint import Fingerprint, fingerprint_of
from weft.engine.state import full
from weft.engine.tuned import forget_remembered, version
from weft.errors import ConfigError, DeviceError, GraphError, unknown
from weft.formats import choose, formats
from weft.graph import Graph
from weft.graph.execution import arrangement
from weft.ir.request import Request
from weft.plan.outputs import why_not
from weft.plan.prepare import directions_of
from weft.plan.queries import side_of
from weft.storage.cache_dir import tunings_path
from weft.tuning.compiling import compiled, insists
from weft.tuning.measuring import Bench, Trial
from weft.tuning.progress import ProgressBar
from weft.tuning.report import TuningReport
from weft.tuning.search import Search, coordinate_search, likely
from weft.tuning.space import Traits, make_space

SIMILAR = 3  # winners of other graphs to start from
FINALISTS = 3
FINAL_ROUNDS = 5
CLEAR = 0.98  # relative to the default's time: a slower candidate does not replace it
TRUSTED = ("weft.algorithms.", "weft.learning.")  # modules whose results are known to be right
CPU_THREADS = 64


def tune(
    g: Graph,
    algorithm: str | Callable[..., Any],
    *args: Any,
    budget_s: float = 30.0,
    same: Callable[[Any, Any], bool] | None = None,
    remember: bool = True,
    progress: bool | None = None,
    **kwargs: Any,
) -> TuningReport:
    """Find the fastest configuration of an algorithm on a graph, by running it.

    The winner is stored for later processes: runs of the same programs on the same graph and device
    use it unless they are given a `Config` (``WEFT_TUNINGS=off`` disables that). Every candidate's
    result is compared with the default's; one that differs is reported and never wins. Ctrl-C ends
    the search; the best so far is reported and stored.

    Parameters
    ----------
    g
        The graph, on the device to tune for.
    algorithm
        A function that takes the graph first and a keyword ``config``, such as `weft.bfs`, or the
        name of one of weft's own, those of `weft.learning` included.
    *args, **kwargs
        Its other arguments.
    budget_s
        Time limit of the search in seconds, once the default configuration has run. A candidate
        that cannot be compiled in time is not tried.
    same
        ``same(result, right)`` returns whether a candidate's result is as right as the default's;
        by default integers must be equal, floats nearly equal, and parents of search trees may
        differ.
    remember
        Whether to store the winner.
    progress
        Whether to show a bar with the best so far; by default on a terminal.

    Returns
    -------
    TuningReport
        ``report.config`` is the winner; the report prints as a table of the fastest.

    Raises
    ------
    ConfigError
        If the algorithm is not known or takes no configuration, or the graph lies on a device
        where no configuration makes a difference, such as a database.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.rmat(8, seed=1)
    >>> report = weft.tune(g, "bfs", 0, budget_s=0.1, remember=False)
    >>> report.algorithm, report.best.ms <= report.default.ms
    ('bfs', True)
    """
    function, name = find_algorithm(algorithm)
    _check(g, function, name, budget_s, kwargs)

    def call(config: Config) -> Any:
        return function(g, *args, config=config, **kwargs)

    trusted = str(getattr(function, "__module__", "")).startswith(TRUSTED)
    bench = Bench(call, g.topology.device, same, trusted)
    return tune_on(bench, g, name, budget_s, remember=remember, progress=progress)


def tune_on(
    bench: Bench,
    g: Graph,
    name: str,
    budget_s: float,
    *,
    remember: bool = True,
    progress: bool | None = None,
) -> TuningReport:
    """Search the configurations of a bench, by the clock of the bench."""
    began = bench.clock()
    try:
        default = bench.start()
        space = make_space(traits_of(g, bench.requests.values()))
        graph = fingerprint_of(g.topology, sampled_diameter(g))
        starts = [*similar_winners(bench.requests, graph, g), *likely(space)]
        search = coordinate_search(space, [Config(), *starts])
        tuning = _Tuning(bench, default, budget_s)
        with ProgressBar(f"Tuning {name}", budget_s, progress) as bar:
            tuning.run(search, bar)
        finalists = tuning.finish()
    finally:
        bench.compilations.close()
    best = finalists[0]
    report = TuningReport(
        algorithm=name,
        graph=graph,
        device=g.topology.device.model,
        space=space,
        trials=tuple(tuning.trials),
        default=next(t for t in finalists if t.config == Config()),
        best=best,
        runner_up=next((t for t in finalists if t.config != best.config), None),
        seconds=bench.clock() - began,
        interrupted=tuning.interrupted,
        kernel=bench.kernel_source(best.config),
    )
    if remember:
        keep(report, bench.requests)
    return report


class _Tuning:
    """One search with its trials."""

    def __init__(self, bench: Bench, default: Trial, budget_s: float) -> None:
        self.bench, self.began, self.budget_s = bench, bench.clock(), budget_s
        self.trials = [default]
        self.times = {default.config: default.ms}
        self.interrupted = False
        self.lost = False  # the device: nothing can run on it any more

    @property
    def seconds(self) -> float:
        return self.bench.clock() - self.began

    def run(self, search: Search, bar: ProgressBar) -> None:
        """Try the batches of the search until it ends, time is up, or Ctrl-C is pressed."""
        try:
            batch = next(search, None)
            while batch is not None and self.seconds < self.budget_s:
                self._try(batch, bar)
                try:
                    batch = search.send({c: self.times[c] for c in batch if c in self.times})
                except StopIteration:
                    return
        except KeyboardInterrupt:
            self.interrupted = True
        except DeviceError:  # reported by the last trial
            self.lost = True

    def _try(self, batch: Iterable[Config], bar: ProgressBar) -> None:
        """Time a batch; while one candidate runs, the next ones are compiled."""
        waiting = [config for config in batch if config not in self.times]
        ahead: list[Config] = []
        compilations = self.bench.compilations
        while (waiting or ahead) and self.seconds < self.budget_s:
            while waiting and len(ahead) < compilations.lookahead:
                ahead.append(waiting.pop(0))
                compilations.begin(ahead[-1])
            ready = next((config for config in ahead if compilations.is_ready(config)), None)
            if ready is None:
                left = self.budget_s - self.seconds
                wait(compilations.under_way(), timeout=max(0.0, left), return_when=FIRST_COMPLETED)
                continue
            ahead.remove(ready)
            expected = compilations.wait_s(ready)
            if self.seconds + expected > self.budget_s:
                continue
            began = self.seconds
            try:
                trial = self.bench.measure(ready)
            except DeviceError as error:
                self.trials.append(Trial(ready, "failed", reason=str(error), seconds=self.seconds))
                raise
            self.trials.append(replace(trial, seconds=self.seconds))
            self.times[ready] = trial.ms
            if expected:
                compilations.longest_s = max(compilations.longest_s, self.seconds - began)
            bar.update(self.seconds, len(self.trials), self.best(), self.trials[0])

    def best(self) -> Trial:
        """Return the fastest so far."""
        return min((t for t in self.trials if t.is_timed), key=_rank)

    def finish(self) -> list[Trial]:
        """Run the fastest few and the default in turn once more; return them, the winner first."""
        ranked = sorted((t for t in self.trials if t.is_timed), key=_rank)
        different = [t for t in ranked if t.same_as is None]
        finalists = [t for t in different if t.config != Config()][:FINALISTS]
        default = self.trials[0]
        times: dict[Config, list[float]] = {t.config: [] for t in (default, *finalists)}
        room_s = max(0.1 * self.budget_s, 3 * sum(t.ms for t in (default, *finalists)) / 1e3)
        stop = self.seconds + room_s
        try:
            ended = not finalists or self.interrupted or self.lost
            for _ in range(0 if ended else FINAL_ROUNDS):
                for config, found in times.items():
                    # Only the latest reordered graph is cached, so the first run builds it.
                    found += self.bench.confirm(config, runs=1 + (config.reorder is not None))
                if self.seconds > stop:
                    break
        except KeyboardInterrupt:
            self.interrupted = True
        again = [
            replace(t, ms=min(found), runs=t.runs + len(found)) if found else t
            for t, found in zip((default, *finalists), times.values(), strict=True)
        ]
        rest = sorted(again[1:], key=_rank)
        if rest and rest[0].ms < CLEAR * again[0].ms:
            return [rest[0], *sorted([again[0], *rest[1:]], key=_rank)]
        return [again[0], *rest]


def _rank(trial: Trial) -> tuple[int, int, float]:
    """Return the sort key of a trial: of nearly equal ones, the one with fewest choices wins."""
    steps = math.log(max(trial.ms, 1e-9)) / math.log(1 / CLEAR)
    return round(steps), len(trial.config.given()), trial.ms


def find_algorithm(algorithm: str | Callable[..., Any]) -> tuple[Callable[..., Any], str]:
    """Return an algorithm and its name, given one of them.

    Raises
    ------
    ConfigError
        If no algorithm has that name.
    """
    if isinstance(algorithm, str):
        known = dict.fromkeys(algorithm_names(), weft)
        known |= {n: weft.learning for n in weft.learning.__all__ if n.islower()}
        if algorithm not in known:
            raise ConfigError(unknown("algorithm", algorithm, sorted(known)))
        return getattr(known[algorithm], algorithm), algorithm
    if not callable(algorithm):
        raise ConfigError(
            f"algorithm={algorithm!r} cannot be called. Expected a function such as weft.bfs, or "
            f"the name of one."
        )
    return algorithm, str(getattr(algorithm, "__name__", type(algorithm).__name__))


def _check(
    g: object, function: Callable[..., Any], name: str, budget_s: float, kwargs: dict[str, Any]
) -> None:
    if not isinstance(g, Graph):
        raise GraphError(f"weft.tune needs a graph first, but got {g!r}.")
    why = backend_of(g.topology.device).untunable
    if why:
        raise ConfigError(f"weft.tune has nothing to choose on {g.topology.device}: {why}.")
    if not budget_s > 0 or not math.isfinite(budget_s):
        raise ConfigError(f"budget_s={budget_s!r} is not possible. Expected seconds above 0.")
    if "config" in kwargs:
        raise ConfigError("weft.tune chooses config= itself. Leave it out.")
    try:
        known = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    if not any(p.name == "config" or p.kind is p.VAR_KEYWORD for p in known):
        raise ConfigError(
            f"{name!r} takes no configuration. Give it a keyword config=None and pass it on to "
            f"g.run, g.iterate or weft's algorithms."
        )


def traits_of(g: Graph, requests: Iterable[Request]) -> Traits:
    """Return the properties of a graph and its programs that determine the search space."""
    sides: set[str] = set()
    refused: dict[str, str] = {}
    ordered = features = False
    read: dict[str, str] = {}
    for request in requests:
        whys = ((side, why_not(request.program, side)) for side in SIDES)
        read |= {side: why for side, why in whys if why}
        features |= any(array.ndim > 1 for array in request.data.fields.values())
        for sweep in compiled(request, Config()).sweeps:
            if sweep.kind == "edge":
                reasons = {"push": sweep.push_refused, "pull": sweep.pull_refused}
                ways = [way for way in directions_of(request) if not reasons[way]]
                sides |= {side_of(sweep, way) for way in ways}
                if not insists(request):
                    refused |= {way: reason for way, reason in reasons.items() if reason}
            elif any(v.op == "gather" for step in sweep.steps for v in step.body.walk()):
                sides.add("gather")
            ordered |= any(step.priority is not None for step in sweep.steps)
    if g.topology.keep != "both":
        missing = "pull" if g.topology.keep == "out" else "push"
        refused[missing] = f"the graph keeps only its {g.topology.keep}-edges"
    weight = _average(g.edge.storage("weight")) if g.weighted and g.num_edges else None
    threaded = backend_of(g.topology.device).runs_on_threads
    threads = min(num_threads(), CPU_THREADS) if threaded else 1
    found = tuple(side for side in ("push", "pull", "gather") if side in sides)
    return Traits(
        g.device,
        found,
        refused,
        ordered,
        weight if weight and math.isfinite(weight) and weight > 0 else None,
        threads,
        g.topology.num_arcs,
        features,
        g.order is not None,
        g.num_vertices,
        {} if threaded else unsuited_formats(g, found),
        {side: why for side, why in read.items() if side in found},
    )


def unsuited_formats(g: Graph, sides: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return the formats that reject a graph in its order, with reasons, by side and name."""
    held = g.topology if g.order is None or not g.num_vertices else arrangement(g)
    found: dict[tuple[str, str], str] = {}
    for name, format_ in formats().items():
        for side in sides if format_.refuses else ():
            try:
                ordered(held, choose(name), "out" if side == "push" else "in")
            except ConfigError as error:
                found[side, name] = str(error)
    return found


def _average(weights: Any) -> float:
    # As floats: CuPy would spend seconds on compiling sums of other types.
    return float(weights.astype(np.float64).sum()) / int(weights.size)


def sampled_diameter(g: Graph) -> int:
    """Return the depth of a search from the last vertex of one that began at the largest degree."""
    from weft.algorithms.bfs import discover
    from weft.ir.types import vertex_id

    if g.topology.device.on_host:
        g = g.to("cpu")  # which is faster than the emulation and the interpreter
    if not g.num_vertices:
        return 0
    degrees = g.topology.in_degree if g.topology.keep == "in" else g.topology.out_degree
    source, reach = int(degrees.argmax()), 0
    for _ in range(2):
        state = g.state(level=full(-1, np.int32), parent=full(-1, vertex_id))
        state.level[source] = 0
        state.parent[source] = source
        g.iterate(discover, state, [source], config=Config())
        source = int(state.level.argmax())
        reach = max(reach, int(state.level[source]))
    return reach


def similar_winners(requests: dict[str, Request], graph: Fingerprint, g: Graph) -> list[Config]:
    """Return the winners of the same programs on the most similar graphs."""
    path = tunings_path()
    if path is None or not path.exists():
        return []
    from weft.engine.tuning_store import Store

    store, device = Store(path), g.topology.device.model
    found = [t for program in requests for t in store.of_program(program, device)]
    found.sort(key=lambda tuning: graph.distance(tuning.graph))
    return list(dict.fromkeys(tuning.config for tuning in found))[:SIMILAR]


def keep(report: TuningReport, programs: Iterable[str]) -> None:
    """Store a winner for each program that ran; a full disk causes only a warning."""
    path = tunings_path(writing=True)
    if path is None:
        return
    from weft.engine.tuning_store import Store, Tuning

    try:
        for program in programs:
            Store(path).put(
                Tuning(
                    report.graph, program, report.algorithm, report.device, version(),
                    report.config, report.best.ms, report.default.ms, len(report.trials),
                )
            )  # fmt: skip
    except OSError as error:
        warnings.warn(f"the winner could not be stored: {error}", RuntimeWarning, stacklevel=3)
    forget_remembered()
