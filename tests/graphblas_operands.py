"""Operands of the products that run on a GPU, and what they have to agree with."""

import numpy as np

import weft.graphblas as gb


def matrix(rng, shape, share, dtype=np.float64):
    places = np.nonzero(rng.random(shape) < share)
    values = rng.integers(-3, 5, len(places[0])).astype(dtype)
    return gb.Matrix.from_coo(*places, values, nrows=shape[0], ncols=shape[1])


def from_rows(rng, lengths, ncols, dtype=np.float64):
    """Return a matrix with so many entries in each row, at random columns."""
    cols = np.concatenate(
        [np.sort(rng.choice(ncols, n, replace=False)) for n in lengths] or [np.empty(0, np.int64)]
    )
    rows = np.repeat(np.arange(len(lengths)), lengths)
    values = rng.integers(-3, 5, len(rows)).astype(dtype)
    return gb.Matrix.from_coo(rows, cols, values, nrows=len(lengths), ncols=ncols)


def agree(compute, device, **choices):
    with gb.options(kernel="numpy"):
        expected = compute().wait()
    with gb.options(**{"kernel": "compiled", **choices}, device=device):
        found = compute().wait()
    assert found._store.resident or not found.nvals, "computed on the host"
    assert found.isequal(expected, check_dtype=True)


FORMS = {"plain": lambda m: None, "inside": lambda m: m.S, "outside": lambda m: ~m.S,
         "values": lambda m: m.V}  # fmt: skip


def run(compute, device):
    """Return what a computation gives in NumPy, and on a device."""
    with gb.options(kernel="numpy"):
        expected = [each.wait() for each in compute()]
    with gb.options(kernel="compiled", device=device):
        found = [each.wait() for each in compute()]
        away = [each._store.is_away for each in found]
    for one, other in zip(found, expected, strict=True):
        assert one.isequal(other, check_dtype=True)
    return away


def operations(A, u, v, m):
    """Yield operations on a product, which is on the device."""
    t = gb.semiring.min_plus(A @ u).new()
    yield t
    yield gb.binary.minus(t & v).new()
    yield gb.binary.minus(v | t).new()
    yield gb.binary.minus(t | v, left_default=2, right_default=5).new()
    yield gb.unary.abs(t).new()
    yield t.apply(gb.binary.minus, left=7).new()
    yield t.apply(gb.binary.times, right=2).new()
    for mask in (m.S, m.V, ~m.S, ~m.V):
        for replace in (False, True):
            w = v.dup()
            w(mask, replace=replace) << t
            yield w
            w = t.dup()
            w(mask, gb.binary.plus, replace=replace) << v
            yield w
        yield t.dup(mask=mask)
        yield gb.semiring.max_first(A.T @ t).new(mask=mask)
    w = v.dup()
    w(gb.binary.second) << t
    yield w
