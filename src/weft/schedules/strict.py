"""The slots of all active rows laid out by a device-wide scan, an equal stretch to each warp."""

from weft.schedules.base import Schedule, board_bytes, register
from weft.schedules.layout import SCAN_BYTES, layout_workspace


def shared_bytes(block: int, lanes: int, partial_bytes: int, row_bytes: int) -> int:
    """Return the bytes for the scan, or for the boards of the warps."""
    return max(SCAN_BYTES, board_bytes(block, lanes))


register(
    Schedule(
        name="strict",
        title="active slots laid out by a device-wide scan, an equal share to each block",
        struct="StrictSchedule",
        phases=3,
        rows="mixed",
        shared_bytes=shared_bytes,
        workspace=layout_workspace,
    )
)
