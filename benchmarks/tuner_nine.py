"""Best, second best and worst pair of format and schedule: ``python benchmarks/tuner_nine.py``.

PageRank, components, BFS and SSSP on nine graphs from power laws to roads, under every format x
schedule, the same for both directions; everything else is the engine's choice. (GRAssembler's
table: how far apart the pairs are, and how often the second best has another format.) All pairs of
all tasks are compiled first, in processes of their own. Then each graph and task has a share of
``--budget``; pairs come in a random order, so that a table that ends early is a fair sample.
Without a GPU, ``--device cpu --tiny`` varies schedules, threads and passes, because a CPU has no
choice of formats; ``--device emulated`` has all pairs, and takes its time.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gpu_graphs, graph_names, tuner, tuner_replay

GRAPHS = (
    "kron17", "rmat17", "rmat15x64", "powerlaw17", "planted16", "er17", "rgg17", "delaunay17",
    "road512",
)  # fmt: skip
TINY = ("kron8", "rmat8", "rmat7x16", "powerlaw8", "planted9", "er8", "rgg8", "delaunay8", "road24")
TASKS = ("pagerank", "components", "bfs", "sssp")
COMPILING = 0.45  # of the time at most, before the first pair is measured


def space_of(workload: Any, task: str, bench: Any) -> Any:
    """Return the pairs of format and schedule for a task, or what a CPU has in their place.

    The bench of the task is started, and knows afterwards what to compile.
    """
    from weft.tuning.space import make_space
    from weft.tuning.tuner import traits_of

    bench.start()
    space = make_space(traits_of(workload.graph, bench.requests.values()))
    return tuner_replay.sub_space(space, further=workload.graph.device == "cpu")


def compile_pairs(workload: Any, tasks: list[str], seconds: float, say: Any) -> Any:
    """Compile the pairs of all tasks on a graph; return what compiles, or None on a CPU."""
    from weft.backends import backend_of

    place = workload.graph.topology.device
    ahead = backend_of(place).compile_ahead(place)
    if ahead is None:
        return None
    begun = []
    for task in tasks:
        bench = tuner.bench_of(workload, task, ahead)
        for config in tuner_replay.every_config(space_of(workload, task, bench)):
            bench.compilations.begin(config)
        begun += bench.compilations.under_way()
    done, left = wait(begun, timeout=seconds)
    say(f"{len(done)} programs compiled, {len(left)} under way")
    return ahead


def compare(workload: Any, task: str, deadline: float, progress: tuner.Progress, ahead: Any) -> Any:
    """Return the row of a graph and a task."""
    from weft.tuning.report import chosen

    bench = tuner.bench_of(workload, task, ahead)
    space = space_of(workload, task, bench)
    bench.compilations.close()
    times, trials, missing = tuner.measure_table(
        workload, task, space, deadline, progress.say, ahead
    )
    distinct = [t for t in trials if t.config in times and t.same_as is None]
    ranked = sorted(distinct, key=lambda trial: trial.ms)
    row: dict[str, Any] = {
        "graph": workload.name, "task": task, "stated": space.size, "timed": len(times),
        "not_reached": missing,
        "errors": [chosen(t.config) for t in trials if t.status in ("wrong", "failed")],
    }  # fmt: skip
    if len(ranked) > 1:
        best, worst = ranked[0], ranked[-1]
        second = next((t for t in ranked if tuner.pair_of(t.config) != tuner.pair_of(best.config)),
                      ranked[1])  # fmt: skip
        row |= {
            "best_ms": best.ms, "best": chosen(best.config),
            "second_ms": second.ms, "second": chosen(second.config),
            "worst_ms": worst.ms, "worst": chosen(worst.config),
            "worst_stopped": worst.status == "stopped",
            "second_differs_in_format": second.config.format != best.config.format,
            "table": [[chosen(t.config), t.ms] for t in ranked],
        }  # fmt: skip
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table, and the geometric means over all of them."""
    lines = ["| graph | task | best ms | second / best | worst / best | best | second | worst |"]
    lines.append("|---|---|--:|--:|--:|---|---|---|")
    timed = [row for row in rows if "best_ms" in row]
    for r in timed:
        least = ">" if r["worst_stopped"] else ""
        lines.append(
            f"| {r['graph']} | {r['task']} | {r['best_ms']:.3g} | "
            f"{r['second_ms'] / r['best_ms']:.2f} | {least}{r['worst_ms'] / r['best_ms']:.1f} | "
            f"{r['best']} | {r['second']} | {r['worst']} |"
        )
    if timed:
        seconds, worsts = (
            tuner.geomean([r[name] / r["best_ms"] for r in timed])
            for name in ("second_ms", "worst_ms")
        )
        differ = sum(r["second_differs_in_format"] for r in timed) / len(timed)
        lines.append(
            f"\ngeometric means: second {seconds:.2f} × best, worst {worsts:.1f} × best; another "
            f"format in second place: {differ:.0%} ({tuner.THESIS})"
        )
    short = [r for r in rows if r["not_reached"]]
    lines += [f"{r['graph']} {r['task']}: {r['not_reached']} not reached" for r in short]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if a result was wrong."""
    parser = argparse.ArgumentParser(description="Best, second and worst format and schedule.")
    graph_names.add_graphs(parser, GRAPHS, {"tiny": TINY})
    parser.add_argument("--tasks", default=",".join(TASKS), help="between commas")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu or emulated")
    parser.add_argument("--budget", type=float, default=140.0, help="seconds in all")
    parser.add_argument("--json", type=Path, help="where to write all times")
    options = parser.parse_args(arguments)
    graphs, tasks = graph_names.chosen(options), options.tasks.split(",")
    if unknown := [task for task in tasks if task not in TASKS]:
        parser.error(f"tasks {unknown} are not known. Expected some of {', '.join(TASKS)}.")
    progress, rows, ahead = tuner.Progress(), [], None
    left = len(graphs) * len(tasks)
    for position, name in enumerate(graphs):
        if progress.elapsed > options.budget:
            progress.say(f"{name}: no time left")
            continue
        workload = gpu_graphs.make(name, options.device)
        progress.say(f"{name}: {workload.arcs.n:,} vertices, {workload.arcs.m:,} arcs")
        if not position:
            ahead = compile_pairs(workload, tasks, COMPILING * options.budget, progress.say)
        for task in tasks:
            if progress.elapsed > options.budget:
                progress.say(f"  {task}: no time left")
                continue
            seconds = max(0.0, options.budget - progress.elapsed) / left
            left -= 1
            deadline = progress.began + progress.elapsed + seconds
            rows.append(compare(workload, task, deadline, progress, ahead))
            progress.say(f"  {task}: {rows[-1]['timed']} of {rows[-1]['stated']} timed")
            if options.json is not None:
                options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        del workload
    if ahead is not None:
        ahead.close()
    print("\n" + table(rows))
    return int(any(row["errors"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
