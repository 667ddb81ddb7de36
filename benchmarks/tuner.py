"""Compare the tuner with an exhaustive search: ``python benchmarks/tuner.py``.

On each graph, for BFS and PageRank: `weft.tune` with an empty store, then every configuration of a
stated sub-space of 200 to 400 (all formats and schedules, and two values each of a few other axes).
The report shows the best, second best and worst of the table, how often the second best has another
format, how close the tuner came and how long it took, and how other searches do on the same table.
``--defaults`` instead compares tuned algorithms with the defaults on kron21, road4900 and rmat24,
timing the default and the fastest few again in turn, and lists what was skipped for lack of time.

Without a GPU, ``--device cpu --graphs kron8`` or ``--device emulated --graphs kron6`` runs the same
logic. The exit status is 1 if a candidate's result was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["WEFT_TUNINGS"] = "off"  # neither read nor write stored tunings

from benchmarks import gpu_graphs, graph_names, tuner_replay
from benchmarks.racing import as_ready

GRAPHS = ("kron19", "road2000")
LARGE = ("kron21", "road4900", "rmat24")  # the largest last, so it takes no time from others
TASKS = ("pagerank", "bfs")  # the second gets the time that the first left
MORE_TASKS = ("pagerank", "bfs", "sssp", "components")
ITERATIONS = 20
TUNING_SHARE = 0.35  # of the time for a graph and an algorithm
DEFAULTS_SHARE = 0.8  # beside defaults; the finalists and graphs in other orders take the rest
SHORTEST_TUNING, LONGEST_TUNING = 0.1, 60.0  # seconds
COLD = 1.4  # times as much time for the first graph, for which everything is compiled
SEED = 1
MISSING = 0.1  # of a table: with more, no search is replayed on it
REPORT_EVERY = 5.0  # seconds
# Second best and worst over the best, and how often the second best has another format.
THESIS = "GRAssembler's thesis: 1.16 ×, 21.5 ×, 53 %"
SLOWEST = 25.0  # times the best: slower runs are stopped and reported as such
LEAST_SLOW, LONG_MS = 10.0, 250.0  # but not below so many times, what takes longer than so many ms
FAR = 8.0  # times the best: slower ones are not tried with other launches
LAUNCH = ("block_size", "width", "threads", "bin_size")  # that make no slow pair a fast one
CPU_TASKS = {"components": "connected_components"}


def algorithm_of(task: str, workload: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the name of an algorithm and its arguments on a graph."""
    if task == "pagerank":
        return task, (), {"tol": 0, "max_iter": ITERATIONS, "on_unconverged": "return"}
    if task in ("bfs", "sssp"):
        return task, (workload.source,), {}
    return CPU_TASKS.get(task, task), (), {}


