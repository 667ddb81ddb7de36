"""GML (`.gml`): nested lists of keys and values in plain text.

Format: M. Himsolt: GML: A portable Graph File Format (Universität Passau, 1997). Numeric attributes
become columns; lists inside nodes and edges, such as coordinates for drawing, are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import IO, Any, Final

import numpy as np

from weft.errors import GraphError
from weft.graph import Graph
from weft.io.attributes import KIND, TEXT, Described, graph_of, label_kind, written_columns
from weft.io.base import BUILDING, Format, Options, register
from weft.io.compression import Source
from weft.io.quoting import shown

_TOKEN: Final = re.compile(
    rb'[ \t\r\n]+|\#[^\n]*|"(?P<text>[^"]*)"|(?P<mark>[\[\]])'
    rb"|(?P<real>[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?"
    rb"|[+-]?(?:inf|INF|nan|NAN)(?![A-Za-z0-9_]))"
    rb"|(?P<whole>[+-]?[0-9]{1,400}(?![0-9.A-Za-z_]))|(?P<key>[A-Za-z_][A-Za-z0-9_]*)"
)
_DEEPEST: Final = 64
_ENDS: Final = ("source", "target")
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class _Tokens:
    """The tokens of a file."""

    def __init__(self, source: Source, data: bytes) -> None:
        self.source, self.data = source, data
        self.at = 3 if data.startswith(b"\xef\xbb\xbf") else 0

    def error(self, message: str) -> Exception:
        """Return an error at the present line."""
        return self.source.error(message, line=self.data.count(b"\n", 0, self.at) + 1)

    def next(self) -> tuple[str, Any]:
        """Return the kind of the next token, and the token; an empty kind at the end."""
        while self.at < len(self.data):
            match = _TOKEN.match(self.data, self.at)
            if match is None:
                raise self.error(
                    f"{shown(self.data[self.at : self.at + 40])} is no word of GML. Expected a "
                    "key, a number, a text in quotation marks or a bracket."
                )
            if match.lastgroup is not None:
                word = self._value(match.lastgroup, match[match.lastgroup])
                self.at = match.end()
                return match.lastgroup, word
            self.at = match.end()
        return "", None

    def _value(self, kind: str, text: bytes) -> Any:
        if kind == "whole":
            return int(text)
        if kind == "real":
            return float(text)
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(
                f"{shown(text)} is not UTF-8. Expected ASCII or UTF-8; convert the file."
            ) from None
        return unescape(decoded) if kind == "text" and "&" in decoded else decoded

    def entries(self, depth: int = 0) -> Iterator[tuple[str, Any]]:
        """Yield the keys and values of a list, up to its bracket; None stands for a list.

        The caller that receives None must read the entries of that list, or skip them.
        """
        while True:
            kind, key = self.next()
            if (kind == "mark" and key == "]" and depth) or (not kind and not depth):
                return
            if kind != "key":
                raise self.error(
                    f"{key!r} is not a key. Expected a key, or the end of the list."
                    if kind else "the file ends within a list. Expected ']'; it was cut."
                )  # fmt: skip
            kind, value = self.next()
            if kind in ("", "key") or (value == "]" and kind == "mark"):
                raise self.error(f"the key {key!r} has no value. Expected one after it.")
            yield key, None if kind == "mark" else value

    def skip(self, depth: int) -> None:
        """Skip the entries of a list, including nested lists."""
        if depth > _DEEPEST:
            raise self.error(f"lists are nested more than {_DEEPEST} deep. Expected less.")
        for _, value in self.entries(depth):
            if value is None:
                self.skip(depth + 1)


def read(source: Source, options: Options) -> Graph:
    """Read a GML file."""
    data = source.load()
    tokens = _Tokens(source, data.tobytes())
    described = None
    for key, value in tokens.entries():
        if key.lower() == "graph" and value is None:
            if described is not None:
                raise tokens.error("there is a second graph. Expected one in the file.")
            described = _graph(tokens)
        elif value is None:
            tokens.skip(1)
    if described is None:
        raise source.error(
            "there is no 'graph [ ... ]' in the file. Expected one." + source.other_kind(data),
            byte=0,
        )
    return graph_of(source, described, options)


def _graph(tokens: _Tokens) -> Described:
    found = Described()
    named = 0
    edges: list[Any] = []
    for key, value in tokens.entries(1):
        if key == "directed" and value is not None:
            found.directed = value == 1
        elif key == KIND and value is not None:
            found.kind = str(value)
        elif key == "node" and value is None:
            item = _item(tokens)
            number = item.pop("id", None)
            if type(number) is not int or number in found.ids:
                raise tokens.error(f"a node has the id {number!r}. Expected a unique integer.")
            found.ids[number] = len(found.ids)
            label = item.pop("label", None)
            named += label is not None
            found.names.append(number if label is None else label)
            found.vertices.add(item)
        elif key == "edge" and value is None:
            item = _item(tokens)
            for side in _ENDS:
                if type(item.get(side)) is not int:
                    raise tokens.error(f"an edge has no {side}. Expected the id of a node.")
                edges.append(item.pop(side))
            found.edges.add(item)
        elif value is None:
            tokens.skip(2)
    _place(tokens, found, edges)
    if named < len(found.names) or len(set(found.names)) < len(found.names):
        found.names = list(found.ids)  # duplicate labels do not identify vertices
    return found


def _place(tokens: _Tokens, found: Described, edges: list[Any]) -> None:
    """Translate the ends of the edges, which may precede the nodes."""
    for end in edges:
        if end not in found.ids:
            raise tokens.error(f"an edge ends at {end}. Expected the id of a node of the graph.")
        found.ends.append(found.ids[end])


def _item(tokens: _Tokens) -> dict[str, Any]:
    """Return the values of a node or an edge; nested lists are skipped."""
    found: dict[str, Any] = {}
    for key, value in tokens.entries(2):
        if value is None:
            tokens.skip(3)
            found[key] = []
        else:
            found[key] = value
    return found


def _text(label: str) -> str:
    """Return a label as GML writes it: ASCII, with entities for everything else."""
    if any(0xD800 <= ord(c) < 0xE000 for c in label):
        raise GraphError(
            f"The label {label!r} cannot stand in a GML file: it holds half a character. Rename "
            "it, or write a '.weft' file."
        )
    plain = (c if 31 < ord(c) < 127 and c not in '"&' else f"&#{ord(c)};" for c in label)
    return f'"{"".join(plain)}"'


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NAN", "inf": "+INF", "-inf": "-INF"}[repr(value)]
    text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    return text if "." in mantissa or not mark else f"{mantissa}.0e{exponent}"


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write a GML file."""
    columns = [written_columns(held, "GML") for held in (g.vertex, g.edge)]
    for name in (name for held in columns for name in held):
        if not _KEY.fullmatch(name) or name in ("id", "label", *_ENDS):
            raise GraphError(
                f"the column {name!r} cannot stand in a GML file. Expected letters, digits and "
                "underscores after a letter, and no key of GML; rename it."
            )
    kind = label_kind(g, "GML")
    lines = ["graph [\n", f"  directed {int(g.directed)}\n"]
    if kind is not None:
        lines.append(f'  {KIND} "{kind}"\n')
    src, dst, _ = g.to_edges()
    if np.any((src[1:] == src[:-1]) & (dst[1:] == dst[:-1])):
        lines.append("  multigraph 1\n")  # NetworkX asks for it
    labels = None if g.labels is None else g.labels.tolist()
    for v in range(g.num_vertices):
        lines.append(f"  node [ id {v}")
        if labels is not None:
            lines.append(f" label {_text(labels[v]) if kind == TEXT else labels[v]}")
        lines.extend(f" {name} {_number(values[v])}" for name, values in columns[0].items())
        lines.append(" ]\n")
    for k, (a, b) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        lines.append(f"  edge [ source {a} target {b}")
        lines.extend(f" {name} {_number(values[k])}" for name, values in columns[1].items())
        lines.append(" ]\n")
        if len(lines) > 1 << 14:
            file.write("".join(lines).encode("ascii"))
            lines.clear()
    file.write(("".join(lines) + "]\n").encode("ascii"))


register(
    Format(
        "GML", (".gml",), read, write,
        takes=(*BUILDING, "labels"), holds=("labels", "edge/", "vertex/"),
    )
)  # fmt: skip
