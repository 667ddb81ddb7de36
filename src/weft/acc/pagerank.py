"""PageRank driven by change: every active vertex sends the gain of its rank since it last sent.

Pull first, push once most vertices are stable. Ranks have the mean 1 while they are computed: every
vertex first sends a rank near that (`even_start`), and then holds the jump term (`base`) plus what
arrives. Later differences are signed and small. A vertex withholds gains of at most tol · (1 +
rank): in total 2 tol of a sum of 1, of which about half is used, so the ranks are as accurate as
those of plain PageRank for the same `tol`, after about as many arcs.
"""

from __future__ import annotations

from typing import Any

from weft.acc.balance import even_start, run_balanced
from weft.acc.model import Program
from weft.algorithms.support.guarding import on_its_device
from weft.config import Config
from weft.engine.state import full, scalar
from weft.graph import Graph
from weft.ir.trace import monoids
from weft.ir.trace.functions import maximum, where


def prepare(v: Any, damping: Any, base: Any) -> None:
    """Send the gain since the last time; `sent` is negative at vertices that have not sent yet."""
    begins = v.sent < 0
    v.share = damping * (v.rank - maximum(v.sent, 0)) / maximum(v.out_degree, 1)
    v.sent = v.rank
    v.rank = where(begins, base, v.rank)


PROGRAM = Program(
    fields={"rank": full(1.0), "sent": full(-1.0), "share": full(0.0)}
    | {"damping": scalar(0.85), "base": scalar(0.15), "tol": scalar(1e-9)},
    prepare=prepare,
    compute=lambda u, v, e: u.share,
    combine=monoids.sum,
    into="rank",
    active=lambda v, tol: abs(v.rank - v.sent) > tol * (1 + v.rank),
    push_below=0.3,
)


@on_its_device
def pagerank(
    g: Graph, damping: float = 0.85, *, tol: float = 1e-9, config: Config | None = None
) -> Any:
    """Return the PageRank of every vertex, within ``2 * tol / (1 - damping)`` in all."""
    base, rank = even_start(g, damping)
    rank = run_balanced(PROGRAM, g, rank, tol, config, damping=damping, base=base)
    return rank / max(float(rank.sum()), 1)
