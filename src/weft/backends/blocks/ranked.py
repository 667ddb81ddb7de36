"""The carrier of several processes: each sweeps its own blocks, and all gather the results.

Every process has the state of all vertices, and runs vertex functions on all of it. The writes of
blocks are gathered in the order of ranks and applied in that order by all, so the states stay
bit-identical. Scalars that a vertex function reduces may differ in their last digits from process
to process; those of rank 0 count.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from weft.backends.blocks.carrier import Resumed, Swept, Work
from weft.backends.blocks.combine import combined, merge
from weft.backends.blocks.stages import ArcPart
from weft.backends.blocks.streamed import StreamedCarrier, union
from weft.blocks.exchange import Exchange
from weft.blocks.manifest import Manifest
from weft.ir.ops import Program
from weft.topology.topology import Adjacency, Direction, Topology

Array = np.ndarray[Any, Any]


def shares_of(manifest: Manifest, size: int) -> list[range]:
    """Return the blocks of each of some processes: consecutive ones, with about as many arcs."""
    entries = next(iter(manifest.blocks.values()))
    arcs = np.cumsum([0, *(entry.arcs + 1 for entry in entries)])
    cuts = np.searchsorted(arcs, np.arange(1, size) * arcs[-1] / size).tolist()
    return list(itertools.starmap(range, itertools.pairwise([0, *cuts, manifest.num_blocks])))


class RankedCarrier:
    """Sweeps the blocks of this process, and exchanges results with the others.

    Parameters
    ----------
    inner
        Sweeps the blocks of this process, on its device.
    exchange
        Of the processes.
    """

    shares_state = False

    def __init__(self, inner: StreamedCarrier, exchange: Exchange) -> None:
        self.inner, self.exchange = inner, exchange
        self.manifest, self.space, self.folder = inner.manifest, inner.space, inner.folder
        shares = shares_of(inner.manifest, exchange.size)
        inner.own, inner.pulls = shares[exchange.rank], False
        cuts = inner.manifest.cuts
        self._rows = [(cuts[share.start], cuts[share.stop]) for share in shares]

    @property
    def vertices(self) -> Topology:
        """A topology without arcs."""
        return self.inner.vertices

    @property
    def counters(self) -> dict[str, int]:
        """Statistics of this process's blocks, and the bytes exchanged."""
        return {**self.inner.counters, "bytes_sent": self.exchange.bytes_sent}

    def check(self, part: ArcPart) -> None:
        """Refuse what one process alone could not do; all blocks are within reach of each."""
        self.inner.check(part)

    def begin(self, program: Program, work: Work) -> Resumed | None:
        """Return None: a run that is killed begins again."""
        return None

    def superstep(self, number: int, work: Work, frontier: Array | None) -> None:
        """Keep nothing."""

    def end(self, work: Work, resumed: Resumed) -> None:
        """Keep nothing."""

    def settle(self, work: Work) -> None:
        """Set the scalars to those of rank 0."""
        held = list(work.data.scalars.values())
        own = np.concatenate([value.view(np.uint8).reshape(-1) for value in held])
        told, place = self.exchange.gather(own)[0], 0
        for value in held:
            value.view(np.uint8).reshape(-1)[:] = told[place : place + value.nbytes]
            place += value.nbytes

    def adjacency(self, direction: Direction) -> Adjacency:
        """Return all arcs of a direction, in memory."""
        return self.inner.adjacency(direction)

    def column(self, name: str) -> Array:
        """Return an edge column by edge id, in memory."""
        return self.inner.column(name)

    # -- sweeps

    def sweep(self, part: ArcPart, work: Work, frontier: Array | None) -> Swept:
        """Sweep the rows of a frontier; see `Carrier.sweep`."""
        swept = self.inner.sweep(part, work, frontier)
        if part.step.kind == "vertex":
            self._share_rows(part, work, frontier)
        else:
            swept = self._share_messages(part, work, swept)
        for name, reduction, _ in part.scalars:
            held = work.data.scalars[name]
            parts = [own[0] for own in self.exchange.gather(held)]
            total = parts[0]
            for other in parts[1:]:
                total = combined(reduction, total, other)
            held[0] = total
        return swept

    def _share_rows(self, part: ArcPart, work: Work, frontier: Any) -> None:
        """Gather the values that each process stored for its rows."""
        rows: list[Any] = [slice(*own) for own in self._rows]
        if frontier is not None:
            xp = self.vertices.xp
            cuts = xp.asarray([self._rows[0][0], *(end for _, end in self._rows)], frontier.dtype)
            places = xp.searchsorted(frontier, cuts).tolist()
            rows = [frontier[low:high] for low, high in itertools.pairwise(places)]
        for name in part.hidden:
            field = work.data.fields[name]
            for chosen, values in zip(
                rows, self.exchange.gather(field[rows[self.exchange.rank]]), strict=True
            ):
                field[chosen] = values

    def _share_messages(self, part: ArcPart, work: Work, swept: Swept) -> Swept:
        """Gather receivers and messages, and combine them in the order of ranks."""
        fields, output = work.data.fields, swept.output
        direct = part.direct if swept.direct else None
        names = direct.steps[0].into if direct is not None else part.step.into
        ids = self.exchange.gather(output)
        values = {name: self.exchange.gather(fields[name][output]) for name in names}
        if direct is None:
            for name, (_, start) in part.hidden.items():
                fields[name][output] = start
        for rank, came in enumerate(ids):
            told = {name: parts[rank] for name, parts in values.items()}
            if direct is None:
                merge(part.groups, fields, came, told)
            else:
                for name, value in told.items():
                    fields[name][came] = value
        found = union(ids, self.space.dtype, self.manifest.num_vertices, self.vertices.xp)
        return Swept(found, swept.direct)
