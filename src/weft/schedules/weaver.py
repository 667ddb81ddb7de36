"""A block registers a row per thread in a table, and its warps ask for batches of their slots."""

from weft.schedules.base import ALIGNMENT, WARP, Schedule, board_bytes, register


def shared_bytes(block: int, lanes: int, partial_bytes: int, row_bytes: int) -> int:
    """Return sums, flags and the cursor, the table of rows, and the boards of the warps."""
    if lanes == 0:
        return 0
    table = (8 + 4) * WARP + ALIGNMENT + 8 * (3 * block + 2)
    return table + board_bytes(block, lanes)


register(
    Schedule(
        name="weaver",
        title="a block registers a row per thread, its warps take batches in order of request",
        struct="WeaverSchedule",
        rows="mixed",
        shared_bytes=shared_bytes,
    )
)
