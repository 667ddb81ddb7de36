"""Shortest paths in order of distance: near vertices send first (delta-stepping)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.acc.model import Program
from weft.algorithms.support.guarding import on_its_device
from weft.algorithms.support.sources import check_source
from weft.config import Config
from weft.engine.state import full
from weft.errors import GraphError
from weft.graph import Graph
from weft.ir.trace import monoids
from weft.ir.trace.functions import where


@on_its_device
def sssp(g: Graph, source: int, *, config: Config | None = None) -> Any:
    """Return the distance from the source to every vertex over weights from 0 on, or inf."""
    source = check_source(g, source)
    if g.weighted and g.num_edges and not g.edge.extent("weight")[0] >= 0:
        raise GraphError("a weight is negative or NaN. Expected weights from 0 on; see weft.sssp.")
    program = Program(
        fields={"dist": full(lambda v: where(v.id == source, 0.0, np.inf), np.float64)},
        compute=lambda u, v, e: u.dist + e.weight,
        combine=monoids.min,
        into="dist",
        priority=lambda v: v.dist,
    )
    return program.run(g, [source], config=config).state.dist
