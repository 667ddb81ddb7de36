"""The texts of this package's kernels."""

from __future__ import annotations

import functools
from importlib import resources

# What they include of this package; the rest is `device_functions`'.
INCLUDES = {
    "places.cuh": ("mask.cuh",),
    "pushes.cuh": ("vectors.cuh", "mask.cuh"),
    "pulls.cuh": ("vectors.cuh", "mask.cuh"),
    "sparse.cuh": ("tables.cuh",),
}


@functools.cache
def text_of(header: str) -> dict[str, str]:
    """Return a header and those that it includes, by name."""
    package = resources.files(__package__)
    names = (header, *INCLUDES.get(header, ()))
    return {name: (package / name).read_text(encoding="utf-8") for name in names}
