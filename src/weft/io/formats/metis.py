"""METIS (`.graph`, `.metis`): line k lists the neighbours of vertex k, counted from 1.

Format: Karypis, "METIS: A Software Package for Partitioning Unstructured Graphs", version 5.1,
section 4.1. The header is ``n m [fmt [ncon]]``; the digits of fmt state whether lines hold the size
of the vertex (100), `ncon` weights of it (010) and a weight after each neighbour (001). Comments
begin with ``%``. Each undirected edge is listed in two lines; the vertex columns are `size` and
`weight`.
"""

from __future__ import annotations

import math
from typing import IO, Any, Final

import numpy as np

from weft.errors import GraphError
from weft.graph import Graph
from weft.io.base import Format, Listing, Options, build, register, weights
from weft.io.compression import Source
from weft.io.quoting import plain, shown
from weft.io.text import first_line, head_counts, line_at, lines_from
from weft.topology.adjacency import Array, sort_arcs

_FORMATS: Final = tuple(f"{k:03b}" for k in range(8))
_HEAD: Final = "Expected 'vertices edges [fmt [ncon]]'"
_MOST_VERTEX_WEIGHTS: Final = 1000


def read(source: Source, options: Options) -> Graph:
    """Read a METIS file."""
    data = source.load()
    text, line, begin = first_line(data, b"%")
    if not text:
        raise source.error(f"the file ends before its head. {_HEAD}.", line=line)
    n, m, has_size, ncon, weighted = _head(source, data, text.split(), line)
    arcs = _parse(source, data, begin, line, (n, m, int(has_size) + ncon, weighted))
    degree, dst, weight, numbers = arcs
    src = np.repeat(np.arange(n), degree)
    upper = src < dst
    columns = weights(weight[upper] if weighted else None)
    listing = Listing(src[upper], dst[upper], columns, n, False, line)
    graph = build(source, listing, options)
    if not _is_mirrored(graph, degree, dst, weight):
        _check_pairs(source, data, begin, line, src, dst, weight)
    if has_size:
        graph.vertex["size"] = _integers(numbers[:, 0])
    if ncon:
        values = _integers(numbers[:, int(has_size) :])
        graph.vertex["weight"] = values[:, 0] if ncon == 1 else values
    return graph


def _head(
    source: Source, data: Array, parts: list[bytes], line: int
) -> tuple[int, int, bool, int, bool]:
    """Return the header: vertices, edges, whether sizes, vertex weights, whether edge weights."""
    if not 2 <= len(parts) <= 4:
        raise source.error(
            f"the head is {shown(b' '.join(parts))}. {_HEAD}." + source.other_kind(data), line=line
        )
    n, m = head_counts(source, parts[:2], line, ("vertices", "edges"))
    flags = plain(parts[2]).zfill(3) if len(parts) > 2 else "000"
    if flags not in _FORMATS:
        raise source.error(
            f"fmt is {shown(parts[2])}. Expected three digits 0 or 1: sizes of vertices, weights "
            "of vertices, weights of edges.",
            line=line,
        )
    ncon = int(flags[1])
    if len(parts) == 4:
        (given,) = head_counts(source, parts[3:], line, ("weights per vertex",))
        if given > _MOST_VERTEX_WEIGHTS or (given > 0) != (flags[1] == "1"):
            raise source.error(
                f"ncon is {given}, but fmt is {flags}. Expected 1 to {_MOST_VERTEX_WEIGHTS} if and "
                "only if the middle digit of fmt is 1.",
                line=line,
            )
        ncon = given
    # A number and its delimiter take at least two bytes, and every vertex has a line; the last line
    # may lack its newline and, without neighbours, be missing.
    numbers = n * (ncon + int(flags[0])) + 2 * m * (1 + int(flags[2]))
    if max(n, 2 * numbers) > data.size + 2:
        raise source.error(
            f"the head promises {n} vertices, {m} edges and {numbers} numbers in all, but the file "
            f"has {data.size} bytes. Expected two for each number; fetch the file again or correct "
            "the head.",
            line=line,
        )
    return n, m, flags[0] == "1", ncon, flags[2] == "1"


