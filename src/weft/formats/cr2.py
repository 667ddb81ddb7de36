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

from weft.config import BySide
from weft.formats.base import Array, Format, Kind, Layout, Parameter, Part, few_rows, register
from weft.formats.regular import CODES, MOST_BITS, Piece, cut
from weft.formats.regular.editing import recut
from weft.formats.regular.expand import entry_dtype, expand_list

_HELD = (Array("vertices"), Array("near", "uint8"), Array("far"))
_LISTS = (Array("entries", "uint32"), Array("begins"))
# On each side the rows of 32 come first; each number is where those of one degree end.
_DEGREES = [1 << code for code in reversed(range(1, CODES))]
_NEAR, _FAR = ([f"{side}_{degree}" for degree in _DEGREES] for side in ("near", "far"))
_NUMBERS = ("near_rows", "near_slots", *_NEAR, *_FAR, "bits")


def _begin(row: str) -> str:
    """Return the first slot of a row as an expression."""
    near, far = (_begin_of_side(row, "near"), _begin_of_side(f"({row} - {{near_rows}})", "far"))
    return f"(({near}) if {row} < {{near_rows}} else ({{near_slots}} + {far}))"


def _begin_of_side(row: str, side: str) -> str:
    """Every end before a row halves the step."""
    steps = [f"min({row}, {{{side}_{2 << k}}}) << np.uint64({k})" for k in range(CODES - 1)]
    return " + ".join([row, *(f"({step})" for step in steps)])


# The number of the far end within the cluster: one byte, or two, the lower one first.
_TWO_BYTES = "np.uint64({near}[{s} + {s}]) | np.uint64({near}[{s} + {s} + ONE]) << np.uint64(8)"
_NUMBER = f"np.uint64({{near}}[{{s}}]) if {{bits}} <= np.uint64(8) else {_TWO_BYTES}"
_LOOPS = (
    ("begin", _begin("{r}")),
    ("end", _begin("({r} + ONE)")),
    (
        "target",
        f"(({{v}} >> {{bits}} << {{bits}}) + ({_NUMBER})) if {{r}} < {{near_rows}} "
        "else np.uint64({far}[{s} - {near_slots}])",
    ),
)


def build(
    offsets: Any, targets: Any, xp: Any, incoming: bool, *, bits: int, expands: bool
) -> Layout:
    """Return the rows of all vertices by degree, inside clusters and between them."""
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
    falling = [pieces[:CODES][::-1], pieces[CODES:][::-1]]
    ends = [list(accumulate(piece.rows for piece in side)) for side in falling]
    rows = ends[0][-1] + ends[1][-1]
    near = sum(piece.slots for piece in falling[0])
    # Rows on either side begin at a multiple of their width, as the widest come first.
    arrays = {
        "vertices": xp.concatenate([piece.vertices for side in falling for piece in side]),
        "near": xp.concatenate([piece.targets for piece in falling[0]]),
        "far": xp.concatenate([piece.targets for piece in falling[1]]),
    }
    numbers = {"near_rows": ends[0][-1], "near_slots": near}
    for names, found in zip((_NEAR, _FAR), ends, strict=True):
        numbers |= dict(zip(names, found, strict=False))
    numbers["bits"] = bits
    if expands:
        firsts = [0, *ends[0]][CODES - 1 :: -1] + [
            ends[0][-1] + first for first in [0, *ends[1]][CODES - 1 :: -1]
        ]
        arrays["entries"], arrays["begins"] = expand_list(
            pieces, n, xp, dtype=entry_dtype(rows), firsts=firsts
        )
        numbers["wide"] = int(arrays["entries"].dtype.itemsize == 8)
        begins = arrays["begins"]
        numbers["few"] = few_rows(int((begins[1:] - begins[:-1]).max()) if n else 0)
    saved = 1 - pieces[0].targets.dtype.itemsize / targets.dtype.itemsize
    facts = {
        "virtual rows": rows,
        "share inside": near / max(arcs, 1),
        "r": saved * near / max(arcs, 1),
        "f": rows / max(n, 1) - 1,
    }

    def places() -> Any:
        found, bounds = slots(), list(accumulate((piece.slots for piece in pieces), initial=0))
        order = [*reversed(range(CODES)), *reversed(range(CODES, 2 * CODES))]
        return xp.concatenate([found[bounds[k] : bounds[k + 1]] for k in order])

    part = Part(rows, arcs, arrays, numbers)
    return Layout(CR2 if expands else CR2_BARE, [part], places, facts)


def _pieces(layout: Layout) -> list[Piece]:
    """Return the rows of a layout by side and rising degree, as they were cut."""
    (part,) = layout.parts
    near_rows = part.numbers["near_rows"]
    pieces: list[Piece] = []
    for inside, names, last in ((True, _NEAR, near_rows), (False, _FAR, part.rows - near_rows)):
        held = part.arrays["vertices"]
        vertices = held[:near_rows] if inside else held[near_rows:]
        targets = part.arrays["near" if inside else "far"]
        row = slot = 0
        side = []
        ends = [*(part.numbers[name] for name in names), last]
        for code, end in zip(reversed(range(CODES)), ends, strict=True):
            beyond = slot + ((end - row) << code)
            side.append(Piece(inside, code, vertices[row:end], targets[slot:beyond]))
            row, slot = end, beyond
        pieces += reversed(side)
    return pieces


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, part by part."""
    bits = layout.parts[0].numbers["bits"]
    pairs = [piece.arcs(bits, xp) for piece in _pieces(layout)]
    return tuple(xp.concatenate([pair[k] for pair in pairs]) for k in (0, 1))


def _registered(name: str, title: str, kind: Kind, formula: str) -> Format:
    return register(
        Format(
            name=name,
            title=title,
            kinds=(kind,),
            build=partial(build, expands=kind.expands),
            to_coo=to_coo,
            edit=edit,
            formula=formula,
            turns=False,
            own_order=True,
            parameters=(Parameter("bits", 16, (16, 8), most=MOST_BITS),),
            header="cr2.cuh",
            # No row has more slots than a warp has lanes: full ones where rows come from a queue.
            schedule=BySide({"push": "warp", "pull": "vertex", "gather": "vertex"}),
            order="community",
        )
    )


CR2 = _registered(
    "cr2",
    "rows of regular degrees, short numbers inside communities, an expand list",
    Kind(
        "ExpandedRows",
        _HELD + _LISTS,
        (*_NUMBERS, "wide", "few"),
        virtual=True,
        expands=True,
        joins=True,
        loops=_LOOPS,
    ),
    "(1 - r) E + 2 (1 + f) V + V",
)
CR2_BARE = _registered(
    "cr2_bare",
    "cr2 without the expand list: a push looks at every row",
    Kind("BareRows", _HELD, _NUMBERS, virtual=True, loops=_LOOPS),
    "(1 - r) E + (1 + f) V",
)
