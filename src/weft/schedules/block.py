"""A block loads as many rows as it has threads, and its groups take their slots evenly."""

from weft.schedules.base import WARP, Schedule, aligned, board_bytes, register


def shared_bytes(block: int, lanes: int, partial_bytes: int, row_bytes: int) -> int:
    """Return sums and flags, a table of rows, the boards of the warps and two partials of each."""
    if lanes == 0:
        return 0
    table = (8 + 4) * WARP + 8 * (3 * block + 2)
    carried = aligned(2 * (block // WARP) * lanes * partial_bytes)
    return table + board_bytes(block, lanes) + carried


register(
    Schedule(
        name="block",
        title="a block loads a row per thread, its groups take the slots evenly",
        struct="BlockSchedule",
        shared_bytes=shared_bytes,
    )
)
