"""Splitting a frontier by a key."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from operator_cases import cases, passed
from weft.errors import ConfigError, FieldError
from weft.operators import split


@settings(max_examples=30)
@given(cases(), st.lists(st.integers(-3, 12), min_size=1, max_size=3))
def test_parts_lie_between_thresholds(case, bounds):
    edges, members, kind = case
    bounds = sorted(bounds)
    g = edges.build().to("reference")
    x = (np.arange(g.num_vertices) * 7 % 11).astype(float)
    x[::5] = np.nan
    state = g.state(x=x)
    place = np.searchsorted(bounds, x, side="right")
    on = np.isin(np.arange(g.num_vertices), members)
    want = [np.flatnonzero(on & (place == k)).tolist() for k in range(len(bounds) + 1)]
    for key in ("x", lambda v: v.x):
        parts = split(g, passed(g, members, kind), key, state, bounds)
        assert [part.tolist() for part in parts] == want


def test_compiled():
    g = weft.generators.path(9)
    near, far = split(g, [1, 8, 4], lambda v: v.id * v.x, g.state(x=weft.full(2)), 8)
    assert near.tolist() == [1] and far.tolist() == [4, 8]


def test_misuse_is_told():
    g = weft.generators.path(3)
    state = g.state(x=weft.full(0.0), m=weft.full(0.0, shape=2))
    with pytest.raises(ConfigError, match="Expected one number at least, rising"):
        split(g, None, "x", state, [2, 1])
    with pytest.raises(ConfigError, match="cannot split a frontier"):
        split(g, None, "x", state, [])
    with pytest.raises(FieldError, match="no field 'y' to split by"):
        split(g, None, "y", state, [1])
    with pytest.raises(FieldError, match="cannot be a key"):
        split(g, None, "m", state, [1])
