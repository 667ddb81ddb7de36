"""`weft cache warm`: compiles the kernels of built-in algorithms ahead of time."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from typing import Any

from weft.errors import ConfigError, WeftError, unknown

GIVEN: dict[str, Callable[[Any], Any]] = {
    "source": lambda g: 0,
    "sources": lambda g: [0, 1],
    "center": lambda g: 0,
    "target": lambda g: g.num_vertices - 1,
    "k": lambda g: 2,
    "pairs": lambda g: [(0, 1), (1, 2)],
}
"""Values for the parameters without a default."""
SCALE = 8
WEIGHTS = ("none", "float", "int")


def graphs_for(algorithm: Any, weights: str | None) -> Iterator[Any]:
    """Yield small graphs that need all kernels of an algorithm: directed, undirected, weighted.

    Kernels depend on the dtype of the weights, not on the size of the graph.
    """
    import weft

    kinds = (weights,) if weights is not None else WEIGHTS[:2]
    if algorithm.weights == "ignored":
        kinds = WEIGHTS[:1]
    for kind in kinds:
        given: Any = None if kind == "none" else kind
        for directed in (True, False):
            yield weft.generators.rmat(SCALE, 4, seed=1, weights=given, directed=directed)


def arguments_for(function: Callable[..., Any], g: Any) -> dict[str, Any] | None:
    """Return arguments for the parameters without a default; None if one has no stand-in."""
    found: dict[str, Any] = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        if parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if name not in GIVEN:
            return None
        found[name] = GIVEN[name](g)
    return found


def warm(name: str, device: str, weights: str | None) -> float | None:
    """Compile the kernels of an algorithm; return the seconds, or None if it was skipped.

    Raises
    ------
    ConfigError
        If there is no such algorithm.
    """
    import weft
    from weft.algorithms.registry import algorithms

    known = algorithms()
    if name not in known:
        raise ConfigError(unknown("algorithm", name, sorted(known)))
    if weights is not None and weights not in WEIGHTS:
        raise ConfigError(unknown("--weights", weights, WEIGHTS))
    began, ran = time.perf_counter(), False
    config = weft.Config(compiled=True) if device == "cpu" else None
    for g in graphs_for(known[name], weights):
        arguments = arguments_for(getattr(weft, name), g)
        if arguments is None:
            return None
        try:
            getattr(weft, name)(g.to(device), **arguments, config=config)
            ran = True
        except WeftError:  # rejects this kind of graph: a cycle, or an asymmetric matrix
            continue
    return time.perf_counter() - began if ran else None
