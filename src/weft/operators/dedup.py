"""Heuristics of GPUs that drop duplicates from a queue, as the same array operations everywhere.

Warps of 32 consecutive items run in lockstep: all read a table before one of them writes. Warps
follow one another, those of a block with the block's own table. So a heuristic misses the
duplicates that its table forgets or that meet within a warp, and never drops the last copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.arrays.checks import integer_of
from weft.arrays.device import device_of, module_of
from weft.errors import ConfigError, shortened

Array = np.ndarray[Any, Any]
WARP, WARPS_OF_A_BLOCK = 32, 8
GOLDEN = 2654435761  # multiplying by it spreads consecutive ids over a table


@dataclass(frozen=True)
class Tables:
    """Sizes of the tables that heuristics remember vertices in.

    Parameters
    ----------
    history
        Entries of the table of a block under "history".
    warp
        Entries of the table of a warp under "warp".

    Examples
    --------
    >>> from weft.operators import Tables
    >>> Tables(history=64)
    Tables(history=64, warp=128)
    """

    history: int = 256
    warp: int = 128

    def __post_init__(self) -> None:
        for name in ("history", "warp"):
            size = integer_of(getattr(self, name))
            if size is None or not 1 <= size <= 2**16:
                raise ConfigError(
                    f"{name}={shortened(getattr(self, name))} is not possible. Expected the "
                    f"number of entries of a table, from 1 to 65536."
                )


def without_duplicates(items: Array, dedup: str | None, tables: Tables) -> Array:
    """Return a queue without the duplicates that a heuristic finds, in order.

    Examples
    --------
    >>> import numpy as np
    >>> without_duplicates(np.array([5, 3, 5]), "warp", Tables()).tolist()
    [3, 5]
    """
    if dedup == "none" or items.size < 2:
        return items
    with device_of(items).current():
        if dedup == "warp":
            kept = _kept_by_warps(items, tables.warp)
        elif dedup == "history":
            kept = _kept_by_history(items, tables.history)
        elif dedup == "bitmask":
            kept = _kept_by_bits(items)
        else:
            kept = _first_ones(items)
        return items[kept]


def _slots(items: Array, size: int) -> Array:
    """Return the entry of a table that each item is remembered in."""
    return items.astype(np.int64) * GOLDEN % (1 << 32) % size


def _first_ones(items: Array) -> Array:
    xp = module_of(items)
    _, first = xp.unique(items, return_index=True)
    kept = xp.zeros(items.size, bool)
    kept[first] = True
    return kept


def _kept_by_bits(items: Array) -> Array:
    """Keep an item unless an earlier warp has set its bit."""
    xp = module_of(items)
    _, first, where = xp.unique(items, return_index=True, return_inverse=True)
    warps = xp.arange(items.size) // WARP
    kept: Array = warps[first][where.ravel()] == warps
    return kept


def _kept_by_warps(items: Array, size: int) -> Array:
    """Drop an item if another lane of its warp stands for the same one in the warp's table."""
    xp = module_of(items)
    lanes = xp.arange(items.size)
    warps = int(-(-items.size // WARP))
    places = lanes // WARP * size + _slots(items, size)
    table = xp.zeros(warps * size, np.int64)
    table[places] = lanes  # one lane wins an entry
    winner = table[places]
    kept: Array = (items[winner] != items) | (winner == lanes)
    return kept


def _kept_by_history(items: Array, size: int) -> Array:
    """Drop an item if the table of its block holds it; all warps of a block share the table."""
    xp = module_of(items)
    share = WARP * WARPS_OF_A_BLOCK
    blocks = int(-(-items.size // share))
    padded = xp.full(blocks * share, -1, np.int64)
    padded[: items.size] = items
    lanes = padded.reshape(blocks, WARPS_OF_A_BLOCK, WARP)
    table = xp.full((blocks, size), -1, np.int64)
    rows = xp.arange(blocks)[:, None]
    kept = xp.ones(lanes.shape, bool)
    for warp in range(WARPS_OF_A_BLOCK):
        own = lanes[:, warp]
        slots = _slots(own, size)
        kept[:, warp] = table[rows, slots] != own
        table[rows, slots] = own
    found: Array = kept.reshape(-1)[: items.size]
    return found
