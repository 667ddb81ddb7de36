"""Kernels of sparse rows: the templates as ordinary Python, and compiled for a few semirings."""

import numpy as np
import pytest

import weft.graphblas as gb
from weft.graphblas.compiled import (
    arena,
    rows,
    shares,
    templates,
    templates_merge,
    templates_reduce,
    templates_select,
)
from weft.graphblas.compiled import functions as source_functions
from weft.graphblas.kernels import elementwise, multiply


@pytest.fixture(scope="module")
def operands():
    rng = np.random.default_rng(11)

    def matrix(nrows, ncols, share, values=True):
        places = np.nonzero(rng.random((nrows, ncols)) < share)
        found = rng.integers(-3, 6, len(places[0])) if values else 1
        return gb.Matrix.from_coo(*places, found, "INT64", nrows=nrows, ncols=ncols)

    A, B = matrix(30, 20, 0.2), matrix(20, 25, 0.25)
    v = gb.Vector.from_coo(np.arange(0, 30, 3), rng.integers(-3, 5, 10), size=30)
    w = gb.Vector.from_coo([0, 1, 5, 7], [0, 1, 1, 0], size=20)
    return {
        "full": gb.Matrix.from_dense(rng.integers(-3, 5, (25, 4))),
        "A": A, "B": B, "M": matrix(30, 25, 0.3), "N": matrix(30, 25, 0.03), "v": v, "w": w,
        "L": matrix(40, 40, 0.2), "ones": matrix(30, 20, 0.1, values=False),
    }  # fmt: skip


def masks(x):
    return [None, x.S, ~x.S, x.V, ~x.V]


def view(mask):
    return None if mask is None else mask.view()


def same(found, expected, mask=None):
    """Assert that two stores are equal at the places that a mask admits."""
    if mask is not None:
        expected = elementwise.chosen(expected, mask.admits(expected.keys))
    assert np.array_equal(found.keys, expected.keys)
    assert np.array_equal(found.values, expected.values)


@pytest.fixture(params=["one", "several"])
def threads(request, monkeypatch):
    """Run kernels on one thread, and small shares of the work on three."""
    monkeypatch.setenv("WEFT_NUM_THREADS", "1" if request.param == "one" else "3")
    monkeypatch.setattr(shares, "LEAST", 10)


def test_matrices_in_plain_python(operands, threads):
    op = gb.semiring.plus_times["INT64"]
    left, right = operands["A"]._store, operands["B"]._store
    whole = multiply.matrix_matrix(left, right, op, None)
    for name in "MN":
        for mask in masks(operands[name]):
            hint = view(mask)
            same(rows.product(templates, left, right, op, hint), whole, hint)
            if hint is not None and not hint.complement:
                made = rows.masked_dot(templates, left, right, op, hint.entries())
                same(made, whole, hint)


def test_full_factors_in_plain_python(operands):
    op, left = gb.semiring.plus_times["INT64"], operands["N"]._store
    for factor in (np.arange(75).reshape(25, 3), np.full((25, 1), 2)):
        right = gb.Matrix.from_dense(factor)._store
        expected = multiply.matrix_matrix(left, right, op, None)
        same(rows.product_with_full(templates, left, right, op), expected)


def test_stretches_of_rows(operands, monkeypatch):
    monkeypatch.setattr(rows, "CHUNK", 40)
    op, left = gb.semiring.plus_times["INT64"], operands["L"]._store
    same(
        rows.product(templates, left, left, op, None), multiply.matrix_matrix(left, left, op, None)
    )


def test_results_do_not_stand_in_room_that_is_used_again(operands, monkeypatch, threads):
    monkeypatch.setattr(rows, "CHUNK", 40)
    op, left = gb.semiring.plus_times["INT64"], operands["L"]._store
    first = rows.product(templates, left, left, op, None)
    kept = first.cols.copy(), first.values.copy()
    rows.product(templates, left, left, gb.semiring.max_plus["INT64"], None)
    assert np.array_equal(first.cols, kept[0]) and np.array_equal(first.values, kept[1])


