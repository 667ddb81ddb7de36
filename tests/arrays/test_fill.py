"""Constant values into arrays, on the host and by the fills of CUDA's driver."""

import numpy as np
import pytest

import fake_cupy
import weft
from weft.arrays.fill import fill
from weft.errors import FieldError

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
    with pytest.raises(FieldError, match=r"cannot hold 0.5"):
        state.c = weft.full(0.5)
    for place in (4, -1, 1.0, "x"):
        with pytest.raises(FieldError, match="Expected an integer from 0 to 3"):
            state.a = weft.full(0).but(place, 1)
        with pytest.raises(FieldError, match="Expected an integer from 0 to 3"):
            g.state(a=weft.full(0).but(place, 1))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", 300), ("uint8", -1), ("int32", 2**31), ("int32", 1.5), ("int64", np.nan),
        ("int64", 2.0**63), ("bool", 2), ("float32", 1e300), ("int16", np.int64(40000)),
        ("int8", [1, 200]), ("uint64", [3, -1]), ("int32", [0.0, 0.5]),
    ],
)  # fmt: skip
def test_nothing_is_cut_to_fit_a_dtype(dtype, value):
    g = weft.generators.path(4)
    state = g.state(
        x=weft.full(0, dtype, np.shape(value)), y=weft.scalar(0, dtype),
        z=weft.parameter(np.zeros(2), dtype),
    )  # fmt: skip
    with pytest.raises(FieldError, match=f"'x' is {dtype}"):
        g.state(x=weft.full(value, dtype))
    with pytest.raises(FieldError, match=f"'x' is {dtype}"):
        state.x = value
    if np.ndim(value):
        with pytest.raises(FieldError, match=f"parameter 'z' is {dtype}, which cannot hold"):
            g.state(z=weft.parameter(value, dtype))
        return
    for given in ({"x": weft.full(0, dtype).but(1, value)}, {"x": weft.scalar(value, dtype)}):
        with pytest.raises(FieldError, match=f"'x' is {dtype}, which cannot hold"):
            g.state(**given)
    with pytest.raises(FieldError, match=f"scalar 'y' is {dtype}, which cannot hold"):
        state.y = value


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", -128), ("int32", 1e6), ("uint64", 2**64 - 1), ("bool", 1), ("bool", True),
        ("float32", 1e-60), ("float32", np.inf), ("float64", np.nan), ("float32", 2**40 + 1),
        ("int8", np.array([1, -128])), ("float32", np.array([np.nan, np.inf, 0.1])),
    ],
)  # fmt: skip
def test_what_a_dtype_holds_is_taken(dtype, value):
    with np.errstate(under="ignore"):
        held = weft.generators.path(2).state(x=weft.full(value, dtype)).x[1]
        np.testing.assert_array_equal(held, np.array(value).astype(dtype))


@pytest.mark.parametrize("name", ["a b", "_x", "3", "changed", "id"])
def test_names_of_fields_are_those_of_attributes(name):
    with pytest.raises(FieldError, match="cannot be the name of a field"):
        weft.generators.path(2).state(**{name: weft.full(0)})


def test_an_assigned_field_has_a_value_for_every_row_or_one_for_all():
    state = weft.generators.path(4).state(x=weft.full(0, shape=2), error=weft.scalar(0.0))
    state.x = [1, 2]
    assert state.x.tolist() == [[1, 2]] * 4
    for wrong in ([1, 2, 3, 4], np.zeros((3, 2), int), np.zeros((4, 1), int)):
        with pytest.raises(FieldError, match=r"field 'x' has shape \(4, 2\), but got"):
            state.x = wrong
    for wrong in ("x", None, [1.0, 2.0]):
        with pytest.raises(FieldError, match="scalar 'error' is"):
            state.error = wrong
