"""The contestants, one file each, all following the contract of `Peer`.

A new contestant is a module here with a class `Contestant`, and a line in `MODULES` under the name
that the library is imported by; a second one of the same library has an underscore and more.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, ClassVar

from benchmarks.graphs import Workload

TASKS = ("bfs", "sssp", "pagerank", "components", "triangles", "cores")

MODULES = {
    "weft": "weft_peer",
    "scipy": "scipy_peer",
    "graphblas": "graphblas_peer",
    "graphblas_vxm": "graphblas_vxm_peer",
    "networkit": "networkit_peer",
    "igraph": "igraph_peer",
}


class Peer:
    """A library that holds one graph.

    The constructor converts the graph into the library's own form; that is not timed. A method
    named after a task solves it by calling the library and returns the library's own result; that
    is timed. ``read_<task>``, where defined, converts that result into the plain answer that
    `benchmarks.checks` expects; that is not timed.
    """

    name: ClassVar[str]
    version: ClassVar[str]

    def __init__(self, workload: Workload, threads: int) -> None:
        raise NotImplementedError

    def call(self, task: str) -> Callable[[], Any] | None:
        """Return the method that solves `task`, or None if the library has none."""
        return getattr(self, task, None)

    def read(self, task: str, native: Any) -> Any:
        """Return the plain answer from the result of the method of `task`."""
        reader = getattr(self, f"read_{task}", None)
        return native if reader is None else reader(native)


def load(name: str) -> type[Peer] | None:
    """Return the contestant called `name`, or None if its library is not installed."""
    try:
        return importlib.import_module(f"benchmarks.peers.{MODULES[name]}").Contestant
    except ModuleNotFoundError as error:
        if error.name != name.partition("_")[0]:
            raise
        return None
