"""The memory that steers a run: one block, written by the host in one go, and one that answers.

What the host writes (the loop, the scalars, counters, barrier, fault, accumulators) lies side by
side on the device and in a staging copy, and in front of the first queue: one copy brings the
vertices of a small first frontier too. At its end a kernel writes the loop, the scalars and the
fault into memory that the host reads directly, and then a word that says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Members of Loop (machine.cuh), 8 bytes each, in order.
LOOP = (
    "step", "phase", "tick", "status", "size", "edges", "dense", "pulling", "share", "explored",
    "mapped", "queued", "epoch", "queue", "map", "touched", "entered", "looked", "next_size",
    "next_edges", "next_tail", "accepting", "reverse", "narrow", "records", "trail_size",
    "far_size", "far", "processed", "refilling", "launches", "back", "clean", "reversed",
    "swapped", "overflow", "rebuilt", "following", "once",
    "classed", "class_0", "class_1", "class_2", "class_3", "origin", "part", "listed", "counted",
    "laid", "digit", "hubs", "before", "ending",
    "remaining", "remaining_in", "shrinking",
    "sorted", "sorted_0", "sorted_1", "sorted_2", "sorted_3",
    "threshold", "raised", "delta", "floor", "least", "mean", "horizon",
)  # fmt: skip
DOUBLES = frozenset({"threshold", "raised", "delta", "floor", "least", "mean", "horizon"})
# What is not 0 when a run begins.
START = {
    "phase": -1, "counted": 1, "accepting": -1, "reversed": -1,
    "threshold": -np.inf, "floor": -np.inf, "least": np.inf,
    "horizon": np.nan,
}  # fmt: skip
AT = {name: position for position, name in enumerate(LOOP)}
# Those that the host looks at after every run.
STATUS, STEP, SIZE, DENSE, QUEUED, CLASSED, MAPPED, SWAPPED, FAR_SIZE, QUEUE, MAP = (
    AT[name] for name in (
        "status", "step", "size", "dense", "queued", "classed", "mapped", "swapped", "far_size",
        "queue", "map",
    )
)  # fmt: skip
CELLS = 32
FAULT_WORDS = 4  # cause and function, vertex, index, count


FEW = 64  # vertices that are copied along
AHEAD = 2048  # bytes; most programs need fewer, so that their first queues begin at one place


def control_sizes(scalars: int, accumulators: int) -> dict[str, int]:
    """Return the parts of the steering memory of a shape of program, in words."""
    return {
        "loop": len(LOOP), "scalars": scalars + 1, "counters": 3 * CELLS, "barrier": 1,
        "fault": FAULT_WORDS, "accumulators": 3 * accumulators,
    }  # fmt: skip


def bytes_ahead(sizes: dict[str, int]) -> int:
    """Return how far into its memory the first queue begins."""
    return -(-8 * sum(sizes.values()) // AHEAD) * AHEAD


class Control:
    """The steering memory of one shape of program in one workspace.

    Parameters
    ----------
    driver
        Where it is.
    sizes
        Its parts, in words (see `control_sizes`).
    memory : array of vertices
        The memory of the device that it begins; the first queue is the rest.
    """

    def __init__(self, driver: Any, sizes: dict[str, int], memory: Any) -> None:
        ends = np.cumsum(list(sizes.values())).tolist()
        words, self._ahead = ends[-1], bytes_ahead(sizes)
        first = self._ahead // memory.itemsize
        self.driver = driver
        self.queue = memory[first:]
        device = memory[:first].view(np.uint64)
        room = (self._ahead + FEW * memory.itemsize) // 8
        staging, _ = driver.shared_array(room, np.uint64)
        self._send = driver.uploader(memory, staging)
        self.staging = staging[:words]
        self._few = staging[self._ahead // 8 :].view(memory.dtype)
        self.parts: dict[str, Any] = {}
        self.staged: dict[str, Any] = {}
        for (name, size), end in zip(sizes.items(), ends, strict=True):
            self.parts[name] = device[end - size : end]
            self.staged[name] = self.staging[end - size : end]
        loop = self.staged["loop"]
        integers, doubles = loop.view(np.int64), loop.view(np.float64)
        self._places = {
            name: (doubles if name in DOUBLES else integers, at) for at, name in enumerate(LOOP)
        }
        self._scalar_bytes = self.staged["scalars"].view(np.uint8)
        told = len(LOOP) + sizes["scalars"] + FAULT_WORDS
        report, self.report_argument = driver.shared_array(told + 1, np.uint64)
        self.report, self.ended = report[:told], report[told:]
        self._told = self.report.view(np.int64)
        self._told_loop = self.report[: len(LOOP)]
        self.seen: list[int] = self._told.tolist()
        self.write(**START)
        self._start, self._begun = self.staging.copy(), None

    def begin(self, accumulators: Any) -> None:
        """Set the staging copy to what every run begins with, and the accumulators."""
        if self._begun is not accumulators:  # the image is that of another program
            self._start[self._start.size - accumulators.size :] = accumulators
            self._begun = accumulators
        self.staging[:] = self._start

    def stage_scalar(self, position: int, held: Any) -> None:
        """Set a scalar in the staging copy, from an array of one element."""
        first = 8 * position
        self._scalar_bytes[first : first + held.itemsize] = held.view(np.uint8)

    def write(self, **values: Any) -> None:
        """Set members of the loop in the staging copy."""
        for name, value in values.items():
            view, at = self._places[name]
            view[at] = value

    def upload(self, frontier: Any = None) -> None:
        """Bring the staging copy to the device, and the vertices of the first frontier if any.

        Until a kernel reports otherwise, the loop is at its start.
        """
        nbytes = self._ahead
        if isinstance(frontier, np.ndarray) and frontier.size <= FEW:
            self._few[: frontier.size] = frontier
            nbytes += frontier.size * self._few.itemsize
        elif frontier is not None:
            self.driver.upload(self.queue, frontier)
        self._send(nbytes)
        self._told_loop[:] = self.staged["loop"]

    def look(self) -> None:
        """Read what kernels have left, all at once: this is memory that a device writes to."""
        self.seen = self._told.tolist()

    def saved(self, name: str) -> int:
        """Return a member of the loop as a kernel had left it when `look` was called."""
        return self.seen[AT[name]]

    def scalar_bytes(self, position: int) -> Any:
        """Return the bytes of a scalar as a kernel left it."""
        start = len(LOOP) + position
        return self.report[start : start + 1].view(np.uint8)

    def is_faulty(self) -> bool:
        """Whether a kernel met a fault."""
        return bool(self.seen[-FAULT_WORDS] & 0xFFFFFFFF)

    def fault(self) -> tuple[int, int, int, int, int]:
        """Return cause, function and vertex of the first fault.

        Of an index out of range the index follows, and how many there are.
        """
        first, vertex, index, count = self.seen[-FAULT_WORDS:]
        return first & 0xFFFFFFFF, first >> 32, vertex, index, count
