"""A sample of NetworkX's own tests, run through weft; `tests/networkx/run` runs them all."""

import subprocess
import sys
from pathlib import Path

import networkx

RUN = Path(__file__).with_name("run")
SAMPLE = [
    "algorithms/shortest_paths", "algorithms/components", "algorithms/traversal/tests/test_bfs.py",
    "algorithms/link_analysis", "algorithms/tests/test_core.py", "algorithms/tests/test_dag.py",
    "algorithms/tests/test_cluster.py", "algorithms/tests/test_link_prediction.py",
    "algorithms/tests/test_bridges.py", "algorithms/tests/test_cuts.py", "linalg",
    "algorithms/centrality/tests/test_closeness_centrality.py",
]  # fmt: skip


def test_a_sample_of_the_suite_passes():
    folder = Path(networkx.__file__).parent
    done = subprocess.run(
        [sys.executable, str(RUN), *(str(folder / name) for name in SAMPLE)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " failed" not in done.stdout.splitlines()[-1]
