"""Compares results of an algorithm, up to the differences that configurations may cause.

Configurations change the order of floating-point sums, and which of several equal messages wins.
Hence floats are compared within a tolerance, and arrays that hold such a choice are not compared
entry by entry: parents of a search tree, and arrays that differ between two runs known to be right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from weft.arrays.device import is_device_array, module_of
from weft.arrays.reduce import count_true

CHOSEN = frozenset({"parent"})  # names of results that are one of several right ones
TOLERANCES = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-6}


class Reference:
    """The right result of an algorithm.

    Parameters
    ----------
    result
        What the algorithm returned under the default configuration.
    others
        Further right results; arrays that differ among them are not compared.
    """

    def __init__(self, result: Any, others: Sequence[Any] = ()) -> None:
        self._leaves = dict(_leaves(result))
        self._free = {name for name in self._leaves if name.rpartition(".")[2] in CHOSEN}
        for other in others:
            found = dict(_leaves(other))
            for name, value in self._leaves.items():
                if name in found and _difference(value, found[name]):
                    self._free.add(name)

    def complaint(self, result: Any) -> str:
        """Return how a result differs from the right one, or an empty string."""
        found = dict(_leaves(result))
        if found.keys() != self._leaves.keys():
            return f"it has the parts {sorted(found)}, not {sorted(self._leaves)}"
        for name, value in self._leaves.items():
            compare = _other_shape if name in self._free else _difference
            trouble = compare(value, found[name])
            if trouble:
                return f"{name or 'the result'}: {trouble}"
        return ""


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the arrays and numbers of a result, each with the path to it."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts: Any = zip(value._fields, value, strict=True)
    elif is_dataclass(value) and not isinstance(value, type):
        parts = ((field.name, getattr(value, field.name)) for field in fields(value))
    elif isinstance(value, Mapping):
        parts = ((str(key), part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        parts = ((str(number), part) for number, part in enumerate(value))
    else:
        yield name, value
        return
    for key, part in parts:
        yield from _leaves(part, f"{name}.{key}" if name else key)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | int | float | complex) or is_device_array(
        value
    )


def _other_shape(right: Any, found: Any) -> str:
    """Return how two arrays differ apart from their values; -1 must be at the same positions."""
    if not (_is_array(right) and _is_array(found)):
        return ""
    xp = module_of(right)
    right, found = xp.asarray(right), xp.asarray(found)
    if right.shape != found.shape:
        return f"its shape is {found.shape}, not {right.shape}"
    if right.dtype.kind == "i" and (count := count_true((right < 0) != (found < 0))):
        return f"{count} entries are -1 in one result only"
    return ""


def _near(right: Any, found: Any, xp: Any) -> Any:
    """Return where two arrays of floats agree within tolerance; infinities must be equal.

    The tolerance is relative to each value and, a thousand times smaller, to the largest one.
    """
    finite = xp.isfinite(right) & xp.isfinite(found)
    a, b = xp.where(finite, right, 0), xp.where(finite, found, 0)
    sizes = xp.absolute(a)
    tolerance = TOLERANCES.get(right.dtype.name, 1e-6)
    largest = float(sizes.max()) if right.size else 0.0
    close = xp.absolute(a - b) <= tolerance * sizes + 1e-3 * tolerance * largest
    return (finite & close) | (right == found)


def _difference(right: Any, found: Any) -> str:
    if not (_is_array(right) and _is_array(found)):
        return ""  # nothing is known of it
    shape = _other_shape(right, found)
    if shape:
        return shape
    xp = module_of(right)
    right, found = xp.asarray(right), xp.asarray(found)
    if right.dtype.kind not in "fc":
        wrong = right != found
    else:
        wrong = ~(_near(right, found, xp) | (xp.isnan(right) & xp.isnan(found)))
    count = count_true(wrong)
    if not count:
        return ""
    if not right.ndim:
        return f"{found}, not {right}"
    place = int(xp.flatnonzero(wrong)[0])
    return (
        f"{count:,} of {right.size:,} entries differ, the first at {place}: "
        f"{found.ravel()[place]}, not {right.ravel()[place]}"
    )
