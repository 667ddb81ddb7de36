"""`import weft` stays light: what is heavy is imported when it is needed."""

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
HEAVY = (
    "numba", "llvmlite", "scipy", "matplotlib", "rich", "typer", "networkx", "cupy", "cuda",
    "pandas", "pyarrow",
)  # fmt: skip


def printed(code):
    """Return the words that a program prints, run in a separate process."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_loads_nothing_heavy():
    code = f"import sys, weft; print(*[name for name in {HEAVY} if name in sys.modules])"
    assert printed(code) == []


RUN = "import sys, weft; weft.bfs(weft.generators.path(9), 0); "


def test_a_run_needs_no_linear_algebra():
    assert printed(RUN + "print('scipy.linalg' in sys.modules)") == ["False"]


def test_code_of_others_has_linear_algebra_after_a_run():
    code = (
        RUN + "import numba, numpy as np; "
        "print(numba.njit(lambda a: np.dot(a, a) + np.linalg.norm(a))(np.ones(4)))"
    )
    assert printed(code) == ["6.0"]
