"""Rows of one width, column by column; the arcs that do not fit follow in rows of their own.

With `slice`, every slice of so many rows has a width of its own. The rest is compressed rows, or
with `rest="coo"` coordinates, which know the row of a slot.

(ELLPACK-R: F. Vazquez, J. J. Fernandez, E. M. Garzon, A new approach for sparse matrix vector
product on NVIDIA GPUs, 2011; with the rest apart, the hybrid format of N. Bell and M. Garland, SC
2009.) The width that costs least is chosen from the degrees, if none is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weft.errors import ConfigError
from weft.formats.base import Array, Format, Kind, Layout, Parameter, Part, register
from weft.formats.csr import owners_of
from weft.formats.listed import LISTED, OWNED, add_owners, listed_arcs, listed_part
from weft.formats.sliced import SLICED, WIDEST, check_rows, sliced_part, widths_of
from weft.topology.adjacency import count_keys
from weft.topology.merge import spread_ranges

SPLIT = 5  # words that are rather read than a vertex split
MOST_PADDING = 4  # times as many words as arcs and vertices: more is refused


def best_width(degrees: Any, xp: Any) -> int:
    """Return the width at which rows and rest cost least: by words, and by rows of the rest.

    Examples
    --------
    >>> import numpy as np
    >>> best_width(np.array([4, 3, 3, 2]), np), best_width(np.array([99, 3, 3, 2]), np)
    (4, 3)
    """
    n = int(degrees.size)
    if n == 0:
        return 1
    counts = count_keys(xp.minimum(degrees, WIDEST + 1), WIDEST + 2)
    longer = n - xp.cumsum(counts)[: WIDEST + 1]  # by width: vertices with more arcs
    # A word for each place; in the rest, a word for each arc and three for each row. Vertices that
    # have a row there are split, and swept by more phases.
    rest = xp.cumsum(longer[::-1])[::-1] + (3 + SPLIT) * longer
    words = n * xp.arange(WIDEST + 1, dtype=xp.int64) + rest
    return 1 + int(xp.argmin(words[1:]))


def build(
    offsets: Any, targets: Any, xp: Any, incoming: bool, *, width: int, slice: int, rest: str
) -> Layout:
    """Return the columns of all vertices, or of each slice of them, and the rest."""
    n = offsets.size - 1
    degrees = offsets[1:] - offsets[:-1]
    if slice:
        check_rows(slice)
        widths = widths_of(degrees, slice, width, 3 + SPLIT, xp)
        main, first, row_width, places_held = sliced_part(degrees, slice, widths, xp, targets.dtype)
        step = slice
    else:
        width = width or best_width(degrees, xp)
        first, row_width, step = xp.arange(n, dtype=xp.int64), width, n
        places_held = n * width
        lengths = xp.minimum(degrees, width + 1).astype(xp.uint8)
        main = Part(n, n * width, {"lengths": lengths}, {"width": width})
    if places_held > MOST_PADDING * (targets.size + n):
        raise ConfigError(
            f"format='ell({width})' would waste memory: {n} rows of {width} words for "
            f"{targets.size} arcs. Give a smaller width, or none."
        )
    owners = owners_of(offsets, targets, xp).astype(xp.int64)
    column = xp.arange(targets.size, dtype=xp.int64) - offsets[owners]
    fits = column < (row_width[owners] if slice else row_width)
    places = column[fits] * step + first[owners[fits]]
    columns = xp.zeros(places_held, targets.dtype)
    columns[places] = targets[fits]
    main.arrays = {"targets": columns, **main.arrays}
    over = xp.flatnonzero(~fits)
    left = listed_part(owners[over].astype(targets.dtype), targets[over], xp, places_held)
    if rest == "coo":
        add_owners(left, xp, "the rest of ell", "use rest=csr")

    def slots() -> Any:
        found = xp.full(places_held + over.size, -1, xp.int64)
        found[places] = xp.flatnonzero(fits)
        found[places_held:] = over
        return found

    padding = places_held - int(places.size)
    facts = {"width": places_held / max(n, 1), "padding": padding, "rest": int(over.size)}
    facts["width"] = facts["width"] if slice else width
    return Layout(VARIANTS[bool(slice), rest], [main, left], slots, facts)


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs: column by column, then the rest."""
    main, rest = layout.parts
    lengths = main.arrays["lengths"]
    columns = main.arrays["targets"].reshape(main.numbers["width"], main.rows)
    column, row = xp.nonzero(xp.arange(columns.shape[0])[:, None] < lengths[None, :])
    return _with_rest(row, columns[column, row], rest, targets.dtype, xp)


def sliced_to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs: row by row, then the rest."""
    main, rest = layout.parts
    bits, starts = main.numbers["bits"], main.arrays["offsets"]
    row = xp.arange(main.rows, dtype=xp.int64)
    begin = starts[row >> bits]
    width = (starts[(row >> bits) + 1] - begin) >> bits
    used = xp.minimum(main.arrays["lengths"].astype(xp.int64), width)
    column, held = spread_ranges(xp.zeros_like(used), used)
    first = begin + (row & ((1 << bits) - 1))
    places = first[held] + (column << bits)
    return _with_rest(held, main.arrays["targets"][places], rest, targets.dtype, xp)


def _with_rest(rows: Any, targets: Any, rest: Part, kind: Any, xp: Any) -> tuple[Any, Any]:
    sources, found = listed_arcs(rest, xp)
    return xp.append(rows.astype(kind), sources), xp.append(targets, found)


def variant(values: Mapping[str, int | str]) -> Format:
    """Return the format for values of the parameters."""
    return VARIANTS[bool(values["slice"]), str(values["rest"])]


FIXED = Kind(
    "Ell",
    (Array("targets"), Array("lengths", "uint8")),
    ("width",),
    wholes=True,
    loops=(
        ("begin", "{r} * {width}"),
        ("end", "{r} * {width} + min(np.uint64({lengths}[{r}]), {width})"),
        ("place", "({s} - {r} * {width}) * {rows} + {r}"),
        ("target", "{targets}[{p}]"),
    ),
)
ELL = register(
    Format(
        name="ell",
        title="columns of one width, for all rows or by slice, and the rest in rows",
        kinds=(FIXED, LISTED),
        build=build,
        to_coo=to_coo,
        formula="width V + rest",
        turns=False,
        own_order=True,
        parameters=(
            Parameter("width", 0, (0, 2, 4, 8, 16), least=0, most=WIDEST),
            Parameter("slice", 0, (0, 32), least=0, most=1024),
            Parameter("rest", "csr", ("csr", "coo")),
        ),
        variant=variant,
    )
)
SLICED_ELL = replace(ELL, kinds=(SLICED, LISTED), to_coo=sliced_to_coo, header="sliced_ell.cuh")
VARIANTS = {
    (False, "csr"): ELL,
    (False, "coo"): replace(ELL, kinds=(FIXED, OWNED), formula="width V + 2 rest"),
    (True, "csr"): SLICED_ELL,
    (True, "coo"): replace(SLICED_ELL, kinds=(SLICED, OWNED), formula="width V + 2 rest"),
}
