"""Weights in text files, in a dtype that holds them all exactly."""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np

from weft.errors import FileFormatError
from weft.io.compression import Source
from weft.io.quoting import shown
from weft.topology.adjacency import Array

# The types of weights, all of 64 bits, as the compiled kernels number them.
SIGNED: Final = 0
UNSIGNED: Final = 1
REAL: Final = 2

_INTEGER: Final = re.compile(rb"[+-]?[0-9]+")
_REAL: Final = re.compile(
    rb"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
)
_MOST_DIGITS: Final = 400  # of an integer; with more digits it is infinite as a double, too


class Weights:
    """The weights of a file while it is read: int64 as long as they fit, then uint64 or float64.

    Integers stay exact: where they fit neither int64 nor uint64, they are an error, unless another
    weight makes them float64 since it is no integer.

    Parameters
    ----------
    source : Source
        The file, for messages.
    expected : {"auto", "integer", "real"}
        The type of weights; see `weft.io.text.Rows`.
    room : int
        The maximum number of weights.
    """

    def __init__(self, source: Source, expected: str, room: int) -> None:
        self._source, self._real_allowed = source, expected != "integer"
        self.kind = REAL if expected == "real" else SIGNED
        self.bits = np.zeros(room, np.int64)
        self._misfit: FileFormatError | None = None

    def values(self) -> Array:
        """Return the weights, in the dtype of their kind."""
        return self.bits.view((np.int64, np.uint64, np.float64)[self.kind])

    def put(self, row: int, weight: int | float, line: int) -> bool:
        """Store a weight that the kernel could not read; False to read all again as float64."""
        before = self.values()[:row]
        if self.kind == REAL:
            self.values()[row] = _double(weight)
        elif isinstance(weight, float):
            self.kind = REAL
            if self._misfit is not None:
                self._misfit = None
                return False
            self.values()[:row] = before
            self.values()[row] = weight
        elif (-(2**63) if self.kind == SIGNED else 0) <= weight < 2 ** (63 + self.kind):
            self.values()[row] = weight
        elif self.kind == SIGNED and 2**63 <= weight < 2**64 and not (before < 0).any():
            self.kind = UNSIGNED
            self.values()[row] = weight
        elif self._misfit is None:
            self._misfit = self._source.error(
                f"weight is {shown(str(weight).encode())}, and no integer dtype holds it together "
                "with those before. Expected weights that fit int64 or uint64; scale them"
                f"{', or write them as 1e20 to read float64' if self._real_allowed else ''}.",
                line=line,
            )
            if not self._real_allowed:
                raise self._misfit
        return True

    def check(self) -> None:
        """Raise if the weights are all integers and do not fit."""
        if self._misfit is not None:
            raise self._misfit


def _double(weight: int | float) -> float:
    """Return the nearest double, infinite beyond the largest one as in text with an exponent."""
    try:
        return float(weight)
    except OverflowError:
        return math.inf if weight > 0 else -math.inf


def read_weight(source: Source, part: bytes, line: int, expected: str) -> int | float:
    """Return a weight; raise if it is invalid."""
    if expected != "real" and _INTEGER.fullmatch(part):
        digits = part.lstrip(b"+-0") or b"0"
        value = int(digits) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS
        return -value if part[:1] == b"-" else value
    if expected != "integer" and _REAL.fullmatch(part):
        return float(part)
    kind = "an integer" if expected == "integer" else "a number"
    raise source.error(
        f"weight is {shown(part)}, which is not {kind}. Expected {kind} such as "
        f"{'3' if expected == 'integer' else '0.5'}; correct the line.",
        line=line,
    )
