"""Positional operators, aggregators that pick, and special functions against python-graphblas."""

import warnings

import numpy as np
import pytest

import weft.graphblas as ours

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = pytest.importorskip("graphblas")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
NAMES = [f"{side}{axis}{one}" for side in ("first", "second") for axis in "ij" for one in ("", "1")]


def operands(lib):
    A = lib.Matrix.from_coo([0, 0, 1, 2, 2], [1, 3, 2, 0, 3], [5.0, 7, 2, 9, 9], nrows=4, ncols=4)
    B = lib.Matrix.from_coo([0, 1, 1, 2, 3], [1, 1, 2, 2, 0], [1.0, 2, 3, 4, 5], nrows=4, ncols=4)
    C = lib.Matrix.from_coo([0, 1, 1, 2, 3], [1, 0, 5, 2, 4], [1, 2, 3, 4, 5], "INT32", ncols=6)
    v = lib.Vector.from_coo([0, 2, 3], [4.0, 5, 6], size=4)
    w = lib.Vector.from_coo([1, 2], [4, 5], size=4)
    return A, B, C, v, w


def outcome(lib, compute):
    try:
        found = compute(lib, *operands(lib))
    except Exception as error:
        return type(error).__name__
    if hasattr(found, "to_coo"):
        return str(found.dtype), [np.asarray(each).tolist() for each in found.to_coo()]
    return str(found.dtype), found.get()


def check(*computations):
    for compute in computations:
        assert outcome(ours, compute) == outcome(theirs, compute)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("add", ["min", "max", "plus", "times"])
def test_products(add, name):
    def multiply(lib):
        return getattr(lib.semiring, f"{add}_{name}")

    check(
        lambda lib, A, B, C, v, w: multiply(lib)(A @ B).new(),
        lambda lib, A, B, C, v, w: multiply(lib)(A.T @ B.T).new(),
        lambda lib, A, B, C, v, w: multiply(lib)(A @ C).new(mask=C.S),
        lambda lib, A, B, C, v, w: multiply(lib)(A @ v).new(),
        lambda lib, A, B, C, v, w: multiply(lib)(A.T @ v).new(),
        lambda lib, A, B, C, v, w: multiply(lib)(v @ C).new(),
        lambda lib, A, B, C, v, w: multiply(lib)(v @ A.T).new(),
        lambda lib, A, B, C, v, w: multiply(lib)(v @ w).new(),
    )


@pytest.mark.parametrize("name", NAMES)
def test_element_wise_and_outer(name):
    def op(lib):
        return getattr(lib.binary, name)

    check(
        lambda lib, A, B, C, v, w: op(lib)(A & B).new(),
        lambda lib, A, B, C, v, w: op(lib)(A | B).new(),
        lambda lib, A, B, C, v, w: op(lib)(v | w).new(),
        lambda lib, A, B, C, v, w: op(lib)(v | w, left_default=1, right_default=2).new(),
        lambda lib, A, B, C, v, w: op(lib)(A, 2).new(),
        lambda lib, A, B, C, v, w: op(lib)(2, A.T).new(),
        lambda lib, A, B, C, v, w: v.outer(w, op(lib)).new(),
        lambda lib, A, B, C, v, w: A.kronecker(B, op(lib)).new(),
    )


@pytest.mark.parametrize("name", ["positioni", "positionj", "positioni1", "positionj1"])
def test_unary(name):
    check(
        lambda lib, A, B, C, v, w: getattr(lib.unary, name)(A.T).new(),
        lambda lib, A, B, C, v, w: getattr(lib.unary, name)(C).new(),
        lambda lib, A, B, C, v, w: getattr(lib.unary, name)(v).new(),
    )


@pytest.mark.parametrize("name", ["argmin", "argmax", "first", "last", "first_index", "last_index"])
def test_aggregators(name):
    def op(lib):
        return getattr(lib.agg, name)

    check(
        lambda lib, A, B, C, v, w: A.reduce_rowwise(op(lib)).new(),
        lambda lib, A, B, C, v, w: A.reduce_columnwise(op(lib)).new(),
        lambda lib, A, B, C, v, w: C.dup(bool).reduce_rowwise(op(lib)).new(),
        lambda lib, A, B, C, v, w: C.reduce_rowwise(op(lib)).new(),
        lambda lib, A, B, C, v, w: v.reduce(op(lib)).new(),
        lambda lib, A, B, C, v, w: lib.Vector(float, 3).reduce(op(lib)).new(),
        lambda lib, A, B, C, v, w: A.reduce_scalar(op(lib)).new(),
        lambda lib, A, B, C, v, w: v.reduce(op(lib), allow_empty=False).new(),
    )


def test_the_smallest_value_may_be_missing():
    values = ours.Vector.from_coo([1, 3], [np.nan, np.nan])
    assert values.reduce(ours.agg.argmin).new().get() == 1


@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma", "tgamma", "frexpx", "frexpe"])
def test_special_functions(name):
    for operand in (3, 4):
        found = [
            outcome(lib, lambda lib, *args, at=operand: getattr(lib.unary, name)(args[at]).new())
            for lib in (ours, theirs)
        ]
        if "KeyError" in found:
            assert found == ["KeyError"] * 2
        else:
            assert found[0][0] == found[1][0]
            np.testing.assert_allclose(found[0][1][1], found[1][1][1], rtol=1e-12)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_monoids_of_bits(name):
    assert getattr(ours.monoid.numpy, name) is getattr(ours.monoid, f"b{name[8:]}")
    x = ours.Vector.from_coo([0, 1], [6, 3], "UINT8")
    semiring = getattr(ours.semiring.numpy, f"{name}_bitwise_or")
    expected = {"bitwise_and": 2, "bitwise_or": 7, "bitwise_xor": 5}[name]
    assert semiring(x @ ours.Vector.from_coo([0, 1], [0, 0], "UINT8")).new() == expected
