"""A warp loads 32 rows, and its groups take their slots evenly."""

from weft.schedules.base import Schedule, board_bytes, register


def shared_bytes(block: int, lanes: int, partial_bytes: int, row_bytes: int) -> int:
    """Return the boards of the warps."""
    return board_bytes(block, lanes)


register(
    Schedule(
        name="warp",
        title="a warp loads 32 rows, its groups take the slots evenly",
        struct="WarpSchedule",
        shared_bytes=shared_bytes,
    )
)
