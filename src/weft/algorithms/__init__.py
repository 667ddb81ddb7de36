"""Built-in algorithms: one file each, named after its function."""

from __future__ import annotations

import pkgutil
from pathlib import Path


def algorithm_names() -> list[str]:
    """Return the names of the built-in algorithms without importing them."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(module.name for module in found if not module.ispkg and module.name != "registry")
