"""Coordinates: the source and the target of every arc, sorted by source, and offsets beside them.

Both questions have a direct answer: which slots a row has, and which row a slot has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.formats.base import Arrays, Format, register
from weft.formats.csr import build as build_csr
from weft.formats.csr import owners_of


def build(offsets: Any, targets: Any, xp: Any) -> Arrays:
    """Return offsets, targets, and the row of every slot."""
    arrays = build_csr(offsets, targets, xp)
    arrays["owners"] = owners_of(arrays["offsets"], arrays["targets"], xp)
    return arrays


def to_coo(arrays: Mapping[str, Any], xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, by slot."""
    return arrays["owners"], arrays["targets"]


register(
    Format(
        name="coo",
        title="coordinates sorted by source, with offsets",
        struct="Coo",
        parts=("offsets", "targets", "owners"),
        build=build,
        to_coo=to_coo,
    )
)
