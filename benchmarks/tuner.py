"""The tuner beside an exhaustive search: ``python benchmarks/tuner.py``.

On each graph, for BFS and PageRank: `weft.tune` with an empty store, then every configuration of a
stated sub-space of 200 to 400 (all formats and schedules, and two values each of a few other axes).
Prints best, second best and worst of the table, how often the second best has another format, how
near the tuner came and how long it took, and how other searches do on the same table. With
``--defaults``: the tuned algorithms beside the engine's own choices on kron21, rmat24 and road4900.

Without a GPU, ``--device cpu --graphs kron8`` or ``--device emulated --graphs kron6`` runs the same
logic. The command ends with status 1 if a candidate's result was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["WEFT_TUNINGS"] = "off"  # neither begins with nor leaves anything

from benchmarks import gpu_graphs, tuner_replay

GRAPHS = ("kron19", "road2000")
LARGE = ("kron21", "rmat24", "road4900")
TASKS = ("bfs", "pagerank")
MORE_TASKS = ("pagerank", "bfs", "sssp", "components")
ITERATIONS = 20
TUNING_SHARE, TABLE_SHARE = 0.4, 0.5  # of the budget
SEED = 1
MISSING = 0.1  # of a table: with more, no search is replayed on it
TOLD_EVERY = 5.0  # seconds
# Second best and worst over the best, and how often the second best has another format.
THESIS = "GRAssembler's thesis: 1.16 ×, 21.5 ×, 53 %"
SLOWEST = 40.0  # times the best: what takes longer is stopped, and told as that
CPU_TASKS = {"components": "connected_components"}


def algorithm_of(task: str, workload: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the name of an algorithm and its arguments on a graph."""
    if task == "pagerank":
        return task, (), {"tol": 0, "max_iter": ITERATIONS, "on_unconverged": "return"}
    if task in ("bfs", "sssp"):
        return task, (workload.source,), {}
    return CPU_TASKS.get(task, task), (), {}


