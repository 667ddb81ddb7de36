"""The unit for other sparse work: `weave` hands the items of rows to a function, lanes full."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.errors import GraphError
from weft.weaver.faults import Fault, WeaverError
from weft.weaver.machine import Machine
from weft.weaver.unit_timing import empty_units, pass_barrier, serve, skip


@dataclass(frozen=True)
class Woven:
    """The work that the unit distributed.

    Attributes
    ----------
    decodes
        How often lanes were filled.
    items
        Items that were handed out.
    cycles
        The cycles of the unit, registration included, with a warp always waiting for work.
    rounds
        How often the table was filled.
    """

    decodes: int
    items: int
    cycles: int
    rounds: int

    @property
    def filled(self) -> float:
        """The share of the lanes that had an item."""
        return self.items / max(1, self.decodes * Machine().threads)


def weave(
    offsets: Any,
    items: Any,
    fn: Callable[[Any, Any], Any],
    *,
    machine: Machine | None = None,
) -> Woven:
    """Hand the items of sparse rows to a function, as many at a time as there are lanes.

    Rows are registered in the unit's table, one table full after another, and handed out in order
    whatever their lengths. This runs on the model of the unit, with its faults and cycles.

    Parameters
    ----------
    offsets
        Where rows begin: row `r` has the items `offsets[r]` to `offsets[r + 1]`. Or a pair
        (begins, degrees), so that rows may overlap or leave gaps.
    items
        An array, or several by name; axis 0 is that of the items.
    fn
        ``fn(rows, items)`` gets the row numbers and the items of one decode as arrays. It may
        return a mask of rows that want no more (`WEAVER_SKIP`): what is left of them is dropped.
    machine
        Lanes, entries and latencies.

    Examples
    --------
    A sparse matrix times a vector:

    >>> import numpy as np, weft
    >>> offsets, columns = np.array([0, 2, 2, 5]), np.array([0, 2, 0, 1, 2])
    >>> values, x, y = np.arange(1.0, 6.0), np.array([1.0, 10.0, 100.0]), np.zeros(3)
    >>> def multiply(rows, items):
    ...     np.add.at(y, rows, items["value"] * x[items["column"]])
    >>> woven = weft.weave(offsets, {"value": values, "column": columns}, multiply)
    >>> y.tolist(), woven.decodes
    ([201.0, 0.0, 543.0], 1)

    Raises
    ------
    GraphError
        If a row reaches beyond the items.
    WeaverError
        If a degree is negative.
    """
    m = machine or Machine()
    begins, degrees = _rows_of(offsets)
    size = len(next(iter(items.values()))) if isinstance(items, Mapping) else len(items)
    if degrees.size and degrees.min() < 0:
        raise WeaverError(Fault.NEGATIVE_DEGREE, int(np.argmin(degrees)) // m.threads % m.warps)
    some = degrees > 0
    if some.any() and (begins[some].min() < 0 or (begins + degrees)[some].max() > size):
        raise GraphError(f"a row reaches beyond the {size} items. Expected offsets within them.")
    units, decodes, handed, cycles, rounds = empty_units(m), 0, 0, 0, 0
    for first in range(0, degrees.size, m.entries):
        part = slice(first, first + m.entries)
        found, count, now = _round(m, units, begins[part], degrees[part], first, items, fn)
        decodes, handed, cycles, rounds = decodes + found, handed + count, cycles + now, rounds + 1
    return Woven(decodes, handed, cycles, rounds)


def _rows_of(offsets: Any) -> tuple[Any, Any]:
    if isinstance(offsets, tuple):
        begins, degrees = (np.asarray(part, np.int64) for part in offsets)
        return begins, degrees
    bounds = np.asarray(offsets, np.int64)
    return bounds[:-1], bounds[1:] - bounds[:-1]


def _round(
    m: Machine, units: Any, begins: Any, degrees: Any, first: int, items: Any,
    fn: Callable[[Any, Any], Any],
) -> tuple[int, int, int]:  # fmt: skip
    """Run one round: return its decodes, its items and its cycles."""
    count = degrees.size
    units.deg[0] = 0
    units.vid[0, :count] = np.arange(first, first + count)
    units.loc[0, :count], units.deg[0, :count] = begins, degrees
    used = -(-count // m.threads)
    units.written[0, :used] = 1
    now = 3 * used  # three words a lane, a row of them a cycle
    pass_barrier(units, 0, now, 1, m.table_latency)
    decodes = handed = 0
    while True:
        now, fill = serve(units, 0, 0, now, m.threads, m.table_latency, m.read_ahead)
        if fill == 0:
            return decodes, handed, int(now)
        decodes, handed = decodes + 1, handed + fill
        rows = units.out_vid[0, :fill].copy()
        places = units.out_eid[0, :fill].copy()
        if isinstance(items, Mapping):
            taken: Any = {name: np.asarray(array)[places] for name, array in items.items()}
        else:
            taken = np.asarray(items)[places]
        enough = fn(rows, taken)
        if enough is not None:
            for row in np.unique(rows[np.asarray(enough, bool)]):
                skip(units, 0, int(row))
