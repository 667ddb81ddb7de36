"""Checks of the inputs of learning algorithms, and of convergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.arrays.checks import MOST_STEPS, integer_of, real_of
from weft.arrays.device import as_array, module_of
from weft.arrays.reduce import all_true
from weft.config import Config
from weft.engine.run import Run
from weft.errors import (
    ConfigError,
    ConvergenceError,
    FieldError,
    GraphError,
    shortened,
    unknown,
)
from weft.graph import Graph
from weft.ir.trace import functions as fn

Array = np.ndarray[Any, Any]
REAL = (np.dtype(np.float32), np.dtype(np.float64))


def vertex_features(
    g: Graph, values: Any, what: str, *, dtype: Any = None, vectors: bool = False
) -> Array:
    """Return values of the vertices as floats: one number or one vector each.

    float32 stays float32; everything else becomes float64, unless a dtype is given. The array may
    be the caller's own, and must not be written to.
    """
    try:
        array = as_array(values)
    except (TypeError, ValueError) as error:
        raise GraphError(f"{what} is no array of numbers: {error}") from None
    n = g.num_vertices
    least = 2 if vectors else 1
    if not least <= array.ndim <= 2 or array.shape[0] != n or 0 in array.shape[1:]:
        number = "" if vectors else f"({n},) or "
        raise GraphError(
            f"{what} has shape {array.shape}. Expected {number}({n}, k): "
            f"{'a vector' if vectors else 'a number or a vector'} for each vertex."
        )
    if array.dtype.kind not in "biuf":
        raise GraphError(f"{what} has dtype {array.dtype}. Expected real numbers.")
    kind = check_real(array.dtype if array.dtype == np.float32 else np.float64, dtype)
    return array.astype(kind, copy=False)


def check_real(default: Any, dtype: Any = None) -> np.dtype[Any]:
    """Return float32 or float64."""
    if dtype is None:
        return np.dtype(default)
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in REAL:
        raise ConfigError(f"dtype={dtype!r} cannot be computed in. Expected float64 or float32.")
    return kind


def check_finite(array: Array, what: str, *, negative: bool = True) -> None:
    """Raise unless all numbers are finite, and none negative where that has no meaning."""
    xp = module_of(array)
    usable = xp.isfinite(array) if negative else xp.isfinite(array) & (array >= 0)
    if all_true(usable):
        return
    place = tuple(int(i) for i in xp.argwhere(~usable)[0])
    raise GraphError(
        f"{what} holds {array[place]} at {list(place)}. Expected finite numbers"
        f"{'' if negative else ' from 0 on'}."
    )


def check_fraction(name: str, value: float) -> float:
    """Return a number from 0 to 1."""
    number = real_of(value)
    if not 0 <= number <= 1:
        raise ConfigError(f"{name}={shortened(value)} is out of range. Expected 0 to 1.")
    return number


def check_positive(name: str, value: float) -> float:
    """Return a finite number above 0."""
    number = real_of(value)
    if not 0 < number < np.inf:
        raise ConfigError(f"{name}={shortened(value)} is out of range. Expected a positive number.")
    return number


def check_count(name: str, value: int, least: int = 0) -> int:
    """Return a whole number from `least` on."""
    count = integer_of(value)
    if count is None or not least <= count <= MOST_STEPS:
        raise ConfigError(
            f"{name}={shortened(value)} is not a count. Expected an integer from {least} on"
            f"{', of 63 bits' if count is not None and count > 0 else ''}."
        )
    return count


def edge_shape(g: Graph, name: str) -> tuple[int, ...]:
    """Return the shape of an edge column; () for the weights of a graph without weights."""
    if name == "weight" and not g.weighted:
        return ()
    return tuple(g.edge.storage(name).shape[1:])


def check_weights(g: Graph, name: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Return the shape of an edge column that must be one of some shapes."""
    shape = edge_shape(g, name)
    if shape not in shapes:
        listed = " or ".join(str(s) for s in dict.fromkeys(shapes))
        raise FieldError(f"edge column {name!r} has shape {shape} per edge. Expected {listed}.")
    return shape


def check_column(g: Graph, name: str, *, negative: bool = True) -> None:
    """Raise unless all numbers of an edge column are finite, and nonnegative if required.

    A column is checked once per assigned array.
    """
    if name == "weight" and not g.weighted:
        return
    column = g.edge.storage(name)
    if column.size:
        least, largest = g.edge.extent(name)
        if not ((-np.inf < least if negative else least >= 0) and largest < np.inf):
            check_finite(column, f"edge column {name!r}", negative=negative)


def weight_of(e: Any, name: str, dtype: Any) -> Any:
    """Return an edge column in the dtype of the computation."""
    return fn.cast(getattr(e, name), dtype)


def pulled(config: Config | None) -> str | None:
    """Return the direction for steps in which every arc sends, unless a configuration sets one."""
    return "pull" if config is None or config.direction == "auto" else None


def tolerances(config: Config | None, tol: float) -> tuple[float | None, float]:
    """Return the tolerance for a function's own test of moves, and the one for the engine.

    In a change-driven run the engine compares with the last sent values, so that small moves add
    up.
    """
    driven = config is not None and bool(config.change_driven)
    return (None, tol) if driven else (tol, 0.0)


def check_end(on_unconverged: str) -> None:
    """Raise unless `on_unconverged` has a known value."""
    if on_unconverged not in ("raise", "return"):
        raise ConfigError(unknown("on_unconverged", on_unconverged, ["raise", "return"]))


def settle(run: Run, what: str, tol: float, on_unconverged: str) -> None:
    """Raise if a run did not converge, unless the caller takes the values as they are."""
    if run.converged or on_unconverged == "return":
        return
    raise ConvergenceError(
        f"{what} did not converge: after {run.steps} iterations some value still moves by more "
        f"than tol={tol:g}. Raise max_iter or tol, or pass on_unconverged='return' to take the "
        f"values as they are."
    )
