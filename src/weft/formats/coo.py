"""Coordinates: the source and the target of every arc, sorted by source, and offsets beside them.

Both questions have a direct answer: which slots a row has, and which row a slot has.
"""

from __future__ import annotations

from typing import Any

from weft.formats.base import Array, Format, Kind, Layout, Part, register
from weft.formats.csr import OFFSETS, TARGETS, owners_of


def build(offsets: Any, targets: Any, xp: Any, incoming: bool) -> Layout:
    """Return offsets, targets, and the row of every slot."""
    owners = owners_of(offsets, targets, xp)
    arrays = {"offsets": offsets, "targets": targets, "owners": owners}
    return Layout(COO, [Part(offsets.size - 1, targets.size, arrays)])


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, by slot."""
    return layout.parts[0].arrays["owners"], targets


COO = register(
    Format(
        name="coo",
        title="coordinates sorted by source, with offsets",
        kinds=(Kind("Coo", (OFFSETS, TARGETS, Array("owners", shared=True))),),
        build=build,
        to_coo=to_coo,
        formula="2 E + V + 1",
        turns=False,
    )
)