def test_room_is_kept_unless_it_may_still_be_written_to():
    before = arena.held()
    with arena.Rooms() as rooms:
        cols, _ = rooms.take(10, np.uint16, np.complex64)
        rooms.keep(4)
        more, _ = rooms.take(16, np.uint16, np.complex64)
        assert np.shares_memory(cols, more) and not np.shares_memory(cols[:4], more)
        larger, _ = rooms.take(1000, np.uint16, np.complex64)
        assert not np.shares_memory(more, larger) and len(larger) == 1000
        assert len(rooms.take(arena.MOST_ROOM + 1, np.bool_, np.bool_)[0]) > arena.MOST_ROOM
    held = arena.held()
    assert held > before
    with arena.Rooms() as rooms:
        again, _ = rooms.take(500, np.uint16, np.complex64)
        assert np.shares_memory(again, larger)
    with pytest.raises(KeyboardInterrupt), arena.Rooms() as rooms:
        rooms.take(500, np.uint16, np.complex64)
        raise KeyboardInterrupt
    assert arena.held() == before


def test_vectors_in_plain_python(operands):
    op = gb.semiring.plus_times["INT64"]
    twin, vector = operands["A"]._store, operands["v"]._store
    whole = multiply.pushed(twin, vector, op, True, None)
    for mask in masks(operands["w"]):
        hint = view(mask)
        same(rows.push(templates, twin, vector, op, hint, 600), whole, hint)
    assert not arena.borrow("bits", 1, np.uint64)[:1].any()


def test_pulls_of_full_vectors_in_plain_python(operands, threads):
    op, full = gb.semiring.plus_times["INT64"], np.arange(40)
    for name in ("A", "L", "N", "ones"):
        matrix = operands[name]._store
        vector = gb.Vector.from_dense(full[: matrix.ncols])._store
        same(rows.pull(templates, matrix, vector, op), multiply.pulled(matrix, vector, op, 0, None))


def test_reductions_in_plain_python(operands, threads, monkeypatch):
    from weft.graphblas.compiled import reduce

    monkeypatch.setattr(reduce, "module_of", lambda *key: templates_reduce)
    op = gb.monoid.plus["INT64"]
    for name in ("A", "L", "N", "full", "ones"):
        store = operands[name]._store
        with gb.options(kernel="numpy"):
            assert reduce.total(store, op) == elementwise.reduce_all(store, op)
            same(reduce.rows(store, op), elementwise.reduce_rows(store, op))


def test_compiled_sums_of_floats(operands, monkeypatch):
    monkeypatch.setattr("weft.graphblas.kernels.elementwise.WORTH_MERGING", 1)
    monkeypatch.setenv("WEFT_NUM_THREADS", "1")
    L, x = operands["L"].dup(float), gb.Vector.from_dense(np.arange(40.0))

    def compute():
        return [
            gb.semiring.plus_times(L @ x).new(),
            gb.semiring.plus_second(x @ L).new(),
            L.reduce_rowwise(gb.monoid.plus).new(),
            L.reduce_scalar(gb.monoid.plus).new(),
        ]

    with gb.options(kernel="numpy"):
        expected = compute()
    with gb.options(kernel="compiled"):
        for one, other in zip(compute(), expected, strict=True):
            assert one.isequal(other, check_dtype=True)


def test_merges_in_plain_python(operands, threads, monkeypatch):
    from weft.graphblas.compiled import merge

    monkeypatch.setattr(merge, "module_of", lambda *key: templates_merge)
    op = gb.binary.times["INT64"]
    for pair in (("A", "ones"), ("L", "L"), ("M", "N")):
        left, right = (operands[name]._store for name in pair)
        for union, plain in ((True, elementwise.ewise_add), (False, elementwise.ewise_mult)):
            with gb.options(kernel="numpy"):
                same(merge.merged(left, right, op, union=union), plain(left, right, op))
    vectors = operands["v"]._store, gb.Vector.from_coo([0, 4, 29], [2, 3, 4], size=30)._store
    same(merge.merged(*vectors, op, union=True), elementwise.ewise_add(*vectors, op))
    same(merge.united_maps(*vectors, op), elementwise.ewise_add(*vectors, op))
    empty = gb.Vector(int, 30)._store
    same(merge.united_maps(empty, vectors[1], op), vectors[1])


PLACES = ("colgt", "colle", "diag", "offdiag", "rowgt", "rowle", "tril", "triu")
VALUES = ("valueeq", "valuege", "valuegt", "valuele", "valuelt", "valuene")


