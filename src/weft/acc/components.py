"""Weakly connected components by votes: any neighbour with a smaller label decides."""

from __future__ import annotations

from typing import Any

from weft.acc.model import Program
from weft.algorithms.support.guarding import on_its_device
from weft.config import Config
from weft.graph import Graph
from weft.ir.trace.proxies import send

# All vertices send: an update that lost a vote is sent again, until none is smaller.
PROGRAM = Program(
    fields={"label": lambda v: v.id},
    compute=lambda u, v, e: send(u.label, when=u.label < v.label),
    combine="vote",
    into="label",
    senders="all",
)


@on_its_device
def components(g: Graph, *, config: Config | None = None) -> Any:
    """Return the smallest vertex of the weakly connected component of every vertex."""
    return PROGRAM.run(g.to_undirected(), config=config).state.label
