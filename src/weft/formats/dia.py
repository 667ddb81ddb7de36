"""Diagonals that pay, a bit for each of their places; all other arcs follow in rows of their own.

An arc u -> v lies on diagonal v - u, and its far end is computed, not loaded: grids and bands take
a bit per arc. A diagonal pays if it is filled to a part that makes its bits and columns cheaper
than rows of a rest.
"""

from __future__ import annotations

from typing import Any

from weft.errors import ConfigError
from weft.formats.base import Array, Format, Kind, Layout, Parameter, Part, register
from weft.formats.csr import owners_of
from weft.formats.listed import LISTED, listed_arcs, listed_part

MOST = 64  # diagonals, unless more are asked for
FILL = 25  # percent of a diagonal's places that must hold an arc, so that it pays


def build(offsets: Any, targets: Any, xp: Any, incoming: bool, *, most: int, fill: int) -> Layout:
    """Return the diagonals that pay, and the rest. With a `fill` of 0 nothing is refused.

    Raises
    ------
    ConfigError
        If most arcs would be in the rest.
    """
    n, arcs = offsets.size - 1, int(targets.size)
    owners = owners_of(offsets, targets, xp).astype(xp.int64)
    ways = targets.astype(xp.int64) - owners
    first = xp.ones(arcs, bool)  # of parallel arcs, which stand side by side
    first[1:] = (owners[1:] != owners[:-1]) | (ways[1:] != ways[:-1])
    found, counts = xp.unique(ways[first], return_counts=True)
    order = xp.argsort(-counts, kind="stable")[:most]
    order = order[counts[order] * 100 >= n * fill]
    diagonals = xp.sort(found[order])
    held = int(counts[order].sum())
    if fill and held * 2 < arcs:
        raise ConfigError(
            f"format='dia' would waste memory: {int(diagonals.size)} diagonals are filled to "
            f"{fill} % and hold {held} of {arcs} arcs. It suits grids and bands; use "
            f"format='csr', or format='dia(fill=0)' all the same."
        )
    # A graph without arcs has one empty diagonal.
    diagonals = diagonals if diagonals.size else xp.zeros(1, xp.int64)
    width = int(diagonals.size)
    number = xp.minimum(xp.searchsorted(diagonals, ways), width - 1)
    fits = first & (diagonals[number] == ways)
    places = number[fits] * n + owners[fits]
    words = -(-n // 32)
    # Where an arc does not fit, its row has a bit beyond the last diagonal.
    bits = _packed(xp.where(fits, number, width), owners, width + 1, words, xp)
    main = Part(
        n, n * width, {"diagonals": diagonals, "bits": bits}, {"width": width, "words": words}
    )
    over = xp.flatnonzero(~fits)
    rest = listed_part(owners[over].astype(targets.dtype), targets[over], xp, n * width)

    def slots() -> Any:
        result = xp.full(n * width + over.size, -1, xp.int64)
        result[places] = xp.flatnonzero(fits)
        result[n * width :] = over
        return result

    facts = {
        "diagonals": width, "padding": n * width - int(places.size),
        "rest": int(over.size),
    }  # fmt: skip
    return Layout(DIA, [main, rest], slots, facts)


def _packed(number: Any, row: Any, width: int, words: int, xp: Any) -> Any:
    """Return words with a bit for each row of each diagonal that has an arc there."""
    flags = xp.zeros((width, words * 32), xp.uint8)
    flags[number, row] = 1
    return xp.packbits(flags.reshape(-1), bitorder="little").view(xp.uint32)


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs: diagonal by diagonal, then the rest."""
    main, rest = layout.parts
    flags = xp.unpackbits(main.arrays["bits"].view(xp.uint8), bitorder="little")
    width = main.numbers["width"]
    number, row = xp.nonzero(flags.reshape(width + 1, -1)[:width])
    far = row + main.arrays["diagonals"][number]
    sources, found = listed_arcs(rest, xp)
    kind = targets.dtype
    return xp.append(row.astype(kind), sources), xp.append(far.astype(kind), found)


WORD = "{bits}[({s} - {r} * {width}) * {words} + ({r} >> np.uint64(5))]"
DIA = register(
    Format(
        name="dia",
        title="diagonals with a bit per place, and the rest in rows",
        kinds=(
            Kind(
                "Dia",
                (Array("diagonals", "int64"), Array("bits", "uint32")),
                ("width", "words"),
                wholes=True,
                loops=(
                    ("begin", "{r} * {width}"),
                    ("end", "({r} + ONE) * {width}"),
                    ("valid", f"np.uint64({WORD}) >> ({{r}} & np.uint64(31)) & ONE"),
                    ("place", "({s} - {r} * {width}) * {rows} + {r}"),
                    ("target", "{r} + {diagonals}[{s} - {r} * {width}]"),
                ),
            ),
            LISTED,
        ),
        build=build,
        to_coo=to_coo,
        formula="(diagonals + 1) V / 32 + rest",
        turns=False,
        own_order=True,
        refuses=True,
        parameters=(Parameter("most", MOST), Parameter("fill", FILL, least=0, most=100)),
    )
)
