"""Registration of the backend in processes where `weft-networkx` is not installed."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "packages" / "weft-networkx" / "pyproject.toml"


def entry_points():
    """Return the entry points that the distribution declares, by group."""
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]


def write_distribution(folder):
    """Write what an installation would leave in site-packages into a folder; return its path."""
    info = Path(folder) / "weft_networkx-0.1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    info.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: weft-networkx\nVersion: 0.1.0\n"
    )
    lines = []
    for group, named in entry_points().items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in named.items())]
    info.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n")
    return str(folder)


def environment(folder, **variables):
    """Return the environment of a process that finds the distribution in a folder."""
    paths = [write_distribution(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **variables}


def run_python(folder, code, **variables):
    """Run code in a process with the backend; return its output."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(folder, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
