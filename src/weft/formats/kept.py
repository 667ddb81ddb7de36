"""Formats of large graphs are kept on disk between processes, where arrays lie in host memory.

On a GPU they are rebuilt, which takes less time than reading them.
"""

from __future__ import annotations

import functools
import json
from operator import itemgetter
from typing import Any

import numpy as np

from weft.formats.base import Chosen, Format, Kind, Layout, Part
from weft.storage.graph_cache import content_hash, stored

_FACTS = "facts"


def kept_build(chosen: Chosen, offsets: Any, targets: Any, incoming: bool) -> Layout:
    """Return the arcs of an adjacency in a format, from disk if it was built before."""
    what = f"{chosen} of the {'in' if incoming else 'out'}-arcs"
    what += f" of {offsets.size - 1} vertices, {targets.size} arcs, {targets.dtype}"
    content = content_hash(offsets, targets)

    @functools.cache
    def fresh() -> Layout:
        return chosen.make(offsets, targets, np, incoming)

    def places() -> Any:  # kept apart: few programs need them
        make = fresh().places
        assert make is not None
        return make()

    def unpacked(arrays: dict[str, Any]) -> Layout:
        return _unpacked(chosen, arrays, offsets, targets)

    layout = unpacked(stored(what, content, lambda: _packed(fresh()), unpacked))
    if chosen.format.own_order:
        layout.places = lambda: stored(
            f"places of {what}", content, lambda: {"places": places()}, itemgetter("places")
        )["places"]
    return layout


def _packed(layout: Layout) -> dict[str, Any]:
    """Return the arrays of a layout by names that are unique, and how the parts use them."""
    names: dict[int, str] = {}
    arrays: dict[str, Any] = {}
    parts = []
    for k, (part, kind) in enumerate(zip(layout.parts, _kinds(layout.format), strict=True)):
        used = {}
        for array in kind.arrays:
            if not array.shared:
                held = part.arrays[array.name]
                name = names.setdefault(id(held), f"{array.name}_{k}")
                arrays[name] = held
                used[array.name] = name
        parts.append([part.rows, part.slots, used, part.numbers])
    text = json.dumps([parts, layout.facts])
    return {**arrays, _FACTS: np.frombuffer(text.encode(), np.uint8)}


def _unpacked(chosen: Chosen, arrays: dict[str, Any], offsets: Any, targets: Any) -> Layout:
    """Return a layout whose arrays were kept; those of the adjacency are put in again."""
    described, facts = json.loads(bytes(arrays[_FACTS]))
    layout = Layout(chosen.format, [], None, facts)
    shared = {"offsets": offsets, "targets": targets}
    kinds = _kinds(chosen.format)
    for kind, (rows, slots, used, numbers) in zip(kinds, described, strict=True):
        held = {
            array.name: shared[array.name] if array.shared else arrays[used[array.name]]
            for array in kind.arrays
        }
        layout.parts.append(Part(rows, slots, held, numbers))
    return layout


def _kinds(format: Format) -> list[Kind]:
    """Return the kind of each part."""
    return [kind for kind in format.kinds for _ in range(kind.copies)]
