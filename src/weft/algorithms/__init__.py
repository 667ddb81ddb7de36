"""Built-in algorithms: one file each, or one file for a few that share programs."""

from __future__ import annotations

import functools
import pkgutil
import re
from pathlib import Path

_DECLARED = re.compile(r"^@algorithm\(.*?^def (\w+)\(", re.DOTALL | re.MULTILINE)


@functools.cache
def algorithm_homes() -> dict[str, str]:
    """Return the module of every built-in algorithm by name, without importing any."""
    folder = Path(__file__).parent
    homes: dict[str, str] = {}
    for module in pkgutil.iter_modules([str(folder)]):
        if not module.ispkg and module.name != "registry":
            text = (folder / f"{module.name}.py").read_text(encoding="utf-8")
            homes |= dict.fromkeys(_DECLARED.findall(text), f"{__name__}.{module.name}")
    return homes


def algorithm_names() -> list[str]:
    """Return the names of the built-in algorithms without importing them."""
    return sorted(algorithm_homes())
