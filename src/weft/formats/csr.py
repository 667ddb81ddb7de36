"""Compressed rows: offsets, and the targets of each row one after another."""

from __future__ import annotations

from typing import Any

from weft.formats.base import Array, Format, Kind, Layout, Part, register
from weft.topology.adjacency import Adjacency

OFFSETS = Array("offsets", "int64", shared=True)
TARGETS = Array("targets", shared=True)


def build(offsets: Any, targets: Any, xp: Any, incoming: bool) -> Layout:
    """Use the arrays unchanged."""
    arrays = {"offsets": offsets, "targets": targets}
    return Layout(CSR, [Part(offsets.size - 1, targets.size, arrays)])


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, by slot."""
    return owners_of(offsets, targets, xp), targets


def owners_of(offsets: Any, targets: Any, xp: Any) -> Any:
    """Return the row of every slot, in the type of the targets."""
    return Adjacency(offsets, targets).rows()


CSR = register(
    Format(
        name="csr",
        title="compressed rows: offsets and targets",
        kinds=(Kind("Csr", (OFFSETS, TARGETS)),),
        build=build,
        to_coo=to_coo,
        formula="E + V + 1",
        turns=False,
    )
)
