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
