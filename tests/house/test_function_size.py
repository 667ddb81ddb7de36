"""No function grows beyond what a reader holds in mind."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "weft"
LIMIT = 60
LONG = {
    "algorithms/support/shortest_dags.py:steps",  # the functions of one program
    "backends/cuda/codegen/visitor.py:text",  # one class of C++
    "io/kernels.py:scan_rows",  # compiled: a call for each character costs more than it
    "weaver/simulate.py:run",  # compiled: a call for each instruction costs more than it
}


def lines_of(function, source):
    """Return the lines of a function's body without docstring, comments and empty lines."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    lines = source[body[0].lineno - 1 : function.end_lineno] if body else []
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines)


def long_functions(path):
    text = path.read_text(encoding="utf-8")
    functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef))
    return {
        f"{path.relative_to(SOURCE).as_posix()}:{function.name}"
        for function in functions
        if lines_of(function, text.splitlines()) > LIMIT
    }


@pytest.mark.parametrize(
    "room", sorted({p.parent for p in SOURCE.rglob("*.py")}), ids=lambda p: p.name
)
def test_functions_are_short(room):
    found = set().union(*(long_functions(path) for path in room.glob("*.py")))
    assert found <= LONG, f"more than {LIMIT} lines: {sorted(found - LONG)}"


def test_what_is_long_still_is():
    found = set().union(*(long_functions(SOURCE / name.partition(":")[0]) for name in LONG))
    assert found == LONG
