"""Graphs in blocks on disk against the same graph in memory: CPU time, wall time, peak memory.

    python benchmarks/scale.py --graph kron20x16 --blocks 32 --memory 200MB

Generates a Kronecker graph, writes it in blocks, and runs each algorithm in a process of its own,
streamed and in memory. Peak memory is that of the process, which includes Python, the
compiled kernels and the fields of the vertices. CPU time is the more telling on a busy machine.
With `--device cuda` blocks are streamed to a GPU, whose share of the link's bandwidth is shown.
With `--spark` it also runs PageRank on Spark, and the same by joins in Spark SQL.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft
from benchmarks import graph_names

ITERATIONS = 10
ONE = weft.Config(threads=1)  # threads that wait for each other would count as CPU time
ALGORITHMS: dict[str, Callable[[Any], Any]] = {
    "pagerank": lambda g: weft.pagerank(
        g, tol=0, max_iter=ITERATIONS, dtype=np.float32, on_unconverged="return", config=ONE
    ),
    "bfs": lambda g: weft.bfs(g, int(np.argmax(g.out_degree)), config=ONE),
    "components": lambda g: weft.connected_components(g, config=ONE),
    "label_propagation": lambda g: weft.label_propagation(g, 3, config=ONE),
}


def measure(path: str, memory: str, name: str, device: str) -> dict[str, Any]:
    """Run an algorithm twice in this process; return what the second run took, and the peak."""
    g = weft.open(path, memory=memory, device=device)
    run = ALGORITHMS[name]
    run(g)
    wall, cpu = time.perf_counter(), time.process_time()
    run(g)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak_bytes() / 1e6}
    if device != "cpu":
        pool = g.topology.xp.get_default_memory_pool()
        found |= {"device_mb": pool.total_bytes() / 1e6}
    return found


def peak_bytes() -> int:
    """Return the most memory that this process has had; `ru_maxrss` would count its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def measured_apart(path: Path, memory: str, name: str, device: str = "cpu") -> dict[str, Any]:
    """Run `measure` in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--path", str(path), "--memory", memory]
    command += ["--device", device]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def link_bytes_per_second() -> float:
    """Return how fast pinned memory is copied to the GPU, the best of a few copies of 1 GiB."""
    import cupy

    size = 1 << 30
    pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(size), np.uint8, size)
    target, best = cupy.empty(size, np.uint8), np.inf
    for _ in range(5):
        began = time.perf_counter()
        target.set(pinned)
        cupy.cuda.runtime.deviceSynchronize()
        best = min(best, time.perf_counter() - began)
    return size / best


def gpu_rows(folder: Path, memory: str) -> list[str]:
    """Return rows of algorithms whose blocks are streamed to the GPU, and of the whole graph."""
    rows, link = [], link_bytes_per_second()
    entries = json.loads((folder / "blocks" / "manifest.json").read_text())["blocks"]
    way = "in" if "in" in entries else "out"
    size = sum(entry["bytes"] for entry in entries[way])
    for name in ("pagerank", "bfs", "components"):
        streamed = measured_apart(folder / "blocks", memory, name, "cuda")
        whole = measured_apart(folder / "whole.weft", memory, name, "cuda")
        share = ITERATIONS * size / streamed["wall_s"] / link
        rows.append(
            f"| {name} | {streamed['wall_s'] * 1e3:.0f} | {whole['wall_s'] * 1e3:.1f} "
            f"| {f'{share:.0%}' if name == 'pagerank' else ''} | {streamed['device_mb']:.0f} "
            f"| {whole['device_mb']:.0f} |"
        )
    return [
        f"link {link / 1e9:.1f} GB/s, blocks by {way} {size / 1e6:.0f} MB",
        "",
        "| algorithm | streamed ms | whole ms | share of the link | device MB | whole: device MB |",
        "|---|---|---|---|---|---|",
        *rows,
    ]


def spark_rows(path: Path, shown: str) -> list[str]:
    """Return rows of PageRank on Spark, and of the same in SQL, per iteration after the first."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    source = str(Path(weft.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    from pyspark.sql import SparkSession

    from weft.spark import graph

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = session.config("spark.sql.shuffle.partitions", "8").getOrCreate()
    edges = spark.read.parquet(str(path)).select("src", "dst").cache()
    g = graph(spark, edges, blocks=4)
    times = []
    for count in (1, 1 + ITERATIONS):
        began = time.perf_counter()
        weft.pagerank(g, tol=0, max_iter=count, dtype=np.float32, on_unconverged="return")
        times.append(time.perf_counter() - began)
    ours = (times[1] - times[0]) / ITERATIONS
    theirs = sql_iteration(spark, edges)
    spark.stop()
    return [
        f"| weft on Spark, local[2] | {shown} | {ours:.2f} |",
        f"| joins in Spark SQL, local[2] | {shown} | {theirs:.2f} |",
    ]


def sql_iteration(spark: Any, edges: Any) -> float:
    """Return the seconds that an iteration of PageRank takes as joins, lineage cut every time."""
    from pyspark.sql import functions as f

    degree = edges.groupBy("src").count().withColumnRenamed("count", "degree").cache()
    rank = edges.select(f.col("src").alias("id")).union(edges.select("dst")).distinct()
    n = rank.count()
    rank = rank.withColumn("rank", f.lit(1.0 / n)).localCheckpoint()
    times = []
    for _ in range(3):
        began = time.perf_counter()
        sent = rank.join(degree, rank["id"] == degree["src"]).select(
            "id", (f.col("rank") / f.col("degree")).alias("share")
        )
        came = edges.join(sent, edges["src"] == sent["id"]).groupBy("dst").agg(f.sum("share"))
        new = f.lit(0.15 / n) + 0.85 * f.coalesce(f.col("sum(share)"), f.lit(0.0))
        joined = rank.select("id").join(came, rank["id"] == came["dst"], "left")
        rank = joined.select("id", new.alias("rank")).localCheckpoint()
        times.append(time.perf_counter() - began)
    return min(times[1:])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    graph_names.add_graph(parser, "kron18x16")
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--memory", default="50MB")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.path, given.memory, given.one, given.device)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        g = graph_names.generate(given.graph, weights=None)
        weft.write(g, folder / "whole.weft")
        began = time.process_time()
        weft.partition(folder / "whole.weft", folder / "blocks", blocks=given.blocks)
        built = time.process_time() - began
        size = sum(path.stat().st_size for path in (folder / "blocks").glob("*.block"))
        print(f"{g!r}; {given.blocks} blocks, {size / 1e6:.0f} MB, built in {built:.1f} CPU-s\n")
        if given.device == "cuda":
            print("\n".join(gpu_rows(folder, given.memory)))
            return
        print("| algorithm | streamed CPU-s | in memory CPU-s | ratio | streamed peak MB |")
        print("|---|---|---|---|---|")
        for name in ALGORITHMS:
            streamed = measured_apart(folder / "blocks", given.memory, name)
            whole = measured_apart(folder / "whole.weft", given.memory, name)
            ratio = streamed["cpu_s"] / whole["cpu_s"]
            print(
                f"| {name} | {streamed['cpu_s']:.2f} | {whole['cpu_s']:.2f} | {ratio:.1f} "
                f"| {streamed['peak_mb']:.0f} |",
                flush=True,
            )
        if given.spark:
            weft.write(g, folder / "edges.parquet")
            print("\n| PageRank | graph | seconds an iteration |\n|---|---|---|")
            print("\n".join(spark_rows(folder / "edges.parquet", graph_names.short(given.graph))))


if __name__ == "__main__":
    main()
