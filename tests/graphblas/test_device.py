"""Products on a GPU, and in the emulation of one, give what NumPy's give."""

import numpy as np
import pytest

import weft.graphblas as gb

DEVICES = ["emulated", pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.fixture(scope="module")
def operands():
    rng = np.random.default_rng(7)

    def matrix(nrows, ncols, share=0.2):
        places = np.nonzero(rng.random((nrows, ncols)) < share)
        values = rng.integers(-3, 5, len(places[0]))
        return gb.Matrix.from_coo(*places, values, nrows=nrows, ncols=ncols)

    u = gb.Vector.from_coo(np.arange(0, 23, 2), rng.integers(-3, 5, 12), size=23)
    m = gb.Vector.from_coo([0, 3, 7, 9, 28], [1, 0, 1, 1, 0], size=30)
    L = gb.select.tril(matrix(25, 25, 0.4), -1).new()
    return {"A": matrix(30, 23), "B": matrix(23, 17), "L": L, "u": u, "m": m}


COMPUTATIONS = {
    "push": lambda x: gb.semiring.min_plus(x["A"] @ x["u"]).new(mask=~x["m"].V, direction="push"),
    "radix": lambda x: gb.semiring.plus_times(x["u"] @ x["B"]).new(
        direction="push", combine="radix"
    ),
    "pull": lambda x: gb.semiring.min_plus(x["u"] @ x["A"].T).new(direction="pull"),
    "product": lambda x: gb.semiring.plus_times(x["A"] @ x["B"]).new(),
    "masked by itself": lambda x: gb.semiring.plus_pair(x["L"] @ x["L"].T).new(mask=x["L"].S),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_products(operands, name, device):
    with gb.options(kernel="numpy"):
        expected = COMPUTATIONS[name](operands).wait()
    with gb.options(kernel="compiled", device=device):
        found = COMPUTATIONS[name](operands).wait()
    assert found.isequal(expected, check_dtype=True)


@pytest.mark.parametrize("device", DEVICES)
def test_accumulated_products_and_sums_in_one_kernel(operands, device):
    results = []
    for choice in ({"kernel": "numpy"}, {"kernel": "compiled", "device": device}):
        with gb.options(direction="pull", **choice):
            w = gb.Vector.from_coo([1, 5, 20], [9, 8, 7], size=30)
            w(~operands["m"].S, gb.binary.plus) << gb.semiring.max_times(
                operands["A"] @ operands["u"]
            )
            L = operands["L"]
            total = gb.semiring.plus_pair(L @ L.T).new(mask=L.S).reduce_scalar().new().get(0)
            results.append((w.wait(), total))
    (first, sum1), (second, sum2) = results
    assert first.isequal(second, check_dtype=True) and sum1 == sum2