class Progress:
    """Print progress with the seconds since the start."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    def say(self, text: str) -> None:
        print(f"[{self.elapsed:6.1f} s] {text}", flush=True)


def bench_of(workload: Any, task: str, ahead: Any = None) -> Any:
    """Return what measures a task under configurations; `ahead` compiles for several."""
    import weft
    from weft.tuning.compiling import Compilations
    from weft.tuning.measuring import Bench

    name, args, more = algorithm_of(task, workload)
    function = getattr(weft, name)

    def call(config: Any) -> Any:
        return function(workload.graph, *args, config=config, **more)

    device = workload.graph.topology.device
    return Bench(call, device, trusted=True, compilations=Compilations(ahead))


def measure_table(
    workload: Any, task: str, space: Any, deadline: float, say: Any, ahead: Any = None
) -> tuple[dict[Any, float], list[Any], int]:
    """Time every configuration of a space; return times, trials and the number not reached.

    A stopped or slow configuration is not tried with other block or grid sizes.
    """
    from weft.tuning.measuring import Patience

    bench = bench_of(workload, task, ahead)
    left = tuner_replay.every_config(space)
    random.Random(SEED).shuffle(left)  # so a partial table is a fair sample
    trials: list[Any] = []
    hopeless: dict[Any, Any] = {}
    reported = time.perf_counter()
    try:
        default_ms = bench.start().ms
        # A configuration far from the best runs once, and is stopped only when hopeless.
        slowest = min(SLOWEST, max(LEAST_SLOW, LONG_MS / default_ms))
        bench.patience = Patience(runs=3, warm_up=slowest, lost=float("inf"), near=1.5)
        for config in left:
            bench.compilations.begin(config)
        for config in as_ready(left, bench.compilations.is_ready, deadline):
            code = tuple(value for name, value in vars(config).items() if name not in LAUNCH)
            if code in hopeless:
                trials.append(replace(hopeless[code], config=config))
                continue
            trial = bench.measure(config)
            trials.append(trial)
            if trial.status == "stopped" or (trial.is_timed and trial.ms > FAR * bench.best_ms):
                hopeless[code] = replace(trial, status="stopped")
            if time.perf_counter() - reported > REPORT_EVERY:
                reported = time.perf_counter()
                say(f"  table: {len(trials)} of {space.size}, best so far {bench.best_ms:.3f} ms")
    finally:
        bench.compilations.close()
    times = {t.config: t.ms for t in trials if t.status in ("ok", "stopped")}
    return times, trials, len(left)


def compare(workload: Any, task: str, seconds: float, say: Any) -> dict[str, Any]:
    """Tune an algorithm on a graph, then search the sub-space exhaustively."""
    import weft
    from weft.tuning.report import chosen

    deadline = time.perf_counter() + seconds
    tuning_s = min(LONGEST_TUNING, TUNING_SHARE * seconds)
    name, args, more = algorithm_of(task, workload)
    where = f"{workload.name} {task}"
    report = weft.tune(
        workload.graph, name, *args, budget_s=tuning_s, remember=False, progress=False, **more
    )
    say(f"{where}: tuned in {report.seconds:.1f} s, {len(report.trials)} tried\n{report}")
    space = tuner_replay.sub_space(report.space)
    times, trials, missing = measure_table(workload, task, space, deadline, say)
    distinct = [t for t in trials if t.config in times and t.same_as is None]
    stopped = {t.config for t in trials if t.status == "stopped"}
    ranked = sorted(((t.config, t.ms) for t in distinct), key=lambda item: item[1])
    wrong = [*report.errors, *(t for t in trials if t.status in ("wrong", "failed"))]
    row: dict[str, Any] = {
        "graph": workload.name, "task": task, "tuned_ms": report.best.ms,
        "default_ms": report.default.ms, "tuned": chosen(report.config),
        "seconds": report.seconds, "tried": len(report.trials), "stated": space.size,
        "timed": len(times), "different": len(distinct), "not_reached": missing,
        "refused": sorted({t.reason for t in trials if t.status == "refused"}),
        "errors": [f"{chosen(t.config)}: {t.status}, {t.reason}" for t in wrong],
        "axes": {axis.name: [str(v) for v in axis.values] for axis in space.axes},
    }  # fmt: skip
    if len(ranked) > 1:
        (best, best_ms), (worst, worst_ms) = ranked[0], ranked[-1]
        second, second_ms = next(
            (item for item in ranked if pair_of(item[0]) != pair_of(best)), ranked[1]
        )
        near = [t.seconds for t in report.trials if t.is_timed and t.ms <= 1.1 * best_ms]
        row |= {
            "best_ms": best_ms, "best": chosen(best), "second_ms": second_ms,
            "second": chosen(second), "worst_ms": worst_ms, "worst": chosen(worst),
            "worst_stopped": worst in stopped, "stopped": len(stopped),
            "second_differs_in_format": second.format != best.format,
            "second_differs_in_schedule": second.schedule != best.schedule,
            "tuned_over_best": report.best.ms / best_ms,
            "until_near_s": min(near, default=None),
            "searches": (
                [vars(r) for r in tuner_replay.replay(space, times)]
                if missing <= MISSING * space.size else []
            ),
            "table": [[chosen(config), ms] for config, ms in ranked],
        }  # fmt: skip
        say(_row_text(row))
    return row


def pair_of(config: Any) -> tuple[Any, Any]:
    """Return the format and schedule, which identify a configuration for the second best."""
    return config.format, config.schedule


def _row_text(row: dict[str, Any]) -> str:
    lines = [
        f"{row['graph']} {row['task']}: sub-space of {row['stated']} "
        f"({', '.join(f'{n} {len(v)}' for n, v in row['axes'].items())}), {row['timed']} timed, "
        f"{row['different']} with code or a launch of their own, {row['stopped']} stopped, "
        f"{row['not_reached']} not reached",
        f"  best    {row['best_ms']:10.3f} ms  {row['best']}",
        f"  second  {row['second_ms']:10.3f} ms  {row['second_ms'] / row['best_ms']:.2f} × best  "
        f"{row['second']}",
        f"  worst   {row['worst_ms']:10.3f} ms  {'at least ' if row['worst_stopped'] else ''}"
        f"{row['worst_ms'] / row['best_ms']:.1f} × best  {row['worst']}",
        f"  tuned   {row['tuned_ms']:10.3f} ms  {row['tuned_over_best']:.2f} × best  "
        f"{row['tuned']}; within 10 % of the best after "
        f"{'–' if row['until_near_s'] is None else format(row['until_near_s'], '.1f')} s",
        f"  default {row['default_ms']:10.3f} ms  {row['default_ms'] / row['best_ms']:.2f} × best",
    ]
    for search in row["searches"]:
        near = search["until_near"]
        lines.append(
            f"  {search['name']:<20} {search['tried']:6.1f} tried, within 10 % after "
            f"{'–' if near is None else f'{near:.1f}'}, ends at {search['ratio']:.3f} × best"
        )
    lines += [f"  not possible: {reason}" for reason in row["refused"]]
    return "\n".join(lines)


def summary(rows: list[dict[str, Any]]) -> str:
    """Return the overall figures: second best, worst, formats, distance of the tuner."""
    timed = [row for row in rows if "best_ms" in row]
    if not timed:
        return "nothing was timed"
    seconds = [row["second_ms"] / row["best_ms"] for row in timed]
    worsts = [row["worst_ms"] / row["best_ms"] for row in timed]
    ratios = [row["tuned_over_best"] for row in timed]
    differ = sum(row["second_differs_in_format"] for row in timed) / len(timed)
    least = "at least " if any(row["worst_stopped"] for row in timed) else ""
    lines = [
        f"second best pair of format and schedule {geomean(seconds):.2f} × best, worst "
        f"{least}{geomean(worsts):.1f} × best (geometric means of {len(timed)}); another format "
        f"in second place: {differ:.0%} ({THESIS})",
        f"tuned {geomean(ratios):.2f} × the exhaustive best, at most {max(ratios):.2f}; within "
        f"10 %: {sum(ratio <= 1.1 for ratio in ratios)} of {len(timed)}",
    ]
    return "\n".join([*lines, *_searches(timed)])


def _searches(rows: list[dict[str, Any]]) -> list[str]:
    """Compare the replayed searches: on how many tables they came close, and how soon."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        for search in row["searches"]:
            found.setdefault(search["name"], []).append(search)
    lines = []
    for name, runs in found.items():
        near = [run["until_near"] for run in runs if run["until_near"] is not None]
        soon = f" after {statistics.fmean(near):.1f} tried in the mean" if near else ""
        lines.append(
            f"{name}: within 10 % on {len(near)} of {len(runs)} tables{soon}, ends at "
            f"{geomean([run['ratio'] for run in runs]):.3f} × best"
        )
    if lines and find_spec("optuna") is None:
        lines.append("Optuna is not installed here, so that its sampler was not replayed.")
    return lines


