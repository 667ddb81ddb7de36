"""Self-contained HTML: tables for notebooks, and whole pages with their tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

import numpy as np

from weft.arrays.device import to_host

_SHOWN: Final = 5  # leading values of an array
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
    """Return a table for a notebook, with inline styles; all text is escaped.

    Parameters
    ----------
    title : str
        The line above the table.
    rows : iterable of sequences
        The cells; without a header, the first cell of each row is a heading.
    header : sequence of str
        The names of the columns.
    note : str
        Text below the table; its line breaks are kept.
    right : iterable of int
        Right-aligned columns, usually numbers.

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
    """Return the first values of an array on any device as text.

    Examples
    --------
    >>> few(np.arange(9)), few(np.array([0.25, 1 / 3]))
    ('0, 1, 2, 3, 4, ...', '0.25, 0.333333')
    """
    head = to_host(array[:_SHOWN])
    more = ", ..." if len(array) > _SHOWN else ""
    return ", ".join(_value_text(value) for value in head.tolist()) + more


def columns_text(columns: Mapping[str, Any]) -> str:
    """Return the names and dtypes of columns as text."""
    return ", ".join(f"{name}: {kind_text(column)}" for name, column in columns.items())


def kind_text(array: Any) -> str:
    """Return the dtype of an array as text, with the shape of an item unless it is a scalar."""
    return f"{array.dtype}{list(array.shape[1:]) or ''}"


def fields_html(title: str, fields: Mapping[str, Any], scalars: Mapping[str, Any]) -> str:
    """Return a table of named arrays (dtype, length, first values), then of scalars."""
    rows = [(name, kind_text(a), f"{len(a):,}", few(a)) for name, a in fields.items()]
    rows += [(name, _type_text(value), "", _value_text(value)) for name, value in scalars.items()]
    return table_html(title, rows, ("name", "type", "length", "values"), right=(2,))


def result_html(result: Any) -> str:
    """Return a table of the arrays of a named tuple, then of its other values."""
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


STYLE: Final = """
:root { color-scheme: light dark; --ink: #1e293b; --paper: #ffffff; --soft: #64748b;
        --line: #e2e8f0; --card: #f8fafc; --push: #2563eb; --pull: #d97706; --vertex: #64748b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e2e8f0; --paper: #0f172a; --soft: #94a3b8; --line: #334155; --card: #172036;
          --push: #60a5fa; --pull: #fbbf24; --vertex: #94a3b8; }
}
* { box-sizing: border-box; }
body { font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif;
       color: var(--ink); background: var(--paper);
       max-width: 1600px; margin: 0 auto; padding: 2.5rem clamp(1rem, 4vw, 3rem) 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6rem; letter-spacing: -.02em; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .8rem; }
p { margin: 0 0 .8rem; max-width: 110ch; } .soft { color: var(--soft); }
.wide { overflow-x: auto; }
table { margin: 0 0 1rem; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem 1.5rem .35rem 0; border-bottom: 1px solid var(--line);
         text-align: right; vertical-align: top; white-space: nowrap; }
th { font-weight: 600; } .text { text-align: left; }
:not(.text) + .text { padding-left: 1rem; }
th:last-child, td:last-child { padding-right: 0; }
td.text { white-space: normal; } td.text:last-child { min-width: 16rem; }
.full table { width: 100%; }
.facts td { text-align: left; white-space: normal; }
.facts td:first-child { color: var(--soft); white-space: nowrap; }
pre { font: 13.5px/1.6 ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--card);
      border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.2rem; margin: 0 0 1rem;
      overflow-x: auto; }
.beside { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 0 4rem; }
.beside > * { min-width: 0; max-width: 100%; }
.pair { display: grid; gap: 1.5rem; grid-template-columns: repeat(2, minmax(0, 1fr)); }
@media (max-width: 1080px) { .pair.first { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 860px) { .pair { grid-template-columns: minmax(0, 1fr); } }
section > figure { margin-bottom: 1rem; }
.pair.first > div { display: flex; flex-direction: column; }
.pair.first pre { flex: 1; margin: 0; }
figure { margin: 0; container-type: inline-size; }
.pair > figure { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
                 padding: 1.1rem 1.3rem .9rem; display: flex; flex-direction: column; }
figcaption { font-weight: 600; margin-bottom: .8rem; }
figcaption span { font-weight: 400; color: var(--soft); }
svg { display: block; }
svg text { fill: var(--soft); font-size: 13px; text-anchor: middle; }
svg .name { fill: var(--ink); } svg .start { text-anchor: start; } svg .end { text-anchor: end; }
.chart { width: calc(100% - var(--left) - 12px); margin: 0 12px 0 var(--left); overflow: visible; }
.rule { stroke: var(--line); } .axis, .tick { stroke: var(--soft); } .bar { fill: var(--push); }
.path { stroke: var(--soft); stroke-opacity: .45; stroke-width: 1.5; }
circle.push { fill: var(--push); } circle.pull { fill: var(--pull); }
circle.vertex { fill: var(--vertex); }
@container (max-width: 500px) { .minor { display: none; } }
.key::before { content: "●"; margin-right: .3em; } .key { margin-right: 1.2em; }
.key.push::before { color: var(--push); } .key.pull::before { color: var(--pull); }
.key.vertex::before { color: var(--vertex); }
.graph { width: 100%; max-width: 680px; height: auto; margin: auto; }
.graph line { stroke: var(--soft); stroke-width: 4; }
.graph circle { fill: var(--paper); stroke: var(--soft); stroke-width: 1.5; }
.graph circle[style] { stroke: none; } .graph text { font-weight: 600; }
@container (max-width: 440px) { .graph text { display: none; } }
.legend { display: flex; align-items: center; gap: .6rem; font-size: 13px; margin-top: .8rem; }
.swatches { display: flex; flex: 1; height: 12px; border-radius: 6px; overflow: hidden; }
.swatches i { flex: 1; } .legend span { white-space: nowrap; }
.unreached::before { content: ""; display: inline-block; width: 11px; height: 11px;
                     border: 1.5px solid var(--soft); border-radius: 50%;
                     margin: 0 .4em -1px .6em; }
"""


def page_html(title: str, lead: str, sections: Iterable[tuple[str, str]]) -> str:
    """Return a self-contained page that needs no network.

    Parameters
    ----------
    title : str
        The title, as text.
    lead : str
        HTML below the title.
    sections : iterable of (str, str)
        A heading and HTML for each section; empty sections are omitted.
    """
    body = "\n".join(
        f"<section>\n<h2>{escape(name)}</h2>\n{text}\n</section>" for name, text in sections if text
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{lead}
{body}
</body>
</html>
"""


def page_table(
    names: Sequence[str], rows: Iterable[Sequence[str]], text: Iterable[int] = ()
) -> str:
    """Return a table of a page, right-aligned but for the columns in `text`; cells are escaped.

    Examples
    --------
    >>> "<td>7</td>" in page_table(["vertex", "level"], [("a", "7")], text=[0])
    True
    """
    left = frozenset(text)

    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="text">{escape(cell)}</{tag}>'
            if at in left
            else f"<{tag}>{escape(cell)}</{tag}>"
            for at, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>\n" for row in rows)
    head = f"<thead><tr>{line('th', names)}</tr></thead>"
    return f'<div class="wide"><table>\n{head}\n<tbody>\n{body}</tbody></table></div>'


def page_facts(values: Mapping[str, str]) -> str:
    """Return names and values as a table of a page; both are escaped."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>\n"
        for name, value in values.items()
    )
    return f'<table class="facts">\n{rows}</table>\n' if rows else ""
