"""Cases of built-in algorithms: how each is called, and what judges its result.

A test file in tests/algorithms declares ``CASES = {"name": Case(call, check)}``. The tests of
`tests/algorithms/test_library.py` and `tests/cuda/test_library.py` run every case.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import weft
from weft.arrays.device import to_host

FOLDER = Path(__file__).parent / "algorithms"


@dataclass(frozen=True)
class Case:
    """One way to call an algorithm.

    Attributes
    ----------
    call
        Takes a graph and options, and calls the algorithm.
    check
        Takes the graph and the result in host memory, and asserts that it is right.
    weights, directed
        What `graphs.graphs` draws.
    least
        The fewest vertices that a graph may have.
    avoid
        Awkward graphs that the algorithm refuses; tested in its own file.
    """

    call: Callable[..., Any]
    check: Callable[[weft.Graph, Any], None]
    weights: str | None = None
    directed: bool | None = None
    least: int = 0
    avoid: tuple[str, ...] = ()

    def takes(self, name: str, g: weft.Graph) -> bool:
        """Whether the case is defined on an awkward graph."""
        fits = self.directed is None or g.directed == self.directed
        return fits and g.num_vertices >= self.least and name not in self.avoid

    def run(self, g: weft.Graph, device: str = "cpu", **options: Any) -> None:
        """Run on a device, and check the result."""
        self.check(g, on_host(self.call(g.to(device), **options)))


def on_host(result: Any) -> Any:
    """Return a result in host memory: arrays, tuples and lists of them, graphs."""
    if isinstance(result, weft.Graph):
        return result.to("cpu")
    if hasattr(result, "_fields"):
        return type(result)(*map(on_host, result))
    if isinstance(result, list | tuple):
        return type(result)(map(on_host, result))
    return to_host(result) if hasattr(result, "dtype") and result.ndim else result


@functools.cache
def cases() -> dict[str, Case]:
    """Return the cases of all test files by name."""
    found: dict[str, Case] = {}
    for path in sorted(FOLDER.glob("test_*.py")):
        if "\nCASES = {" in path.read_text(encoding="utf-8"):
            spec = importlib.util.spec_from_file_location(f"cases_of_{path.stem}", path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            found |= module.CASES
    return found