def geomean(values: list[float]) -> float:
    """Return the geometric mean."""
    product = 1.0
    for value in values:
        product *= value
    return product ** (1 / len(values))


def beside_defaults(
    options: argparse.Namespace, progress: Progress, keep: Callable[[list[dict[str, Any]]], None]
) -> list[dict[str, Any]]:
    """Tune on the large graphs; print the tuned time beside the default's."""
    rows: list[dict[str, Any]] = []
    left = [(graph, task) for graph in options.graphs for task in options.tasks]
    for graph in options.graphs:
        if progress.elapsed > options.budget:
            break
        workload = gpu_graphs.make(graph, options.device)
        progress.say(f"{graph}: {workload.arcs.n:,} vertices, {workload.arcs.m:,} arcs")
        for task in options.tasks:
            if progress.elapsed > options.budget:
                break
            rows.append(_tuned(workload, task, len(left), options.budget, progress))
            left.remove((graph, task))
            keep(rows)
        del workload
    lines = ["| graph | algorithm | default ms | tuned ms | × | tried | configuration |"]
    lines.append("|---|---|--:|--:|--:|--:|---|")
    lines += [
        f"| {r['graph']} | {r['task']} | {r['default_ms']:.3f} | {r['tuned_ms']:.3f} | "
        f"{r['default_ms'] / r['tuned_ms']:.2f} | {r['tried']} | {r['tuned']} |"
        for r in rows
    ]
    lines += [f"not reached: {task} on {graph}" for graph, task in left]
    print("\n" + "\n".join(lines))
    return rows


