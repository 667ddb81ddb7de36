"""The packages of the test extra, without which tests are skipped that `make test` must run."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def required(extra):
    """Return the names of the distributions in an extra, those of nested extras included."""
    for line in PROJECT["optional-dependencies"][extra]:
        name, nested = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", line).groups()
        if name == PROJECT["name"]:
            for inner in nested.split(","):
                yield from required(inner)
        else:
            yield name


def is_missing(name):
    try:
        distribution(name)
    except PackageNotFoundError:
        return True
    return False


def test_the_test_extra_is_installed():
    names = set(required("test"))
    assert {"duckdb", "igraph", "amaranth", "python-graphblas", "networkx"} <= names
    missing = sorted(filter(is_missing, names))
    assert not missing, f"{missing} are not installed. Install them with: pip install -e '.[test]'"
