"""Lazily computed values."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from weft.graphblas.options import applied, captured

# Recorded assignments that one object may wait for before they are computed.
MOST_PENDING = 32


class Cell:
    """The entries of an object at one time, or how to compute them.

    Entries never change: assigning to an object gives it another cell. So a cell is a snapshot.

    Attributes
    ----------
    plan
        The assignment that is to be computed, for kernels that compute several at once.
    choices : dict or None
        The choices of `gb.options` for it, if they are not the defaults.
    readers : int
        How many recorded assignments read this cell.
    """

    __slots__ = ("choices", "compute", "depth", "owner", "plan", "readers", "store")

    def __init__(self, store: Any, compute: Callable[[], Any] | None = None, depth: int = 0):
        self.store = store
        self.compute = compute
        self.depth = depth
        self.plan: Any = None
        self.choices: dict[str, Any] | None = None
        self.owner: Any = None
        self.readers = 0

    def get(self) -> Any:
        """Return the entries; compute them first if that has not happened.

        After an error they remain uncomputed: another request raises the error again, and an
        assignment to the object replaces them.
        """
        if self.compute is not None:
            compute, plan = self.compute, self.plan
            self.compute = self.plan = None
            try:
                self.store = compute()
            except BaseException:
                self.compute, self.plan = compute, plan
                raise
            self.depth = 0
        return self.store

    def is_inner(self) -> bool:
        """Return whether the assignment being computed alone still needs these entries.

        It has to be made under the same choices, too.
        """
        if self.compute is None or self.readers > 1 or self.choices != captured():
            return False
        owner = None if self.owner is None else self.owner()
        return owner is None or owner._cell is not self


def recorded(
    compute: Callable[[], Any], *inputs: Cell, plan: Any = None, owner: Any = None
) -> Cell:
    """Return a cell that computes later, unless too many already wait for each other.

    The choices of `gb.options` that hold now hold then, too.
    """
    choices = captured()
    if choices is not None:
        plain = compute

        def compute() -> Any:
            with applied(choices):
                return plain()

    depth = 1
    for each in inputs:
        each.readers += 1
        depth = max(depth, each.depth + 1)
    cell = Cell(None, compute, depth)
    cell.plan, cell.choices = plan, choices
    cell.owner = None if owner is None else weakref.ref(owner)
    if depth >= MOST_PENDING:
        cell.get()
    return cell
