"""The wrapper of every public algorithm: checks its graph and selects the graph's device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import weft
from weft.errors import GraphError, WeftError
from weft.report.tracebacks import as_shown

Algorithm = TypeVar("Algorithm", bound=Callable[..., Any])


def on_its_device(algorithm: Algorithm) -> Algorithm:
    """Run an algorithm on the device of its graph; errors show only the user's frames.

    Array operations outside programs then also run on the graph's GPU, and running out of memory
    there is reported as in a run.
    """

    @functools.wraps(algorithm)
    def run(g: weft.Graph, *args: Any, **options: Any) -> Any:
        if not isinstance(g, weft.Graph):
            raise GraphError(
                f"{algorithm.__name__} takes a weft.Graph, but got a {type(g).__name__}. Make one "
                "with weft.Graph.from_edges, from_scipy, from_networkx, ..., or weft.read."
            )
        device = g._topology.device
        try:
            if device.on_host:
                return algorithm(g, *args, **options)
            with device.current():
                return algorithm(g, *args, **options)
        except WeftError as error:
            shown = as_shown(error)
        raise shown

    return cast(Algorithm, run)
