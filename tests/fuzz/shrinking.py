"""Smaller cases that still differ, so that a report can be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

MOST_S = 20.0


def fewest(items: Sequence[Any], fails: Callable[[list[Any]], bool]) -> list[Any]:
    """Return few of the items that still make a case fail; ever smaller stretches are left out."""
    left, size = list(items), len(items)
    deadline = time.monotonic() + MOST_S
    while size:
        begin = 0
        while begin < len(left) and time.monotonic() < deadline:
            fewer = left[:begin] + left[begin + size :]
            if fails(fewer):
                left = fewer
            else:
                begin += size
        size //= 2
    return left


def differs(run: Callable[[], Any]) -> bool:
    """Whether a case fails."""
    try:
        run()
    except Exception:
        return True
    return False
