"""How a product of a matrix and a vector is computed: pushed or pulled, and from which rows."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.graphblas.kernels.masks import MaskView
from weft.graphblas.options import current
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore

Array = Any

# A pushed product costs about this many pulled ones: it has to be sorted or looked up.
PUSH_COST = 4
# In compiled kernels it costs as much as a pulled one that is tested for its vector's value.
COMPILED_PUSH_COST = 1
# Monoids whose sums may end before a row does.
ENDING = {"any", "lor", "land"}
# Making the other side of a matrix costs this many pulled products for each value.
TURN_COST = 2
# A mask that admits fewer rows than one in this many is looked at row by row: in NumPy, and where a
# compiled kernel would otherwise skip the other rows.
NARROW, VERY_NARROW = 2, 8


class Sides:
    """A matrix as a factor of a product with a vector: rows are those of the result.

    Parameters
    ----------
    store
        The matrix's entries.
    by_columns
        Whether the factor is the transpose of the matrix.
    """

    __slots__ = ("by_columns", "ncols", "nrows", "nvals", "store")

    def __init__(self, store: MatrixStore, by_columns: bool) -> None:
        self.store, self.by_columns = store, by_columns
        self.nrows, self.ncols = store.shape[::-1] if by_columns else store.shape
        self.nvals = store.nvals

    @property
    def rows(self) -> MatrixStore:
        """The entries row by row: what a pull reads."""
        return self.store.twin if self.by_columns else self.store

    @property
    def columns(self) -> MatrixStore:
        """The entries column by column: what a push reads."""
        return self.store if self.by_columns else self.store.twin

    def has(self, *, rows: bool) -> bool:
        """Return whether the entries lie row by row, or column by column, already."""
        return rows != self.by_columns or self.store._twin is not None


class Plan(NamedTuple):
    """How a product of a matrix and a vector is computed.

    Attributes
    ----------
    pushes : bool
        Whether the vector's values are spread along columns instead of summed up along rows.
    rows : array or None
        The rows that a narrow mask leaves to a pull.
    products : int
        About how many products are made.
    """

    pushes: bool
    rows: Array | None
    products: int


def choose(
    matrix: Sides,
    vector: VectorStore,
    mask: MaskView | None,
    *,
    compiles: bool = False,
    cost: int = PUSH_COST,
) -> Plan:
    """Return how to compute a product.

    The direction is the one that costs less: a push makes the products of the vector's values, a
    pull those of the rows that the mask leaves. Making a side that is missing is part of the cost.
    `compiles` says that a pull would run in a compiled kernel, `cost` how many pulled products a
    pushed one costs.
    """
    rows = None
    pulled = matrix.nvals
    narrow = VERY_NARROW if compiles else NARROW
    if mask is not None and not mask.complement and mask.nvals * narrow < matrix.nrows:
        rows = mask.keys
        pulled = mask.nvals * max(1, matrix.nvals // max(matrix.nrows, 1))
    pushed = vector.nvals * max(1, matrix.nvals // max(matrix.ncols, 1))
    pushes = forced(matrix, vector)
    if pushes is None:
        turn = TURN_COST * matrix.nvals
        push_cost = cost * pushed + (0 if matrix.has(rows=False) else turn)
        pull_cost = pulled + (0 if matrix.has(rows=True) else turn)
        pushes = push_cost < pull_cost or vector.size > 1 << 31
    return Plan(pushes, None if pushes else rows, pushed if pushes else pulled)


def forced(matrix: Sides, vector: VectorStore) -> bool | None:
    """Return the direction that the options ask for; None where the cost decides."""
    store, direction = current["store"], current["direction"]
    if store != "both":
        pushes = (store == "csr") == matrix.by_columns
        if direction != "auto" and (direction == "push") != pushes:
            kept = "rows" if store == "csr" else "columns"
            raise ValueError(
                f"direction={direction!r} does not fit store={store!r}: the {kept} of the matrix "
                "allow the other direction alone. Leave one of them out."
            )
        return pushes
    if direction != "auto":
        return bool(direction == "push")
    if current["switch"] != "auto":
        return not vector.is_dense
    return None
