"""Vertex names in text files, as numbers and labels.

The kernel returns the *spot* of each name: its position and length in the file, packed into one
integer. Equal names are found by hashing their bytes; only distinct names become Python strings.
"""

from __future__ import annotations

import re
from typing import IO, Any, Final

import numpy as np

from weft.errors import GraphError
from weft.graph import Graph
from weft.io.compression import Source
from weft.io.quoting import plain, shown
from weft.io.text import Rows
from weft.io.weights import read_weight
from weft.topology.adjacency import Array

LENGTH_BITS: Final = 16
_CANONICAL: Final = re.compile(r"0|-?[1-9][0-9]{0,3999}")
_SHOWN: Final = 3

# The kind of a file's labels, as weft writes it in a comment.
TEXT: Final = "text"
INTEGERS: Final = "integers"
MIXED: Final = "mixed"  # text that looks like an integer is one
KINDS: Final = (TEXT, INTEGERS, MIXED)


def spot(begin: int, length: int) -> int:
    """Return the spot of a name."""
    return begin << LENGTH_BITS | length


def read_named_row(
    source: Source, text: bytes, at: int, line: int, rows: Rows
) -> tuple[int, int, Any]:
    """Return the spots of both names and the weight (or None) of a line; raise if invalid."""
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
                found[name] = read_weight(source, part, line, rows.weights)
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
    source: Source, data: Array, src: Array, dst: Array, kind: str | None
) -> tuple[Array, Array, list[int] | list[str] | list[int | str]]:
    """Return the ends as vertex numbers, in order of appearance, and the names.

    Parameters
    ----------
    source : Source
        The file, for messages.
    data : ndarray of uint8
        Its contents.
    src, dst : ndarray of int64
        The spots of the names.
    kind : {"text", "integers", "mixed"} or None
        The kind of labels stated by the file. By default integers if all look like 64-bit integers,
        else text.
    """
    from weft.io.kernels import number_spots

    numbers, different = number_spots(data, np.stack((src, dst), axis=1).ravel())
    names = [_text_at(source, data, where) for where in different.tolist()]
    ends = numbers[::2].copy(), numbers[1::2].copy()
    if kind is None:
        whole = all(_CANONICAL.fullmatch(name) and len(name) <= 20 for name in names)
        fits = whole and all(-(2**63) <= int(name) < 2**64 for name in names)
        kind = INTEGERS if fits else TEXT
    if kind == TEXT:
        return *ends, names
    labels: list[int | str] = [int(name) if _CANONICAL.fullmatch(name) else name for name in names]
    texts = [label for label in labels if isinstance(label, str)]
    if kind == INTEGERS and texts:
        raise source.error(
            f"the name {shown(texts[0].encode())} is not an integer, but a comment says that all "
            "ids are. Expected integers; correct the name or the comment.",
            byte=different.tolist()[labels.index(texts[0])] >> LENGTH_BITS,
        )
    return *ends, labels


def _text_at(source: Source, data: Array, where: int) -> str:
    """Return the name at a spot."""
    begin, length = where >> LENGTH_BITS, where & (1 << LENGTH_BITS) - 1
    raw = data[begin : begin + length].tobytes()
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise source.error(
            f"the name {shown(raw)} is not UTF-8. Expected text in UTF-8; convert the file.",
            byte=begin,
        ) from None


def label_texts(g: Graph, suffix: str) -> tuple[Array, str] | None:
    """Return each label as written in an edge list, and their kind; None without labels.

    Raises
    ------
    GraphError
        If an edge list cannot hold the labels.
    """
    if g.labels is None:
        return None
    labels = g.labels.tolist()
    texts = [_written(label, suffix) for label in labels]
    kinds = {isinstance(label, str) for label in labels}
    kind = MIXED if len(kinds) > 1 else TEXT if True in kinds else INTEGERS
    odd = [label for label, text in zip(labels, texts, strict=True) if text is None]
    if kind == MIXED:
        # These would be read back as integers.
        odd += [x for x in labels if isinstance(x, str) and _CANONICAL.fullmatch(x)]
    if odd:
        raise GraphError(
            f"The labels {', '.join(map(_label_shown, odd[:_SHOWN]))} cannot "
            f"stand in a {suffix} file. Expected integers, or strings without quotation marks and "
            "ends of lines (and, except in '.csv', without blanks), and no text that looks like "
            "an integer beside integers; write a '.weft' file."
        )
    alone = np.flatnonzero((g.out_degree == 0) & (g.in_degree == 0))
    if alone.size:
        raise GraphError(
            f"{alone.size} vertices have a label but no edge ({labels[int(alone[0])]!r} is one), "
            "and an edge list holds only vertices with edges. Write a '.weft' file."
        )
    return np.array(texts, object), kind


def _label_shown(label: Any) -> str:
    """Return a label for a message; Python refuses to print very long integers."""
    try:
        return repr(label)[:80]
    except ValueError:
        return f"(an integer of {label.bit_length()} bits)"


def _written(label: Any, suffix: str) -> str | None:
    """Return a label as written, or None if it cannot be."""
    if isinstance(label, int) and not isinstance(label, bool):
        return str(label) if abs(label) < 10**4000 else None
    if not isinstance(label, str):
        return None
    try:
        size = len(label.encode())
    except UnicodeEncodeError:
        return None
    if not 0 < size < 1 << LENGTH_BITS or re.search('["\n\r]', label):
        return None
    awkward = re.search(r"[,;\s]|^[#%]", label)
    if suffix == ".csv":
        return f'"{label}"' if awkward and label == label.strip() else None if awkward else label
    return None if awkward else label


def write_named_rows(
    file: IO[bytes], texts: Array, src: Array, dst: Array, weight: Array | None, separator: str
) -> None:
    """Write one line per edge with the names of its ends."""
    columns = [texts[src].tolist(), texts[dst].tolist()]
    if weight is not None:
        columns.append([repr(value) for value in weight.tolist()])
    lines = (separator.join(row) for row in zip(*columns, strict=True))
    file.writelines(f"{line}\n".encode() for line in lines)
