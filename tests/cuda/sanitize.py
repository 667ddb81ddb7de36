"""Small cases under NVIDIA's compute-sanitizer: ``python tests/cuda/sanitize.py``.

Runs algorithms, formats and learning × settings of `fuse` under memcheck, racecheck and synccheck,
a few cases to a process, after a round without a tool, in which all kernels are compiled. Each case
has a time limit; a process that passes it is ended, and the cases after it go on in another one.
Arrays are allocated one by one, so that memcheck sees the end of each. Kernels run in a few blocks:
with hundreds that wait for each other, some take minutes under a tool.

``--tool none --device emulated`` runs the cases without the sanitizer, to try the script itself.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("memcheck", "racecheck", "synccheck")
FUSES = ("none", "direction", "all")
PER_PROCESS = 4  # cases; to start one takes a second
BEGIN, END = "@begin ", "@end "
BLOCKS = 16  # of a kernel; the largest cluster has as many
OURS = "run_"  # what the names of all kernels that share memory begin with
SANITIZER_SAYS = "========= "
# Lines of the sanitizer that are no fault.
HARMLESS = ("COMPUTE-SANITIZER", "ERROR SUMMARY: 0", "RACECHECK SUMMARY: 0", "Copyright")


def cases() -> dict:
    """Name -> function of a graph and a configuration."""
    return algorithms() | formats() | learning()


def algorithms() -> dict:
    import weft

    return {
        "bfs": lambda g, c: weft.bfs(g, 1, config=c).level,
        "bfs push": lambda g, c: weft.bfs(g, 1, config=_with(c, direction="push")).level,
        "bfs pull": lambda g, c: weft.bfs(g, 1, config=_with(c, direction="pull")).level,
        "sssp": lambda g, c: weft.sssp(g, 1, config=c).dist,
        "sssp unordered": lambda g, c: weft.sssp(g, 1, config=_with(c, ordering=False)).dist,
        "bfs deep": lambda g, c: weft.bfs(g, 1, config=c).level,
        "sssp deep": lambda g, c: weft.sssp(g, 1, config=c).dist,
        "pagerank": lambda g, c: weft.pagerank(
            g, tol=0, max_iter=3, on_unconverged="return", config=c
        ),
        "components": lambda g, c: weft.connected_components(g, config=c),
        "cores": lambda g, c: weft.core_number(g, config=c),
        "triangles": lambda g, c: weft.triangle_count(g, config=c),
        "clustering": lambda g, c: weft.clustering(g, config=c),
        "betweenness": lambda g, c: weft.betweenness(g, [1, 2], config=c),
        "label propagation": lambda g, c: weft.label_propagation(g, 2, config=c),
    }


def formats() -> dict:
    """Search and rank over every format but csr, where graphs are by default."""
    import weft

    def over(name: str):
        def case(g, c):
            c = _with(c, format=name)
            ranks = weft.pagerank(g, tol=0, max_iter=3, on_unconverged="return", config=c)
            return weft.bfs(g, 1, config=c).level + ranks

        return case

    names = ("coo", "ell", "gshard", "tigr", "block_coo", "block_csr", "cr2", "dia")
    return {name: over(name) for name in names}


def learning() -> dict:
    """Lane groups, runs driven by changes, matrices that stay in memory and that are solved."""
    import numpy as np

    import weft

    def drawn(g, *shape):
        return np.random.default_rng(1).random(shape).astype(np.float32) + np.float32(0.1)

    def labels(k: int, driven: bool = False):
        def case(g, c):
            x = drawn(g, g.num_vertices, k)
            c = _with(c, change_driven=driven)
            return weft.learning.label_propagation_features(g, x, 0.5, 1e-3, config=c)

        return case

    def ranking(g, c):
        x = drawn(g, g.num_vertices, 4)
        c = _with(c, change_driven=True)
        return weft.learning.manifold_ranking(g, x, 0.5, 1e-3, config=c)

    def modes(g, c):
        by = drawn(g, g.num_edges, 3)
        g.edge["by"] = g.topology.xp.asarray(by / np.float32(8 * g.num_vertices))
        x = drawn(g, g.num_vertices, 4)
        return weft.learning.multimodal(g, x, [0.3, 0.3, 0.2], 1e-3, weight="by", config=c)

    def beliefs(g, c):
        x = drawn(g, g.num_vertices, 9)
        psi = np.full((9, 9), 0.5) + 0.5 * np.eye(9)
        found = weft.learning.belief_propagation(
            g, x, psi, tol=0, max_iter=2, log_domain=True, config=c
        )
        return found.beliefs

    def factors(g, c):
        users = np.arange(g.num_vertices) % 2 == 0
        src, dst, weight = (g.topology.xp.asarray(x) for x in g.to_edges())
        between = src % 2 != dst % 2
        rated = weft.Graph.from_edges(
            src[between], dst[between], weight[between], num_vertices=g.num_vertices,
            directed=False, device=g.device,
        )  # fmt: skip
        x = drawn(g, g.num_vertices, 9)
        return weft.learning.als(rated, 9, 0.3, 2, 0.0, users=users, start=x, config=c).factors

    return {
        "labels 4": labels(4),
        "labels 33": labels(33),
        "labels driven": labels(4, driven=True),
        "ranking driven": ranking,
        "modes": modes,
        "beliefs": beliefs,
        "factors": factors,
        "gcn": lambda g, c: weft.learning.gcn_propagate(g, drawn(g, g.num_vertices, 8), config=c),
    }


def graphs(name: str) -> list:
    """Return what a case runs on: a skewed and a flat graph, or a deep one."""
    from weft.generators import rmat, road

    # The least network that is searched as a deep one. On others, dia is refused: few arcs lie on
    # diagonals that pay.
    if name in ("bfs deep", "sssp deep", "dia"):
        return [road(33, 0.8, seed=1, weights="int")]
    return [rmat(7, 6, seed=1, weights="int"), road(8, 0.7, seed=1, weights="int")]


def _with(config, **options):
    from dataclasses import replace

    return replace(config, **options)


def run_cases(device: str, fuse: str, names: list[str]) -> None:
    """In the process that is watched: run cases and compare them with the CPU."""
    import numpy as np

    import weft

    if device.startswith("cuda"):
        import cupy

        cupy.cuda.set_allocator(None)
        run_in_few_blocks()
    known = cases()
    config = weft.Config(fuse=fuse)
    for name in names:
        print(BEGIN + name, flush=True)
        wrong = 0
        for g in graphs(name):
            want = known[name](g, weft.Config())
            got = known[name](g.to(device), config)
            got = got.get() if hasattr(got, "get") else got
            wrong += not np.allclose(got, want, **closeness(np.asarray(want).dtype))
        print(END + ("wrong result" if wrong else "ok"), flush=True)


def run_in_few_blocks() -> None:
    from weft.backends.cuda.drivers.gpu import GpuKernel

    held = GpuKernel.blocks_at_once

    def few(self, block: int, shared_bytes: int, cluster: int = 1) -> int:
        return min(held(self, block, shared_bytes, cluster), BLOCKS // cluster * cluster)

    GpuKernel.blocks_at_once = few


def closeness(dtype) -> dict:
    """Return how near results must be; float32 has those that stop at a tolerance of 1e-3."""
    return {"rtol": 1e-3, "atol": 5e-3} if dtype == "float32" else {"rtol": 1e-9}


class Watched:
    """The watched process and its lines."""

    def __init__(self, tool: str, device: str, fuse: str, names: list[str]) -> None:
        own = [sys.executable, str(Path(__file__)), "--run", ",".join(names), "--fuse", fuse]
        own += ["--device", device]
        if tool != "none":
            # Bindings ask the driver for entries that it may not have: that is no fault.
            quiet = ["--report-api-errors", "no"] if tool == "memcheck" else []
            # Sorting and scanning by CuPy would take most of the time.
            ours = ["--kernel-name", f"kns={OURS}"] if tool != "memcheck" else []
            own = ["compute-sanitizer", "--tool", tool, *quiet, *ours, "--print-limit", "20", *own]
        path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)


def watch(
    tool: str, device: str, fuse: str, names: list[str], limit: float, budget_end: float, log
) -> dict:
    """Run all cases under one tool; returns what became of each."""
    results: dict[str, str] = {}
    waiting, began = list(names), time.monotonic()
    while waiting:
        if time.monotonic() > budget_end:
            return results | dict.fromkeys(waiting, "not run")
        watched = Watched(tool, device, fuse, waiting)
        at, faults, last = waiting[0], 0, ""
        deadline = time.monotonic() + limit + 30  # imports and the first compilation
        while True:
            try:
                end = min(deadline, budget_end)
                line = watched.lines.get(timeout=max(0.1, end - time.monotonic()))
            except queue.Empty:
                watched.process.kill()
                watched.process.wait()
                results[at] = "time limit"
                break
            if line is None:
                status = watched.process.wait()
                if at in results:
                    if faults:  # what came after the last case
                        results[at] = f"{faults} faults"
                else:
                    results[at] = f"{faults} faults" if faults else f"status {status}: {last}"[:60]
                break
            log.write(f"{time.monotonic() - began:5.1f} s {tool}/{fuse}: {line}\n")
            if line.startswith(BEGIN):
                at, faults = line[len(BEGIN) :], 0
                deadline = time.monotonic() + limit
            elif line.startswith(END):
                results[at] = f"{faults} faults" if faults else line[len(END) :]
            elif line.startswith(SANITIZER_SAYS):
                text = line[len(SANITIZER_SAYS) :]
                # A fault is a line of its own; the indented ones tell more about it.
                harmless = not text.strip() or text.startswith(("    ", *HARMLESS))
                harmless |= "at cupy_" in text  # in a kernel of CuPy's own
                faults += not harmless and "SUMMARY" not in text
            elif line.strip():
                last = line.strip()
        waiting = [name for name in names if name not in results]
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=",".join(TOOLS), help="tools, between commas, or none")
    parser.add_argument("--fuse", default=",".join(FUSES), help="settings, between commas")
    parser.add_argument("--cases", help="names, between commas; all if not given")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per case")
    parser.add_argument("--budget", type=float, default=1800.0, help="seconds in all")
    parser.add_argument("--jobs", type=int, default=6, help="processes at a time")
    parser.add_argument("--log", type=Path, default=Path("sanitize.log"), help="all output")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run is not None:
        run_cases(options.device, options.fuse, options.run.split(","))
        return 0
    sys.path.insert(0, str(ROOT / "src"))
    tools = options.tool.split(",")
    rounds = [["none"], tools] if tools != ["none"] else [tools]
    if tools != ["none"] and shutil.which("compute-sanitizer") is None:
        raise SystemExit("compute-sanitizer is not on the PATH; it comes with the CUDA toolkit.")
    names = options.cases.split(",") if options.cases else list(cases())
    fuses = options.fuse.split(",")
    began = time.monotonic()
    deadline = began + options.budget

    def one(part: tuple[str, str, list[str]]) -> dict:
        tool, fuse, some = part
        found = watch(tool, options.device, fuse, some, options.limit, deadline, log)
        took = time.monotonic() - began
        print(f"[{took:5.0f} s] {tool}, fuse={fuse}: {found}", flush=True)
        return found

    pieces = [names[i : i + PER_PROCESS] for i in range(0, len(names), PER_PROCESS)]
    table: dict[tuple[str, str], dict] = {}
    with options.log.open("w", encoding="utf-8") as log:
        for together in rounds:
            settings = [(tool, fuse) for tool in together for fuse in fuses]
            parts = [(*setting, piece) for piece in pieces for setting in settings]
            # Compilers get a core each; watched processes share the device and hold each other up.
            compiling = together == ["none"] and options.device == "cuda"
            jobs = (os.cpu_count() or 1) if compiling else options.jobs
            with ThreadPoolExecutor(jobs) as pool:
                for (tool, fuse, _), found in zip(parts, pool.map(one, parts), strict=True):
                    table.setdefault((tool, fuse), {}).update(found)
    width = max(map(len, names))
    print(" " * width, *(f"{tool[:5]}/{fuse}".rjust(16) for tool, fuse in table))
    for name in names:
        print(name.ljust(width), *(found[name][:16].rjust(16) for found in table.values()))
    return int(any(result != "ok" for found in table.values() for result in found.values()))


if __name__ == "__main__":
    sys.exit(main())
