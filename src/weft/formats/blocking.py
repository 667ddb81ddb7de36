"""Tiles of the adjacency matrix, swept one after another, so that what they touch stays in cache.

Sources, destinations or both are cut into stretches of equal numbers of vertices or of arcs; a
vertex has a row in every tile where it has arcs. `block_csr` searches for the row of a slot,
`block_coo` has it beside the slot. (Block-COO: GRAssembler. Tiles by destination: propagation
blocking; by source: cache blocking of what is gathered.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weft.formats.base import Format, Layout, Parameter, register
from weft.formats.csr import owners_of
from weft.formats.listed import LISTED, OWNED, add_owners, listed_arcs, listed_part
from weft.topology.adjacency import count_keys

CACHE_BYTES = 16 << 20  # of a tile's values, so that those of both its ends stay in a GPU's L2
VALUE_BYTES = 8
MOST_TILES = 4096


def bounds_of(degrees: Any, tiles: int, balance: str, xp: Any) -> Any:
    """Return where the ranges of vertices begin, except the first one."""
    n = int(degrees.size)
    if balance == "vertices":
        return xp.arange(1, tiles, dtype=xp.int64) * n // tiles
    ends = xp.cumsum(degrees)
    wanted = xp.arange(1, tiles, dtype=xp.int64) * int(degrees.sum()) // tiles
    return xp.searchsorted(ends, wanted, side="left")


def build(
    offsets: Any, targets: Any, xp: Any, incoming: bool, *, axis: str, tiles: int, balance: str
) -> Layout:
    """Return the rows of all tiles. With no number of tiles, values of one fill a part of L2."""
    n, arcs = offsets.size - 1, int(targets.size)
    tiles = min(tiles or -(-n * VALUE_BYTES // CACHE_BYTES), MOST_TILES, max(n, 1))
    rows = owners_of(offsets, targets, xp)
    ends = {"source": targets if incoming else rows, "dest": rows if incoming else targets}
    tile = xp.zeros(arcs, xp.int64)
    for name in ("dest", "source"):
        if axis in (name, "both") and tiles > 1:
            bounds = bounds_of(count_keys(ends[name], n), tiles, balance, xp)
            tile = tile * tiles + xp.searchsorted(bounds, ends[name], side="right")
    order = xp.argsort(tile, kind="stable")  # rows of a tile stay in order
    sorted_ = tile[order]
    starts = xp.flatnonzero(xp.append(xp.ones(min(arcs, 1), bool), sorted_[1:] != sorted_[:-1]))
    sections = starts if arcs else xp.zeros(1, xp.int64)
    part = listed_part(rows[order], targets[order], xp, sections=sections)
    facts = {"tiles": int(sections.size), "virtual rows": part.rows}
    return Layout(BLOCK_CSR, [part], lambda: order, facts)


def build_owned(offsets: Any, targets: Any, xp: Any, incoming: bool, **parameters: Any) -> Layout:
    """Return the same with the row of every slot."""
    layout = build(offsets, targets, xp, incoming, **parameters)
    add_owners(layout.parts[0], xp, "block_coo", "choose fewer tiles")
    return replace(layout, format=BLOCK_COO)


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, tile by tile."""
    return listed_arcs(layout.parts[0], xp)


PARAMETERS = (
    Parameter("axis", "source", ("source", "dest", "both")),
    Parameter("tiles", 0, (0, 4, 16), least=0),
    Parameter("balance", "edges", ("edges", "vertices")),
)
BLOCK_CSR = register(
    Format(
        name="block_csr",
        title="tiles of the matrix, each in compressed rows",
        kinds=(LISTED,),
        build=build,
        to_coo=to_coo,
        formula="E + virtual rows",
        own_order=True,
        parameters=PARAMETERS,
        header="blocking.cuh",
    )
)
BLOCK_COO = register(
    Format(
        name="block_coo",
        title="tiles of the matrix, each in coordinates",
        kinds=(OWNED,),
        build=build_owned,
        to_coo=to_coo,
        formula="2 E + virtual rows",
        own_order=True,
        parameters=PARAMETERS,
        header="blocking.cuh",
    )
)
