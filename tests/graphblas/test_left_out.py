"""What is left out says so, with its reason, and stands on the page about it."""

from pathlib import Path

import numpy as np
import pytest

import weft.graphblas as gb
from weft.graphblas.left_out import REASONS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "graphblas.md"


def test_names_are_refused_with_a_reason():
    A, v = gb.Matrix.from_coo([0], [0], [1]), gb.Vector.from_coo([0], [1])
    for owner, name in (
        (A, "ss"), (v, "ss"), (gb, "ss"), (gb.binary, "ss"), (gb.agg, "ss"), (gb.dtypes, "FC64"),
        (gb.unary, "conj"), (gb.io, "to_awkward"), (gb.viz, "datashade"), (gb, "indexbinary"),
    ):  # fmt: skip
        with pytest.raises(gb.exceptions.NotImplementedException, match="left out"):
            getattr(owner, name)
        assert not hasattr(owner, name)


def test_algorithms_are_a_name_of_the_package():
    assert gb.__getattr__("algorithms").bfs_levels is gb.algorithms.bfs_levels


def test_values_of_other_types_are_refused():
    for dtype in (complex, np.dtype([("x", int)]), np.dtype((float, 3)), "INT64[2]", {"x": int}):
        with pytest.raises(gb.exceptions.NotImplementedException, match="not supported"):
            gb.Matrix(dtype, 2, 2)
    with pytest.raises(gb.exceptions.NotImplementedException, match="not supported"):
        gb.dtypes.register_new("point", np.dtype([("x", int)]))


def test_names_that_never_were_are_attribute_errors():
    for owner in (gb, gb.io, gb.viz, gb.binary, gb.dtypes):
        with pytest.raises(AttributeError) as caught:
            owner.nonsense
        assert not isinstance(caught.value, gb.exceptions.NotImplementedException)


def test_all_of_it_stands_on_the_page():
    text = PAGE.read_text()
    assert [name for name in REASONS if f"`{name}`" not in text] == []


def test_pictures(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    A = gb.Matrix.from_coo([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0])
    assert gb.viz.draw(A).texts and gb.viz.spy(A).lines
