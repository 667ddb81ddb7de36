"""weft's own binary format (`.weft`): the arrays of a graph as they lie in memory.

=========== ======================================================================================
bytes       meaning
=========== ======================================================================================
0-7         ``89 57 45 46 54 0D 0A 1A``: no text file begins so, and a transfer as text breaks it
8-11        version of the format
12-15       CRC-32 of the head
16-23       length of the head
24-31       length of the file
32-63       zero
64-         the head: JSON with the size, and name, dtype, shape, position and CRC-32 of each array,
            with blanks up to a multiple of 64
...         the arrays, each with zeros up to a multiple of 64; numbers are little-endian
=========== ======================================================================================

Opening a file maps it: nothing is copied, and pages are read when an algorithm touches them.
Offsets and targets are checked before their first use, or on opening together with the checksums.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import IO, Any, Final

import numpy as np

from weft.errors import FieldError, GraphError
from weft.graph import Graph
from weft.io.base import Format, Options, register
from weft.io.compression import Source
from weft.io.label_arrays import label_arrays, stored_labels
from weft.io.soundness import find_flaw
from weft.topology.adjacency import Adjacency, Array
from weft.topology.topology import KEEPS, Topology

MAGIC: Final = b"\x89WEFT\r\n\x1a"
VERSION: Final = 1
ALIGNMENT: Final = 64
_PREAMBLE: Final = struct.Struct("<8sIIQQ32x")
# The checksums of files up to this size are verified by default.
ALWAYS_VERIFIED_BYTES: Final = 1 << 24
# Up to this size, finding the opposite of every arc takes negligible time.
ALWAYS_PAIRED_BYTES: Final = 1 << 20
_DTYPES: Final = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                  "float32", "float64")  # fmt: skip
_MOST_DIMENSIONS: Final = 3


def write(g: Graph, file: IO[bytes], suffix: str) -> None:
    """Write a `.weft` file."""
    for columns in (g.edge, g.vertex):
        for name in columns:
            columns.check_name(name)
    topology = g.topology
    primary = topology.adjacency(topology.primary_direction)
    arrays = {"offsets": primary.offsets, "targets": primary.targets}
    arrays |= {f"edge/{name}": g.edge.storage(name) for name in g.edge}
    arrays |= {f"vertex/{name}": g.vertex.storage(name) for name in g.vertex}
    arrays |= label_arrays(g.labels)
    arrays = {name: _little(array) for name, array in arrays.items()}
    described = [
        {
            "name": name,
            "dtype": array.dtype.name,
            "shape": list(array.shape),
            "at": 0,
            "crc32": zlib.crc32(_padding(array), zlib.crc32(_raw(array))),
        }
        for name, array in arrays.items()
    ]
    facts = {
        "num_vertices": topology.num_vertices,
        "num_edges": topology.num_edges,
        "directed": topology.directed,
        "keep": topology.keep,
        "arrays": described,
    }
    # Positions are relative to the end of the head, whose length depends on their digits.
    at = 0
    for part, array in zip(described, arrays.values(), strict=True):
        part["at"] = at
        at = _aligned(at + array.nbytes)
    head = json.dumps(facts, separators=(",", ":")).encode()
    head = head.ljust(_aligned(len(head)))
    total = _PREAMBLE.size + len(head) + at
    file.write(_PREAMBLE.pack(MAGIC, VERSION, zlib.crc32(head), len(head), total))
    file.write(head)
    for array in arrays.values():
        file.write(_raw(array))
        file.write(_padding(array))


def read(source: Source, options: Options) -> Graph:
    """Open a `.weft` file."""
    data = source.load()
    facts, start = _head(source, data)
    verify = options.verify
    if verify is None:
        verify = data.size <= ALWAYS_VERIFIED_BYTES
    pairs = options.verify is True or data.size <= ALWAYS_PAIRED_BYTES
    try:
        arrays = [_array(source, data, start, part, verify) for part in facts["arrays"]]
        places = {str(part["name"]): start + part["at"] for part in facts["arrays"]}
        if len(places) < len(arrays):
            raise TypeError("two arrays have the same name")
        named = dict(zip(places, arrays, strict=True))
        return _graph(source, facts, named, places, verify=verify, pairs=pairs)
    except (KeyError, TypeError, AttributeError) as error:
        raise source.error(
            f"the head lacks something or has it in the wrong form ({error}). Expected what "
            f"version {VERSION} of the format has; write the file again.",
            byte=_PREAMBLE.size,
        ) from None


def _head(source: Source, data: Array) -> tuple[Mapping[str, Any], int]:
    """Return the head as a dictionary, and where the arrays begin."""
    preamble = data[: _PREAMBLE.size].tobytes()
    if len(preamble) < _PREAMBLE.size or not preamble.startswith(MAGIC):
        raise source.error(
            f"the file begins with {preamble[:8]!r}. Expected {MAGIC!r} and a head of at least "
            f"{_PREAMBLE.size} bytes, as weft.write makes it; write it again."
            + source.other_kind(data),
            byte=0,
        )
    _, version, checksum, length, total = _PREAMBLE.unpack(preamble)
    if version != VERSION:
        raise source.error(
            f"the file has version {version} of the format. Expected {VERSION}; "
            "read it with a newer weft, or write it again.",
            byte=8,
        )
    if total != data.size:
        raise source.error(
            f"the file has {data.size} bytes. Expected {total}, as its head says; "
            "it was cut or changed: fetch it again.",
            byte=min(total, data.size),
        )
    head = data[_PREAMBLE.size : _PREAMBLE.size + length].tobytes()
    if len(head) != length or zlib.crc32(head) != checksum or any(preamble[32:]):
        raise source.error(
            "the checksum of the head does not fit. Expected it unchanged; fetch the file again.",
            byte=_PREAMBLE.size,
        )
    try:
        facts = json.loads(head)
    except (ValueError, RecursionError) as error:
        raise source.error(
            f"the head is not JSON ({error}). Expected it to be; write the file again.",
            byte=_PREAMBLE.size,
        ) from None
    return facts, _PREAMBLE.size + length


def _array(source: Source, data: Array, start: int, part: Mapping[str, Any], verify: bool) -> Array:
    """Return one array of the file without copying it."""
    name, dtype, shape = part["name"], part["dtype"], tuple(part["shape"])
    at = start + part["at"]
    sound = all(type(k) is int and 0 <= k <= data.size for k in (*shape, part["at"]))
    if dtype not in _DTYPES or not sound or at % ALIGNMENT or len(shape) > _MOST_DIMENSIONS:
        raise source.error(
            f"the array {name!r} has the dtype {dtype!r}, the shape {shape} and the position {at}. "
            f"Expected a number type, at most {_MOST_DIMENSIONS} sizes that fit into the file, and "
            f"a multiple of {ALIGNMENT}; write the file again.",
            byte=_PREAMBLE.size,
        )
    order = np.dtype(dtype).newbyteorder("<")
    count = 1
    for size in shape:
        count *= size
    if at + count * order.itemsize > data.size:
        raise source.error(
            f"the array {name!r} ends behind the file: at byte {at + count * order.itemsize} of "
            f"{data.size}. Expected it inside; fetch the file again.",
            byte=_PREAMBLE.size,
        )
    raw = data[at : at + count * order.itemsize]
    padded = data[at : _aligned(at + raw.size)]
    if verify and zlib.crc32(_raw(padded)) != part["crc32"]:
        raise source.error(
            f"the checksum of the array {name!r} does not fit. Expected it unchanged; "
            "fetch the file again.",
            byte=at,
        )
    values = raw.view(order).reshape(shape)
    return values.astype(order.newbyteorder("="), copy=False)


def _graph(
    source: Source,
    facts: Mapping[str, Any],
    arrays: dict[str, Array],
    places: Mapping[str, int],
    *,
    verify: bool,
    pairs: bool,
) -> Graph:
    """Return the graph of the arrays; without `verify`, its arcs are checked when first read.

    With `pairs`, every arc of an undirected graph must have its opposite.
    """
    arcs = Adjacency(arrays.pop("offsets"), arrays.pop("targets"))
    n, m, directed = facts["num_vertices"], facts["num_edges"], facts["directed"]
    if not _sizes_fit(arcs, facts):
        raise source.error(
            f"offsets {arcs.offsets.shape} and targets {arcs.targets.shape} are not those of a "
            f"graph with {n} vertices and {m} edges. Expected the sizes to agree; write the file "
            "again.",
            byte=_PREAMBLE.size,
        )

    def check() -> None:
        flaw = find_flaw(arcs, m, directed, pairs=pairs)
        if flaw is not None:
            values = getattr(arcs, flaw.array)
            at = places[flaw.array] + flaw.position * values.itemsize
            raise source.error(f"{flaw.problem}; fetch or write the file again.", byte=at)

    if verify:
        check()
    topology = Topology(
        arcs,
        directed=directed,
        keep=facts["keep"],
        num_edges=m,
        check=None if verify else check,
    )
    labels = stored_labels(source, arrays, places, n, verify)
    graph = Graph(topology, labels=labels)
    for name, values in arrays.items():
        owner, _, column = name.partition("/")
        columns = {"edge": graph.edge, "vertex": graph.vertex}[owner]
        try:
            columns.adopt(column, values)
        except (FieldError, GraphError) as error:
            raise source.error(f"{error} Write the file again.", byte=places[name]) from None
    return graph


def _sizes_fit(arcs: Adjacency, facts: Mapping[str, Any]) -> bool:
    """Whether the arrays have the shapes and dtypes of a graph of the size in the head."""
    offsets, targets = arcs.offsets, arcs.targets
    n, m, directed = facts["num_vertices"], facts["num_edges"], facts["directed"]
    return bool(
        type(n) is int
        and type(m) is int
        and isinstance(directed, bool)
        and facts["keep"] in KEEPS
        and offsets.shape == (n + 1,)
        and offsets.dtype == np.int64
        and targets.dtype in (np.dtype(np.int32), np.dtype(np.int64))
        and (targets.dtype == np.int64 or n <= np.iinfo(np.int32).max)
        and targets.ndim == 1
        and (m == targets.size if directed else m <= targets.size <= 2 * m)
        and int(offsets[0]) == 0
        and int(offsets[-1]) == targets.size
    )


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def _padding(array: Array) -> bytes:
    return b"\0" * (_aligned(array.nbytes) - array.nbytes)


def _little(array: Array) -> Array:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def _raw(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


register(
    Format(
        ".weft", (".weft",), read, write, takes=("verify",), holds=("labels", "edge/", "vertex/")
    )
)
