"""Compiling with fewer questions gives what Numba gives, and leaves Numba as it was."""

import gc

import pytest
from numba import njit, types
from numba.core.types.functions import BaseFunction

from weft.backends.cpu.host.lean_numba import compiling
from weft.backends.cpu.runtime.names import atomic_add, pointer


def mixed(ints, floats, n):
    """Use the same operations on operands of many types."""
    place = pointer(ints)
    total = 0
    for i in range(n):
        total += place[i] * 2 + (place[i] >> 1)
        floats[i] = floats[i] * 2 + total / 2 - floats[i] ** 2
        if (floats[i] > total and not i % 3) or n < 2.5:
            total = max(total, atomic_add(place, i, 1)) + min(n, 7)
    return total


def compiled():
    function = njit(mixed, error_model="numpy")
    function.compile((types.int32[::1], types.float32[::1], types.int64))
    (result,) = function.overloads.values()
    return {str(var): str(kind) for var, kind in result.type_annotation.typemap.items()}


def test_types_are_those_that_numba_finds():
    plain = compiled()
    with compiling():
        assert compiled() == plain


@pytest.mark.parametrize("collecting", [True, False])
def test_numba_and_the_collector_are_left_as_they_were(collecting):
    find, before = BaseFunction.get_call_type, gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        with pytest.raises(ZeroDivisionError), compiling():
            with compiling():
                assert not gc.isenabled()
            assert not gc.isenabled()
            assert BaseFunction.get_call_type is not find
            raise ZeroDivisionError
        assert gc.isenabled() is collecting
        assert BaseFunction.get_call_type is find
    finally:
        (gc.enable if before else gc.disable)()
