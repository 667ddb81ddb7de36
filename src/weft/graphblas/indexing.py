"""Resolves index expressions to places along each axis."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft.graphblas.kernels.places import Axis

Array = Any


class Indexes:
    """The index of a vector or matrix, resolved.

    Attributes
    ----------
    axes : tuple of Axis
        The places along each axis.
    shape : tuple of int
        The shape of the region; ``()`` for a single element.
    """

    __slots__ = ("axes", "obj", "shape")

    def __init__(self, obj: Any, keys: Any) -> None:
        self.obj = obj
        if keys is Ellipsis:
            self.axes = tuple(Axis(dim, span=(0, dim, 1)) for dim in obj.shape)
        else:
            self.axes = _resolve(obj, keys)
        self.shape = tuple(axis.size for axis in self.axes if axis.size is not None)

    @property
    def is_single_element(self) -> bool:
        """Whether it names one element."""
        return not self.shape

    @property
    def py_indices(self) -> Any:
        """The index as Python writes it: numbers, arrays, and ``slice(None)`` for all."""
        found = tuple(_python(axis) for axis in self.axes)
        return found if len(found) > 1 else found[0]

    def __repr__(self) -> str:
        return ", ".join(map(_text, self.axes))


def _python(axis: Axis) -> Any:
    if axis.one is not None:
        return axis.one
    return slice(None) if axis.whole else axis.array


def _text(axis: Axis) -> str:
    if axis.one is not None:
        return str(axis.one)
    if axis.whole:
        return ":"
    if axis.span is not None:
        return ":".join(map(str, axis.span))
    some = ", ".join(map(str, axis.array[:5]))
    return f"[{some}{', ...' if axis.extent > 5 else ''}]"


def _resolve(obj: Any, keys: Any) -> tuple[Axis, ...]:
    shape = obj.shape
    if len(shape) == 1:
        if type(keys) is tuple:
            raise TypeError(f"Index for {type(obj).__name__} cannot be a tuple.")
        return (axis_of(keys, shape[0]),)
    if type(keys) is not tuple or len(keys) != 2:
        raise TypeError(f"Index for {type(obj).__name__} must be a 2-tuple.")
    for i, key in enumerate(keys):
        if type(key) is tuple:
            raise TypeError(f"Index in position {i} cannot be a tuple; use a slice, list or int.")
    return axis_of(keys[0], shape[0]), axis_of(keys[1], shape[1])


def extent_of(given: Any, name: str) -> int:
    """Return the extent of an axis that the user gave."""
    try:
        extent = operator.index(given)
    except TypeError:
        raise TypeError(
            f"{name} must be an integer; got {given!r} of type {type(given).__name__}."
        ) from None
    if extent < 0:
        raise OverflowError(f"{name} must not be negative; got {extent}.")
    return extent


def axis_of(key: Any, dim: int) -> Axis:
    """Return the places along an axis of extent `dim` that an index names."""
    kind = type(key)
    if kind is int:
        return Axis(dim, one=_one(key, dim))
    if kind is slice:
        return Axis(dim, span=key.indices(dim))
    if kind is list:
        return _array_axis(np.array([_plain(each) for each in key]), dim, listed=True)
    if kind is np.ndarray:
        return _array_axis(key, dim)
    output = getattr(key, "_output", None)
    if output == "Scalar":
        if key.dtype.np_type.kind not in "iu":
            raise TypeError(f"An integer is required for indexing; got {key.dtype}.")
        return Axis(dim, one=_one(int(key.value), dim))
    if output is not None or hasattr(key, "complement"):
        raise TypeError(
            f"Invalid type for index: {kind.__name__}. To take values by a mask write "
            "x.dup(mask=M.S); to assign by a mask write x(M.S) << value."
        )
    if isinstance(key, np.integer):
        return Axis(dim, one=_one(int(key), dim))
    try:
        return _array_axis(np.array([_plain(each) for each in key]), dim, listed=True)
    except TypeError:
        raise TypeError(
            f"Invalid type for index: {kind.__name__}. Use an integer, a slice, a list or an array."
        ) from None


def _plain(each: Any) -> Any:
    return each.value if getattr(each, "_output", None) == "Scalar" else each


def _one(index: int, dim: int) -> int:
    if index >= dim or index < -dim:
        raise IndexError(f"Index out of range: index={index}, size={dim}.")
    return operator.index(index) % dim if index < 0 else index


def _array_axis(array: Array, dim: int, *, listed: bool = False) -> Axis:
    if array.ndim != 1:
        raise TypeError(f"Invalid number of dimensions for index: {array.ndim}; expected 1.")
    if array.dtype.kind not in "iu":
        if listed and array.size == 0:
            array = array.astype(np.int64)
        else:
            raise TypeError(f"Invalid dtype for index: {array.dtype}; expected integers.")
    places = array.astype(np.int64)
    if len(places):
        lowest = places.min()
        if lowest < 0:
            places = np.where(places < 0, places + dim, places)
            lowest = places.min()
        if lowest < 0 or places.max() >= dim:
            bad = array[(places < 0) | (places >= dim)][0]
            raise IndexError(f"Index out of range: index={bad}, size={dim}.")
    return Axis(dim, array=places)
