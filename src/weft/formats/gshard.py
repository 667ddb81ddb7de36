"""G-Shards: the arcs into each window of destinations, sorted by source.

(F. Khorasani, K. Vora, R. Gupta, L. N. Bhuyan, CuSha: vertex-centric graph processing on GPUs, HPDC
2014.) A gather computes its messages ahead, arc by arc in the order of the shards (`gathers`), and
combines them in a second phase that reads them one after another.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from weft.formats.base import Array, Format, Kind, Layout, Parameter, Part, register
from weft.formats.csr import owners_of

_KEY_BITS: Final = 63


def build(offsets: Any, targets: Any, xp: Any, incoming: bool, *, window: int) -> Layout:
    """Return both ends of all arcs by window of the destination, source, destination."""
    n = int(offsets.size) - 1
    rows = owners_of(offsets, targets, xp)
    source, dest = (targets, rows) if incoming else (rows, targets)
    if 2 * max(n - 1, 1).bit_length() + 1 > _KEY_BITS:  # both ends do not fit into one number
        windows = dest.astype(xp.int64) // window
        order = xp.lexsort(xp.stack([dest.astype(xp.int64), source.astype(xp.int64), windows]))
        source, dest = source[order], dest[order]
        places = partial(_kept, order)
    else:
        keys = _keys(source, dest, n, window, xp)
        places = partial(_order, source, dest, n, window, xp)
        keys.sort()
        source, dest = _ends(keys, n, window, targets.dtype)
    vertices, others = (dest, source) if incoming else (source, dest)
    part = Part(int(targets.size), int(targets.size), {"vertices": vertices, "targets": others})
    return Layout(GSHARD, [part], places, {"shards": -(-n // window)})


def _keys(source: Any, dest: Any, n: int, window: int, xp: Any) -> Any:
    """Return one number per arc: window of the destination, source, destination in its window."""
    high, low = _bits(n, window)
    keys = dest.astype(xp.int64)
    inside = keys % window
    keys //= window
    keys <<= high
    keys |= source
    keys <<= low
    keys |= inside
    return keys


def _ends(keys: Any, n: int, window: int, dtype: Any) -> tuple[Any, Any]:
    """Return source and destination of keys."""
    high, low = _bits(n, window)
    source = ((keys >> low) & ((1 << high) - 1)).astype(dtype)
    dest = (keys >> (high + low)) * window + (keys & ((1 << low) - 1))
    return source, dest.astype(dtype)


def _bits(n: int, window: int) -> tuple[int, int]:
    """Return how many bits a source takes, and a destination in its window."""
    return max(n - 1, 1).bit_length(), max(min(window, n) - 1, 1).bit_length()


def _order(source: Any, dest: Any, n: int, window: int, xp: Any) -> Any:
    return xp.argsort(_keys(source, dest, n, window, xp), kind="stable")


def _kept(order: Any) -> Any:
    return order


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, shard by shard."""
    (part,) = layout.parts
    return part.arrays["vertices"], part.arrays["targets"]


GSHARD = register(
    Format(
        name="gshard",
        title="shards of destinations, sorted by source",
        kinds=(
            Kind(
                "Shards",
                (Array("vertices"), Array("targets")),
                virtual=True,
                loops=(("begin", "{r}"), ("end", "{r} + ONE"), ("target", "{targets}[{s}]")),
            ),
        ),
        build=build,
        to_coo=to_coo,
        formula="2 E",
        own_order=True,
        gathers=True,
        schedule="vertex",  # all rows are short
        parameters=(Parameter("window", 8192, (2048, 8192, 32768)),),
    )
)
