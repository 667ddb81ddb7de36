"""The exceptions of weft.graphblas, with the names that python-graphblas gives them."""

from __future__ import annotations

from weft.errors import WeftError


class GraphblasException(WeftError):
    """Base of all errors that GraphBLAS defines."""


class NoValue(GraphblasException):
    """An element that is not stored was read."""


class UninitializedObject(GraphblasException):
    """An object was used before it was created."""


class InvalidObject(GraphblasException):
    """The arrays that describe an object contradict each other."""


class NullPointer(GraphblasException):
    """A required argument is missing."""


class InvalidValue(GraphblasException):
    """An argument lies outside the values that it may take."""


class InvalidIndex(GraphblasException):
    """An index lies outside the dimensions of its object."""


class DomainMismatch(GraphblasException):
    """Data types do not fit the operation."""


class DimensionMismatch(GraphblasException):
    """Shapes do not fit the operation."""


class OutputNotEmpty(GraphblasException):
    """`build` was called on an object that already has values."""


class OutOfMemory(GraphblasException):
    """There is too little memory for the result."""


class InsufficientSpace(GraphblasException):
    """An output array is too small."""


class IndexOutOfBound(GraphblasException):
    """An index lies outside the dimensions given for the result."""


class Panic(GraphblasException):
    """An internal error."""


class EmptyObject(GraphblasException):
    """A scalar without a value was given where a value is required."""


class NotImplementedException(GraphblasException):
    """The operation exists in python-graphblas but not here."""


class UdfParseError(GraphblasException):
    """A user-defined function cannot be evaluated for any data type."""
