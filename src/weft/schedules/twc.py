"""Rows queued by degree in global memory; a group, a warp, a block or all blocks take one."""

from weft.schedules.base import WARP, Schedule, Workspace, meeting_bytes, register

CLASSES = 4
SORT_BYTES = CLASSES * (8 + 4 * WARP)


def shared_bytes(block: int, lanes: int, partial_bytes: int, row_bytes: int) -> int:
    """Return the bytes for sorting, or for combining the partials of a row in a block."""
    return max(SORT_BYTES, meeting_bytes(block, lanes, partial_bytes))


def workspace(n: int, slots: int) -> Workspace:
    """Return the queues and a flag for each row that all blocks share."""
    return (("small", "int64", n), ("large", "int64", n), ("stops", "uint8", n))


register(
    Schedule(
        name="twc",
        title="rows queued by degree; a group, a warp, a block or all blocks take one",
        struct="TwcSchedule",
        phases=2,
        rows="mixed",
        shared_bytes=shared_bytes,
        workspace=workspace,
        sorts_rows=True,
        takes_classes=True,
        keeps_rows=True,
    )
)