def _parse(
    source: Source, data: Array, begin: int, line: int, shape: tuple[int, int, int, bool]
) -> tuple[Array, Array, Array, Array]:
    """Return degrees, neighbours, their weights, and the numbers of the vertices."""
    from weft.io.kernels import FULL, ODD, scan_adjacency

    n, m, num_numbers, weighted = shape
    numbers, degree = np.zeros(n * num_numbers, np.int64), np.zeros(n, np.int64)
    dst = np.empty(2 * m, np.int64)
    weight = np.empty(2 * m if weighted else 0, np.int64)
    cursor = np.array([begin, line + 1, 0, 0], np.int64)
    status = scan_adjacency(data, cursor, num_numbers, weighted, numbers, degree, dst, weight)
    at, last, row, arc = cursor.tolist()
    if status == ODD:
        raise _odd_line(source, line_at(data, at)[0], last, row, shape)
    if status == FULL:
        raise source.error(
            f"with vertex {row + 1} there are more than {2 * m} neighbours. Expected two for each "
            f"of the {m} edges in line {line}; correct the number there.",
            line=last,
        )
    # A last vertex without neighbours may have no newline.
    if row == n - 1 and num_numbers == 0:
        row += 1
    if row < n:
        raise source.error(
            f"the file ends after {row} vertices. Expected {n}, the number in line {line}; "
            "fetch it again.",
            line=max(last - 1, 1),
        )
    for text, number, _ in lines_from(data, at, last):
        if text.strip() and text.lstrip()[:1] != b"%":
            raise source.error(
                f"after the {n} vertices comes {shown(text)}. Expected the end of the file; "
                f"correct the number in line {line} or drop the rest.",
                line=number,
            )
    if arc != 2 * m:
        raise source.error(
            f"there are {arc} neighbours in all. Expected {2 * m}, two for each of the {m} edges "
            f"in line {line}; correct the number there.",
            line=line,
        )
    return degree, dst, _integers(weight), numbers.reshape(n, num_numbers)


def _integers(bits: Array) -> Array:
    """Return 64-bit words as integers: int64 if they fit, else uint64."""
    return bits.view(np.uint64) if bool((bits < 0).any()) else bits


def _odd_line(
    source: Source, text: bytes, line: int, row: int, shape: tuple[int, int, int, bool]
) -> GraphError:
    """Return the error for a line that the kernel could not read."""
    n, _, num_numbers, weighted = shape
    parts = text.split()
    who = f"of vertex {row + 1}"
    for position, part in enumerate(parts):
        is_id = position >= num_numbers and (not weighted or (position - num_numbers) % 2 == 0)
        digits = part.lstrip(b"0") or b"0"
        if not part.isdigit() or len(digits) > 20 or int(digits) >= 2**64:
            return source.error(
                f"field {position + 1} {who} is {shown(part)}. Expected an integer from "
                f"{1 if is_id else 0} to {n if is_id else 2**64 - 1}; correct the line.",
                line=line,
            )
        if is_id and not 1 <= int(digits) <= n:
            return source.error(
                f"neighbour {plain(part)} {who} is out of range. Expected 1 to {n}, the number of "
                "vertices in the head.",
                line=line,
            )
    extra = "pairs of a neighbour and a weight" if weighted else "neighbours"
    return source.error(
        f"there are {len(parts)} fields {who}. Expected {num_numbers} numbers of the vertex and "
        f"then {extra}, as fmt in the head says.",
        line=line,
    )


def _is_mirrored(graph: Graph, degree: Array, dst: Array, weight: Array) -> bool:
    """Whether the arcs of the file equal those of the graph built from its upper half."""
    if graph.directed:
        return False
    arcs = graph.topology.out
    return (
        np.array_equal(arcs.targets, dst)
        and np.array_equal(np.diff(arcs.offsets), degree)
        and (not weight.size or np.array_equal(graph.edge.in_slots("weight", "out"), weight))
    )


def _check_pairs(
    source: Source, data: Array, begin: int, line: int, src: Array, dst: Array, weight: Array
) -> None:
    """Raise unless every arc has its opposite, with the same weight, in any order."""
    upper, lower = np.flatnonzero(src < dst), np.flatnonzero(src > dst)
    n = max((int(ends.max()) + 1 for ends in (src, dst) if ends.size), default=0)
    wrong: int | None = None
    if upper.size + lower.size < src.size:
        arc = int(np.flatnonzero(src == dst)[0])
        raise source.error(
            f"vertex {src[arc] + 1} is its own neighbour. Expected none: METIS files hold no "
            "self-loops; drop it from the line and from the number of edges.",
            line=_line_of_vertex(data, begin, line, int(src[arc])),
        )
    ones = sort_arcs(src[upper], dst[upper], n, upper)
    others = sort_arcs(dst[lower], src[lower], n, lower)
    if not np.array_equal(ones[0], others[0]) or not np.array_equal(ones[1], others[1]):
        wrong = _first_unpaired(src, dst)
        problem = "but not the other way about"
    elif weight.size:
        assert ones[2] is not None and others[2] is not None
        if not np.array_equal(weight[ones[2]], weight[others[2]]):
            wrong = _first_differing(src, dst, weight, upper, lower)
            problem = "with another weight the other way about"
    if wrong is None:
        return
    raise source.error(
        f"vertex {src[wrong] + 1} has the neighbour {dst[wrong] + 1}, {problem}. Expected each "
        "edge in the lines of both its vertices; correct one of them.",
        line=_line_of_vertex(data, begin, line, int(src[wrong])),
    )


