"""The contestants: one file each, all with the contract of `Peer`.

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
    """One library holding one graph.

    The constructor converts the graph into the library's own form; that is not timed. A method
    named after a task solves it by calling the library, and returns whatever the library gives;
    that is timed. ``read_<task>``, where there is one, turns what was given into the plain answer
    that `benchmarks.checks` expects; that is not timed.
    """

    name: ClassVar[str]
    version: ClassVar[str]

    def __init__(self, workload: Workload, threads: int) -> None:
        raise NotImplementedError

    def call(self, task: str) -> Callable[[], Any] | None:
        """The method that solves `task`, or None where the library has nothing for it."""
        return getattr(self, task, None)

    def read(self, task: str, native: Any) -> Any:
        """The plain answer in what the method of `task` returned."""
        reader = getattr(self, f"read_{task}", None)
        return native if reader is None else reader(native)


def load(name: str) -> type[Peer] | None:
    """The contestant called `name`, or None where its library is not installed."""
    try:
        return importlib.import_module(f"benchmarks.peers.{MODULES[name]}").Contestant
    except ModuleNotFoundError as error:
        if error.name != name.partition("_")[0]:
            raise
        return None
