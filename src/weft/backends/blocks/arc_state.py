"""The edge state of a sweep over blocks: values of all arcs, brought to one block after another.

A block gets the values of its own arcs, and behind them those of the opposite arcs if the program
reads `e.reverse`: these lie in the rows of other blocks, and are as they were when the step began.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from weft.backends.blocks.stages import EdgeUse
from weft.blocks.manifest import Manifest
from weft.blocks.scratch import scratch_array

Array = np.ndarray[Any, Any]


class Arcs(Protocol):
    """What edge state asks of a carrier."""

    folder: Any
    manifest: Manifest

    def opposite_arcs(self) -> Array:
        """Return the opposite arc of each canonical arc."""


class ArcState:
    """The edge state that one sweep reads and writes.

    Parameters
    ----------
    edges
        How the sweep uses edge state.
    fields
        The values of all canonical arcs by name; the sweep changes them in place.
    carrier
        Whose blocks are swept.
    """

    def __init__(self, edges: EdgeUse, fields: dict[str, Array], carrier: Arcs) -> None:
        self.fields = {name: fields[name] for name in sorted(edges.read | edges.written)}
        self._written = edges.written
        arcs = [entry.arcs for entry in carrier.manifest.blocks["out"]]
        self._starts = np.cumsum([0, *arcs])
        self._opposite = carrier.opposite_arcs() if edges.reverse else None
        self._before = dict(self.fields)
        for name in edges.written if edges.reverse else ():
            held = self.fields[name]
            self._before[name] = scratch_array(carrier.folder, held.shape, held.dtype)
            np.copyto(self._before[name], held)

    def of(self, number: int) -> dict[str, Array]:
        """Return the values of the arcs of a block, and behind them those of the opposite arcs."""
        own = slice(self._starts[number], self._starts[number + 1])
        if self._opposite is None:
            return {name: values[own] for name, values in self.fields.items()}
        there = self._opposite[own]
        return {
            name: np.concatenate([values[own], self._before[name][there]])
            for name, values in self.fields.items()
        }

    def put(self, number: int, local: dict[str, Array]) -> None:
        """Keep what a sweep made of the values of a block's arcs."""
        if self._opposite is None:  # they were written in place
            return
        own = slice(self._starts[number], self._starts[number + 1])
        for name in self._written:
            values = self.fields[name][own]
            values[...] = local[name][: len(values)]


def opposite_arcs(carrier: Any) -> Array:
    """Return the opposite arc of each arc of an undirected graph, in one pass over its blocks.

    Arcs come by their sources, and every row is sorted: the k-th arc that comes with a target is
    opposite to the k-th arc of that target's row.
    """
    degree = carrier.space.degrees["out"]
    following = np.concatenate([[0], np.cumsum(degree, dtype=np.int64)[:-1]])  # of each row
    opposite = scratch_array(carrier.folder, (carrier.manifest.num_arcs,), np.dtype(np.int64))
    base = 0
    for block in carrier.all_blocks("out"):
        order = np.argsort(block.targets, kind="stable")
        targets = block.targets[order]
        firsts = np.flatnonzero(np.diff(targets, prepend=-1))
        counts = np.diff(firsts, append=targets.size)
        within = np.arange(targets.size) - np.repeat(firsts, counts)
        opposite[base + order] = following[targets] + within
        following[targets[firsts]] += counts
        base += targets.size
    return opposite
