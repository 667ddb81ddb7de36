"""Compressed rows: offsets, and the targets of each row one after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.formats.base import Arrays, Format, register


def build(offsets: Any, targets: Any, xp: Any) -> Arrays:
    """Take the arrays as they are; offsets are 64-bit."""
    return {"offsets": xp.asarray(offsets, dtype=xp.int64), "targets": xp.asarray(targets)}


def to_coo(arrays: Mapping[str, Any], xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, by slot."""
    offsets, targets = arrays["offsets"], arrays["targets"]
    return owners_of(offsets, targets, xp), targets


def owners_of(offsets: Any, targets: Any, xp: Any) -> Any:
    """Return the row of every slot, in the type of the targets."""
    # A search instead of `repeat`, which CuPy has for one count alone.
    slots = xp.arange(targets.size, dtype=xp.int64)
    return (xp.searchsorted(offsets, slots, side="right") - 1).astype(targets.dtype)


register(
    Format(
        name="csr",
        title="compressed rows: offsets and targets",
        struct="Csr",
        parts=("offsets", "targets"),
        build=build,
        to_coo=to_coo,
    )
)
