"""Only `weft.backends` knows which backends there are; everything else asks `backend_of`."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from weft.backends import HOMES
from weft.backends.base import Backend

PACKAGE = Path(__file__).parents[2] / "src" / "weft"
OUTSIDE = sorted(p for p in PACKAGE.rglob("*.py") if "backends" not in p.relative_to(PACKAGE).parts)
# What defines devices asks for their kind. The model of a GPU takes the interpreter's place, and
# compiles its simulator by the CPU's means.
KINDS_KNOWN = ("arrays/device.py",)
NAMES_KNOWN = ("weaver/",)
NAMED = re.compile(r"weft\.backends\.(cpu|cuda|reference)\b")


def asked_kinds(source):
    """Return the lines that ask for the kind of a device."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr == "kind"
        and ast.unparse(node.value).split(".")[-1].strip("_") in ("device", "place", "here")
    ]


def named_backends(source):
    """Return the modules of backends that a source imports."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [module for module in found if NAMED.match(module)]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_backends_are_chosen_in_one_place(path):
    name, source = path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")
    lines = asked_kinds(source)
    assert not lines or name.startswith(KINDS_KNOWN), f"{name} asks for device.kind: {lines}"
    modules = named_backends(source)
    assert not modules or name.startswith(NAMES_KNOWN), f"{name} imports {modules}"


def test_questions_and_imports_are_found():
    assert asked_kinds("if g.topology.device.kind == 'cpu': pass\nx = dtype.kind") == [1]
    source = "def f():\n    from weft.backends.cuda.host import run\nimport weft.backends.layouts"
    assert named_backends(source) == ["weft.backends.cuda.host.run"]
    assert named_backends("from weft.backends import cpu") == ["weft.backends.cpu"]


@pytest.mark.parametrize("kind", HOMES)
def test_every_backend_has_all_methods_of_the_protocol(kind):
    backend = import_module(HOMES[kind]).BACKEND
    wanted = [name for name, method in vars(Backend).items() if inspect.isfunction(method)]
    wanted += Backend.__annotations__
    assert [name for name in wanted if name[0] != "_" and not hasattr(backend, name)] == []
