"""Compressed rows with offsets of 32 bits: half the bytes that a sweep over short rows reads.

The offsets of 64 bits stay with the topology, so this takes more memory, not less. Where rows are
long, their targets are all that counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.errors import ConfigError
from weft.formats.base import Array, Format, Kind, Layout, Part, register
from weft.formats.csr import TARGETS, owners_of

MOST_ARCS = 2**32 - 1


def build(offsets: Any, targets: Any, xp: Any, incoming: bool) -> Layout:
    """Copy the offsets."""
    if targets.size > MOST_ARCS:
        raise ConfigError(
            f"format='csr32' is not possible for {targets.size} arcs: offsets have 32 bits. "
            "Expected fewer than 2**32; use 'csr'."
        )
    arrays = {"offsets": offsets.astype(np.uint32), "targets": targets}
    return Layout(CSR32, [Part(offsets.size - 1, targets.size, arrays)])


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, by slot."""
    return owners_of(offsets, targets, xp), targets


CSR32 = register(
    Format(
        name="csr32",
        title="compressed rows with offsets of 32 bits",
        kinds=(Kind("Csr32", (Array("offsets", "uint32"), TARGETS)),),
        build=build,
        to_coo=to_coo,
        formula="E + V + 1",
        turns=False,
    )
)
