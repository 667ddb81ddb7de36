"""What every public algorithm has around it: a look at its graph, and its graph's device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from weft.errors import GraphError
from weft.graph import Graph

Algorithm = TypeVar("Algorithm", bound=Callable[..., Any])


def on_its_device(algorithm: Algorithm) -> Algorithm:
    """Run an algorithm where its graph is.

    What it computes with arrays itself, before, between and after its programs, then happens on
    the GPU of the graph, and memory that runs out there is told as it is in a run.
    """

    @functools.wraps(algorithm)
    def run(g: Graph, *args: Any, **options: Any) -> Any:
        if not isinstance(g, Graph):
            raise GraphError(
                f"{algorithm.__name__} takes a weft.Graph, but got a {type(g).__name__}. Make one "
                "with weft.Graph.from_edges, from_scipy, from_networkx, ..., or weft.read."
            )
        with g.topology.device.current():
            return algorithm(g, *args, **options)

    return cast(Algorithm, run)
