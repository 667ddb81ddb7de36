"""Imports point downwards: a module uses its own layer and those below it, nothing above."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft

PACKAGE = Path(__file__).parents[2] / "src" / "weft"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Bottom to top. An entry is a module or a package directly under src/weft.
LAYERS = (
    ("errors",),
    ("arrays",),
    ("config", "report"),
    ("storage",),
    ("topology",),
    ("blocks",),
    ("ir",),
    ("formats", "frontiers"),
    ("schedules",),
    ("plan",),
    ("backends",),
    ("engine",),
    ("program", "group", "weaver"),
    ("graph", "io", "generators", "datasets"),
    ("maps",),
    ("algorithms", "learning", "acc", "graphblas", "operators", "spark"),
    ("inspect", "sql"),
    ("networkx",),
    ("tuning", "cli", "__init__", "__main__"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def entry_of(module: str) -> str:
    """Return the entry of `LAYERS` that a dotted module name belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def dotted(path: Path, package: Path = PACKAGE) -> str:
    """Return the dotted name of a source file; `weft.ir` for `weft/ir/__init__.py`."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def run_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a syntax tree without the bodies of `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and is_type_checking(child.test):
            for kept in child.orelse:
                yield kept
                yield from run_time_nodes(kept)
            continue
        yield child
        yield from run_time_nodes(child)


def imported(source: str, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of everything inside weft that a source imports."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in run_time_nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (
                (node.lineno, alias.name)
                for alias in node.names
                if alias.name.split(".")[0] == "weft"
            )
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            target = ".".join([*base, *(node.module or "").split(".")]).rstrip(".")
            if target == "weft":
                for alias in node.names:
                    yield node.lineno, f"weft.{alias.name}" if alias.name in RANK else "weft"
            elif target.startswith("weft."):
                yield node.lineno, target


def complaints(source: str, module: str, is_package: bool) -> list[str]:
    """Return a sentence for every import that does not point downwards."""
    own = entry_of(module)
    found = []
    for line, target in imported(source, module, is_package):
        entry = entry_of(target)
        if target == "weft" and own == "algorithms":  # written with public names, as users write
            found += names_above(source, module)
        elif entry not in RANK:
            found.append(f"{module}:{line} imports {target}, which has no layer: {REMEDY}")
        elif RANK[entry] > RANK[own]:
            found.append(
                f"{module}:{line} imports {target}, but {entry!r} lies above {own!r}. Move what is "
                "needed down, or hand it in as an argument."
            )
    return found


def names_above(source: str, module: str) -> list[str]:
    """Return a sentence for every public name in a source whose home lies above the module."""
    homes, found = weft._table(), []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "weft":
            home, name = homes.get(node.attr, ("weft", node.attr))
            entry = name if home == "weft" else entry_of(home)
            if home.startswith("weft") and RANK[entry] > RANK[entry_of(module)]:
                found.append(f"{module}:{node.lineno} uses weft.{node.attr}, whose home is above.")
    return found


REMEDY = (
    "add its name to the row of LAYERS in tests/house/test_layers.py that says which modules it "
    "may import."
)


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_rule_34_imports_point_downwards(path):
    module = dotted(path)
    assert entry_of(module) in RANK, f"{module} has no layer: {REMEDY}"
    found = complaints(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
    assert not found, "\n".join(found)


def test_algorithms_use_public_names_of_lower_layers():
    source = "import weft\nweft.full(0), weft.int64, weft.bfs, weft.{}"
    assert not complaints(source.format("where"), "weft.algorithms.bfs", is_package=False)
    assert len(complaints(source.format("tune"), "weft.algorithms.bfs", is_package=False)) == 1


def test_there_are_modules_to_check():
    assert PACKAGE / "errors.py" in MODULES


@pytest.mark.parametrize(
    "source",
    [
        "from weft.engine import profile",
        "from weft.engine.profile import active",
        "import weft.engine.profile",
        "from weft import engine",
        "from ..engine import profile",
        "from .. import engine",
        "def f():\n    from weft.engine import profile",
        "import weft",
        "from weft import bfs",
        "from weft.nowhere import x",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import weft.engine",
    ],
)
def test_upward_imports_are_found(source):
    assert len(complaints(source, "weft.ir.trace", is_package=False)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from weft.errors import WeftError",
        "from weft import errors",
        "from ..errors import WeftError",
        "from . import ops",
        "from .ops import Op",
        "import numpy, weftage",
        "if TYPE_CHECKING:\n    from weft.graph import Graph",
        "import typing\nif typing.TYPE_CHECKING:\n    from weft.graph import Graph",
    ],
)
def test_downward_imports_pass(source):
    assert complaints(source, "weft.ir.trace", is_package=False) == []


def test_relative_imports_of_a_package_start_at_itself():
    assert complaints("from .profile import active", "weft.engine", is_package=True) == []
    assert complaints("from ..graph import Graph", "weft.engine", is_package=True) != []
