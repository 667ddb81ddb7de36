"""DIMACS (`.gr`): graphs for shortest paths and, in the dialect of PACE, for treewidth.

Shortest paths (9th DIMACS Challenge, 2006): ``c`` begins a comment, ``p sp n m`` gives the size and
``a u v w`` is an arc of length w. Treewidth (PACE Challenge, 2016): ``p tw n m``, then ``u v`` for
each undirected edge. Both count vertices from 1.
"""

from __future__ import annotations

from typing import IO, Final

import numpy as np

from weft.errors import GraphError
from weft.graph import Graph
from weft.io.base import Format, Listing, Options, both_ways, build, register, weights
from weft.io.compression import Source
from weft.io.quoting import shown
from weft.io.text import Rows, first_line, head_counts, parse_rows, write_rows

_DIALECTS: Final = (b"sp", b"tw")


def read(source: Source, options: Options) -> Graph:
    """Read a DIMACS file of either dialect."""
    data = source.load()
    text, line, begin = first_line(data, b"c")
    parts = text.split()
    if not parts:
        raise source.error(
            "the file ends before the problem line. Expected 'p sp n m' or 'p tw n m'.", line=line
        )
    if parts[0] != b"p" or len(parts) < 2 or parts[1] not in _DIALECTS:
        raise source.error(
            f"the first line other than comments is {shown(text)}. Expected 'p sp n m' (shortest "
            "paths) or 'p tw n m' (treewidth), with the numbers of vertices and edges."
            + source.other_kind(data),
            line=line,
        )
    n, m = head_counts(source, parts[2:], line, ("vertices", "edges"))
    is_paths = parts[1] == b"sp"
    rows = Rows(
        ("src", "dst", "weight") if is_paths else ("src", "dst"),
        comments=b"c",
        prefix=b"a" if is_paths else b"",
        low=1,
        high=n,
        bound=f"the size in line {line}",
        weights="integer",
    )
    src, dst, weight, _ = parse_rows(source, data, rows, begin, line + 1, m)
    return build(source, Listing(src, dst, weights(weight), n, is_paths, line), options)


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write the treewidth dialect if undirected without weights, else that of shortest paths.

    The latter requires a length for each arc: 1 in graphs without weights. Undirected edges become
    two arcs.
    """
    src, dst, weight = g.to_edges()
    if weight is not None and weight.dtype.kind == "f":
        raise GraphError(
            f"The weights are {weight.dtype}. Expected integers, which is what DIMACS files hold; "
            "round them (g.edge['weight'] = ...) or choose another format, e.g. '.wel'."
        )
    src, dst = src.astype(np.int64) + 1, dst.astype(np.int64) + 1
    if not g.directed and weight is None:
        file.write(f"p tw {g.num_vertices} {src.size}\n".encode())
        write_rows(file, [src, dst])
        return
    if weight is None:
        weight = np.ones(src.size, np.int64)
    if not g.directed:
        src, dst, columns = both_ways(src, dst, weights(weight))
        weight = columns["weight"]
    file.write(f"p sp {g.num_vertices} {src.size}\n".encode())
    write_rows(file, [src, dst, weight], prefix="a ")


register(Format("DIMACS", (".gr",), read, write))
