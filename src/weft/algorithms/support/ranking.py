"""The parameters of a ranking, shared by all ways to compute it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import weft


@dataclass(frozen=True)
class Ranking:
    """The requested ranks, their accuracy, and how to compute them."""

    damping: float
    tol: float
    max_iter: int
    dtype: Any
    config: weft.Config | None
