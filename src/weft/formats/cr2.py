"""CR²: community-aware, compressed, rows of regular degrees.

Vertices lie in the order of their communities. Arcs that stay within a cluster of 2**bits
consecutive vertices are held with numbers of that many bits; the others name their far end in full.
The arcs of a vertex are cut into rows of 32, 16, 8, 4, 2 and 1, and all rows of one degree lie
together: no offsets, no search for the row of a slot, no idle lanes. The expand list maps a vertex
to its rows, so that a frontier visits only those; without it (cr2_bare) every row is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from weft.formats.base import Array, Format, Kind, Layout, Parameter, Part, register
from weft.formats.regular import CODES, Piece, check_bits, cut
from weft.formats.regular.editing import recut
from weft.formats.regular.expand import entry_dtype, expand_list

_VERTICES = Array("vertices")
_INSIDE, _BETWEEN = (_VERTICES, Array("targets", "uint8")), (_VERTICES, Array("targets"))
_LISTS = (Array("entries", "uint32"), Array("begins"))
# The rows of 32 come first; each number is where those of one degree end.
_ENDS = tuple(f"end_{1 << code}" for code in reversed(range(1, CODES)))
_NUMBERS = ("first_place", *_ENDS)


def _begin(row: str) -> str:
    """Return the first slot of a row as an expression: every end before it halves the step."""
    steps = [f"min({row}, {{end_{2 << k}}}) << np.uint64({k})" for k in range(CODES - 1)]
    return " + ".join([row, *(f"({step})" for step in steps)])


_LOOPS = (
    ("begin", _begin("{r}")),
    ("end", _begin("({r} + ONE)")),
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
    pieces, slots = cut(offsets, targets, bits, xp)
    return _laid_out(pieces, slots, offsets, targets, xp, bits, expands)


def edit(layout: Layout, offsets: Any, targets: Any, changed: Any, xp: Any) -> Layout:
    """Return the rows of all vertices, given those from before some vertices' arcs changed."""
    bits = layout.parts[0].numbers["bits"]
    pieces = recut(_pieces(layout), offsets, targets, changed, bits, xp)

    def slots() -> Any:
        return cut(offsets, targets, bits, xp)[1]()

    return _laid_out(pieces, slots, offsets, targets, xp, bits, layout.format is CR2)


def _laid_out(
    pieces: Sequence[Piece],
    slots: Callable[[], Any],
    offsets: Any,
    targets: Any,
    xp: Any,
    bits: int,
    expands: bool,
) -> Layout:
    """Return pieces as a layout; `slots` gives the slot of the adjacency at each of theirs."""
    n, arcs = int(offsets.size) - 1, int(targets.size)
    sides = [pieces[:CODES], pieces[CODES:]]
    rows = [sum(piece.rows for piece in side) for side in sides]
    lists: dict[str, Any] = {}
    if expands:
        firsts = [sum(p.rows for p in side[k + 1 :]) for side in sides for k in range(CODES)]
        lists["entries"], lists["begins"] = expand_list(
            pieces, n, xp, dtype=entry_dtype(max(rows)), firsts=firsts
        )
    inside = sum(piece.slots for piece in sides[0])
    parts = [
        _part(side, lists, first, bits, xp) for side, first in zip(sides, (0, inside), strict=True)
    ]
    saved = 1 - pieces[0].targets.dtype.itemsize / targets.dtype.itemsize
    facts = {
        "virtual rows": sum(rows),
        "share inside": inside / max(arcs, 1),
        "r": saved * inside / max(arcs, 1),
        "f": sum(rows) / max(n, 1) - 1,
    }

    def places() -> Any:
        found, ends = slots(), list(accumulate((piece.slots for piece in pieces), initial=0))
        order = [*reversed(range(CODES)), *reversed(range(CODES, 2 * CODES))]
        return xp.concatenate([found[ends[k] : ends[k + 1]] for k in order])

    return Layout(CR2 if expands else CR2_BARE, parts, places, facts)


def _part(
    side: Sequence[Piece], lists: dict[str, Any], first_place: int, bits: int, xp: Any
) -> Part:
    """Return the rows of one side, the widest first: so each begins at a multiple of its width."""
    falling = side[::-1]
    rows = list(accumulate(piece.rows for piece in falling))
    arrays = {
        "vertices": xp.concatenate([piece.vertices for piece in falling]),
        "targets": xp.concatenate([piece.targets for piece in falling]),
        **lists,
    }
    numbers = {"first_place": first_place, **dict(zip(_ENDS, rows, strict=False))}
    if side[0].inside:
        numbers["bits"] = bits
    if lists:
        numbers["wide"] = int(lists["entries"].dtype.itemsize == 8)
    return Part(rows[-1], int(arrays["targets"].size), arrays, numbers)


def _pieces(layout: Layout) -> list[Piece]:
    """Return the rows of a layout by side and rising degree, as they were cut."""
    pieces: list[Piece] = []
    for k, part in enumerate(layout.parts):
        row = slot = 0
        ends = [*(part.numbers[name] for name in _ENDS), part.rows]
        side = []
        for code, end in zip(reversed(range(CODES)), ends, strict=True):
            last = slot + ((end - row) << code)
            vertices, numbers = part.arrays["vertices"][row:end], part.arrays["targets"][slot:last]
            side.append(Piece(k == 0, code, vertices, numbers))
            row, slot = end, last
        pieces += reversed(side)
    return pieces


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, part by part."""
    bits = layout.parts[0].numbers["bits"]
    pairs = [piece.arcs(bits, xp) for piece in _pieces(layout)]
    return tuple(xp.concatenate([pair[k] for pair in pairs]) for k in (0, 1))


def _registered(name: str, title: str, kinds: tuple[Kind, ...], formula: str) -> Format:
    return register(
        Format(
            name=name,
            title=title,
            kinds=kinds,
            build=partial(build, expands=kinds[0].expands),
            to_coo=to_coo,
            edit=edit,
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
            (*_NUMBERS, "bits", "wide"),
            virtual=True,
            expands=True,
            loops=_INSIDE_LOOPS,
        ),
        Kind(
            "BetweenExpanded",
            _BETWEEN + _LISTS,
            (*_NUMBERS, "wide"),
            virtual=True,
            expands=True,
            loops=_BETWEEN_LOOPS,
        ),
    ),
    "(1 - r) E + 2 (1 + f) V + V",
)
CR2_BARE = _registered(
    "cr2_bare",
    "cr2 without the expand list: a push looks at every row",
    (
        Kind("InsideClusters", _INSIDE, (*_NUMBERS, "bits"), virtual=True, loops=_INSIDE_LOOPS),
        Kind("BetweenClusters", _BETWEEN, _NUMBERS, virtual=True, loops=_BETWEEN_LOOPS),
    ),
    "(1 - r) E + (1 + f) V",
)
