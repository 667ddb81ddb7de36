"""A virtual warp of groups, or a block, takes one row."""

from weft.schedules.base import Schedule, meeting_bytes, register


def shared_bytes(block: int, lanes: int, partial_bytes: int, row_bytes: int) -> int:
    """Return the bytes of a block for combining the partials of one row."""
    return meeting_bytes(block, lanes, partial_bytes)


register(
    Schedule(
        name="row",
        title="a virtual warp of row_lanes threads, or a block, takes one row",
        struct="RowSchedule",
        shared_bytes=shared_bytes,
        keeps_rows=True,
    )
)
