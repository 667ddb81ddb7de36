"""The kinds of frontiers, how they are assembled, and how duplicates are removed.

Names, descriptions and sizes here are those of ``output.cuh``, which does it on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.errors import ConfigError, unknown

KINDS: Mapping[str, str] = {
    "queue": "a list of vertices",
    "bitmap": "a bit per vertex",
    "bytemap": "a byte per vertex",
    "counter": "only the number of vertices and of their out-edges",
}
COMPACTIONS: Mapping[str, str] = {
    "online": "bins in shared memory while computing; what does not fit goes to the queue",
    "ballot": "marks while computing, then a scan of them: sorted, no duplicates",
    "batch": "everything is appended, duplicates included, and filtered afterwards",
    "atomic": "an atomic on the end of the queue per vertex",
    "jit": "bins while computing; a superstep in which one was too small is scanned as by ballot",
}
DEDUPS: Mapping[str, str] = {
    "none": "duplicates stay",
    "bitmask": "a bit per vertex, tested and set without an atomic: few duplicates stay",
    "history": "a table of recent vertices per block: near duplicates go",
    "warp": "a table of recent vertices per warp: nearer duplicates go",
    "exact": "an atomic exchange per vertex: no duplicates",
    "proven": "no vertex is emitted twice, so nothing is tested",
}
CLASSES = (1, 4)

WARP_SIZE = 32
HISTORY_ENTRIES = 1024
WARP_ENTRIES = 64


def check_output(kind: str, compaction: str, dedup: str, classes: int) -> None:
    """Check that there is such an output.

    Raises
    ------
    ConfigError
        If a name is not known, or the number of degree classes is neither 1 nor 4.

    Examples
    --------
    >>> check_output("queue", "online", "exakt", 1)
    Traceback (most recent call last):
    weft.errors.ConfigError: dedup='exakt' is not known. Expected one of ... Did you mean 'exact'?
    """
    for what, got, known in (
        ("kind", kind, KINDS),
        ("compaction", compaction, COMPACTIONS),
        ("dedup", dedup, DEDUPS),
        ("classes", classes, CLASSES),
    ):
        if got not in known:
            raise ConfigError(unknown(what, got, known))


def output_type(vertex: str, kind: str, compaction: str, dedup: str, classes: int) -> str:
    """Return the C++ type of an output for vertices of a C++ type.

    Examples
    --------
    >>> output_type("i32", "queue", "online", "exact", 1)
    'Output<i32, Kind::queue, Compaction::online, Dedup::exact, 1>'
    """
    check_output(kind, compaction, dedup, classes)
    return f"Output<{vertex}, Kind::{kind}, Compaction::{compaction}, Dedup::{dedup}, {classes}>"


def has_bins(kind: str, compaction: str) -> bool:
    """Return whether an output gathers vertices in shared memory."""
    return kind == "queue" and compaction in ("online", "batch", "jit")


def bin_rooms(classes: int, bin_size: int) -> list[int]:
    """Return the entries of the bin of each class: four of them share the room of one.

    Examples
    --------
    >>> bin_rooms(1, 1024), bin_rooms(4, 1024)
    ([1024], [512, 256, 128, 128])
    """
    return [bin_size] if classes == 1 else [max(1, bin_size >> shift) for shift in (1, 2, 3, 3)]


def output_bytes(
    kind: str,
    compaction: str,
    dedup: str,
    classes: int,
    bin_size: int,
    block: int,
    vertex_bytes: int = 4,
) -> int:
    """Return the bytes of shared memory that an output needs.

    Parameters
    ----------
    kind, compaction, dedup
        Names of `KINDS`, `COMPACTIONS` and `DEDUPS`.
    classes
        The number of degree classes, 1 or 4.
    bin_size
        Entries of a block's bins (`bin_rooms`).
    block
        Threads of a block.
    vertex_bytes
        Size of a vertex in the queue.

    Examples
    --------
    >>> output_bytes("queue", "online", "exact", 1, 1024, 256)
    4240
    >>> output_bytes("bitmap", "online", "exact", 1, 1024, 256)
    128
    """
    check_output(kind, compaction, dedup, classes)
    warps = block // WARP_SIZE
    batch = kind == "queue" and compaction == "batch"
    tables = {"history": HISTORY_ENTRIES, "warp": warps * WARP_ENTRIES}
    table = 0 if batch else tables.get(dedup, 0)
    bins = 0
    if has_bins(kind, compaction):
        entries = sum(bin_rooms(classes, bin_size))
        bins = 16 * classes + _whole_units(entries * vertex_bytes)
    return bins + table * vertex_bytes + 16 * warps


def far_bytes(bin_size: int, vertex_bytes: int = 4) -> int:
    """Return the bytes of shared memory that the list of waiting vertices needs.

    Examples
    --------
    >>> far_bytes(256)
    1040
    """
    return 16 + _whole_units(bin_size * vertex_bytes)


def _whole_units(nbytes: int) -> int:
    return -(-nbytes // 16) * 16
