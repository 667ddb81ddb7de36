"""The site builds, without a warning, with a search index that knows the pages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_site_builds(tmp_path):
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    pytest.importorskip("material")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    index = json.loads((tmp_path / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"] for entry in index["docs"]}
    assert {"tutorial/index.html#the-model", "reference/algorithms.html#weft.bfs"} <= found
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'data-md-component="search"' in page
