"""Edge lists (`.txt .el .wel .csv .tsv`): one edge per line, as SNAP and GAP publish them.

A line holds two ids from 0 on and an optional weight, separated by blanks, tabs, commas or
semicolons (the first line decides). Lines that begin with ``#`` or ``%`` are comments; SNAP's ``#
Undirected graph`` and ``# Nodes: 5 Edges: 7`` are understood. The first line may name the columns.
Where ids are labels, weft writes ``ids are labels (text)``, ``(integers)`` or ``(mixed)`` into the
first comment, so that labels keep their types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import IO, Final

from weft.errors import ConfigError, listed
from weft.graph import Graph
from weft.io.base import BUILDING, Format, Listing, Options, build, register, weights
from weft.io.compression import Source
from weft.io.names import KINDS, label_texts, number_names, write_named_rows
from weft.io.quoting import plain, shown
from weft.io.text import (
    Rows,
    line_at,
    line_of_row,
    lines_from,
    parse_rows,
    skip_mark,
    write_rows,
)
from weft.topology.adjacency import Array

_NAMES: Final = {
    "src": ("src", "source", "from", "fromnodeid", "u", "node1", "node_1", "id_1", "start"),
    "dst": ("dst", "dest", "destination", "target", "to", "tonodeid", "v", "node2", "node_2",
            "id_2", "end"),
    "weight": ("weight", "w", "value", "cost", "length", "distance", "rating"),
}  # fmt: skip
_KNOWN: Final = {name: field for field, names in _NAMES.items() for name in names}
_NODES: Final = re.compile(rb"nodes:\s*([0-9]{1,18})\b", re.IGNORECASE)
_EDGES: Final = re.compile(rb"edges:\s*([0-9]{1,18})\b", re.IGNORECASE)
_KIND: Final = re.compile(rb"[#%]\s*(un)?directed graph", re.IGNORECASE)
_NUMBER: Final = re.compile(rb"[+-]?\.?[0-9]")
_LABELLED: Final = re.compile(rb"ids are labels(?: \(([a-z]+)\))?")
_SEPARATORS: Final = (b",", b";")
_COMMENTS: Final = b"#%"
# Formats whose other readers do not support comments, so weft writes only the required ones.
_TERSE: Final = (".csv", ".el", ".wel")


class _Head:
    """The lines before the edges: comments, and column names."""

    def __init__(
        self, source: Source, data: Array, columns: tuple[str, ...] | None, options: Options
    ) -> None:
        self.directed, self.labelled = True, options.labels
        given = None if options.sep is None else _checked_separator(options.sep)
        self.kind: str | None = None
        self.nodes = self.edges = self.nodes_line = self.edges_line = 0
        self.rows: Rows | None = None
        self.begin, self.line = skip_mark(data), 1
        names, named = columns, False
        for text, line, at in lines_from(data, self.begin, 1):
            self.begin, self.line = at, line
            stripped = text.strip()
            if not stripped:
                continue
            if stripped[:1] in _COMMENTS:
                self._comment(stripped, line)
                continue
            separator = given
            if separator is None:
                separator = next((c for c in _SEPARATORS if c in stripped), b"")
            parts = Rows((), separator).split(stripped)
            if len(parts) == 1:
                raise source.error(
                    _not_separated(stripped, options.sep) + source.other_kind(data), line=line
                )
            if not named and _are_names(parts, self.labelled):
                names, named = columns or _named(source, data, parts, line), True
                continue
            fields = names or _default_fields(source, data, parts, line)
            self.rows = Rows(fields, separator, named=self.labelled)
            return
        self.begin = data.size
        if names is not None:
            self.rows = Rows(names, named=self.labelled)

    def _comment(self, text: bytes, line: int) -> None:
        if kind := _KIND.match(text):
            self.directed = kind[1] is None
        if labelled := _LABELLED.search(text):
            self.labelled = True
            said = plain(labelled[1] or b"")
            self.kind = said if said in KINDS else self.kind
        if nodes := _NODES.search(text):
            self.nodes, self.nodes_line = int(nodes[1]), line
        if edges := _EDGES.search(text):
            self.edges, self.edges_line = int(edges[1]), line


def _checked_separator(sep: str) -> bytes:
    """Return the character between two fields; empty for blanks."""
    if sep in (" ", "\t", "\\t", "tab"):
        return b""
    odd = not isinstance(sep, str) or len(sep) != 1 or not sep.isascii() or sep.isalnum()
    if odd or sep in '"#%+-._\r\n':
        raise ConfigError(
            f"sep={sep!r} cannot separate fields. Expected one character, such as ',', ';', '|' or "
            "a tab, that stands in no number and begins no comment."
        )
    return sep.encode()


def _not_separated(text: bytes, sep: str | None) -> str:
    """Return the error for a line of one field, with the separator it seems to have."""
    found = [c for c in (",", ";", "\t", "|", ":", "/", " ") if c.encode() in text]
    told = f"does not hold sep={sep!r}" if sep is not None else "is one field"
    hint = f"; pass sep={found[0]!r}" if found else ""
    hint = "; leave sep out" if found and found[0] in ",; \t" and sep is not None else hint
    return f"the line {shown(text)} {told}. Expected two ids and perhaps a weight{hint}."


def _are_names(parts: list[bytes], labelled: bool) -> bool:
    """Whether the first line names the columns; if ids are names, it must use the standard ones."""
    if labelled:
        return {"src", "dst"} <= {_KNOWN.get(plain(part).lower()) for part in parts}
    return not any(_NUMBER.match(part) for part in parts)


def _default_fields(source: Source, data: Array, parts: list[bytes], line: int) -> tuple[str, ...]:
    """Return the meaning of each field if there is no header."""
    if len(parts) in (2, 3):
        return ("src", "dst", "weight")[: len(parts)]
    raise source.error(
        f"there are {len(parts)} fields in {shown(b' '.join(parts))}. Expected 2 or 3 (src dst "
        "weight); name more of them with columns=('src', 'dst', ...)." + source.other_kind(data),
        line=line,
    )


def _named(source: Source, data: Array, parts: list[bytes], line: int) -> tuple[str, ...]:
    """Return the fields that a header line names."""
    names = tuple(
        _KNOWN.get(name, name) for name in (plain(part).strip().lower() for part in parts)
    )
    if names.count("src") == 1 and names.count("dst") == 1 and names.count("weight") <= 1:
        return names
    raise source.error(
        f"the first line is {shown(b' '.join(parts))}: neither an edge nor the names of columns. "
        "Expected ids, or names with 'src' and 'dst' among them; name the columns with "
        "columns=('src', 'dst', ...)." + source.other_kind(data),
        line=line,
    )


def _checked_columns(source: Source, options: Options) -> tuple[str, ...] | None:
    if options.columns is None:
        return None
    names = tuple(str(name) for name in options.columns)
    if names.count("src") == 1 and names.count("dst") == 1 and names.count("weight") <= 1:
        return names
    raise source.error(
        f"columns={listed(names)} was passed. Expected 'src' and 'dst' once each, and 'weight' "
        "once or not at all; give the other columns any other name."
    )


def read(source: Source, options: Options) -> Graph:
    """Read an edge list."""
    data = source.load()
    head = _Head(source, data, _checked_columns(source, options), options)
    if head.rows is None and not head.nodes_line and options.num_vertices is None:
        raise source.error(
            "there are no edges, and no comment '# Nodes: ...' tells how many vertices there are. "
            "Expected lines of two ids; pass num_vertices= for a graph without edges."
            + source.other_kind(data),
            line=head.line,
        )
    rows = head.rows or Rows(("src", "dst"))
    src, dst, weight, last = parse_rows(source, data, rows, head.begin, head.line)
    if src.size < head.edges:
        raise source.error(
            f"there are {src.size} edges, but line {head.edges_line} promises {head.edges}. "
            "Expected a complete file; fetch it again, or correct that comment.",
            line=max(last - 1, 1),
        )
    if rows.named:
        src, dst, names = number_names(source, data, src, dst, head.kind)
        listing = Listing(src, dst, weights(weight), len(names), head.directed, labels=names)
        return build(source, listing, options)
    largest = max((int(ends.max()) for ends in (src, dst) if ends.size), default=-1)
    count = max(largest + 1, head.nodes)

    def line_of_largest() -> int:
        if largest < head.nodes:
            return head.nodes_line
        ends = src if int(src.max()) == largest else dst
        row = int(ends.argmax())
        return line_of_row(source, data, rows, head.begin, head.line, row)

    listing = Listing(src, dst, weights(weight), count, head.directed, line_of_largest)
    return build(source, listing, options)


def said_by_list(source: Source, columns: Sequence[str] | None) -> tuple[bool, int]:
    """Return whether an edge list is directed, and its number of vertices, as stated in it."""
    options = Options(columns=columns)
    head = _Head(source, source.load(), _checked_columns(source, options), options)
    return head.directed, head.nodes


def chunks_of_list(
    source: Source, columns: Sequence[str] | None, most: int
) -> Iterator[tuple[Array, Array, dict[str, Array]]]:
    """Yield the ends and weights of the edges in a list, at most `most` at a time."""
    data = source.load()
    options = Options(columns=columns)
    head = _Head(source, data, _checked_columns(source, options), options)
    if head.labelled:
        raise source.error(
            "its ids are labels. Expected vertex numbers; number the names first.", line=1
        )
    rows, begin, line = head.rows or Rows(("src", "dst")), head.begin, head.line
    while begin < data.size:
        # No line is shorter than two ids and a separator.
        end = line_at(data, min(begin + 4 * most, data.size))[1]
        src, dst, weight, line = parse_rows(source, data[:end], rows, begin, line)
        yield src, dst, weights(weight)
        begin = end


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write an edge list."""
    src, dst, weight = g.to_edges()
    labels = label_texts(g, suffix)
    largest = max(int(src.max()), int(dst.max())) if src.size else -1
    unsaid = not g.directed or not src.size or largest + 1 < g.num_vertices
    if suffix not in _TERSE or unsaid or labels is not None:
        kind = "Directed graph" if g.directed else "Undirected graph"
        kind += "" if labels is None else f", ids are labels ({labels[1]})"
        file.write(f"# {kind}\n# Nodes: {g.num_vertices} Edges: {g.num_edges}\n".encode())
    columns = [src, dst] if weight is None else [src, dst, weight]
    separator = {".csv": ",", ".tsv": "\t", ".txt": "\t"}.get(suffix, " ")
    if suffix == ".csv" or (labels is not None and _looks_like_names(labels[0], src, dst)):
        names = ("src", "dst", "weight")[: len(columns)]
        file.write(f"{separator.join(names)}\n".encode())
    if labels is None:
        write_rows(file, columns, separator)
    else:
        write_named_rows(file, labels[0], src, dst, weight, separator)


def _looks_like_names(texts: Array, src: Array, dst: Array) -> bool:
    """Whether a reader would mistake the first edge for a header."""
    return bool(src.size) and _are_names(
        [texts[int(ends[0])].encode() for ends in (src, dst)], labelled=True
    )


register(
    Format(
        "edge list",
        (".txt", ".el", ".wel", ".csv", ".tsv"),
        read,
        write,
        takes=(*BUILDING, "columns", "labels", "sep"),
        holds=("labels", "edge/weight"),
    )
)
