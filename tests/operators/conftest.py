"""What the tests of operators share: the devices, and several threads on small graphs."""

import pytest

from weft.backends.cpu.host import run as execute


@pytest.fixture(autouse=True)
def _share_small_graphs(monkeypatch):
    """Let several threads work on graphs that are too small to be worth it."""
    monkeypatch.setattr(execute, "SMALL_GRAPH", 0)
