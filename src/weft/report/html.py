"""Small self-contained HTML for notebooks: what graphs, states, profiles and results look like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

import numpy as np

from weft.arrays.device import to_host

_SHOWN: Final = 5  # values of an array that are shown
_LONGEST: Final = 60  # characters of one value

_TABLE: Final = "border-collapse:collapse;font-size:90%;font-variant-numeric:tabular-nums"
_CELL: Final = "padding:2px 10px 2px 0;border:0;vertical-align:top;text-align:"


def table_html(
    title: str,
    rows: Iterable[Sequence[object]],
    header: Sequence[str] = (),
    note: str = "",
    right: Iterable[int] = (),
) -> str:
    """Return a table as HTML; every text is escaped.

    Parameters
    ----------
    title : str
        Stands above the table.
    rows : iterable of sequences
        The cells; without a header the first of each row is its name.
    header : sequence of str
        The names of the columns.
    note : str
        Stands below; its lines stay lines.
    right : iterable of int
        Columns that are set flush right, as numbers are.

    Examples
    --------
    >>> "a &lt; b" in table_html("Result", [("test", "a < b")])
    True
    """
    flush = frozenset(right)

    def cell(tag: str, at: int, value: object) -> str:
        side = "right" if at in flush else "left"
        return f'<{tag} style="{_CELL}{side}">{escape(str(value))}</{tag}>'

    parts = [f"<div><strong>{escape(title)}</strong>", f'<table style="{_TABLE}">']
    if header:
        cells = "".join(cell("th", at, name) for at, name in enumerate(header))
        parts.append(f"<thead><tr>{cells}</tr></thead>")
    parts.append("<tbody>")
    for row in rows:
        cells = "".join(
            cell("th" if at == 0 and not header else "td", at, value)
            for at, value in enumerate(row)
        )
        parts.append(f"<tr>{cells}</tr>")
    parts.append("</tbody></table>")
    if note:
        parts.append("".join(f"<div><small>{escape(x)}</small></div>" for x in note.split("\n")))
    parts.append("</div>")
    return "".join(parts)


def few(array: Any) -> str:
    """Return the first values of an array of any device as text.

    Examples
    --------
    >>> few(np.arange(9)), few(np.array([0.25, 1 / 3]))
    ('0, 1, 2, 3, 4, ...', '0.25, 0.333333')
    """
    head = to_host(array[:_SHOWN])
    more = ", ..." if len(array) > _SHOWN else ""
    return ", ".join(_value_text(value) for value in head.tolist()) + more


def columns_text(columns: Mapping[str, Any]) -> str:
    """Return names and dtypes of columns."""
    return ", ".join(f"{name}: {kind_text(column)}" for name, column in columns.items())


def kind_text(array: Any) -> str:
    """Return the dtype of an array, and the shape of one item where it is not a number."""
    return f"{array.dtype}{list(array.shape[1:]) or ''}"


def fields_html(title: str, fields: Mapping[str, Any], scalars: Mapping[str, Any]) -> str:
    """Return arrays by name, with dtype, length and first values; scalars below them."""
    rows = [(name, kind_text(a), f"{len(a):,}", few(a)) for name, a in fields.items()]
    rows += [(name, _type_text(value), "", _value_text(value)) for name, value in scalars.items()]
    return table_html(title, rows, ("name", "type", "length", "values"), right=(2,))


def result_html(result: Any) -> str:
    """Return the HTML of a named tuple: its arrays, and its other values."""
    given = result._asdict()
    fields = {name: value for name, value in given.items() if getattr(value, "ndim", 0)}
    others = {name: value for name, value in given.items() if name not in fields}
    return fields_html(type(result).__name__, fields, others)


def _value_text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _type_text(value: Any) -> str:
    return str(value.dtype) if hasattr(value, "dtype") else type(value).__name__
