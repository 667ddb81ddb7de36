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


def test_import_loads_nothing_heavy():
    code = f"import sys, weft; print(*[name for name in {HEAVY} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
