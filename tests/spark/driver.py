"""A driver that ranks a graph on Spark; tests start it as a process and kill it or its executors.

Arguments: a folder, the master, and what to do ("slow": wait after every superstep; "resume";
"kill": kill an executor after the third superstep).
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import weft  # noqa: E402
from spark_session import session_on  # noqa: E402


def executors():
    """Return the processes of executors that descend from this one."""
    parents, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            pid, status = int(folder.name), (folder / "status").read_text()
            parents[pid] = int(status.split("PPid:")[1].split()[0])
            if b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes():
                found.append(pid)

    def is_own(pid):
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [pid for pid in found if is_own(pid)]


def main(folder, master, action):
    session = session_on(master)
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 40, (2, 160))
    edges = session.createDataFrame(pa.table({"src": src, "dst": dst}))
    kept = Path(folder, "kept")
    g = weft.spark.graph(
        session, edges, blocks=2, checkpoint=kept, every=1, resume=action == "resume"
    )
    carrier = g.topology.carrier
    original, taken, killed = carrier.superstep, [], []

    def superstep(number, work, frontier):
        original(number, work, frontier)
        taken.append(number)
        if action == "slow" and number >= 2:
            time.sleep(60)
        if action == "kill" and number == 3:
            pid = executors()[0]
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    carrier.superstep = superstep
    rank = weft.pagerank(g, tol=1e-4)
    want = weft.pagerank(weft.Graph.from_edges(src, dst), tol=1e-4)
    print(f"weft.taken={len(taken)}")
    print(f"weft.steps={max(taken)}")
    print(f"weft.killed={len(killed)}")
    print(f"weft.error={np.abs(rank - want).max()}", flush=True)
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
