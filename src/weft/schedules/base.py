"""The definition of a schedule, and the registry of schedules.

A schedule decides which threads take which slots of which rows (``sweep.cuh`` states the contract).
It is a CUDA class template over the format and the width of the groups that take one slot together:
1, 2, 4, ... 32 lanes, or 0 for a whole block.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.errors import ConfigError, unknown
from weft.formats import Format

SCALAR_LANES = 1  # that take one edge together; more where fields have features
HERE = Path(__file__).parent
WARP = 32
ALIGNMENT = 16
BOARD_BYTES = 912  # Board::bytes in evenly.cuh

Rows = Literal["whole", "mixed", "split"]
Workspace = tuple[tuple[str, str, int], ...]
ALL_INPUTS = ("all", "queue", "bitmap", "bytemap")

_schedules: dict[str, Schedule] = {}


def _no_shared(block: int, lanes: int, partial_bytes: int, row_bytes: int) -> int:
    return 0


def _no_workspace(n: int, slots: int) -> Workspace:
    return ()


def _never_refuses(format: Format, lanes: int) -> str:
    return ""


@dataclass(frozen=True)
class Schedule:
    """One way to hand the arcs of the active rows to threads.

    Parameters
    ----------
    name, title
        Its name for users, and a one-line description.
    struct
        The CUDA class template in the header.
    header
        Where that is: ``<name>.cuh`` of this folder, unless a path is given.
    phases
        How many phases it has; a barrier over all blocks lies between them.
    rows
        How rows are closed: ``"whole"`` (once), ``"split"`` (in parts) or ``"mixed"`` (each either
        once or in parts).
    inputs
        The kinds of rows that it can take, of ``"all"``, ``"queue"``, ``"bitmap"``, ``"bytemap"``.
    shared_bytes
        Dynamic shared memory of a block, for all phases:
        ``shared_bytes(block, lanes, partial_bytes, row_bytes)`` with the threads of a block and the
        sizes of the visitor's ``Partial`` and ``Row``.
    workspace
        Arrays in global memory, of any contents, as (name, dtype, size) in the order of the
        pointers of ``Memory``: ``workspace(n, slots)`` for `n` rows and their slots.
    sorts_rows
        Whether all that its first phase does is to sort rows by degree, and to count up to four
        classes of them in its cells. What it leaves for all rows of a graph holds for later sweeps.
    takes_classes
        Whether its last phase can do without the others, given rows by degree class.
    keeps_rows
        Whether who loads a row takes it whole or a good part of it. Then what closing a row needs
        is loaded with it, ahead of its arcs.
    guesses
        Whether it offers rows the look at a vertex of the visitor's choice before their slots.
    refuse
        Why it cannot serve a format with groups of this width, or "": ``refuse(format, lanes)``.
    """

    name: str
    title: str
    struct: str
    phases: int = 1
    rows: Rows = "whole"
    inputs: tuple[str, ...] = ALL_INPUTS
    shared_bytes: Callable[[int, int, int, int], int] = _no_shared
    workspace: Callable[[int, int], Workspace] = _no_workspace
    refuse: Callable[[Format, int], str] = _never_refuses
    sorts_rows: bool = False
    takes_classes: bool = False
    keeps_rows: bool = False
    guesses: bool = False
    header: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The texts of its own CUDA header and of those of this folder that it needs, by name."""
        found: dict[str, str] = {}
        wanted = [self.header or f"{self.name}.cuh"]
        while wanted:
            path = HERE / wanted.pop()
            if path.name not in found and path.is_file():
                found[path.name] = text = path.read_text(encoding="utf-8")
                wanted += re.findall(r'#include "([^"]+)"', text)
        return found


def aligned(nbytes: int) -> int:
    """Return the bytes rounded up to what keeps the next part of shared memory aligned."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def board_bytes(block: int, lanes: int) -> int:
    """Return the bytes that the warps of a block need for ``share_out``."""
    return block // WARP * BOARD_BYTES if 0 < lanes < WARP else 0


def meeting_bytes(block: int, lanes: int, partial_bytes: int) -> int:
    """Return the bytes of ``walk_by_block`` in a block: a flag, and partials of the warps twice."""
    return ALIGNMENT + aligned(2 * (block // WARP) * lanes * partial_bytes) if lanes else 0


def register(schedule: Schedule) -> Schedule:
    """Make a schedule known under its name."""
    _schedules[schedule.name] = schedule
    return schedule


@functools.cache
def _load_folder() -> None:
    """Import every module of this folder; each registers its own."""
    for module in pkgutil.iter_modules([str(HERE)]):
        importlib.import_module(f"{__package__}.{module.name}")


def schedules() -> dict[str, Schedule]:
    """Return all schedules by name."""
    _load_folder()
    return dict(sorted(_schedules.items()))


def schedule(name: str) -> Schedule:
    """Return the schedule with this name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    known = schedules()
    if name not in known:
        raise ConfigError(unknown("schedule", name, known))
    return known[name]
