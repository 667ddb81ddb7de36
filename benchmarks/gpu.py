"""Measure weft on a GPU beside the best listed figures: ``python benchmarks/gpu.py``.

The command generates each graph on the device, times tasks on it, checks every result by
certificates that do not use weft's engine (`benchmarks.gpu_checks`), and prints ratios to the
figures in `benchmarks.gpu_report`. Every graph is measured in its own process; a task that fails,
hangs or takes too long loses only its own row. The exit status is 1 if a result is wrong.

``--config '{"fuse": "direction"}'`` gives every call a configuration, to compare with another run.
Without a GPU, ``--device cpu --small`` or ``--device emulated --tiny`` runs the same logic.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gpu_graphs, gpu_report, gpu_startup, graph_names
from benchmarks.gpu_lines import ROOT, Lines, SilentError
from benchmarks.gpu_tasks import TASKS, Row
from benchmarks.gpu_worker import MARK, SPOILED

TASK_SECONDS = 60.0
BUDGET_SECONDS = 460.0
# A worker that ignores its own alarm for this many seconds is killed.
GRACE_SECONDS = 15.0
GENERATE_SECONDS = 120.0
RESTARTS = 2


class Progress:
    """Print progress with the seconds since the start."""

    def __init__(self, budget: float) -> None:
        self.began, self.budget = time.perf_counter(), budget

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        return self.budget - self.elapsed

    def say(self, text: str) -> None:
        print(f"[{self.elapsed:6.1f} s] {text}", flush=True)


class Worker(Lines):
    """A process of `benchmarks/gpu_worker.py` and its events."""

    def __init__(self, order: dict[str, Any]) -> None:
        super().__init__(ROOT / "benchmarks" / "gpu_worker.py", json.dumps(order))

    def next_event(self, seconds: float) -> dict[str, Any] | None:
        """Return the next event, None after the last; print all other lines."""
        deadline = time.perf_counter() + seconds
        while (line := self.next(deadline - time.perf_counter())) is not None:
            if line.startswith(MARK):
                return json.loads(line[len(MARK) :])
            print(line, flush=True)
        return None


def measure_graph(
    name: str, tasks: list[str], options: argparse.Namespace, progress: Progress, found: dict
) -> None:
    """Measure all tasks on one graph; start another worker if one is lost."""
    waiting = list(tasks)
    for _ in range(1 + RESTARTS):
        if not waiting:
            break
        if progress.left < 5:
            progress.say(f"{name}: no time left for {', '.join(waiting)}")
            break
        waiting = _measure_once(name, waiting, options, progress, found)
    found["rows"] += [Row(name, task, fault="not run").as_json() for task in waiting]


def _measure_once(
    name: str, tasks: list[str], options: argparse.Namespace, progress: Progress, found: dict
) -> list[str]:
    """Run one worker; return the tasks it did not reach."""
    limit = min(options.task_limit, max(5.0, progress.left / 2))
    order = {"graph": name, "tasks": tasks, "device": options.device, "limit": limit,
             "runs": options.runs, "config": options.config}  # fmt: skip
    worker = Worker(order)
    waiting, at, patience = list(tasks), "start", GENERATE_SECONDS
    try:
        while (event := worker.next_event(min(patience, max(5.0, progress.left)))) is not None:
            kind = event.pop("event")
            if kind == "begin":
                at = event["task"]
                patience = GENERATE_SECONDS if at == "generate" else limit + GRACE_SECONDS
                progress.say(f"{name}: {at}")
            elif kind == "graph":
                found["graphs"][graph_names.short(name)] = event
                progress.say(_graph_text(event))
            elif kind == "startup":
                found["startup"] = event
                waiting.clear()
            elif kind == "row":
                row = event["row"]
                found["rows"].append(row)
                waiting.remove(row["task"])
                progress.say(_row_text(row))
    except SilentError:
        worker.kill()
        progress.say(f"{name}: {at} did not answer in time; its process was ended")
        return _lost(found, name, waiting, at, "did not answer in time")
    status = worker.process.wait()
    if status not in (0, SPOILED):
        progress.say(f"{name}: the process ended with status {status} in {at}")
        return _lost(found, name, waiting, at, f"the process ended with status {status}")
    return waiting


def _lost(found: dict, name: str, waiting: list[str], at: str, why: str) -> list[str]:
    """Record a fault for the task that lost a worker, or for all waiting ones; return the rest."""
    lost = [at] if at in waiting else waiting
    found["rows"] += [Row(name, task, fault=why).as_json() for task in lost]
    return [task for task in waiting if task not in lost]


def _graph_text(facts: dict[str, Any]) -> str:
    return (
        f"{facts['graph']}: {facts['vertices']:,} vertices, {facts['arcs']:,} arcs, largest degree "
        f"{facts['largest_degree']:,}, source {facts['source']}, "
        f"{facts['graph_bytes'] / 1e9:.2f} GB, generated in {facts['generate_seconds']:.1f} s"
    )


def _row_text(row: dict[str, Any]) -> str:
    verdict = gpu_report.verdict(row)
    text = f"{row['graph']}: {row['task']} {verdict}"
    if row["ms"] is not None:
        text += f", {row['ms']:.3f} ms (wall {row['wall_ms']:.3f})"
    if row["check_seconds"] is not None:
        text += f", checked in {row['check_seconds']:.1f} s"
    return text if row["fault"] is None else f"{text}: {row['fault']}"


def report(found: dict[str, Any]) -> None:
    """Print all tables."""
    for name, facts in found["graphs"].items():
        print(f"\n{_graph_text(facts)}")
        print(gpu_report.table(gpu_report.TIME_HEAD, gpu_report.time_rows(found["rows"], name)))
        details = gpu_report.detail_rows(found["rows"], name)
        print(gpu_report.table(gpu_report.DETAIL_HEAD, details))
    print(f"\n{gpu_report.NOTES}")
    if found.get("startup"):
        print("\n" + startup_text(found["startup"]))
    if found["rows"]:
        print("\n" + gpu_report.markdown(found["rows"]))


def startup_text(facts: dict[str, Any]) -> str:
    """Return the figures of `benchmarks.gpu_startup` as sentences."""
    lines = []
    small = facts.get("small_bfs", {})
    if "median_us" in small:
        lines.append(
            f"BFS on {small['vertices']} vertices: {small['median_us']:.0f} µs of wall time "
            f"(median of {small['calls']}; fastest {small['min_us']:.0f}, 95 % below "
            f"{small['p95_us']:.0f}); must {gpu_report.SMALL_BFS_MUST_US}, "
            f"then {gpu_report.SMALL_BFS_THEN_US}."
        )
    file = facts.get("from_file", {})
    if "cold" in file:
        for name in ("cold", "warm"):
            run = file[name]
            spans = ", ".join(f"{span} {ms:.0f}" for span, ms in run["spans_ms"].items())
            lines.append(
                f"From a file of {file['edges']:,} edges to BFS levels on the host, {name} cache "
                f"of kernels: {run['process_ms']:.0f} ms ({spans})."
            )
        lines.append(f"Compilation of BFS: {file['compile_ms']:.0f} ms.")
    lines += [f"{name}: {part['fault']}" for name, part in facts.items() if "fault" in part]
    return "\n".join(lines)


def machine(device: str) -> dict[str, Any]:
    """Return device, driver and library versions, queried in a short-lived process."""
    if not device.startswith("cuda"):
        return {"device": device}
    script = (
        "import json, cupy; p = cupy.cuda.runtime.getDeviceProperties(0); "
        "print(json.dumps({'device': p['name'].decode(), 'memory_bytes': p['totalGlobalMem'], "
        "'driver': cupy.cuda.runtime.driverGetVersion(), "
        "'runtime': cupy.cuda.runtime.runtimeGetVersion(), 'cupy': cupy.__version__}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"device={device!r} cannot be used: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure weft on a GPU and check every result.")
    sizes = {"small": gpu_graphs.SMALL, "tiny": gpu_graphs.TINY}
    graph_names.add_graphs(parser, gpu_graphs.FULL, sizes)
    parser.add_argument("--tasks", default=",".join(TASKS), help="tasks, between commas")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu or emulated")
    parser.add_argument("--runs", type=int, default=5, help="timed calls of each task")
    parser.add_argument("--config", type=json.loads, help="fields of weft.Config, as JSON")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds in all")
    parser.add_argument("--task-limit", type=float, default=TASK_SECONDS, help="seconds per task")
    parser.add_argument("--no-startup", action="store_true", help="leave out small graphs, files")
    parser.add_argument("--json", type=Path, default=Path("gpu.json"), help="where to write it all")
    options = parser.parse_args(arguments)
    options.graphs, options.tasks = graph_names.chosen(options), _split(options.tasks)
    if unknown := [task for task in options.tasks if task not in TASKS]:
        parser.error(f"tasks {unknown} are not known. Expected some of {', '.join(TASKS)}.")
    return options


def _split(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    progress = Progress(options.budget)
    found: dict[str, Any] = {
        "date": date.today().isoformat(),
        "machine": machine(options.device),
        "config": options.config,
        "graphs": {},
        "rows": [],
        "startup": None,
    }
    progress.say(f"{found['machine']['device']}, budget {options.budget:.0f} s")
    for name in options.graphs:
        measure_graph(name, options.tasks, options, progress, found)
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if not options.no_startup:  # last, because empty CuPy caches make it slow
        measure_graph(gpu_startup.NAME, [gpu_startup.NAME], options, progress, found)
        found["rows"] = [row for row in found["rows"] if row["graph"] != gpu_startup.NAME]
    report(found)
    options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    progress.say(f"done; all figures are in {options.json}")
    return int(any(row["fault"] is not None for row in found["rows"]))


if __name__ == "__main__":
    sys.exit(main())
