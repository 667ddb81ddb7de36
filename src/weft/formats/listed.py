"""Rows that say which vertex they are of: what a format leaves over, or stretches of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.errors import ConfigError
from weft.formats.base import Array, Kind, Part
from weft.formats.csr import owners_of

LISTED = Kind(
    "Listed",
    (Array("offsets", "int64"), Array("targets"), Array("vertices"), Array("sections", "int64")),
    ("first_place", "num_sections", "few"),
    virtual=True,
    expands=True,
    loops=(
        ("begin", "{offsets}[{r}]"),
        ("end", "{offsets}[{r} + ONE]"),
        ("place", "{first_place} + {s}"),
        ("target", "{targets}[{s}]"),
    ),
)

OWNED = Kind(
    "ListedOwners", (*LISTED.arrays, Array("owners")), LISTED.numbers, virtual=True,
    expands=True, loops=LISTED.loops,
)  # fmt: skip


def add_owners(part: Part, xp: Any, name: str, remedy: str) -> None:
    """Add the row of every slot to a listed part, as in coordinate format.

    Raises
    ------
    ConfigError
        If there are more rows than the vertices' dtype can count; it names the format and a remedy.
    """
    dtype = part.arrays["targets"].dtype
    if part.rows > np.iinfo(dtype).max:
        raise ConfigError(
            f"{name} would have {part.rows} rows, more than {dtype} counts. Build the graph with "
            f"index_dtype='int64', or {remedy}."
        )
    part.arrays["owners"] = owners_of(part.arrays["offsets"], part.arrays["targets"], xp)


def listed_part(
    sources: Any, targets: Any, xp: Any, first_place: int = 0, sections: Any = None
) -> Part:
    """Return the rows of arcs that lie row by row; `sections` are the first slots of theirs.

    A row ends where the source changes or a section ends.
    """
    slots = int(sources.size)
    starts = xp.ones(slots, bool)
    starts[1:] = sources[1:] != sources[:-1]
    if sections is None:
        sections = xp.zeros(1, xp.int64)
    starts[sections[sections < slots]] = True
    begins = xp.flatnonzero(starts)
    rows = int(begins.size)
    bounds = xp.searchsorted(begins, xp.append(sections, slots))
    arrays = {
        "offsets": xp.append(begins, slots).astype(xp.int64),
        "targets": xp.ascontiguousarray(targets),
        "vertices": xp.ascontiguousarray(sources[begins]),
        "sections": bounds.astype(xp.int64),
    }
    count = int(sections.size)
    numbers = {"first_place": first_place, "num_sections": count, "few": int(count == 1)}
    return Part(rows, slots, arrays, numbers)


def listed_arcs(part: Part, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of the arcs of such a part, by slot."""
    arrays = part.arrays
    slots = xp.arange(part.slots, dtype=xp.int64)
    rows = xp.searchsorted(arrays["offsets"], slots, side="right") - 1
    return arrays["vertices"][rows], arrays["targets"]
