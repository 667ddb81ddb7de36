"""The classes of `twc` within a block, in shared memory."""

from weft.schedules.base import ALIGNMENT, Schedule, board_bytes, meeting_bytes, register


def shared_bytes(block: int, lanes: int, partial_bytes: int, row_bytes: int) -> int:
    """Return counts, a table of rows, the boards of the warps and room for a walk by the block."""
    if lanes == 0:
        return 0
    table = ALIGNMENT + 3 * 8 * block
    return table + board_bytes(block, lanes) + meeting_bytes(block, lanes, partial_bytes)


register(
    Schedule(
        name="twce",
        title="the classes of twc within a block, the rest shared evenly",
        struct="TwceSchedule",
        shared_bytes=shared_bytes,
    )
)
