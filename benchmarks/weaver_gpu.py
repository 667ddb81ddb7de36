"""Software schedules and `weaver` on a real GPU: ``python benchmarks/weaver_gpu.py``.

The GPU's part of two experiments of the SparseWeaver thesis, for PageRank as messages along edges,
pulled, on generated graphs of about the size and skew of the thesis's:

- E9: the time of every schedule over that of VM (one vertex to a thread), the best of them, and
  what `weft.tune` finds in ``--tuning`` seconds. `benchmarks/weaver.py` has the unit in the model.
- E10: why warps wait, by schedule. ``--stalls`` runs Nsight Compute over ``--launch SCHEDULE``,
  which is this script with one schedule, and prints the waits per issued instruction.

``--device emulated --graphs kron6`` runs the logic of E9 without a GPU.
"""

from __future__ import annotations

import argparse
import csv
import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import ablation_programs, graph_names
from benchmarks.gpu_timing import Clock

# Of about the vertices and edges of the thesis's G500, WK and RN.
GRAPHS = ("kron18", "rmat21x24", "road1400")
SCHEDULES = (
    "vertex", "edge", "warp", "block", "twc", "twce", "strict", "merge", "row", "weaver",
)  # fmt: skip
SOFTWARE = ("vertex", "edge", "warp", "block", "twc", "twce", "strict")  # those of the thesis
PROFILED = ("vertex", "edge", "warp", "block", "twc", "weaver")
RUNS, SECONDS = 5, 1.0
# Of Nsight Compute: warps that wait for a cause, for each issued instruction.
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
CAUSES = ("long_scoreboard", "short_scoreboard", "lg_throttle", "mio_throttle", "wait", "barrier")
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"


def pull(schedule: str | None) -> Any:
    """Return the configuration of a schedule."""
    import weft

    return weft.Config(schedule=schedule, direction="pull")


def compare(name: str, device: str, tuning: float) -> list[str]:
    """Return a row: the times of all schedules, and what the tuner finds."""
    import weft

    g = graph_names.generate(name, device)
    run, clock = ablation_programs.edge_pagerank(g), Clock(device)
    times: dict[str, float] = {}
    right: Any = None
    for schedule in SCHEDULES:
        call = _bound(run, pull(schedule))
        result = call()
        right = result if right is None else right
        if float(abs(result - right).sum()) > 1e-9:
            raise AssertionError(f"{name}: {schedule} computes other ranks than {SCHEDULES[0]}")
        found, _ = clock.repeat(call, RUNS, SECONDS)
        times[schedule] = found.median_ms / ablation_programs.ITERATIONS
    base = times["vertex"]
    best = min(SOFTWARE, key=lambda s: times[s])
    cells = [f"{times[s]:.3f}" for s in SCHEDULES]
    cells += [f"{best} {base / times[best]:.2f} ×", f"{base / times['weaver']:.2f} ×"]
    if tuning:
        report = weft.tune(
            g, lambda graph, config=None: ablation_programs.edge_pagerank(graph)(config),
            budget_s=tuning, remember=False, progress=False,
        )  # fmt: skip
        tuned = report.best.ms / ablation_programs.ITERATIONS
        cells.append(f"{base / tuned:.2f} ×, {len(report.trials)} tried")
    return [
        f"{graph_names.short(name)}, {g.num_vertices:,} vertices, {g.num_edges:,} edges",
        *cells,
    ]


def _bound(run: Callable[[Any], Any], config: Any) -> Callable[[], Any]:
    return lambda: run(config)


def stalls(name: str, device: str) -> list[list[str]]:
    """Return the waits of a superstep under each schedule, by Nsight Compute."""
    metrics = ",".join([LATENCY, *(STALLED.format(cause) for cause in CAUSES)])
    rows = []
    for schedule in PROFILED:
        # The second of two runs, each of them one launch: the first one warms caches up.
        command = [
            "ncu", "--csv", "--clock-control", "none", "--kernel-name", "run_all",
            "--launch-skip", "1", "--launch-count", "1", "--metrics", metrics, sys.executable,
            __file__, "--launch", schedule, "--graphs", name, "--device", device,
        ]  # fmt: skip
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        values = read_metrics(told.stdout)
        if not values:
            rows.append([schedule, (told.stderr or told.stdout).strip()[-200:]])
            continue
        shown = ", ".join(f"{c} {values.get(STALLED.format(c), 0):.2f}" for c in CAUSES)
        rows.append([schedule, f"{values.get(LATENCY, 0):.1f}", shown])
    return rows


def read_metrics(text: str) -> dict[str, float]:
    """Return the metrics in what ``ncu --csv`` prints.

    Examples
    --------
    >>> told = '==PROF== x\\n"ID","Metric Name","Metric Unit","Metric Value"\\n"0","a","","1,234.5"'
    >>> read_metrics(told)
    {'a': 1234.5}
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = csv.DictReader(io.StringIO("\n".join(lines)))
    return {
        row["Metric Name"]: float(row["Metric Value"].replace(",", ""))
        for row in rows
        if row.get("Metric Value", "").replace(",", "").replace(".", "").isdigit()
    }


def main(arguments: list[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    graph_names.add_graphs(parser, GRAPHS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tuning", type=float, default=4.0, help="seconds for weft.tune, or 0")
    parser.add_argument("--stalls", action="store_true", help="E10, by Nsight Compute")
    parser.add_argument("--launch", choices=SCHEDULES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    names = graph_names.chosen(options)
    if options.launch:
        g = graph_names.generate(names[0], options.device)
        run = ablation_programs.edge_pagerank(g)
        for _ in range(2):
            run(replace(pull(options.launch), fuse="all"))
        return 0
    if options.stalls:
        if shutil.which("ncu") is None:
            print("Nsight Compute (ncu) is not installed: stalls cannot be counted.")
            return 1
        print(f"{names[0]}: cycles a warp waits for its next instruction, and for what")
        for row in stalls(names[0], options.device):
            print("| " + " | ".join(row) + " |", flush=True)
        return 0
    head = ["graph; ms an iteration", *SCHEDULES, "best of the thesis's over VM", "weaver over VM"]
    head += ["tuned over VM"] if options.tuning else []
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for name in names:
        row = compare(name, options.device, options.tuning)
        print("| " + " | ".join(row) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
