"""GraphML (`.graphml`): an XML file of nodes and edges with typed attributes.

Format: U. Brandes, M. Eiglsperger, I. Herman, M. Himsolt, M. S. Marshall: GraphML Progress Report
(Graph Drawing 2001). Nested graphs, hyperedges and declarations of entities are rejected; ports are
ignored. Numeric attributes become columns.
"""

from __future__ import annotations

from typing import IO, Any, Final, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from weft.errors import FileFormatError, GraphError
from weft.graph import Graph
from weft.io.attributes import KIND, TEXT, Described, graph_of, label_kind, written_columns
from weft.io.base import BUILDING, Format, Options, register
from weft.io.compression import Source
from weft.io.quoting import shown

_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
)
_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}
_LONGEST_NUMBER: Final = 400


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("too long")
    return int(text)


_TYPES: Final[dict[str, Any]] = {
    "boolean": lambda text: _TRUTHS[text.lower()],
    "int": _whole, "integer": _whole, "long": _whole,
    "float": float, "double": float, "real": float,
    "string": str,
}  # fmt: skip


class _Reader:
    """Collects vertices and edges from the events of the parser."""

    def __init__(self, source: Source) -> None:
        self.source, self.found = source, Described()
        self.keys: dict[str, tuple[str, str, str]] = {}  # name, type and owner by id
        self.defaults: dict[tuple[str, str], Any] = {}  # by owner and name
        self.item: dict[str, Any] | None = None
        self.open: list[str] = []
        self.key, self.text = "", ""
        self.pending: list[tuple[int, str | None, int]] = []
        self.graphs = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.begin
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.refuse_entity

    def read(self, data: bytes) -> Described:
        """Return the described graph."""
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            raise self.source.error(
                f"the file is no sound XML ({expat.ErrorString(error.code)}). Expected GraphML; "
                "fetch or write it again.",
                line=error.lineno,
            ) from None
        if not self.graphs:
            self.fail("there is no <graph> in the file. Expected one, as in GraphML.")
        for place, end, line in self.pending:
            if end not in self.found.ids:
                raise self.source.error(
                    f"an edge ends at {end!r}. Expected the id of a <node>.", line=line
                )
            self.found.ends[place] = self.found.ids[end]
        return self.found

    def fail(self, message: str) -> NoReturn:
        """Raise an error at the current line."""
        raise self.source.error(message, line=self.parser.CurrentLineNumber)

    def refuse_entity(self, *_: Any) -> None:
        """Reject entities, which may expand without bound; GraphML needs none."""
        self.fail("the file declares an XML entity. Expected none; remove the declaration.")

    def begin(self, tag: str, given: dict[str, str]) -> None:
        """Open an element."""
        name = tag.rpartition(" ")[2]
        self.open.append(name)
        if name == "key":
            self._declare(given)
        elif name == "graph":
            self._begin_graph(given)
        elif name in ("node", "edge"):
            if self.item is not None:
                self.fail(f"a <{name}> is nested in another item. Expected it in <graph>.")
            self.item = {}
            begin = self._node if name == "node" else self._edge
            begin(given)
        elif name == "hyperedge":
            self.fail("there is a <hyperedge>. Expected edges of two ends.")
        elif name in ("data", "default"):
            self.key = given.get("key", "") if name == "data" else self.key
            self.text = ""

    def characters(self, text: str) -> None:
        """Append text of an attribute."""
        if self.open and self.open[-1] in ("data", "default"):
            self.text += text

    def end(self, tag: str) -> None:
        """Close an element."""
        name = self.open.pop()
        if name == "data":
            self._data()
        elif name == "default":
            key, kind, owner = self.keys[self.key]
            self.defaults[owner, key] = self._value(key, kind)
        elif name in ("node", "edge") and self.item is not None:
            defaults = {
                key: value
                for (owner, key), value in self.defaults.items()
                if owner in (name, "all")
            }
            items = self.found.vertices if name == "node" else self.found.edges
            items.add({**defaults, **self.item})
            self.item = None

    def _declare(self, given: dict[str, str]) -> None:
        key, kind = given.get("id"), given.get("attr.type", "string").lower()
        if key is None:
            self.fail("a <key> has no id. Expected one, to which the data refer.")
        if kind not in _TYPES:
            self.fail(
                f"the key {key!r} has the type {kind!r}. Expected one of {', '.join(_TYPES)}."
            )
        self.keys[key] = given.get("attr.name", key), kind, given.get("for", "all")
        self.key = key

    def _begin_graph(self, given: dict[str, str]) -> None:
        self.graphs += 1
        if self.graphs > 1:
            self.fail("there is a second <graph>. Expected one; nested graphs are not supported.")
        self.found.directed = given.get("edgedefault") == "directed"

    def _node(self, given: dict[str, str]) -> None:
        name = given.get("id")
        if name is None or name in self.found.ids:
            self.fail(f"a <node> has {'no id' if name is None else f'the id {name!r} of another'}. "
                      "Expected a unique id.")  # fmt: skip
        self.found.ids[name] = len(self.found.ids)
        self.found.names.append(name)

    def _edge(self, given: dict[str, str]) -> None:
        kind = given.get("directed")
        if kind is not None and _TRUTHS.get(kind) != self.found.directed:
            if self.found.ends:
                self.fail("some edges are directed and others not. Expected edges of one kind.")
            self.found.directed = _TRUTHS.get(kind, False)
        for side in ("source", "target"):
            end = given.get(side)
            if end not in self.found.ids:  # the node may follow later
                place = len(self.found.ends)
                self.pending.append((place, end, self.parser.CurrentLineNumber))
            self.found.ends.append(self.found.ids.get(end, -1))

    def _data(self) -> None:
        if self.key not in self.keys:
            self.fail(f"<data> refers to the key {self.key!r}. Expected one that is declared.")
        name, kind, _ = self.keys[self.key]
        if self.item is not None:
            self.item[name] = self._value(name, kind)
        elif name == KIND:
            self.found.kind = self.text.strip()

    def _value(self, name: str, kind: str) -> Any:
        text = self.text if kind == "string" else self.text.strip()
        try:
            return _TYPES[kind](text)
        except (ValueError, KeyError):
            self.fail(f"{name} is {shown(text.encode())}. Expected a value of type {kind}.")


