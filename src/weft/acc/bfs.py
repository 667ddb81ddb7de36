"""Breadth-first search by votes: whichever neighbour reaches a vertex first settles its level."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.acc.model import Program
from weft.algorithms.support.guarding import on_its_device
from weft.algorithms.support.sources import check_source
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace.functions import where


@on_its_device
def bfs(g: Graph, source: int, *, config: Config | None = None) -> Any:
    """Return the number of edges from the source to every vertex, -1 where there is no path."""
    source = check_source(g, source)
    program = Program(
        fields={"level": full(lambda v: where(v.id == source, 0, -1), np.int32)},
        compute=lambda u, v, e: u.level + 1,
        combine="vote",
        into="level",
        accept=lambda v: v.level < 0,
    )
    return program.run(g, [source], config=config).state.level
