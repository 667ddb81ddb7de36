"""What a ranking is to be like: shared by the ways to compute it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.config import Config


@dataclass(frozen=True)
class Ranking:
    """What ranks are wanted, how accurate, and how they are computed."""

    damping: float
    tol: float
    max_iter: int
    dtype: Any
    config: Config | None
