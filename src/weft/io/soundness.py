"""Checks arrays from a file before compiled code uses them as offsets and targets.

Compiled code does not check indices, so one wrong number in a file could read arbitrary memory. The
arrays are read once, in cache-sized blocks and on several threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np

from weft.arrays.threads import num_threads
from weft.topology.adjacency import Adjacency, Array, first_unpaired

_BLOCK: Final = 1 << 18
_BATCH: Final = 256  # blocks per round; a flaw in one of them ends the search
_MOST_THREADS: Final = 16  # more do not add memory bandwidth


class Flaw(NamedTuple):
    """The first entry that is wrong.

    Parameters
    ----------
    array : {"offsets", "targets"}
    position : int
        Its position in the array.
    problem : str
        A sentence for the error message, including what was expected.
    """

    array: str
    position: int
    problem: str


def find_flaw(
    arcs: Adjacency, num_edges: int, directed: bool, *, pairs: bool = False
) -> Flaw | None:
    """Return the first flaw of arrays as an adjacency, or None.

    Offsets must ascend from 0 to the number of targets; targets must be vertices, ascending within
    each row. In an undirected graph, equally many arcs must lead up and down, and the number of
    edges must be as stated.

    Parameters
    ----------
    arcs : Adjacency
        Its last offset must be the number of targets.
    num_edges : int
        As stated by the file.
    directed : bool
    pairs : bool
        Whether to check that each arc of an undirected graph has its opposite, which takes several
        times as long as all other checks together.
    """
    blocks = range(0, max(arcs.offsets.size - 1, 0), _BLOCK)
    flaw = _first(lambda begin: _descent(arcs.offsets, begin), blocks)
    if flaw is not None or not arcs.targets.size:
        return flaw
    blocks = range(0, arcs.targets.size, _BLOCK)
    flaw = _first(lambda begin: _wrong_target(arcs, begin), blocks)
    if flaw is not None or directed:
        return flaw
    flaw = _wrong_counts(arcs, num_edges, blocks)
    return _unpaired(arcs) if flaw is None and pairs else flaw


def _first(check: Callable[[int], Flaw | None], blocks: range) -> Flaw | None:
    """Return the first flaw of any block."""
    if len(blocks) <= 1:
        return next(filter(None, map(check, blocks)), None)
    with ThreadPoolExecutor(min(num_threads(), _MOST_THREADS, len(blocks))) as pool:
        for begin in range(0, len(blocks), _BATCH):
            flaw = next(filter(None, pool.map(check, blocks[begin : begin + _BATCH])), None)
            if flaw is not None:
                return flaw
    return None


def _descent(offsets: Array, begin: int) -> Flaw | None:
    """Return the first offset of a block that is less than its predecessor."""
    part = offsets[begin : begin + _BLOCK + 1]
    falls = part[1:] < part[:-1]
    if not falls.any():
        return None
    at = begin + 1 + int(falls.argmax())
    problem = f"offset {at} is {offsets[at]}, less than the one before. Expected ascending offsets"
    return Flaw("offsets", at, problem)


def _wrong_target(arcs: Adjacency, begin: int) -> Flaw | None:
    """Return the first target of a block that is not a vertex, or is less than its predecessor."""
    offsets, targets = arcs.offsets, arcs.targets
    n = offsets.size - 1
    part = targets[max(begin - 1, 0) : begin + _BLOCK]
    # As unsigned numbers, negative targets are too large.
    unsigned = part.view(np.dtype(f"u{part.itemsize}"))
    if int(unsigned.max()) >= n:
        at = max(begin - 1, 0) + int((unsigned >= n).argmax())
        problem = f"target {at} is {targets[at]}. Expected a vertex from 0 to {n - 1}"
        return Flaw("targets", at, problem)
    falls = part[1:] < part[:-1]
    first, last = np.searchsorted(offsets, (max(begin, 1), begin + part.size))
    starts = offsets[first:last] - max(begin, 1)
    falls[starts[starts < falls.size]] = False
    if not falls.any():
        return None
    at = max(begin, 1) + int(falls.argmax())
    problem = f"target {at} is {targets[at]}, less than the one before. Expected sorted rows"
    return Flaw("targets", at, problem)


def _wrong_counts(arcs: Adjacency, num_edges: int, blocks: range) -> Flaw | None:
    """Return a flaw unless equally many arcs lead up and down, as many as stated."""
    offsets, targets = arcs.offsets, arcs.targets

    def count(begin: int) -> tuple[int, int]:
        end = min(begin + _BLOCK, targets.size)
        first = int(np.searchsorted(offsets, begin, side="right")) - 1
        last = int(np.searchsorted(offsets, end))
        lengths = np.diff(np.clip(offsets[first : last + 1], begin, end))
        rows = np.repeat(np.arange(first, last, dtype=targets.dtype), lengths)
        part = targets[begin:end]
        return int(np.count_nonzero(part > rows)), int(np.count_nonzero(part == rows))

    with ThreadPoolExecutor(min(num_threads(), _MOST_THREADS, len(blocks))) as pool:
        upper, loops = (sum(found) for found in zip(*pool.map(count, blocks), strict=True))
    if 2 * upper + loops == targets.size and upper + loops == num_edges:
        return None
    down = targets.size - upper - loops
    problem = (
        f"{upper} arcs lead to a higher vertex, {down} to a lower one and {loops} to their own. "
        f"Expected two arcs for each of {num_edges} undirected edges, one for a self-loop"
    )
    return Flaw("targets", 0, problem)


def _unpaired(arcs: Adjacency) -> Flaw | None:
    """Return a flaw if some arc has no opposite."""
    pair = first_unpaired(arcs)
    if pair is None:
        return None
    row, target = pair
    begin, end = (int(arcs.offsets[k]) for k in (row, row + 1))
    at = begin + int(np.searchsorted(arcs.targets[begin:end], target))
    problem = f"the arc {row} -> {target} has no opposite. Expected both arcs of undirected edges"
    return Flaw("targets", at, problem)
