"""Workspace of schedules that lay out the active rows by a device-wide scan (``layout.cuh``)."""

from weft.schedules.base import WARP, Workspace

SCAN_BYTES = 8 * WARP  # shared memory of a scan over a block: a word per warp
MAX_SEGMENTS = 1024  # max_segments in layout.cuh


def layout_workspace(n: int, slots: int) -> Workspace:
    """Return the arrays of ``LayoutMemory``."""
    return (
        ("degrees", "int64", n),
        ("starts", "int64", n + 1),
        ("rows", "int64", n),
        ("sums", "int64", 2 * MAX_SEGMENTS),
        ("stops", "uint8", n),
    )
