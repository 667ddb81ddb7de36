"""Formats objects as text and as HTML."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

MOST = 10


def _number(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    return str(value)


def _head(obj: Any, kind: str) -> str:
    shape = "x".join(map(str, obj.shape))
    size = f", {shape}" if shape else ""
    return f'"{obj.name}": {kind}({obj.dtype}{size}, nvals={obj.nvals})'


def vector_text(vector: Any) -> str:
    """Return a vector as text: a line about it, and its first and last values."""
    store = vector._store
    return "\n".join([_head(vector, "Vector"), *_pairs(store.indices, store.values)])


def _pairs(places: Any, values: Any) -> list[str]:
    count = len(places)
    shown = list(range(count)) if count <= 2 * MOST else [*range(MOST), *range(count - MOST, count)]
    lines = [f"  {places[i]}: {_number(values[i])}" for i in shown]
    if len(shown) < count:
        lines.insert(MOST, f"  ... {count - len(shown)} more")
    return lines


def matrix_text(matrix: Any) -> str:
    """Return a matrix as text: a line about it, and a table or its first values."""
    head = _head(matrix, type(matrix).__name__)
    store = matrix._entries
    if matrix.nrows <= MOST and matrix.ncols <= MOST:
        return "\n".join([head, *_table(store, matrix.shape)])
    places = list(zip(store.rows[:MOST].tolist(), store.cols[:MOST].tolist(), strict=True))
    lines = [f"  {place}: {_number(x)}" for place, x in zip(places, store.values, strict=False)]
    if store.nvals > MOST:
        lines.append(f"  ... {store.nvals - MOST} more")
    return "\n".join([head, *lines])


def _table(store: Any, shape: tuple[int, int]) -> list[str]:
    cells = [["" for _ in range(shape[1])] for _ in range(shape[0])]
    for i, j, value in zip(store.rows, store.cols, store.values, strict=True):
        cells[i][j] = _number(value)
    width = max((len(cell) for row in cells for cell in row), default=1)
    width = max(width, len(str(max(shape[1] - 1, 0))))
    header = "     " + " ".join(str(j).rjust(width) for j in range(shape[1]))
    rows = [
        f"{str(i).rjust(3)}: " + " ".join(cell.rjust(width) for cell in row)
        for i, row in enumerate(cells)
    ]
    return [header, *rows] if shape[0] and shape[1] else []


def scalar_text(scalar: Any) -> str:
    """Return a scalar as text."""
    return f'"{scalar.name}": Scalar({scalar.dtype}, value={scalar.value})'


def expression_text(expression: Any) -> str:
    """Return an expression as text: how it was written, and what it gives."""
    shape = "x".join(map(str, expression.shape))
    try:
        dtype = str(expression.dtype)
    except TypeError:
        dtype = "operator to be given"
    size = f", {shape}" if shape else ""
    return f"{type(expression).__name__}({expression._format_expr()}: {dtype}{size})"


def expression_html(expression: Any) -> str:
    """Return an expression as HTML."""
    return f"<pre>{html.escape(expression_text(expression))}</pre>"


def _rows_html(head: str, rows: list[list[str]]) -> str:
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<div><b>{html.escape(head)}</b><table>{body}</table></div>"


def vector_html(vector: Any) -> str:
    """Return a vector as an HTML table of its first places and values."""
    store = vector._store
    places, values = store.indices[: 2 * MOST], store.values[: 2 * MOST]
    rows = [[str(i) for i in places], [_number(x) for x in values]]
    return _rows_html(_head(vector, "Vector"), rows)


def matrix_html(matrix: Any) -> str:
    """Return the upper left part of a matrix as an HTML table."""
    store = matrix._entries
    shape = min(matrix.nrows, MOST), min(matrix.ncols, MOST)
    cells = [["" for _ in range(shape[1])] for _ in range(shape[0])]
    inside = np.flatnonzero((store.rows < shape[0]) & (np.asarray(store.cols) < shape[1]))
    for at in inside:
        cells[store.rows[at]][store.cols[at]] = _number(store.values[at])
    return _rows_html(_head(matrix, type(matrix).__name__), cells)


def scalar_html(scalar: Any) -> str:
    """Return a scalar as HTML."""
    return f"<pre>{html.escape(scalar_text(scalar))}</pre>"
