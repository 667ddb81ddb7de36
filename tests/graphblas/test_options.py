"""Choices of execution: direction, switch, masks, storage, per call and by context."""

import numpy as np
import pytest

import weft.graphblas as gb
from weft.graphblas.settings import execution
from weft.graphblas.storage.vector import VectorStore


@pytest.fixture
def operands():
    rng = np.random.default_rng(5)
    places = np.nonzero(rng.random((12, 9)) < 0.3)
    A = gb.Matrix.from_coo(*places, rng.integers(1, 9, len(places[0])), nrows=12, ncols=9)
    u = gb.Vector.from_coo([1, 4, 8], [3, 1, 2], size=9)
    m = gb.Vector.from_coo([0, 3, 5], [1, 0, 1], size=12)
    return A, u, m


def choices():
    for direction in ("auto", "push", "pull"):
        yield {"direction": direction}
    for store in ("csr", "csc"):
        yield {"store": store}
    for mask in ("before", "after"):
        yield {"mask": mask}
    yield {"switch": 0.1}
    yield {"switch": 0.01, "mask": "after"}
    yield {"schedule": "merge", "kernel": "numpy"}


@pytest.mark.parametrize("choice", list(choices()), ids=str)
def test_results_do_not_depend_on_choices(operands, choice):
    A, u, m = operands
    expected = gb.semiring.min_plus(A @ u).new(mask=~m.V)
    turned = gb.semiring.min_plus(u @ A.T).new(mask=m.S)
    with gb.options(**choice):
        assert gb.semiring.min_plus(A @ u).new(mask=~m.V).isequal(expected)
        assert gb.semiring.min_plus(u @ A.T).new(mask=m.S).isequal(turned)
        wide = gb.semiring.min_plus(A @ A.T).new(mask=(A @ A.T).new().S)
    assert wide.isequal(gb.semiring.min_plus(A @ A.T).new())


def test_one_call_takes_choices(operands):
    A, u, m = operands
    w = gb.Vector(int, 12)
    w(m.S, direction="push") << gb.semiring.plus_times(A @ u)
    x = gb.semiring.plus_times(A @ u).new(mask=m.S, direction="pull")
    assert w.isequal(x)
    y = gb.Vector(int, 12)
    y(m.S, mask="after") << gb.semiring.plus_times(A @ u)
    assert y.isequal(x)
    w.update(gb.semiring.plus_times(A @ u), store="csr")
    assert w.isequal(gb.semiring.plus_times(A @ u).new())
    assert u.reduce().new(direction="push").get() == 6


def test_a_word_says_when_the_mask_applies(operands):
    A, u, _ = operands
    expression = gb.semiring.min_plus(A @ u)
    for when in ("before", "after", "auto"):
        assert expression.new(mask=when).isequal(expression.new())


def test_directions_show(operands):
    A, u, _ = operands
    explained = [gb.explain(gb.semiring.plus_times(A @ u))]
    for choice in ({"direction": "push"}, {"direction": "pull"}, {"store": "csr"}):
        with gb.options(**choice):
            explained.append(gb.explain(gb.semiring.plus_times(A @ u)))
    assert [each.direction for each in explained[1:]] == ["push", "pull", "pull"]
    with gb.options(store="csc"):
        assert gb.explain(gb.semiring.plus_times(A @ u)).direction == "push"
        assert gb.explain(gb.semiring.plus_times(u @ A.T)).direction == "push"
    with gb.options(store="csr"):
        assert gb.explain(gb.semiring.plus_times(gb.Vector(int, 12) @ A)).direction == "push"


def test_a_store_refuses_the_other_direction(operands):
    A, u, _ = operands
    with pytest.raises(ValueError, match="csr"), gb.options(store="csr", direction="push"):
        gb.semiring.plus_times(A @ u).new().wait()


def test_choices_are_kept_until_assignments_are_computed(operands):
    A, u, _ = operands
    with execution(blocking=False):
        with gb.options(direction="push", store="csr"):
            w = gb.semiring.plus_times(A @ u).new()
        for _ in range(2):
            with pytest.raises(ValueError, match="direction"):
                w.wait()
        # The object is as valid as before: it can be assigned to.
        w << gb.semiring.plus_times(A @ u)
        assert w.isequal(gb.semiring.plus_times(A @ u).new())


def test_vectors_change_form_with_hysteresis():
    def store(count):
        return VectorStore(100, np.arange(count), np.ones(count))

    empty = VectorStore(100, np.empty(0, np.int64), np.empty(0))
    few = store(5).followed(empty, 0.1)
    assert not few.is_dense and few.converted == 0
    many = store(30).followed(few, 0.1)
    assert many.is_dense and many.converted == 30
    # Between the last change and the switch nothing happens; below it the vector is sparse again.
    assert store(20).followed(many, 0.1).is_dense
    narrow = store(8).followed(many, 0.1)
    assert not narrow.is_dense and narrow.converted == 8
    # Shrinking further keeps the form, growing past the switch changes it.
    assert not store(4).followed(narrow, 0.1).is_dense
    assert store(11).followed(narrow, 0.1).is_dense


def test_the_form_decides_the_direction_with_a_switch():
    A = gb.Matrix.from_coo(range(50), [(i * 7 + 1) % 50 for i in range(50)], 1, nrows=50, ncols=50)
    seen = []
    with gb.options(switch=0.1):
        v = gb.Vector(int, 50)
        for count in (2, 20, 4):
            v << gb.Vector.from_coo(range(count), 1, int, size=50)
            seen.append(gb.explain(gb.semiring.plus_times(v @ A)).direction)
    assert seen == ["push", "pull", "push"]


@pytest.mark.parametrize(
    "choice",
    [{"speed": 1}, {"switch": 3}, {"switch": True}, {"schedule": "wrap"}, {"store": "coo"}],
    ids=str,
)
def test_unknown_choices_are_refused(operands, choice):
    A, u, _ = operands
    with pytest.raises(ValueError, match=next(iter(choice))):
        gb.semiring.plus_times(A @ u).new(**choice)
    with pytest.raises(ValueError, match=next(iter(choice))), gb.options(**choice):
        pass
    with pytest.raises(ValueError, match=next(iter(choice))):
        A(**choice) << A


def test_swapping_exchanges_values(operands):
    A, u, _ = operands
    B = gb.Matrix(int, 12, 9)
    before = A.dup()
    A.swap(B)
    assert A.nvals == 0 and B.isequal(before)
    for other, error in (
        (u, TypeError),
        (gb.Matrix(int, 9, 12), gb.exceptions.DimensionMismatch),
        (gb.Matrix(float, 12, 9), gb.exceptions.DomainMismatch),
    ):
        with pytest.raises(error, match="swap"):
            A.swap(other)
