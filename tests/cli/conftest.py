"""The command line as processes, as a shell would start them."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"


@dataclass
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def weft(tmp_path):
    """Run `weft` with some arguments in an empty folder; never a traceback."""

    def run(*arguments, env=None):
        done = subprocess.run(
            [sys.executable, "-m", "weft", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "100", **(env or {})},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def edges(tmp_path):
    """A file with a small directed, weighted graph: two components, 5 without a path from 0."""
    path = tmp_path / "small.txt"
    path.write_text("0 1 2\n0 2 5\n1 2 1\n2 3 4\n5 4 1\n")
    return path
