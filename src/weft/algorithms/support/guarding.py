"""What surrounds every public algorithm: a check of its graph, and the device of that graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from weft.errors import GraphError, WeftError
from weft.graph import Graph
from weft.report.tracebacks import as_shown

Algorithm = TypeVar("Algorithm", bound=Callable[..., Any])


def on_its_device(algorithm: Algorithm) -> Algorithm:
    """Run an algorithm on the device of its graph; its errors show the user's frames alone.

    Array operations around its programs happen on the GPU of the graph too, and running out of
    memory there is reported as in a run.
    """

    @functools.wraps(algorithm)
    def run(g: Graph, *args: Any, **options: Any) -> Any:
        if not isinstance(g, Graph):
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
