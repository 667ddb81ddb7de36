"""Files: what is written comes back, and a damaged file gives a sound graph or an error of weft."""

from __future__ import annotations

import contextlib
import resource
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import weft
from weft.errors import WeftError
from weft.io.formats import weft_binary

from .cases import Difference, chance, pick, random_of
from .damage import damaged
from .drawing import Drawn, Rng, drawn_graph, drawn_style

LISTS = (".txt", ".el", ".wel", ".csv", ".tsv")
NAMING = (".graphml", ".gml", ".parquet")  # labels come back without an option
SUFFIXES = (
    *LISTS, ".mtx", ".gr", ".graph", ".metis", ".npz", *NAMING, ".weft", ".weft", ".weft",
)  # fmt: skip
PACKED = ("", "", "", "", "", ".gz", ".xz", ".bz2")
MOST_MEMORY = 24 << 30
"""Address space for reading a file of a few hundred bytes; asking for more is a defect."""


def run(seed: int, device: str) -> str:
    """Write a drawn graph, damage the file in most cases, and read it."""
    rng = random_of("files", seed)
    drawn = replace(drawn_graph(rng, drawn_style(rng)), order=None)
    suffix, packed = pick(rng, SUFFIXES), pick(rng, PACKED)
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as folder:
        path = Path(folder, f"g{suffix}{packed}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of what a format does not hold
                weft.write(drawn.build(), path)
        except WeftError:
            return "refused"
        data = path.read_bytes()
        text = f"{path.name}: {drawn}"
        try:
            if chance(rng, 0.25):
                return _round_trip(path, drawn, suffix)
            data = damaged(data, rng)
            path.write_bytes(data)
            return _read_damaged(path, suffix, rng)
        except Exception as error:
            shown = data if len(data) < 1500 else data[:1500] + b" ..."
            kind = "" if isinstance(error, Difference) else f"raw {type(error).__name__}: "
            raise Difference(f"{text}\n{shown!r}\n{kind}{error}") from error


def _round_trip(path: Path, drawn: Drawn, suffix: str) -> str:
    """Everything that the format promises to hold is the same."""
    options: dict[str, Any] = {}
    if suffix in LISTS and drawn.labels is not None:
        options["labels"] = True
    if suffix == ".parquet":
        options["directed"] = drawn.directed
    back, g = weft.read(path, **options), drawn.build()
    sound(back)
    if suffix == ".gr" and back.directed:  # shortest paths run over arcs with lengths
        g = _as_arcs(g)
    if back.directed != g.directed:
        raise Difference(f"directed={g.directed} came back as {back.directed}")
    named = "labels" in options or (suffix in (*NAMING, ".weft") and drawn.labels is not None)
    if not named and back.num_vertices != g.num_vertices:
        raise Difference(f"{g.num_vertices} vertices came back as {back.num_vertices}")
    want, got = _edges(g, named), _edges(back, named)
    if want != got:
        raise Difference(f"edges\nexpected {sorted(map(repr, want.elements()))}\n"
                         f"got      {sorted(map(repr, got.elements()))}")  # fmt: skip
    if (
        suffix == ".weft"
        and drawn.weight is not None
        and back.edge["weight"].dtype != (drawn.weight.dtype)
    ):
        raise Difference(f"dtype {drawn.weight.dtype} came back as {back.edge['weight'].dtype}")
    return "ok"


def _as_arcs(g: weft.Graph) -> weft.Graph:
    """Return a directed graph with both arcs of every undirected edge, of length 1 by default."""
    src, dst, weight = g.to_edges()
    weight = np.ones(g.num_edges, np.int64) if weight is None else weight
    again = np.flatnonzero((src != dst) & (not g.directed))
    return weft.Graph.from_edges(
        np.append(src, dst[again]), np.append(dst, src[again]), np.append(weight, weight[again]),
        num_vertices=g.num_vertices,
    )  # fmt: skip


def _edges(g: weft.Graph, named: bool) -> Counter:
    """Count the edges: ends, and weights as text, so that NaN equals NaN and 1 is not 1.0."""
    src, dst, weight = g.to_edges(labels=named)
    ends = list(zip(np.asarray(src).tolist(), np.asarray(dst).tolist(), strict=True))
    if not g.directed:
        ends = [tuple(sorted(pair, key=repr)) for pair in ends]
    values = [None] * len(ends) if weight is None else np.asarray(weight).tolist()
    return Counter((*pair, repr(value)) for pair, value in zip(ends, values, strict=True))


def _read_damaged(path: Path, suffix: str, rng: Rng) -> str:
    """Read with drawn options; a graph that comes of it must be sound, and run."""
    options: dict[str, Any] = {}
    if suffix != ".weft" and chance(rng, 0.3):
        options["directed"] = chance(rng, 0.5)
    if suffix != ".weft" and chance(rng, 0.2):
        options["duplicates"] = pick(rng, ("first", "sum", "min", "max"))
    if suffix in LISTS and chance(rng, 0.3):
        options["labels"] = True
    unverified = suffix == ".weft" and chance(rng, 0.5)
    try:
        with limited_memory(), as_a_large_file(unverified):
            g = weft.read(path, **options)
            if unverified:  # wrong, perhaps, but within bounds
                weft.connected_components(g)
                g.to_scipy()
            else:
                sound(g)
    except WeftError as error:
        if len(str(error)) > 4000:
            raise Difference(f"an error of {len(str(error))} characters: {error}") from error
        return "ok"
    return "ok"


def as_a_large_file(unverified: bool) -> contextlib.AbstractContextManager[Any]:
    """Let a small `.weft` file be opened as a large one is: without comparing its checksums."""
    if not unverified or not hasattr(weft_binary, "ALWAYS_VERIFIED_BYTES"):
        return contextlib.nullcontext()
    return mock.patch.object(weft_binary, "ALWAYS_VERIFIED_BYTES", 0)


def sound(g: weft.Graph) -> None:
    """Demand a graph whose arrays fit together."""
    n = g.num_vertices
    src, dst, weight = (None if x is None else np.asarray(x) for x in g.to_edges())
    if src.size != g.num_edges or dst.size != g.num_edges:
        raise Difference(f"{g.num_edges} edges, but arrays of {src.size} and {dst.size}")
    for ends in (src, dst):
        if ends.size and not (ends.min() >= 0 and ends.max() < n):
            raise Difference(f"a vertex from {ends.min()} to {ends.max()} among {n}")
    if weight is not None and len(weight) != g.num_edges:
        raise Difference(f"{len(weight)} weights of {g.num_edges} edges")
    for name in g.vertex:
        if len(g.vertex[name]) != n:
            raise Difference(f"the vertex column {name!r} has {len(g.vertex[name])} values for {n}")
    if g.labels is not None and len(g.labels) != n:
        raise Difference(f"{len(g.labels)} labels of {n} vertices")
    if g.topology.keep != "in" and int(np.asarray(g.out_degree).sum()) != g.topology.num_arcs:
        raise Difference("the degrees do not add up to the number of arcs")
    if n < 5000 and g.to_scipy().shape != (n, n):
        raise Difference(f"to_scipy gives the shape {g.to_scipy().shape} for {n} vertices")


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """Let allocations beyond any reason fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
