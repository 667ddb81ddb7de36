"""Graphs in blocks on disk against the same graph in memory: CPU time, wall time, peak memory.

    python benchmarks/scale.py --graph kron20x16 --blocks 32 --memory 200MB

Generates a Kronecker graph, writes it in blocks, and runs each algorithm in a process of its own,
streamed and in memory. Peak memory is that of the process, which includes Python, the
compiled kernels and the fields of the vertices. CPU time is the more telling on a busy machine.
With `--device cuda` blocks are streamed to a GPU, whose share of the link's bandwidth is shown.
With `--spark` it runs PageRank on Spark instead, and the same by joins in Spark SQL.
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


def measure(path: str, memory: str, name: str, device: str, limit: int) -> dict[str, Any]:
    """Run an algorithm twice in this process; return what the second run took, and the peak.

    On a GPU the host link is measured before, and arrays may then take `limit` bytes if that is
    not 0.
    """
    link = 0.0 if device == "cpu" else link_bytes_per_second()
    if device != "cpu":
        import cupy

        cupy.get_default_memory_pool().set_limit(size=limit)
    g = weft.open(path, memory=memory, device=device)
    run = ALGORITHMS[name]
    run(g)
    copied = bytes_copied(g)
    wall, cpu = time.perf_counter(), time.process_time()
    run(g)
    g.topology.device.synchronize()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak_bytes() / 1e6}
    if device != "cpu":
        held = cupy.get_default_memory_pool().total_bytes()
        found |= {"device_mb": held / 1e6, "link": link, "copied": bytes_copied(g) - copied}
    return found


def bytes_copied(g: Any) -> int:
    """Return the bytes of arcs that were copied to a GPU so far; 0 where all of them are there."""
    counters = getattr(getattr(g.topology, "carrier", None), "counters", {})
    return int(counters.get("bytes_copied", 0))


def peak_bytes() -> int:
    """Return the most memory that this process has had; `ru_maxrss` would count its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def measured_apart(
    path: Path, memory: str, name: str, device: str = "cpu", limit: int = 0
) -> dict[str, Any]:
    """Run `measure` in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--path", str(path), "--memory", memory]
    command += ["--device", device, "--limit", str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def link_bytes_per_second() -> float:
    """Return how fast pinned memory is copied to the GPU, the best of a few copies of 512 MiB."""
    import cupy

    size = 1 << 29
    pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(size), np.uint8, size)
    target, best = cupy.empty(size, np.uint8), np.inf
    for _ in range(5):
        began = time.perf_counter()
        target.set(pinned)
        cupy.cuda.runtime.deviceSynchronize()
        best = min(best, time.perf_counter() - began)
    del target
    cupy.get_default_memory_pool().free_all_blocks()
    return size / best


def show_gpu(folder: Path, memory: str, names: list[str], device: str) -> None:
    """Print rows of algorithms whose blocks are streamed to the GPU, and of the whole graph.

    Streamed, the arrays on the device may take a third of the bytes of the arcs in one direction.
    """
    entries = json.loads((folder / "blocks" / "manifest.json").read_text())["blocks"]
    size = sum(entry["bytes"] for entry in next(iter(entries.values())))
    print(f"arcs in one direction: {size / 1e6:.0f} MB; device limited to {size / 3e6:.0f} MB\n")
    print("| algorithm | streamed ms | copied MB | link GB/s | share | streamed device MB "
          "| whole ms | whole device MB |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in names:
        streamed = measured_apart(folder / "blocks", memory, name, device, size // 3)
        share = streamed["copied"] / streamed["wall_s"] / streamed["link"]
        print(
            f"| {name} | {streamed['wall_s'] * 1e3:.1f} | {streamed['copied'] / 1e6:.0f} "
            f"| {streamed['link'] / 1e9:.1f} | {share:.0%} | {streamed['device_mb']:.0f} ",
            end="", flush=True,
        )  # fmt: skip
        whole = measured_apart(folder / "whole.weft", memory, name, device)
        print(f"| {whole['wall_s'] * 1e3:.1f} | {whole['device_mb']:.0f} |", flush=True)


def show_spark(g: Any, folder: Path) -> None:
    """Print rows of PageRank on Spark, and of the same in SQL joins, by iteration.

    CPU time is that of the driver, the Java process and the workers.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    source = str(Path(weft.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    from pyspark.sql import SparkSession

    weft.write(g, folder / "edges.parquet")
    made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    made = made.config("spark.sql.shuffle.partitions", "8").config("spark.driver.memory", "3g")
    spark = made.config("spark.log.level", "ERROR").getOrCreate()
    edges = spark.read.parquet(str(folder / "edges.parquet")).select("src", "dst")
    print("| PageRank on local[2] | iterations | seconds each | CPU-s each |")
    print("|---|---|--:|--:|")
    for name, measured in (("weft on Spark", ours_on_spark), ("Spark SQL joins", sql_on_spark)):
        for which, wall, cpu in measured(spark, edges):
            print(f"| {name} | {which} | {wall:.2f} | {cpu:.2f} |", flush=True)
    spark.stop()


Rows = list[tuple[str, float, float]]
SUPERSTEPS = 50


def ours_on_spark(spark: Any, edges: Any) -> Rows:
    """Return the medians of early and late supersteps."""
    g = weft.spark.graph(spark, edges, directed=False, blocks=4)
    carrier = g.topology.carrier
    marks = []
    carrier.superstep = lambda *about: marks.append((time.perf_counter(), cpu_of_all()))
    weft.pagerank(g, tol=0, max_iter=SUPERSTEPS, dtype=np.float32, on_unconverged="return")
    each = np.diff(np.array(marks), axis=0)
    spans = {"2nd to 5th": (0, 4), "6th to 15th": (4, 14), "41st to 50th": (39, 49)}
    return [(name, *np.median(each[low:high], axis=0)) for name, (low, high) in spans.items()]


def cpu_of_all() -> float:
    """Return the CPU time of this process and of all that it has started."""
    parents, seconds, tick = {}, {}, os.sysconf("SC_CLK_TCK")
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = path.read_text().split(" ", 1)
        except OSError:  # the process has ended
            continue
        facts = rest[rest.rindex(")") + 2 :].split()
        parents[int(number)] = int(facts[1])
        seconds[int(number)] = sum(map(int, facts[11:15])) / tick
    total = 0.0
    for number in seconds:
        above = number
        while above in parents and above != os.getpid():
            above = parents[above]
        total += seconds[number] if above == os.getpid() else 0.0
    return total


def sql_on_spark(spark: Any, edges: Any) -> Rows:
    """Return what an iteration of PageRank takes as joins, lineage cut every time."""
    from pyspark.sql import functions as f

    turned = edges.filter("src <> dst").select(f.col("dst").alias("src"), f.col("src").alias("dst"))
    edges = edges.union(turned).repartition("src").cache()
    degree = edges.groupBy("src").count().withColumnRenamed("count", "degree").cache()
    rank = edges.select(f.col("src").alias("id")).distinct()
    n = rank.count()
    rank = rank.withColumn("rank", f.lit(1.0 / n)).localCheckpoint()
    times = []
    for _ in range(3):
        began, cpu = time.perf_counter(), cpu_of_all()
        sent = rank.join(degree, rank["id"] == degree["src"]).select(
            "id", (f.col("rank") / f.col("degree")).alias("share")
        )
        came = edges.join(sent, edges["src"] == sent["id"]).groupBy("dst").agg(f.sum("share"))
        new = f.lit(0.15 / n) + 0.85 * f.coalesce(f.col("sum(share)"), f.lit(0.0))
        joined = rank.select("id").join(came, rank["id"] == came["dst"], "left")
        rank = joined.select("id", new.alias("rank")).localCheckpoint()
        times.append((time.perf_counter() - began, cpu_of_all() - cpu))
    return [("2nd and 3rd, the faster", *min(times[1:]))]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    graph_names.add_graph(parser, "kron18x16")
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--memory", default="50MB")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--device", choices=["cpu", "cuda", "emulated"], default="cpu")
    parser.add_argument("--only", nargs="+", choices=list(ALGORITHMS), default=list(ALGORITHMS))
    parser.add_argument("--folder", help="where the graph is kept for further runs")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.path, given.memory, given.one, given.device, given.limit)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.folder or temporary)
        if (folder / "blocks" / "manifest.json").exists():
            show(given, folder)
            return
        folder.mkdir(exist_ok=True)
        maker = given.device if given.device == "cuda" else "cpu"  # a GPU generates faster
        g = graph_names.generate(given.graph, maker, weights=None).to("cpu")
        if given.spark:
            print(f"{g!r}\n")
            show_spark(g, folder)
            return
        weft.write(g, folder / "whole.weft")
        began = time.process_time()
        weft.partition(folder / "whole.weft", folder / "blocks", blocks=given.blocks)
        built = time.process_time() - began
        size = sum(path.stat().st_size for path in (folder / "blocks").glob("*.block"))
        print(f"{g!r}; {given.blocks} blocks, {size / 1e6:.0f} MB, built in {built:.1f} CPU-s\n")
        show(given, folder)


def show(given: argparse.Namespace, folder: Path) -> None:
    """Print the rows of algorithms over the blocks in a folder."""
    if given.device != "cpu":
        show_gpu(folder, given.memory, given.only, given.device)
        return
    print("| algorithm | streamed CPU-s | in memory CPU-s | ratio | streamed peak MB |")
    print("|---|---|---|---|---|")
    for name in given.only:
        streamed = measured_apart(folder / "blocks", given.memory, name)
        whole = measured_apart(folder / "whole.weft", given.memory, name)
        ratio = streamed["cpu_s"] / whole["cpu_s"]
        print(
            f"| {name} | {streamed['cpu_s']:.2f} | {whole['cpu_s']:.2f} | {ratio:.1f} "
            f"| {streamed['peak_mb']:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
