"""What every public algorithm has around it: its graph's device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from weft.graph import Graph

Algorithm = TypeVar("Algorithm", bound=Callable[..., Any])


def on_its_device(algorithm: Algorithm) -> Algorithm:
    """Run an algorithm where its graph is.

    What it computes with arrays itself, before, between and after its programs, then happens on
    the GPU of the graph, and memory that runs out there is told as it is in a run.
    """

    @functools.wraps(algorithm)
    def run(g: Graph, *args: Any, **options: Any) -> Any:
        with g.topology.device.current():
            return algorithm(g, *args, **options)

    return cast(Algorithm, run)