def read(source: Source, options: Options) -> Graph:
    """Read a GraphML file."""
    data = source.load()
    try:
        described = _Reader(source).read(data.tobytes())
    except (LookupError, RecursionError, UnicodeError) as error:  # an unknown encoding, say
        raise source.error(
            f"the file cannot be read ({error}). Expected GraphML.", byte=0
        ) from None
    except FileFormatError as error:
        wrong = source.other_kind(data)
        if wrong:
            raise source.error(f"the file is no XML.{wrong}", byte=0) from None
        raise error
    return graph_of(source, described, options)


def _kind_of(values: np.ndarray[Any, Any]) -> str:
    return {"b": "boolean", "i": "long", "u": "long"}.get(values.dtype.kind, "double")


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write a GraphML file."""
    owners = {"node": g.vertex, "edge": g.edge}
    columns = {o: written_columns(c, "GraphML") for o, c in owners.items()}
    kind = label_kind(g, "GraphML")
    lines = [_HEAD]
    for owner, held in columns.items():
        lines += [
            f'<key id="{owner[0]}_{name}" for="{owner}" attr.name="{name}" '
            f'attr.type="{_kind_of(owners[owner][name])}"/>\n'
            for name in held
        ]
    if kind is not None:
        lines.append(f'<key id="g" for="graph" attr.name="{KIND}" attr.type="string"/>\n')
    lines.append(f'<graph edgedefault="{"directed" if g.directed else "undirected"}">\n')
    if kind is not None:
        lines.append(f'<data key="g">{kind}</data>\n')
    names = [str(x) for x in (range(g.num_vertices) if g.labels is None else g.labels.tolist())]
    if kind == TEXT:
        _check_characters(names)
    names = [quoteattr(name) for name in names]
    _write_items(file, lines, "node", (f"<node id={name}" for name in names), columns["node"])
    src, dst, _ = g.to_edges()
    ends = zip(src.tolist(), dst.tolist(), strict=True)
    opened = (f"<edge source={names[a]} target={names[b]}" for a, b in ends)
    _write_items(file, [], "edge", opened, columns["edge"])
    file.write(b"</graph>\n</graphml>\n")


def _check_characters(names: list[str]) -> None:
    for name in names:
        if any(ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 or c in "\ufffe\uffff" for c in name):
            raise GraphError(
                f"The label {name!r} cannot stand in a GraphML file, whose text has no control "
                "characters. Rename it, or write a '.weft' file."
            )


def _write_items(
    file: IO[bytes], lines: list[str], tag: str, opened: Any, columns: dict[str, list[Any]]
) -> None:
    for place, begin in enumerate(opened):
        if not columns:
            lines.append(f"{begin}/>\n")
        else:
            data = "".join(
                f'<data key="{tag[0]}_{name}">{escape(_shown(values[place]))}</data>'
                for name, values in columns.items()
            )
            lines.append(f"{begin}>{data}</{tag}>\n")
        if len(lines) > 1 << 14:
            file.write("".join(lines).encode())
            lines.clear()
    file.write("".join(lines).encode())


register(
    Format(
        "GraphML", (".graphml",), read, write,
        takes=(*BUILDING, "labels"), holds=("labels", "edge/", "vertex/"),
    )
)  # fmt: skip