class Progress:
    """Prints what happens, with the seconds since the start."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    def say(self, text: str) -> None:
        print(f"[{self.elapsed:6.1f} s] {text}", flush=True)


def measure_table(
    workload: Any, task: str, space: Any, seconds: float, say: Any
) -> tuple[dict[Any, float], list[Any], int]:
    """Time every configuration of a space; returns times, trials and how many were not reached."""
    import weft
    from weft.tuning.measuring import Bench, Patience

    name, args, more = algorithm_of(task, workload)
    function = getattr(weft, name)

    def call(config: Any) -> Any:
        return function(workload.graph, *args, config=config, **more)

    patience = Patience(runs=3, warm_up=SLOWEST, lost=float("inf"), near=float("inf"))
    bench = Bench(call, workload.graph.topology.device, trusted=True, patience=patience)
    waiting = tuner_replay.every_config(space)
    random.Random(SEED).shuffle(waiting)  # what there is time for is a fair sample
    trials: list[Any] = []
    ahead: list[Any] = []
    deadline = time.perf_counter() + seconds
    told = time.perf_counter()
    try:
        bench.start()
        while (waiting or ahead) and time.perf_counter() < deadline:
            while waiting and len(ahead) < bench.lookahead:
                ahead.append(waiting.pop(0))
                bench.begin(ahead[-1])
            ready = next((c for c in ahead if bench.is_ready(c)), None)
            if ready is None:
                time.sleep(0.001)
                continue
            ahead.remove(ready)
            trials.append(bench.measure(ready))
            if time.perf_counter() - told > TOLD_EVERY:
                told = time.perf_counter()
                say(f"  table: {len(trials)} of {space.size}, best so far {bench.best_ms:.3f} ms")
    finally:
        bench.close()
    times = {t.config: t.ms for t in trials if t.status in ("ok", "stopped")}
    return times, trials, len(waiting) + len(ahead)


def compare(workload: Any, task: str, tuning_s: float, table_s: float, say: Any) -> dict[str, Any]:
    """Tune an algorithm on a graph, then search the sub-space exhaustively."""
    import weft
    from weft.tuning.report import chosen

    name, args, more = algorithm_of(task, workload)
    where = f"{workload.name} {task}"
    report = weft.tune(
        workload.graph, name, *args, budget_s=tuning_s, remember=False, progress=False, **more
    )
    say(f"{where}: tuned in {report.seconds:.1f} s, {len(report.trials)} tried\n{report}")
    space = tuner_replay.sub_space(report.space)
    times, trials, missing = measure_table(workload, task, space, table_s, say)
    distinct = [t for t in trials if t.config in times and t.same_as is None]
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
            (item for item in ranked if _pair(item[0]) != _pair(best)), ranked[1]
        )
        near = [t.seconds for t in report.trials if t.is_timed and t.ms <= 1.1 * best_ms]
        row |= {
            "best_ms": best_ms, "best": chosen(best), "second_ms": second_ms,
            "second": chosen(second), "worst_ms": worst_ms, "worst": chosen(worst),
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
        say(_told(row))
    return row


def _pair(config: Any) -> tuple[Any, Any]:
    """What makes a configuration another one, for the second best."""
    return config.format, config.schedule


def _told(row: dict[str, Any]) -> str:
    lines = [
        f"{row['graph']} {row['task']}: sub-space of {row['stated']} "
        f"({', '.join(f'{n} {len(v)}' for n, v in row['axes'].items())}), {row['timed']} timed, "
        f"{row['different']} with code or a launch of their own, {row['not_reached']} not reached",
        f"  best    {row['best_ms']:10.3f} ms  {row['best']}",
        f"  second  {row['second_ms']:10.3f} ms  {row['second_ms'] / row['best_ms']:.2f} × best  "
        f"{row['second']}",
        f"  worst   {row['worst_ms']:10.3f} ms  {row['worst_ms'] / row['best_ms']:.1f} × best  "
        f"{row['worst']}",
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
    """The figures of the whole: second best, worst, formats, and how near the tuner came."""
    timed = [row for row in rows if "best_ms" in row]
    if not timed:
        return "nothing was timed"
    seconds = [row["second_ms"] / row["best_ms"] for row in timed]
    worsts = [row["worst_ms"] / row["best_ms"] for row in timed]
    ratios = [row["tuned_over_best"] for row in timed]
    differ = sum(row["second_differs_in_format"] for row in timed) / len(timed)
    lines = [
        f"second best pair of format and schedule {_geomean(seconds):.2f} × best, worst "
        f"{_geomean(worsts):.1f} × best (geometric means of {len(timed)}); another format in "
        f"second place: {differ:.0%} ({THESIS})",
        f"tuned {_geomean(ratios):.2f} × the exhaustive best, at most {max(ratios):.2f}; within "
        f"10 %: {sum(ratio <= 1.1 for ratio in ratios)} of {len(timed)}",
    ]
    return "\n".join(lines)


def _geomean(values: list[float]) -> float:
    product = 1.0
    for value in values:
        product *= value
    return product ** (1 / len(values))


def beside_defaults(
    names: list[str], tasks: list[str], device: str, budget: float, progress: Progress
) -> list[dict[str, Any]]:
    """Tune on the large graphs; print the tuned time beside the default's."""
    import weft
    from weft.tuning.report import chosen

    rows = []
    share = budget / max(1, len(names) * len(tasks))
    for graph in names:
        workload = gpu_graphs.make(graph, device)
        progress.say(f"{graph}: {workload.arcs.n:,} vertices, {workload.arcs.m:,} arcs")
        for task in tasks:
            name, args, more = algorithm_of(task, workload)
            report = weft.tune(
                workload.graph, name, *args, budget_s=share, remember=False, progress=False, **more
            )
            row = {
                "graph": graph, "task": task, "default_ms": report.default.ms,
                "tuned_ms": report.best.ms, "tuned": chosen(report.config),
                "tried": len(report.trials), "seconds": report.seconds,
                "errors": [f"{chosen(t.config)}: {t.status}, {t.reason}" for t in report.errors],
            }  # fmt: skip
            rows.append(row)
            progress.say(
                f"{graph} {task}: default {report.default.ms:.3f} ms, tuned {report.best.ms:.3f} "
                f"ms, {report.speedup:.2f} × as fast, {len(report.trials)} tried: {row['tuned']}"
            )
    lines = ["| graph | algorithm | default ms | tuned ms | × | configuration |"]
    lines.append("|---|---|--:|--:|--:|---|")
    lines += [
        f"| {r['graph']} | {r['task']} | {r['default_ms']:.3f} | {r['tuned_ms']:.3f} | "
        f"{r['default_ms'] / r['tuned_ms']:.2f} | {r['tuned']} |"
        for r in rows
    ]
    print("\n" + "\n".join(lines))
    return rows


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the tuner with an exhaustive search.")
    parser.add_argument("--graphs", help="kron<scale>, rmat<scale>, road<side>, between commas")
    parser.add_argument("--tasks", help="bfs, pagerank, sssp, components, between commas")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu or emulated")
    parser.add_argument("--budget", type=float, default=200.0, help="seconds in all")
    parser.add_argument("--defaults", action="store_true", help="tuned beside default, no table")
    parser.add_argument("--json", type=Path, default=Path("tuner.json"), help="where to write it")
    options = parser.parse_args(arguments)
    names = (options.graphs or ",".join(LARGE if options.defaults else GRAPHS)).split(",")
    tasks = (options.tasks or ",".join(MORE_TASKS if options.defaults else TASKS)).split(",")
    try:
        for name in names:
            gpu_graphs.split_name(name)
    except ValueError as error:
        parser.error(str(error))
    if unknown := [task for task in tasks if task not in MORE_TASKS]:
        parser.error(f"tasks {unknown} are not known. Expected some of {', '.join(MORE_TASKS)}.")
    options.graphs, options.tasks = names, tasks
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    progress = Progress()
    if options.defaults:
        rows = beside_defaults(
            options.graphs, options.tasks, options.device, options.budget, progress
        )
    else:
        rows = []
        cases = len(options.graphs) * len(options.tasks)
        for name in options.graphs:
            workload = gpu_graphs.make(name, options.device)
            progress.say(f"{name}: {workload.arcs.n:,} vertices, {workload.arcs.m:,} arcs")
            for task in options.tasks:
                tuning_s = TUNING_SHARE * options.budget / cases
                table_s = TABLE_SHARE * options.budget / cases
                rows.append(compare(workload, task, tuning_s, table_s, progress.say))
                options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        print("\n" + summary(rows))
    options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        for error in row["errors"]:
            print(f"ERROR {row['graph']} {row['task']}: {error}")
    progress.say(f"done; all figures are in {options.json}")
    return int(any(row["errors"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
