"""State: what scalars and fields may start from, and fields that hide columns of the graph."""

import numpy as np
import pytest

import weft
from weft.errors import FieldError, WeftError

# -- first values --------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [[5.0, 6.0, 7.0], [5.0], np.array([5.0]), np.zeros((2, 2)), ()])
def test_a_scalar_is_one_number(value):
    g = weft.generators.path(3)
    with pytest.raises(FieldError, match=r"scalar 'rate' is one number.*weft.parameter"):
        g.state(rate=weft.scalar(value))
    state = g.state(rate=weft.scalar(1.0))
    with pytest.raises(FieldError, match=r"scalar 'rate' is one number"):
        state.rate = value


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(5, "int64"), (5.0, "float64"), (True, "bool"), (np.float32(5), "float32"),
     (np.array(5), "int64"), (2**63, "uint64")],
)  # fmt: skip
def test_numbers_and_arrays_without_dimensions_are_scalars(value, dtype):
    state = weft.generators.path(3).state(rate=weft.scalar(value))
    assert state.rate == value and state.scalars["rate"].dtype == dtype


@pytest.mark.parametrize("value", [10**400, 10**5000, 2**64, None, object(), "5", 1j], ids=range(7))
@pytest.mark.parametrize("make", [weft.scalar, weft.full, lambda x: x])
def test_what_is_no_number_of_64_bits_is_refused(make, value):
    with pytest.raises(WeftError, match=r"'x'.*Expected") as caught:
        weft.generators.path(3).state(x=make(value))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "use",
    [
        lambda g, rows: g.state(x=rows),
        lambda g, rows: g.state(x=weft.full(rows)),
        lambda g, rows: g.state(x=weft.parameter(rows)),
        lambda g, rows: setattr(g.state(x=weft.full(0)), "x", rows),
        lambda g, rows: g.edge_state(x=rows),
        lambda g, rows: g.vertex.__setitem__("x", rows),
        lambda g, rows: g.edge.__setitem__("x", rows),
        lambda g, rows: weft.Graph.from_edges([0, 1, 2], [1, 2, 0], rows),
        lambda g, rows: g.frontier(rows),
        lambda g, rows: g.reorder(rows),
        lambda g, rows: weft.betweenness(g, rows),
        lambda g, rows: weft.pagerank(g, personalization=rows),
    ],
    ids=range(12),
)
def test_rows_of_different_lengths_are_refused(use):
    with pytest.raises(
        WeftError, match=r"\[\[1\], \[2, 3\], \[4\]\].*Expected.*rows of one length"
    ):
        use(weft.generators.cycle(3), [[1], [2, 3], [4]])


@pytest.mark.parametrize("name", ["reverse", "rank", "id", "old"])
def test_what_an_edge_has_of_its_own_is_no_name_of_edge_state(name):
    g = weft.generators.path(3)
    with pytest.raises(FieldError, match=f"'{name}' cannot be the name of a field"):
        g.edge_state(**{name: weft.full(0)})


def test_a_value_of_its_own_has_the_shape_of_the_field():
    g = weft.generators.path(3)
    with pytest.raises(FieldError, match=r"values of shape \(\), but got one of shape \(2,\) at 1"):
        g.state(x=weft.full(0.0).but(1, [1.0, 2.0]))
    state = g.state(x=weft.full(0.0, shape=2).but(1, [1.0, 2.0]))
    assert state.x.tolist() == [[0, 0], [1, 2], [0, 0]]


@pytest.mark.parametrize("shape", ["k", (1.5,), 2.0, (0,), (1, 2, 3)])
def test_shapes_are_integers(shape):
    with pytest.raises(FieldError, match="field 'x' has shape"):
        weft.generators.path(3).state(x=weft.full(0.0, shape=shape))


# -- columns of the same name --------------------------------------------------------------------


@weft.vertex
def scale(v):
    v.height = v.height * 2 + v.level


@weft.edge(into="height", reduce=weft.max)
def climb(u, v, e):
    return u.height + e.cost


@weft.edge
def spend(u, v, e):
    e.cost = e.cost + u.level


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_a_field_hides_the_column_of_its_name(device):
    g = weft.Graph.from_edges([0, 1], [1, 2])
    g.vertex["height"], g.vertex["level"] = np.array([1, 2, 3], np.int16), [10, 20, 30]
    g.edge["cost"] = [5, 6]
    g = g.to(device)
    other_dtype = g.state(height=weft.full(0.5))
    g.run(scale, other_dtype)
    assert other_dtype.height.tolist() == [11.0, 21.0, 31.0]
    other_shape = g.state(height=weft.full(1.0, shape=2), level=g.vertex["level"])
    g.run(scale, other_shape, [1])
    assert other_shape.height.tolist() == [[1, 1], [22, 22], [1, 1]]
    begun = g.state(height=weft.full(lambda v: v.height, weft.int64))  # of the column
    cost = g.edge_state(cost=weft.full(0.25))
    g.run(spend, begun, edge_state=cost)
    assert cost.cost.tolist() == [10.25, 20.25]
    g.run(climb, begun)
    assert begun.height.tolist() == [1, 6, 8]
    assert g.vertex["height"].tolist() == [1, 2, 3] and g.vertex["height"].dtype == np.int16
    assert g.edge["cost"].tolist() == [5, 6]


def test_a_column_that_no_field_hides_cannot_be_written():
    g = weft.Graph.from_edges([0, 1], [1, 2])
    g.vertex["height"], g.vertex["level"] = [1, 2, 3], [10, 20, 30]
    with pytest.raises(FieldError, match=r"'height' is a column of the graph.*g\.state"):
        g.run(scale, g.state())
    assert g.vertex["height"].tolist() == [1, 2, 3]
