"""The configurations that defaults are compared with, at least 60 per task."""

from __future__ import annotations

from itertools import product
from typing import Any

SCHEDULES = ("vertex", "edge", "warp", "block", "twc", "twce", "strict", "merge", "row", "weaver")
FORMATS = ("csr", "coo")
FUSES = ("none", "direction")
LANES = (2, 4, 8, 16, 32, "block")
ITEMS = (2, 4, 16, 32)
BLOCKS = (64, 128, 512, 1024)
WIDTHS = ("block", "cluster", "grid")
DIRECTIONS = ("push", "pull", "beamer", "ligra", "gunrock", "graphblast", "simdx")
COMPACTIONS = ("ballot", "batch", "atomic", "jit")
BINS = (16, 256)
DEDUPS = ("none", "bitmask", "history", "warp")
INPUTS = ("queue", "bitmap", "bytemap", "reverse_queue", "state")
OUTPUTS = ("queue", "bitmap", "bytemap")
PUSHED = ("vertex", "warp", "block", "twc", "twce", "strict", "merge")
PULLED = ("warp", "row")
DELTAS = (8.0, 64.0, 512.0)  # of weights from 1 to 64

Options = dict[str, Any]


def layouts() -> list[Options]:
    """Return schedules, formats, block sizes and kinds of fusion."""
    return [
        *({"schedule": s, "format": f} for s, f in product(SCHEDULES, FORMATS)),
        *({"schedule": s, "fuse": f} for s, f in product(SCHEDULES, FUSES)),
        *({"schedule": "row", "lanes": lanes} for lanes in LANES),
        *({"schedule": "merge", "items_per_thread": items} for items in ITEMS),
        *({"schedule": s, "block_size": b} for s, b in product(("vertex", "warp", "twc"), BLOCKS)),
        *({"width": width} for width in WIDTHS),
    ]


def frontiers() -> list[Options]:
    """Return directions, compactions, bin sizes and kinds of frontiers."""
    return [
        *({"direction": direction} for direction in DIRECTIONS),
        *({"compaction": compaction} for compaction in COMPACTIONS),
        *({"bin_size": size} for size in BINS),
        *({"frontier_in": kind} for kind in INPUTS),
        *({"frontier_out": kind} for kind in OUTPUTS),
    ]


def sides() -> list[Options]:
    """Return pairs of one schedule for pushes and another for pulls."""
    return [
        {"schedule": {"push": push, "pull": pull}}
        for push, pull in product(PUSHED, PULLED)
        if push != pull
    ]


def ordered() -> list[Options]:
    """Return priority orderings and their deltas."""
    return [
        *({"ordering": kind} for kind in (False, "buckets")),
        *({"ordering": kind, "delta": d} for kind, d in product(("near_far", "buckets"), DELTAS)),
        *({"ordering": False, "dedup": dedup} for dedup in DEDUPS),
        *({"schedule": s, "ordering": False} for s in PUSHED),
    ]


CONFIGURATIONS: dict[str, list[Options]] = {
    "bfs": [*layouts(), *frontiers(), *sides()],
    "sssp": [*layouts(), *ordered()],
    "pagerank": layouts(),
    "components": layouts(),
    "triangles": layouts(),
    "cores": [*layouts(), *frontiers()],
}
