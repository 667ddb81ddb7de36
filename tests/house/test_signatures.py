"""More than seven parameters are for public functions, and beyond seven by keyword."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "weft"
MARK = "noqa: PLR0913"
MOST = 7
FOREIGN = ("networkx",)  # signatures of another library


def marked():
    """Return the functions that may have more parameters, with their paths."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if MARK not in source:
            continue
        lines = source.splitlines()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and MARK in lines[node.lineno - 1]:
                name = f"{path.relative_to(SOURCE)}:{node.name}"
                found.append(pytest.param(path, node, id=name))
    return found


@pytest.mark.parametrize("path, function", marked())
def test_only_public_functions_have_many_parameters(path, function):
    decorators = [ast.unparse(each).partition("(")[0] for each in function.decorator_list]
    decorators = [each.removeprefix("weft.") for each in decorators]
    if {"edge", "vertex"}.intersection(decorators):
        return  # its parameters name the scalars of the state
    public = function.name == "__init__" or not function.name.startswith("_")
    assert public, "hidden functions take a record instead"
    if path.relative_to(SOURCE).parts[0] not in FOREIGN:
        given = [a for a in function.args.args if a.arg not in ("self", "cls")]
        assert len(given) <= MOST, "parameters beyond seven must be given by keyword"


def test_there_are_some():
    assert any(param.id.endswith("from_edges") for param in marked())
