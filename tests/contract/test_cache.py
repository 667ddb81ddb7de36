"""Compiled programs on disk: a second process compiles nothing, constants need no new kernel."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft

SOURCE = str(Path(weft.__file__).parents[1])

SCRIPT = """
import sys
import numpy as np
import weft
from numba.core import event

compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        pass
    def on_end(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)
event.register("numba:compile", Listener())

factor, keep = int(sys.argv[1]), sys.argv[2]

@weft.edge(into="x", reduce=weft.sum)
def add(u, v, e):
    return u.x * factor

@weft.vertex
def shift(v):
    v.x = v.x + {shift}

g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2], keep=keep)
state = g.state(x=np.array([1, 2, 3]))
g.iterate([add, shift], state, max_iter=2)
print(*state.x.tolist(), "kernel" if "kernel" in compiled else "cached")
"""


def expected(factor: int, shift: int) -> str:
    x = [1, 2, 3]
    members = {0, 1, 2}
    for _ in range(2):
        got = [x[0], x[1], x[2]]
        for u, v in ((0, 1), (0, 2), (1, 2)):
            got[v] += x[u] * factor * (u in members)
        changed = {v for v in range(3) if got[v] != x[v]}
        x = [got[v] + shift * (v in changed) for v in range(3)]
        members = changed
    return " ".join(map(str, x))


@pytest.fixture
def run_process(tmp_path):
    """Run the script in a new process; return its output and the files in the cache."""

    def run(factor: int, shift: int, keep: str = "both") -> tuple[str, dict[str, int]]:
        environment = {**os.environ, "PYTHONPATH": SOURCE, "WEFT_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.replace("{shift}", str(shift)), str(factor), keep],
            capture_output=True, text=True, timeout=300, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        files = {
            str(path.relative_to(tmp_path)): path.stat().st_mtime_ns
            for path in tmp_path.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts[:-2]
        }
        return done.stdout.strip(), files

    return run


def test_a_second_process_compiles_nothing_and_constants_share_the_kernel(run_process):
    output, first = run_process(3, 10)
    assert output == f"{expected(3, 10)} kernel"
    kernels = [name for name in first if name.endswith(".nbc")]
    assert len(kernels) == 1
    output, second = run_process(3, 10)
    assert output == f"{expected(3, 10)} cached"
    assert second == first
    output, third = run_process(-77, 4321)  # rule 14
    assert output == f"{expected(-77, 4321)} cached"
    assert third == first
    output, fourth = run_process(3, 10, "out")  # another program: no pull
    assert output == f"{expected(3, 10)} kernel"
    assert set(first) < set(fourth)


def test_a_damaged_cache_is_compiled_anew(run_process, tmp_path):
    _, files = run_process(3, 10)
    for name in files:
        if name.endswith(".nbc"):
            (tmp_path / name).write_bytes(b"nonsense")
    output, _ = run_process(3, 10)
    assert output == f"{expected(3, 10)} kernel"
    assert run_process(3, 10)[0] == f"{expected(3, 10)} cached"
