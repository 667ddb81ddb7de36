"""PageRank driven by change: every active vertex sends what its rank gained since it last did.

Pull first, push once most vertices are stable. Rank that vertices without out-edges hold is spread
evenly, as jumps are, so scaling the ranks to the sum 1 accounts for it.
"""

from __future__ import annotations

from typing import Any

from weft.acc.model import Program
from weft.algorithms.support.guarding import on_its_device
from weft.config import Config
from weft.engine.state import full, scalar
from weft.graph import Graph
from weft.ir.trace import monoids
from weft.ir.trace.functions import maximum


def prepare(v: Any, damping: Any) -> None:
    """Share out what is new."""
    v.share = damping * (v.rank - v.sent) / maximum(v.out_degree, 1)
    v.sent = v.rank


PROGRAM = Program(
    fields={"rank": full(1.0), "sent": full(0.0), "share": full(0.0)}
    | {"damping": scalar(0.85), "tol": scalar(1e-9)},
    prepare=prepare,
    compute=lambda u, v, e: u.share,
    combine=monoids.sum,
    into="rank",
    active=lambda v, tol: abs(v.rank - v.sent) > tol,
    push_below=0.3,
)


@on_its_device
def pagerank(
    g: Graph, damping: float = 0.85, *, tol: float = 1e-9, config: Config | None = None
) -> Any:
    """Return the PageRank of every vertex; `tol` is what a mean vertex may keep to itself."""
    rank = PROGRAM.run(g, damping=damping, tol=tol, config=config).state.rank
    return rank / max(float(rank.sum()), 1)
