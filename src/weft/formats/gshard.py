"""G-Shards: the arcs into each window of destinations, sorted by source.

(F. Khorasani, K. Vora, R. Gupta, L. N. Bhuyan, CuSha: vertex-centric graph processing on GPUs, HPDC
2014.) A gather computes its messages ahead, arc by arc in the order of the shards (`gathers`), and
combines them in a second phase that reads them one after another.
"""

from __future__ import annotations

from typing import Any

from weft.formats.base import Array, Format, Kind, Layout, Parameter, Part, register
from weft.formats.csr import owners_of
from weft.topology.adjacency import fitting_dtype, sort_arcs


def build(offsets: Any, targets: Any, xp: Any, incoming: bool, *, window: int) -> Layout:
    """Return both ends of all arcs by window of the destination, source, destination."""
    n = int(offsets.size) - 1
    rows = owners_of(offsets, targets, xp)
    source, dest = (targets, rows) if incoming else (rows, targets)

    def places() -> Any:
        # Stable: arcs of one source in a window stay in the order of their destinations.
        slots = xp.arange(targets.size, dtype=fitting_dtype(targets.size))
        return sort_arcs(dest // window, source, max(n, 1), slots)[2]

    order = places()
    arrays = {"vertices": rows[order], "targets": targets[order]}
    part = Part(int(targets.size), int(targets.size), arrays)
    return Layout(GSHARD, [part], places, {"shards": -(-n // window)})


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
