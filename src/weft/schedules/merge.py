"""Merge path: an equal stretch of rows and slots together to each warp."""

from weft.schedules.base import Schedule, board_bytes, register
from weft.schedules.layout import SCAN_BYTES, layout_workspace


def shared_bytes(block: int, lanes: int, partial_bytes: int, row_bytes: int) -> int:
    """Return the bytes for the scan, or for the boards of the warps."""
    return max(SCAN_BYTES, board_bytes(block, lanes))


register(
    Schedule(
        name="merge",
        title="merge path over rows and slots, an equal share to each warp",
        struct="MergeSchedule",
        phases=3,
        rows="mixed",
        shared_bytes=shared_bytes,
        workspace=layout_workspace,
    )
)
