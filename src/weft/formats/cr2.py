"""CR²: community-aware, compressed, rows of regular degrees.

Vertices lie in the order of their communities. Arcs that stay within a cluster of 2**bits
consecutive vertices are held with numbers of that many bits; the others name their far end in full.
The arcs of a vertex are cut into rows of 32, 16, 8, 4, 2 and 1, and all rows of one degree are one
part: no offsets, no search for the row of a slot, no idle lanes. The expand list maps a vertex to
its rows, so that a frontier visits only those; without it (cr2_bare) every row is looked at.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from weft.formats.base import Array, Format, Kind, Layout, Parameter, Part, register
from weft.formats.regular import CODES, Piece, check_bits, cut
from weft.formats.regular.expand import expand_list

_VERTICES = Array("vertices")
_INSIDE, _BETWEEN = (_VERTICES, Array("targets", "uint8")), (_VERTICES, Array("targets"))
_LISTS = (Array("entries", "uint32"), Array("begins"))
_PLACE = ("code", "first_place")
_RULES: dict[str, Any] = {"virtual": True, "copies": CODES}
_LOOPS = (
    ("begin", "{r} << {code}"),
    ("end", "({r} + ONE) << {code}"),
    ("place", "{first_place} + {s}"),
)
_BETWEEN_LOOPS = (*_LOOPS, ("target", "{targets}[{s}]"))
# The number of the far end within the cluster: one byte, or two, the lower one first.
_TWO_BYTES = (
    "np.uint64({targets}[{s} + {s}]) | np.uint64({targets}[{s} + {s} + ONE]) << np.uint64(8)"
)
_NUMBER = f"np.uint64({{targets}}[{{s}}]) if {{bits}} <= np.uint64(8) else {_TWO_BYTES}"
_INSIDE_LOOPS = (*_LOOPS, ("target", f"({{v}} >> {{bits}} << {{bits}}) + ({_NUMBER})"))


def build(
    offsets: Any, targets: Any, xp: Any, incoming: bool, *, bits: int, expands: bool
) -> Layout:
    """Return the rows of all vertices by degree, inside clusters and between them."""
    check_bits(bits)
    pieces, places = cut(offsets, targets, bits, xp)
    n, arcs = int(offsets.size) - 1, int(targets.size)
    lists: dict[str, Any] = {}
    if expands:
        lists["entries"], lists["begins"] = expand_list(pieces, n, xp)
    parts, first = [], 0
    for piece in pieces:
        parts.append(_part(piece, lists, first, bits))
        first += piece.slots
    inside = sum(piece.slots for piece in pieces if piece.inside)
    rows = sum(piece.rows for piece in pieces)
    saved = 1 - pieces[0].targets.dtype.itemsize / targets.dtype.itemsize
    facts = {
        "virtual rows": rows,
        "share inside": inside / max(arcs, 1),
        "r": saved * inside / max(arcs, 1),
        "f": rows / max(n, 1) - 1,
    }
    return Layout(CR2 if expands else CR2_BARE, parts, places, facts)


def _part(piece: Piece, lists: dict[str, Any], first_place: int, bits: int) -> Part:
    """Return the part of the rows of one degree; the expand list is one for all parts."""
    arrays = {"vertices": piece.vertices, "targets": piece.targets, **lists}
    numbers = {"code": piece.code, "first_place": first_place}
    if piece.inside:
        numbers["bits"] = bits
    if lists:
        numbers["wide"] = int(lists["entries"].dtype.itemsize == 8)
    return Part(piece.rows, piece.slots, arrays, numbers)


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, part by part."""
    bits = layout.parts[0].numbers["bits"]
    ends = [
        Piece(k < CODES, part.numbers["code"], part.arrays["vertices"], part.arrays["targets"])
        for k, part in enumerate(layout.parts)
    ]
    pairs = [piece.arcs(bits, xp) for piece in ends]
    return tuple(xp.concatenate([pair[k] for pair in pairs]) for k in (0, 1))


def _registered(name: str, title: str, kinds: tuple[Kind, ...], formula: str) -> Format:
    return register(
        Format(
            name=name,
            title=title,
            kinds=kinds,
            build=partial(build, expands=kinds[0].expands),
            to_coo=to_coo,
            formula=formula,
            own_order=True,
            parameters=(Parameter("bits", 16, (16, 8)),),
            header="cr2.cuh",
            order="community",
        )
    )


CR2 = _registered(
    "cr2",
    "rows of regular degrees, short numbers inside communities, an expand list",
    (
        Kind(
            "InsideExpanded",
            _INSIDE + _LISTS,
            (*_PLACE, "bits", "wide"),
            expands=True,
            loops=_INSIDE_LOOPS,
            **_RULES,
        ),
        Kind(
            "BetweenExpanded",
            _BETWEEN + _LISTS,
            (*_PLACE, "wide"),
            expands=True,
            loops=_BETWEEN_LOOPS,
            **_RULES,
        ),
    ),
    "(1 - r) E + 2 (1 + f) V + V",
)
CR2_BARE = _registered(
    "cr2_bare",
    "cr2 without the expand list: a push looks at every row",
    (
        Kind("InsideClusters", _INSIDE, (*_PLACE, "bits"), loops=_INSIDE_LOOPS, **_RULES),
        Kind("BetweenClusters", _BETWEEN, _PLACE, loops=_BETWEEN_LOOPS, **_RULES),
    ),
    "(1 - r) E + (1 + f) V",
)
