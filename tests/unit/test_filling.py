"""Constant values into arrays, on the host and by the fills of CUDA's driver."""

import numpy as np
import pytest

import fake_cupy
import weft
from weft.errors import FieldError
from weft.filling import fill

VALUES = {
    "bool": [True, False], "int8": [-1, 5], "int16": [-1, 300], "int32": [-1, 7],
    "int64": [-1, 2**40], "uint32": [2**32 - 1, 0], "uint64": [2**64 - 1, 3],
    "float32": [np.inf, -0.0], "float64": [np.inf, 0.25],
}  # fmt: skip


@pytest.mark.parametrize("dtype", VALUES)
def test_every_value_of_every_dtype_arrives(monkeypatch, dtype):
    with fake_cupy.installed(monkeypatch) as cupy:
        for value in VALUES[dtype]:
            for other in VALUES[dtype]:
                expected = np.full(5, value, dtype)
                expected[[0, 3]] = other
                for xp in (np, cupy):
                    got = xp.empty(5, dtype)
                    fill(got, value, [(0, other), (3, other)])
                    got = got.get() if xp is cupy else got
                    assert got.tobytes() == expected.tobytes()


def test_features_and_nothing_are_filled_too(monkeypatch):
    with fake_cupy.installed(monkeypatch) as cupy:
        wide = cupy.empty((3, 2), np.int32)
        fill(wide, 4, [(1, -1)])
        assert wide.tolist() == [[4, 4], [-1, -1], [4, 4]]
        fill(cupy.empty(0, np.int32), 4)


def test_a_field_starts_from_one_value_but_at_some_vertices():
    g = weft.generators.path(4)
    half = weft.full(0.5).but(1, 2)
    state = g.state(
        a=half.but(3, 4),
        b=half,
        c=weft.full(lambda v: v.id).but(0, 9),
        d=weft.full([1, 2]).but(2, 0),
    )
    assert state.a.tolist() == [0.5, 2.0, 0.5, 4.0]
    assert state.b.tolist() == [0.5, 2.0, 0.5, 0.5]
    assert state.c.tolist() == [9, 1, 2, 3]
    assert state.d.tolist() == [[1, 2], [1, 2], [0, 0], [1, 2]]
    state.a, state.d = weft.full(7).but(0, 1), weft.full([3, 4]).but(1, 5)
    assert state.a.tolist() == [1.0, 7.0, 7.0, 7.0]
    assert state.d.tolist() == [[3, 4], [5, 5], [3, 4], [3, 4]]
    with pytest.raises(FieldError, match="a function of v"):
        state.a = weft.full(lambda v: v.id)
    with pytest.raises(FieldError, match="float64"):
        state.c = weft.full(0.5)
    for place in (4, -1, 1.0, "x"):
        with pytest.raises(FieldError, match="Expected an integer from 0 to 3"):
            state.a = weft.full(0).but(place, 1)
        with pytest.raises(FieldError, match="Expected an integer from 0 to 3"):
            g.state(a=weft.full(0).but(place, 1))
