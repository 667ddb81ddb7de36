"""Rows of one width, column by column; the arcs that do not fit follow in rows of their own.

(ELLPACK-R: F. Vazquez, J. J. Fernandez, E. M. Garzon, A new approach for sparse matrix vector
product on NVIDIA GPUs, 2011; with the rest apart, the hybrid format of N. Bell and M. Garland, SC
2009.) The width that costs least is chosen from the degrees, if none is given.
"""

from __future__ import annotations

from typing import Any

from weft.errors import ConfigError
from weft.formats.base import Array, Format, Kind, Layout, Parameter, Part, register
from weft.formats.csr import owners_of
from weft.formats.listed import LISTED, listed_arcs, listed_part
from weft.topology.adjacency import count_keys

WIDEST = 254  # a byte counts one more, which says that there is a rest
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


def build(offsets: Any, targets: Any, xp: Any, incoming: bool, *, width: int) -> Layout:
    """Return the columns of all vertices, and the rest."""
    n = offsets.size - 1
    degrees = offsets[1:] - offsets[:-1]
    width = width or best_width(degrees, xp)
    if n * width > MOST_PADDING * (targets.size + n):
        raise ConfigError(
            f"format='ell({width})' would waste memory: {n} rows of {width} words for "
            f"{targets.size} arcs. Give a smaller width, or none."
        )
    owners = owners_of(offsets, targets, xp).astype(xp.int64)
    column = xp.arange(targets.size, dtype=xp.int64) - offsets[owners]
    fits = column < width
    places = column[fits] * n + owners[fits]
    columns = xp.zeros(n * width, targets.dtype)
    columns[places] = targets[fits]
    lengths = xp.minimum(degrees, width + 1).astype(xp.uint8)
    main = Part(n, n * width, {"targets": columns, "lengths": lengths}, {"width": width})
    over = xp.flatnonzero(~fits)
    rest = listed_part(owners[over].astype(targets.dtype), targets[over], xp, n * width)

    def slots() -> Any:
        found = xp.full(n * width + over.size, -1, xp.int64)
        found[places] = xp.flatnonzero(fits)
        found[n * width :] = over
        return found

    padding = n * width - int(places.size)
    facts = {"width": width, "padding": padding, "rest": int(over.size)}
    return Layout(ELL, [main, rest], slots, facts)


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs: column by column, then the rest."""
    main, rest = layout.parts
    lengths = main.arrays["lengths"]
    columns = main.arrays["targets"].reshape(main.numbers["width"], main.rows)
    column, row = xp.nonzero(xp.arange(columns.shape[0])[:, None] < lengths[None, :])
    sources, found = listed_arcs(rest, xp)
    kind = targets.dtype
    return xp.append(row.astype(kind), sources), xp.append(columns[column, row], found)


ELL = register(
    Format(
        name="ell",
        title="columns of one width, and the rest in rows",
        kinds=(
            Kind(
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
            ),
            LISTED,
        ),
        build=build,
        to_coo=to_coo,
        formula="width V + rest",
        turns=False,
        own_order=True,
        parameters=(Parameter("width", 0, (0, 2, 4, 8, 16), least=0, most=WIDEST),),
    )
)
