"""Pulls that look at one neighbor of a vertex before they walk through its row.

Where any message decides and what it says does not depend on the arc, a neighbor that is likely to
be in the frontier is as good as a whole row: most rows end with that look.
"""

from __future__ import annotations

from weft.backends.cuda.codegen.machine import Kernel, Side
from weft.plan.queries import reads_no_arc
from weft.plan.sweeps import Sweep


def looks_first(kernel: Kernel, sweep: Sweep, side: Side) -> bool:
    """Whether the rows of a pull are offered a first look; notes that it happens."""
    wanted = kernel.options.best_neighbor and side.schedule.guesses and kernel.lanes == 1
    looks = wanted and sweep.early_exit and reads_no_arc(sweep.steps[0])
    kernel.guesses |= looks
    return looks


def look_first(array: str, vertex: str) -> list[str]:
    """Return a visitor's functions for the first look of a row, and for taking it as an arc."""
    return [
        f"WEFT_DEVICE i64 first_look(i64 {vertex}) const {{",
        f"    return i64(load_constant({array} + {vertex}));",
        "}",
        f"WEFT_DEVICE bool look(Partial& partial, const Row& row, i64 {vertex}, i64 far) {{",
        "    Message message{Target(far)};",
        f"    return deliver(partial, row, {vertex}, -1, message);",
        "}",
    ]