def test_selections_in_plain_python(operands, threads, monkeypatch):
    from weft.graphblas.compiled import select

    def module(source, key, work):
        op, _, is_vector = key
        keep = source_functions.selection(op)
        given = (lambda x, i, j, k: keep(x, j, 0, k)) if is_vector else keep
        monkeypatch.setattr(templates_select, "keep", given)
        return templates_select

    monkeypatch.setattr(select, "module_of", module)
    monkeypatch.setattr(source_functions, "cast_traced", lambda x, np_type: np_type.type(x))
    for name in (*PLACES, *VALUES):
        op = getattr(gb.select, name)["INT64"]
        for store in (operands[each]._store for each in ("A", "ones", "L")):
            same(select.selected(store, op, 1), elementwise.select_index(store, op, 1))
    for name in ("indexgt", "indexle", "rowgt", "rowle", *VALUES):
        op, store = getattr(gb.select, name)["INT64"], operands["v"]._store
        same(select.selected(store, op, 6), elementwise.select_index(store, op, 6))


def test_compiled_selections(operands):
    odd = gb.select.register_anonymous(lambda x, i, j, k: (x + i - j) % 3 == k)
    x, f = operands, operands["A"].dup("FP32")

    def compute():
        return [
            x["A"].select("tril", -1).new(),
            x["A"].select(odd, 1).new(),
            x["ones"].select("<=", 1).new(),
            x["ones"].select("triu").new(),
            x["v"].select("!=", 2).new(),
            x["v"].select(odd, 2).new(),
            x["v"].select("rowle", 9).new(),
            f.select(">", 0.5).new(),
            gb.Vector(int, 5).select("==", 1).new(),
        ]

    with gb.options(kernel="numpy"):
        expected = compute()
    with gb.options(kernel="compiled"):
        for one, other in zip(compute(), expected, strict=True):
            assert one.isequal(other, check_dtype=True)


@pytest.mark.parametrize("name", ["min_plus", "own"])
def test_compiled(operands, name):
    x = operands
    if name == "own":
        take = gb.binary.register_anonymous(lambda a, b: 2 * a - b)
        semiring = gb.semiring.register_anonymous(gb.monoid.plus, take)
    else:
        semiring = gb.semiring.min_plus

    def compute():
        return [
            *(semiring(x["A"] @ x["B"]).new(mask=mask) for mask in masks(x["M"])),
            semiring(x["A"] @ x["B"]).new(mask=x["N"].S),
            *(semiring(x["v"] @ x["A"]).new(mask=mask) for mask in masks(x["w"])),
            semiring(x["A"].T @ x["v"]).new(),
            semiring(x["B"] @ x["full"]).new(),
        ]

    with gb.options(kernel="numpy", direction="push"):
        expected = compute()
    with gb.options(kernel="compiled", direction="push"):
        found = compute()
    for one, other in zip(found, expected, strict=True):
        assert one.isequal(other, check_dtype=True)
    assert gb.memory()["peak"] >= gb.memory()["workspace"] > 0


def test_compiled_merges_of_mixed_types(operands):
    x, y = operands["A"].dup("INT32"), operands["ones"].dup("FP64")

    def compute():
        return [gb.binary.minus(x | y).new(), gb.binary.minus(x & y).new()]

    with gb.options(kernel="numpy"):
        expected = compute()
    with gb.options(kernel="compiled"):
        for one, other in zip(compute(), expected, strict=True):
            assert one.isequal(other, check_dtype=True)


def test_operators_that_cannot_be_traced_have_no_kernels(operands):
    with gb.options(kernel="compiled"):
        found = gb.semiring.plus_hypot(operands["A"] @ operands["B"]).new()
    with gb.options(kernel="numpy"):
        assert found.isclose(gb.semiring.plus_hypot(operands["A"] @ operands["B"]).new())


def test_compiling_waits_until_it_is_worth_it(operands, monkeypatch):
    op = gb.semiring.max_times["INT64"]
    values = operands["A"]._store.values
    monkeypatch.setattr(rows, "is_loaded", lambda *args: False)
    assert rows.kernels(op, values, values, False, 1_000_000) is None
    monkeypatch.setattr(rows, "load", lambda *args: templates)
    assert rows.kernels(op, values, values, False, rows.WORTH_COMPILING) is templates
    rows._modules.pop((op, values.dtype, values.dtype, False))
