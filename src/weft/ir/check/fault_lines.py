"""The error of a function that faulted, with the user's candidate lines."""

from __future__ import annotations

from collections.abc import Iterable, Set

from weft.errors import FaultError
from weft.ir.ops import INDEXING, MATRIX_FAULTS, Block, Program, step_blocks

CAUSES = {
    "index": ("an index was out of range", INDEXING),
    "bound": ("a weft.while_loop ran into its bound", frozenset({"while"})),
    "singular": ("a matrix was singular", MATRIX_FAULTS),
    "indefinite": ("a matrix was not positive definite", MATRIX_FAULTS),
}


def _lines(blocks: Iterable[Block], operations: Set[str]) -> list[str]:
    found = (value for block in blocks for value in block.walk() if value.op in operations)
    return list(dict.fromkeys(value.line for value in found if value.line))


def fault_error(
    program: Program, function: int, cause: str, vertex: int, index: int, count: int
) -> FaultError:
    """Return the error of a function that faulted at a vertex, in the user's numbering.

    An index out of range is reported with its bound.
    """
    what, operations = CAUSES[cause]
    # Programs of equal structure share a kernel, regardless of function names.
    step = program.all_steps()[function]
    told = f": {index}, of {count}" if cause == "index" else ""
    where, lines = f"{step.name!r} at vertex {vertex}", _lines(step_blocks(step), operations)
    if not lines and program.until is not None:  # which no vertex evaluates
        lines = _lines([program.until], operations)
        where = "`until`" if lines else where
    place = ", at " + ", or at ".join(lines) if lines else ""
    return FaultError(
        f"{what} in {where}{told}{place}. Expected every index, loop "
        "and matrix to be valid wherever the function runs: guard it, as by weft.cond. The "
        "state's contents are unspecified."
    )