def _first_unpaired(src: Array, dst: Array) -> int:
    """Return an arc that is listed more often than its opposite."""
    order = np.lexsort((dst, src))
    turned = np.lexsort((src, dst))
    differs = (src[order] != dst[turned]) | (dst[order] != src[turned])
    place = int(np.flatnonzero(differs)[0])
    one, other = int(order[place]), int(turned[place])
    pair, opposite = (src[one], dst[one]), (dst[other], src[other])
    return one if pair < opposite else other


def _first_differing(
    src: Array, dst: Array, weight: Array, upper: Array, lower: Array
) -> int | None:
    """Return an arc whose weight differs from its opposite's; parallel ones may be in any order."""
    ones = upper[np.lexsort((weight[upper], dst[upper], src[upper]))]
    others = lower[np.lexsort((weight[lower], src[lower], dst[lower]))]
    differs = np.flatnonzero(weight[ones] != weight[others])
    return int(ones[differs[0]]) if differs.size else None


def _line_of_vertex(data: Array, begin: int, line: int, vertex: int) -> int:
    for text, number, _ in lines_from(data, begin, line + 1):
        if text.lstrip()[:1] == b"%":
            continue
        if vertex == 0:
            return number
        vertex -= 1
    return line


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write a METIS file."""
    weight = _checked(g)
    arcs = g.topology.out
    numbers: list[Any] = []
    for name in ("size", "weight"):
        if name in g.vertex:
            values = g.vertex[name]
            natural = values.dtype.kind in "iu" and (not values.size or values.min() >= 0)
            many = math.prod(values.shape[1:]) > (1 if name == "size" else _MOST_VERTEX_WEIGHTS)
            if not natural or many or values.ndim > (1 if name == "size" else 2):
                raise GraphError(
                    f"vertex column {name!r} is {values.dtype}, shape {values.shape}. Expected "
                    "integers from 0 on, which is what METIS files hold, and at most "
                    f"{_MOST_VERTEX_WEIGHTS} of them per vertex; convert or rename it."
                )
            numbers.append(
                values.astype(np.uint64).reshape(g.num_vertices, math.prod(values.shape[1:]))
            )
    ncon = numbers[-1].shape[1] if "weight" in g.vertex else 0
    flags = f"{int('size' in g.vertex)}{int(ncon > 0)}{int(weight is not None)}"
    head = f"{g.num_vertices} {g.num_edges}"
    if flags != "000":
        head += f" {flags}" + (f" {ncon}" if ncon > 1 else "")
    file.write(f"{head}\n".encode())
    # One dtype for all: NumPy would convert a mix of int64 and uint64 to float64.
    fields = [arcs.targets.astype(np.uint64) + np.uint64(1)]
    if weight is not None:
        fields.append(weight.astype(np.uint64))
    per_arc = np.stack(fields, axis=1)
    per_vertex = np.concatenate(numbers, axis=1) if numbers else None
    offsets = arcs.offsets.tolist()
    for vertex in range(g.num_vertices):
        row = per_arc[offsets[vertex] : offsets[vertex + 1]].ravel().tolist()
        if per_vertex is not None:
            row = per_vertex[vertex].tolist() + row
        file.write((" ".join(map(str, row)) + "\n").encode("ascii"))


def _checked(g: Graph) -> Array | None:
    """Return the weights of the arcs, after checking that METIS files can hold the graph."""
    if g.directed:
        raise GraphError(
            "The graph is directed. Expected an undirected one, which is what METIS files hold; "
            "use g.to_undirected()."
        )
    src, dst, weight = g.to_edges()
    if bool((src == dst).any()):
        raise GraphError(
            f"The graph has {int((src == dst).sum())} self-loops. Expected none, since METIS files "
            "hold none; build it with self_loops='drop'."
        )
    if weight is None:
        return None
    if weight.dtype.kind == "f" or (weight.size and int(weight.min()) < 0):
        raise GraphError(
            f"The weights are {weight.dtype}, some perhaps negative. Expected integers from 0 on, "
            "which is what METIS files hold; round them (g.edge['weight'] = ...) or choose another "
            "format, e.g. '.wel'."
        )
    return g.edge.in_slots("weight", "out")


register(
    Format(
        "METIS",
        (".graph", ".metis"),
        read,
        write,
        holds=("edge/weight", "vertex/size", "vertex/weight"),
    )
)
