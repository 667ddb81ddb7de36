"""What a format is, and the registry of formats.

A format holds the arcs of one direction as arrays, and a CUDA class template over the type of a
vertex that reads them. The class has the arrays as its first members, in the order of `parts`, then
``i64 rows`` and ``i64 slots``; it answers what ``sweep.cuh`` asks of a format and two questions at
compile time: ``packed`` (row r + 1 begins where row r ends) and ``direct_owner`` (`owner` is one
load, not a search).
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, unknown

HERE = Path(__file__).parent
Arrays = dict[str, Any]

_formats: dict[str, Format] = {}


@dataclass(frozen=True)
class Format:
    """One way to hold the arcs of a graph.

    Parameters
    ----------
    name, title
        What users call it, and one line about it.
    struct
        The CUDA class template in ``<name>.cuh``.
    parts
        The names of its arrays, in the order of the members of `struct`.
    build
        Makes the arrays from offsets and targets: ``build(offsets, targets, xp)`` with the module
        `xp` being NumPy or CuPy.
    to_coo
        Gives sources and targets of all arcs in the order of their slots: ``to_coo(arrays, xp)``.
    whole
        Whether a row is a real vertex; if not, a vertex may be split over several rows.
    """

    name: str
    title: str
    struct: str
    parts: tuple[str, ...]
    build: Callable[[Any, Any, Any], Arrays]
    to_coo: Callable[[Mapping[str, Any], Any], tuple[Any, Any]]
    whole: bool = True

    def nbytes(self, arrays: Mapping[str, Any]) -> int:
        """Return the memory that the arrays of this format take."""
        return sum(int(arrays[part].nbytes) for part in self.parts)

    @property
    def source(self) -> str:
        """The text of its CUDA header."""
        return (HERE / f"{self.name}.cuh").read_text(encoding="utf-8")

    @property
    def headers(self) -> dict[str, str]:
        """The texts of the CUDA headers of this folder that it needs, by name."""
        return {f"{self.name}.cuh": self.source}


def register(format: Format) -> Format:
    """Make a format known under its name."""
    _formats[format.name] = format
    return format


@functools.cache
def _load_folder() -> None:
    """Import every module of this folder; each registers its own."""
    for module in pkgutil.iter_modules([str(HERE)]):
        importlib.import_module(f"{__package__}.{module.name}")


def formats() -> dict[str, Format]:
    """Return all formats by name."""
    _load_folder()
    return dict(sorted(_formats.items()))


def format(name: str) -> Format:
    """Return the format with this name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    known = formats()
    if name not in known:
        raise ConfigError(unknown("format", name, known))
    return known[name]
