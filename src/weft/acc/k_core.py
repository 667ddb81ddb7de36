"""The k-core: vertices of degree below k are removed, which lowers their neighbours' degrees."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.acc.model import Program
from weft.algorithms.support.guarding import on_its_device
from weft.algorithms.support.simple import simple
from weft.config import Config
from weft.engine.state import scalar
from weft.errors import ConfigError
from weft.graph import Graph
from weft.ir.trace import monoids

PROGRAM = Program(
    fields={"degree": lambda v: v.out_degree, "k": scalar(0)},
    init=lambda v, k: v.degree < k,
    compute=lambda u, v, e: -1,
    combine=monoids.sum,
    into="degree",
    accept=lambda v, k: v.degree >= k,  # vertices below k take no more updates
    active=lambda v, k: v.degree < k,
)


@on_its_device
def k_core(g: Graph, k: int, *, config: Config | None = None) -> Any:
    """Return whether each vertex is in the k-core of the simple undirected graph."""
    if not isinstance(k, int | np.integer):
        raise ConfigError(f"k={k!r} is not a number of neighbours. Expected an integer.")
    return PROGRAM.run(simple(g), k=k, config=config).state.degree >= k
