"""Values that are computed when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.graphblas.options import applied, captured

# Recorded assignments that one object may wait for before they are computed.
MOST_PENDING = 32


class Cell:
    """The entries of an object at one time, or how to compute them.

    Entries never change: assigning to an object gives it another cell. So whoever holds a cell
    has a snapshot.
    """

    __slots__ = ("compute", "depth", "store")

    def __init__(self, store: Any, compute: Callable[[], Any] | None = None, depth: int = 0):
        self.store = store
        self.compute = compute
        self.depth = depth

    def get(self) -> Any:
        """Return the entries; compute them first if that has not happened."""
        if self.compute is not None:
            compute, self.compute = self.compute, None
            self.store = compute()
            self.depth = 0
        return self.store


def recorded(compute: Callable[[], Any], *inputs: Cell) -> Cell:
    """Return a cell that computes later, unless too many already wait for each other."""
    choices = captured()
    if choices is not None:
        plain = compute

        def compute() -> Any:
            with applied(choices):
                return plain()

    depth = 1 + max((cell.depth for cell in inputs), default=0)
    cell = Cell(None, compute, depth)
    if depth >= MOST_PENDING:
        cell.get()
    return cell
