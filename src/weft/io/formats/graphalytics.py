"""Graphs of LDBC Graphalytics (`.properties .e .v`): three files in one folder.

The `.v` file lists the ids of the vertices, one per line; the `.e` file the edges, two ids and
perhaps properties per line, each undirected edge once; the `.properties` file names both, and
states whether the graph is directed and which properties there are. Ids are integers from 0 on.
They become the labels of the vertices, which are numbered in the order of their ids, unless the ids
count from 0 without gaps. Given one of the three files, the reader finds the others by name.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

import numpy as np

from weft.errors import GraphError
from weft.graph import Graph
from weft.io.base import Format, Listing, Options, build, register, weights
from weft.io.compression import COMPRESSIONS, Source
from weft.io.quoting import shown
from weft.io.text import LARGEST_ID, Rows, first_line, lines_from, parse_rows, write_rows
from weft.topology.adjacency import Array

_LINE: Final = re.compile(r"\s*graph\.(?P<key>[^=:]+?)\s*[=:]\s*(?P<value>.*?)\s*")
_KNOWN: Final = (
    "vertex-file", "edge-file", "meta.vertices", "meta.edges", "directed", "edge-properties.names",
)  # fmt: skip
_DIRECTED: Final = {"true": True, "false": False}


def read(source: Source, options: Options) -> Graph:
    """Read the graph that one of the three files belongs to."""
    about = source if source.suffix == ".properties" else _beside(source, ".properties")
    facts = {} if about is None else _facts(about)
    edges = _named(source, facts.get("edge-file"), ".e")
    if edges is None:
        raise source.error(
            f"there is no file {_stem(source)}.e beside it. Expected the edges there, or in the "
            "edge-file that a .properties file names."
        )
    vertices = _named(source, facts.get("vertex-file"), ".v")
    src, dst, weight, line = _edges(edges, facts)
    if vertices is None:
        ids = np.unique(np.concatenate((src, dst)))
    else:
        ids = _ids(vertices)
    _check_counts(about, facts, {"meta.vertices": int(ids.size), "meta.edges": int(src.size)})
    counted = ids.size == 0 or (ids[0] == 0 and ids[-1] == ids.size - 1)
    ends = [_placed(edges, ids, part, name) for part, name in ((src, "source"), (dst, "target"))]
    listing = Listing(
        ends[0], ends[1], weights(weight), int(ids.size),
        _DIRECTED[facts.get("directed", "true").lower()], line, None if counted else ids,
    )  # fmt: skip
    return build(edges, listing, options)


def _stem(source: Source) -> str:
    """Return the name of the file without its suffixes."""
    return source.path.name[: -len(source.suffix + source.compression)]


def _beside(source: Source, suffix: str) -> Source | None:
    """Return the file of the same name with another suffix, compressed or not."""
    return _found(source, source.path.with_name(_stem(source) + suffix), suffix)


def _found(source: Source, path: Path, suffix: str) -> Source | None:
    for compression in ("", *COMPRESSIONS):
        whole = path.with_name(path.name + compression)
        if whole.is_file():
            return dataclasses.replace(source, path=whole, suffix=suffix, compression=compression)
    return None


def _named(source: Source, name: str | None, suffix: str) -> Source | None:
    """Return the file that the properties name, or the one with the suffix."""
    if source.suffix == suffix:
        return source
    if name is None:
        return _beside(source, suffix)
    return _found(source, source.path.parent / Path(name).name, suffix)


def _facts(about: Source) -> dict[str, str]:
    """Return the properties of the graph by the last part of each name."""
    found: dict[str, str] = {}
    for text, number, _ in lines_from(about.load(), 0, 1):
        told = text.decode("utf-8", "replace").strip()
        match = _LINE.fullmatch(told)
        if not told or told[0] in "#!" or match is None:
            continue
        for key in _KNOWN:
            if match["key"].endswith(f".{key}"):
                found[key] = match["value"]
        if "directed" in found and found["directed"].lower() not in _DIRECTED:
            raise about.error(
                f"directed is {found['directed']!r}. Expected 'true' or 'false'.", line=number
            )
    return found


def _edges(edges: Source, facts: Mapping[str, str]) -> tuple[Array, Array, Array | None, int]:
    """Return the ends and weights of all edges, and the line in which they start."""
    none = np.zeros(0, np.int64)
    if not edges.compression and edges.path.stat().st_size == 0:
        return none, none, None, 1
    data = edges.load()
    text, line, _ = first_line(data, b"#")
    count = len(text.split())
    names = facts.get("edge-properties.names")
    told = [name.strip() for name in names.split(",")] if names else ["weight"]
    fields = ("src", "dst", *told)[: max(count, 2)]
    if text and count != len(fields):
        raise edges.error(
            f"there are {count} fields in {shown(text)}. Expected two ids and "
            f"{', '.join(told)}; name more of them in edge-properties.names.",
            line=line,
        )
    src, dst, weight, _ = parse_rows(edges, data, Rows(fields), 0, 1)
    return src, dst, weight, line


def _ids(vertices: Source) -> Array:
    """Return the ids of the vertices, in ascending order."""
    if not vertices.compression and vertices.path.stat().st_size == 0:
        return np.zeros(0, np.int64)
    data = vertices.load()
    ids = _plain_ids(data)
    ids = _checked_ids(vertices, data) if ids is None else ids
    ids.sort()
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if twice.size:
        raise vertices.error(
            f"vertex {ids[twice[0]]} is listed twice. Expected every vertex once.", byte=0
        )
    return ids


def _plain_ids(data: Array) -> Array | None:
    """Return the ids if every line is one; otherwise None, for `_checked_ids` to report."""
    if not np.isin(np.unique(data), np.frombuffer(b"0123456789\n", np.uint8)).all():
        return None
    lines = data.tobytes().removesuffix(b"\n").split(b"\n")
    if not all(lines) or max(map(len, lines)) > 18:
        return None
    return np.array(lines).astype(np.int64)


def _checked_ids(vertices: Source, data: Array) -> Array:
    """Return the ids, read line by line; raise at the first invalid one."""
    known: list[int] = []
    for text, number, _ in lines_from(data, 0, 1):
        part = text.strip()
        if not part or part[:1] == b"#":
            continue
        if not part.isdigit() or len(part) > 19 or int(part) > LARGEST_ID:
            raise vertices.error(
                f"the line is {shown(part)}. Expected the id of one vertex, an integer from 0 to "
                f"{LARGEST_ID}.",
                line=number,
            )
        known.append(int(part))
    return np.array(known, np.int64)


def _placed(edges: Source, ids: Array, ends: Array, name: str) -> Array:
    """Return the numbers of the vertices with these ids."""
    place = np.minimum(np.searchsorted(ids, ends), max(ids.size - 1, 0))
    missing = np.flatnonzero(ids[place] != ends) if ids.size else np.arange(ends.size)
    if missing.size:
        raise edges.error(
            f"the {name} of edge {missing[0]} is {ends[missing[0]]}, which the .v file does not "
            "list. Expected every vertex there.",
            byte=0,
        )
    return place


def _check_counts(about: Source | None, facts: Mapping[str, str], counts: dict[str, int]) -> None:
    """Raise unless there are as many vertices and edges as the properties say."""
    for key, count in counts.items():
        if about is not None and facts.get(key, str(count)) != str(count):
            raise about.error(
                f"{key} is {facts[key]}, but there are {count}. Expected complete files; fetch "
                "them again, or correct that line.",
                byte=0,
            )


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write the vertices or the edges."""
    if suffix == ".properties":
        raise GraphError(
            "'.properties' files are not written. Expected '.v' for the vertices or '.e' for the "
            "edges."
        )
    labels = np.arange(g.num_vertices) if g.labels is None else np.asarray(g.labels)
    if labels.dtype.kind not in "iu" or (labels.size and int(labels.min()) < 0):
        raise GraphError(
            f"the labels are {labels.dtype}. Expected integers from 0 on, which is what "
            "Graphalytics files hold."
        )
    if suffix == ".v":
        write_rows(file, [labels])
        return
    src, dst, weight = g.to_edges()
    write_rows(file, [labels[src], labels[dst], *([] if weight is None else [weight])])


register(
    Format(
        "Graphalytics", (".properties", ".e", ".v"), read, write, holds=("labels", "edge/weight")
    )
)
