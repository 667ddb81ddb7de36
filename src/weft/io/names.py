"""Vertex names in text files: they become numbers and labels.

The kernel leaves for each name its *spot*: where it begins in the file and how long it is, packed
into one integer. Equal names are found by hashing those bytes; only the different ones become
Python strings.
"""

from __future__ import annotations

import re
from typing import IO, Any, Final

import numpy as np

from weft.errors import GraphError
from weft.graph import Graph
from weft.io.compression import Source
from weft.io.text import Rows, plain, read_weight, shown
from weft.topology.adjacency import Array

LENGTH_BITS: Final = 16
_CANONICAL: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_SHOWN: Final = 3


def spot(begin: int, length: int) -> int:
    """Return where a name is, as one integer."""
    return begin << LENGTH_BITS | length


def read_named_row(
    source: Source, text: bytes, at: int, line: int, rows: Rows
) -> tuple[int, int, Any]:
    """Return the spots of both names and the weight (or None) of one line, or raise."""
    divider = re.escape(rows.separator) if rows.separator else rb"[ \t]"
    plain_field = (rb'(?!")' if rows.separator else b"") + rb"[^" + divider.strip(b"[]") + rb"]*"
    quoted = rb'"([^"]*)"' if rows.separator else rb"(?!)()"
    field = re.compile(
        rb"[ \t\r]*(?:" + quoted + rb"|(" + plain_field + rb"))[ \t\r]*(" + divider + rb"|$)"
    )
    found: dict[str, Any] = {"weight": None}
    place, count = 0, 0
    while match := field.match(text, place):
        which = 1 if match[1] is not None else 2
        begin, part = match.start(which), match[which].rstrip(b" \t\r")
        if count < len(rows.fields):
            name = rows.fields[count]
            if name == "weight":
                found[name] = read_weight(source, part, line, rows)
            elif name in ("src", "dst"):
                if not 0 < len(part) < 1 << LENGTH_BITS:
                    raise source.error(
                        f"{name} has {len(part)} bytes. Expected a name of 1 to "
                        f"{(1 << LENGTH_BITS) - 1}; correct the line.",
                        line=line,
                    )
                found[name] = spot(at + begin, len(part))
        count, place = count + 1, match.end()
        if not match[3]:
            break
    if count != len(rows.fields) or not match:
        raise source.error(
            f"{shown(text)} has not {len(rows.fields)} fields ({' '.join(rows.fields)}). Expected "
            f"them separated by {plain(rows.separator) or 'blanks'!r}, and a quotation mark at "
            "both ends of a name or at none.",
            line=line,
        )
    return found["src"], found["dst"], found["weight"]


def number_names(
    source: Source, data: Array, src: Array, dst: Array
) -> tuple[Array, Array, list[int] | list[str]]:
    """Return the ends as vertex numbers in the order of appearance, and the names.

    The names are integers if all of them are.
    """
    from weft.io.kernels import number_spots

    numbers, different = number_spots(data, np.stack((src, dst), axis=1).ravel())
    names = []
    for where in different.tolist():
        begin, length = where >> LENGTH_BITS, where & (1 << LENGTH_BITS) - 1
        raw = data[begin : begin + length].tobytes()
        try:
            names.append(raw.decode())
        except UnicodeDecodeError:
            raise source.error(
                f"the name {shown(raw)} is not UTF-8. Expected text in UTF-8; convert the file.",
                byte=begin,
            ) from None
    ends = numbers[::2].copy(), numbers[1::2].copy()
    if all(_CANONICAL.fullmatch(name) for name in names):
        return *ends, [int(name) for name in names]
    return *ends, names


def label_texts(g: Graph, suffix: str) -> Array | None:
    """Return how each label is written in an edge list, or None if there are no labels.

    Raises
    ------
    GraphError
        If an edge list cannot hold the labels.
    """
    if g.labels is None:
        return None
    labels = g.labels.tolist()
    odd = [label for label in labels if not isinstance(label, str | int) or label is True]
    if not odd:
        texts = [_quoted(str(label), suffix) for label in labels]
        odd = [label for label, text in zip(labels, texts, strict=True) if text is None]
    if odd:
        raise GraphError(
            f"The labels {', '.join(repr(label) for label in odd[:_SHOWN])} cannot stand in a "
            f"{suffix} file. Expected integers, or strings without quotation marks and ends of "
            "lines (and, except in '.csv', without blanks); write a '.weft' file."
        )
    alone = np.flatnonzero((g.out_degree == 0) & (g.in_degree == 0))
    if alone.size:
        raise GraphError(
            f"{alone.size} vertices have a label but no edge ({labels[int(alone[0])]!r} is one), "
            "and an edge list holds only vertices with edges. Write a '.weft' file."
        )
    return np.array(texts, object)


def _quoted(text: str, suffix: str) -> str | None:
    """Return a label as it is written, or None if that cannot be."""
    if not text or len(text.encode()) >= 1 << LENGTH_BITS or re.search('["\n\r]', text):
        return None
    awkward = re.search(r"[,;\s]|^[#%]", text)
    if suffix == ".csv":
        return f'"{text}"' if awkward and text == text.strip() else None if awkward else text
    return None if awkward else text


def write_named_rows(
    file: IO[bytes], texts: Array, src: Array, dst: Array, weight: Array | None, separator: str
) -> None:
    """Write one line per edge with the names of its ends."""
    columns = [texts[src].tolist(), texts[dst].tolist()]
    if weight is not None:
        columns.append([repr(value) for value in weight.tolist()])
    lines = (separator.join(row) for row in zip(*columns, strict=True))
    file.writelines(f"{line}\n".encode() for line in lines)
