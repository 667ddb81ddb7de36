"""MatrixMarket (`.mtx`): entry (i, j) of a square sparse matrix is the edge i -> j.

Format: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats: Initial Design" (NISTIR
5935, 1996). Read: ``coordinate`` with ``real``, ``integer`` or ``pattern`` entries that are
``general``, ``symmetric`` (an undirected graph) or ``skew-symmetric`` (both directions, one of them
negated).
"""

from __future__ import annotations

from typing import IO, Final

import numpy as np

from weft.errors import listed
from weft.graph import Graph
from weft.io.base import Format, Listing, Options, build, register, weights
from weft.io.compression import Source
from weft.io.quoting import plain, shown
from weft.io.text import (
    Rows,
    first_line,
    head_counts,
    line_of_row,
    lines_from,
    parse_rows,
    skip_mark,
    write_rows,
)
from weft.topology.adjacency import Array

_BANNER: Final = "%%MatrixMarket matrix coordinate real general"
_FIELDS: Final = ("real", "double", "integer", "pattern")
_SYMMETRIES: Final = ("general", "symmetric", "skew-symmetric")


def _banner(source: Source, data: Array) -> tuple[str, str]:
    """Return the field and the symmetry given by the first line."""
    text = next(lines_from(data, skip_mark(data), 1))[0]
    words = plain(text[:200]).lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise source.error(
            f"the first line is {shown(text)}. Expected one like {_BANNER!r}."
            + (source.other_kind(data) if words[:1] != ["%%matrixmarket"] else ""),
            line=1,
        )
    for word, known in zip(words[2:], (("coordinate",), _FIELDS, _SYMMETRIES), strict=True):
        if word not in known:
            raise source.error(
                f"the matrix is {word!r}. Expected {listed(known)}: a sparse matrix of real "
                "numbers; convert it, e.g. with scipy.io.mmread and weft.Graph.from_scipy.",
                line=1,
            )
    return words[3], words[4]


def read(source: Source, options: Options) -> Graph:
    """Read a MatrixMarket file."""
    data = source.load()
    field, symmetry = _banner(source, data)
    text, size_line, begin = first_line(data, b"%")
    if not text:
        raise source.error(
            "the file ends before the size of the matrix. Expected a line 'rows columns entries'.",
            line=size_line,
        )
    rows, columns, entries = head_counts(
        source, text.split(), size_line, ("rows", "columns", "entries")
    )
    if rows != columns:
        raise source.error(
            f"the matrix has {rows} rows and {columns} columns. Expected a square one; make a "
            "bipartite graph of it with Graph.from_edges(row, num_rows + column).",
            line=size_line,
        )
    layout = Rows(
        ("src", "dst") if field == "pattern" else ("src", "dst", "weight"),
        comments=b"%",
        low=1,
        high=rows,
        bound=f"the size in line {size_line}",
        weights="integer" if field == "integer" else "real",
    )
    src, dst, weight, _ = parse_rows(source, data, layout, begin, size_line + 1, entries)
    if symmetry == "skew-symmetric":
        loops = np.flatnonzero(src == dst)
        if loops.size:
            raise source.error(
                f"entry ({src[loops[0]] + 1}, {src[loops[0]] + 1}) is on the diagonal, which is "
                "zero in a skew-symmetric matrix. Expected none there; drop the line.",
                line=line_of_row(source, data, layout, begin, size_line + 1, int(loops[0])),
            )
        if weight is not None and weight.dtype.kind in "iu":
            _check_negatable(source, weight, size_line)
        src, dst = np.concatenate((src, dst)), np.concatenate((dst, src))
        weight = None if weight is None else np.concatenate((weight, -weight))
    listing = Listing(src, dst, weights(weight), rows, symmetry != "symmetric", size_line)
    return build(source, listing, options)


def _check_negatable(source: Source, weight: Array, line: int) -> None:
    """Raise unless int64 can hold every weight with either sign."""
    if weight.dtype == np.uint64 or bool((weight == np.iinfo(np.int64).min).any()):
        raise source.error(
            "the matrix is skew-symmetric, and some entry is 2**63 or more in size. Expected "
            "entries whose negative is an int64 too; write the matrix as 'real'.",
            line=line,
        )


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write a MatrixMarket file: `general` if directed, else the lower triangle, `symmetric`."""
    src, dst, weight = g.to_edges()
    field = "pattern" if weight is None else "real" if weight.dtype.kind == "f" else "integer"
    symmetry = "general" if g.directed else "symmetric"
    row, column = (src, dst) if g.directed else (dst, src)
    n = g.num_vertices
    file.write(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n".encode())
    file.write(f"{n} {n} {g.num_edges}\n".encode())
    ends = [ids.astype(np.int64) + 1 for ids in (row, column)]
    write_rows(file, ends if weight is None else [*ends, weight])


register(Format("MatrixMarket", (".mtx",), read, write))