def _tuned(
    workload: Any, task: str, left: int, budget: float, progress: Progress
) -> dict[str, Any]:
    """Tune an algorithm within its share of the remaining time; return a row."""
    import weft
    from weft.tuning.report import chosen

    name, args, more = algorithm_of(task, workload)
    # The first call compiles, which should not count towards any search.
    getattr(weft, name)(workload.graph, *args, **more)
    share = DEFAULTS_SHARE * (budget - progress.elapsed) / left
    report = weft.tune(
        workload.graph, name, *args, budget_s=max(SHORTEST_TUNING, share), remember=False,
        progress=False, **more,
    )  # fmt: skip
    row = {
        "graph": workload.name, "task": task, "default_ms": report.default.ms,
        "tuned_ms": report.best.ms, "tuned": chosen(report.config),
        "tried": len(report.trials), "seconds": report.seconds,
        "errors": [f"{chosen(t.config)}: {t.status}, {t.reason}" for t in report.errors],
    }  # fmt: skip
    progress.say(
        f"{workload.name} {task}: default {report.default.ms:.3f} ms, tuned "
        f"{report.best.ms:.3f} ms, {report.speedup:.2f} × as fast, {row['tried']} tried in "
        f"{report.seconds:.1f} s: {row['tuned']}"
    )
    return row


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the tuner with an exhaustive search.")
    graph_names.add_graphs(parser, GRAPHS)
    parser.add_argument("--tasks", help="bfs, pagerank, sssp, components, between commas")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu or emulated")
    parser.add_argument("--budget", type=float, default=200.0, help="seconds in all")
    parser.add_argument("--defaults", action="store_true", help="tuned beside default, no table")
    parser.add_argument("--json", type=Path, default=Path("tuner.json"), help="where to write it")
    options = parser.parse_args(arguments)
    if options.defaults:
        options.usual_graphs = list(LARGE)
    tasks = (options.tasks or ",".join(MORE_TASKS if options.defaults else TASKS)).split(",")
    if unknown := [task for task in tasks if task not in MORE_TASKS]:
        parser.error(f"tasks {unknown} are not known. Expected some of {', '.join(MORE_TASKS)}.")
    options.graphs, options.tasks = graph_names.chosen(options), tasks
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    progress = Progress()

    def keep(rows: list[dict[str, Any]]) -> None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")

    if options.defaults:
        rows = beside_defaults(options, progress, keep)
    else:
        rows = []
        shares = [COLD, *[1.0] * (len(options.graphs) - 1)]
        left = len(options.tasks) * sum(shares)
        for name, share in zip(options.graphs, shares, strict=True):
            workload = gpu_graphs.make(name, options.device)
            progress.say(f"{name}: {workload.arcs.n:,} vertices, {workload.arcs.m:,} arcs")
            for task in options.tasks:
                seconds = max(0.0, options.budget - progress.elapsed) * share / left
                left -= share
                rows.append(compare(workload, task, seconds, progress.say))
                keep(rows)
        print("\n" + summary(rows))
    keep(rows)
    for row in rows:
        for error in row["errors"]:
            print(f"ERROR {row['graph']} {row['task']}: {error}")
    progress.say(f"done; all figures are in {options.json}")
    return int(any(row["errors"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
