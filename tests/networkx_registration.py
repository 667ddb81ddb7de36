"""Registration of the backend where `weft-networkx` is not installed: in a process, or here."""

import contextlib
import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "packages" / "weft-networkx" / "pyproject.toml"


def entry_points():
    """Return the entry points that the distribution declares, by group."""
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]


def write_distribution(folder):
    """Write what an installation would leave in site-packages into a folder; return its path."""
    info = Path(folder) / "weft_networkx-0.1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    header = "Metadata-Version: 2.1\nName: weft-networkx\nVersion: 0.1.0\n"
    info.joinpath("METADATA").write_text(header, encoding="utf-8")
    lines = []
    for group, named in entry_points().items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in named.items())]
    info.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder)


def environment(folder, **variables):
    """Return the environment of a process that finds the distribution in a folder."""
    paths = [write_distribution(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **variables}


def printed(folder, code, **variables):
    """Run code in a process that has the backend; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(folder, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def registered():
    """Register the backend in this process, as an installation would have."""
    import networkx as nx
    from networkx.utils import backends

    from weft.networkx.metadata import get_info

    kind, before, known = (
        backends._dispatchable,
        backends._dispatchable.__call__,
        nx.config.backends,
    )
    group = "networkx.backends"
    info = get_info()
    backends.backends["weft"] = EntryPoint("weft", entry_points()[group]["weft"], group)
    backends.backend_info["weft"] = info
    nx.config.backends = nx.utils.Config(**known, weft=nx.utils.Config(**info["default_config"]))
    kind.__call__ = kind._call_if_any_backends_installed
    nx.config.warnings_to_ignore.add("cache")
    try:
        yield
    finally:
        nx.config.warnings_to_ignore.discard("cache")
        kind.__call__ = before
        nx.config.backends = known
        for table in (backends.backends, backends.backend_info, backends._loaded_backends):
            table.pop("weft", None)
