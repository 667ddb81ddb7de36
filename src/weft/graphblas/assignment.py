"""One assignment: what it reads, and how its result is written."""

from __future__ import annotations

from typing import Any

from weft.graphblas.expressions import Operation
from weft.graphblas.fusion import fused
from weft.graphblas.kernels.write import WritePlan, write


class Assignment:
    """``C(mask, accum, replace) << operation``, with a snapshot of all that it reads.

    Attributes
    ----------
    operation
        What is computed.
    inputs : list
        The cells of its operands, each with whether to transpose it.
    old : Cell or None
        The target before; None where it does not matter.
    mask, mask_cell
        The mask and its cell, or None.
    """

    __slots__ = ("accum", "inputs", "mask", "mask_cell", "np_type", "old", "operation", "replace")

    def __init__(
        self, operation: Any, old: Any, mask: Any, accum: Any, replace: bool, np_type: Any
    ) -> None:
        # Without its operands: an object without other references needs no entries of its own.
        self.operation = Operation(operation.kernel, (), operation.node)
        self.inputs = operation.cells()
        self.old = old
        self.mask = mask
        self.mask_cell = None if mask is None else mask.parent._current
        self.accum, self.replace, self.np_type = accum, replace, np_type

    def cells(self) -> list[Any]:
        """Return all cells that are read."""
        found = [cell for cell, _ in self.inputs]
        found += [cell for cell in (self.old, self.mask_cell) if cell is not None]
        return found

    def view(self) -> Any:
        """Return the view of the mask; None without one."""
        if self.mask is None or self.mask_cell is None:
            return None
        return self.mask.view(self.mask_cell.get())

    def run(self) -> Any:
        """Return the target's entries, from one kernel for several operations if there is one."""
        found = fused(self)
        if found is not None:
            return found
        view = self.view()
        made = self.operation.run(view, self.inputs)
        if self.old is None:
            return made.cast(self.np_type)
        return write(self.old.get(), made, WritePlan(view, self.accum, self.replace, self.np_type))


def result(assignment: Any) -> Any:
    """Return the result of an operation that is not written into an object: a scalar's value."""
    found = fused(assignment)
    return assignment.operation.run(None, assignment.inputs) if found is None else found
