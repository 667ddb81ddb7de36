"""The user's lines at which a function may fault, for the error."""

from __future__ import annotations

from weft.ir.ops import INDEXING, MATRIX_FAULTS, Program, step_blocks

CAUSES = {
    "index": INDEXING,
    "bound": frozenset({"while"}),
    "matrix": MATRIX_FAULTS,
}


def fault_place(program: Program, function: int, cause: str) -> str:
    """Return " at file:line: text" of the operations of a function that may fault for a cause.

    Where several lines may, all are listed; nothing where none is known.
    """
    step = program.all_steps()[function]
    lines = dict.fromkeys(
        value.line
        for block in step_blocks(step)
        for value in block.walk()
        if value.op in CAUSES[cause] and value.line
    )
    if not lines:
        return ""
    return ", at " + ", or at ".join(lines)
