"""`read` and `write`, and the registry of file formats, chosen by suffix."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import os
import pkgutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from weft.errors import ConfigError, GraphError, WeftError, nearest, shortened, unknown
from weft.graph import Graph
from weft.graph.build import MOST_VERTICES, BuildRules, Duplicates, SelfLoops, assemble, check_count
from weft.io.compression import COMPRESSIONS, Source, replacing
from weft.topology.adjacency import Array
from weft.topology.topology import Keep

# More ids than this, and more than _SPARSEST per edge, indicate keys or damage.
_PLAUSIBLE_VERTICES: Final = 1 << 24
_SPARSEST: Final = 64

_formats: dict[str, Format] = {}


@dataclass(frozen=True)
class Options:
    """The arguments of `read`; see there."""

    directed: bool | None = None
    num_vertices: int | None = None
    duplicates: Duplicates = "keep"
    self_loops: SelfLoops = "keep"
    keep: Keep = "both"
    columns: Sequence[str] | None = None
    labels: bool = False
    sep: str | None = None
    verify: bool | None = None


# Options of every format that lists edges; the graph is built after reading.
BUILDING: Final = ("directed", "num_vertices", "duplicates", "self_loops", "keep")


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    name : str
        Its name in messages.
    suffixes : tuple of str
        The suffixes of its files, in lower case, with the dot.
    read : callable
        ``read(source, options)`` returns the graph.
    write : callable
        ``write(graph, file, suffix)`` writes to a binary file.
    takes : tuple of str
        The options of `read` that it supports.
    holds : tuple of str
        What its files can hold: `"labels"`, `"edge/weight"`, `"vertex/size"`; `"edge/"` and
        `"vertex/"` for columns of any name. `write` warns about the rest.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, Options], Graph]
    write: Callable[[Graph, IO[bytes], str], None]
    takes: tuple[str, ...] = BUILDING
    holds: tuple[str, ...] = ("edge/weight",)

    def lost(self, g: Graph) -> list[str]:
        """Return the parts of a graph that a file of this format cannot hold."""
        lost = ["labels"] if g.labels is not None and "labels" not in self.holds else []
        for owner, columns in (("edge", g.edge), ("vertex", g.vertex)):
            if f"{owner}/" not in self.holds:
                names = [name for name in columns if f"{owner}/{name}" not in self.holds]
                lost += [f"{owner} column {name!r}" for name in names]
        return lost


def register(format: Format) -> Format:
    """Make a format known by its suffixes."""
    for suffix in format.suffixes:
        _formats[suffix] = format
    return format


@functools.cache
def _discover() -> None:
    """Import every module of `weft.io.formats`, so that each registers itself."""
    package = importlib.import_module("weft.io.formats")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"weft.io.formats.{module.name}")


def formats() -> dict[str, Format]:
    """Return the known formats by suffix."""
    _discover()
    return dict(_formats)


def known_suffixes() -> tuple[str, ...]:
    """Return the suffixes that `read` and `write` know, without those of compressions."""
    return tuple(sorted(formats()))


def read(  # noqa: PLR0913
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    sep: str | None = None,
    directed: bool | None = None,
    num_vertices: int | None = None,
    duplicates: Duplicates = "keep",
    self_loops: SelfLoops = "keep",
    keep: Keep = "both",
    columns: Sequence[str] | None = None,
    labels: bool = False,
    verify: bool | None = None,
    unpack_limit: int | None = None,
) -> Graph:
    """Read a graph from a file, in the format of its suffix unless `format` is given.

    ========================= ============================================================
    `.txt .el .wel .csv .tsv` edge lists: two ids and perhaps a weight per line
    `.mtx`                    MatrixMarket, coordinate; isolated vertices are kept
    `.gr`                     DIMACS shortest paths (`p sp`) and PACE treewidth (`p tw`)
    `.graph` `.metis`         METIS, with weights of vertices and edges
    `.graphml` `.gml`         GraphML and GML: numeric attributes become columns
    `.npz`                    a sparse matrix written by `scipy.sparse.save_npz`
    `.properties` `.e` `.v`   LDBC Graphalytics; each of the three files stands for all
    `.parquet`                Parquet, if PyArrow is installed; with all edge columns
    `.weft`                   weft's own: memory-mapped, with all columns
    ========================= ============================================================

    A further suffix `.gz`, `.xz` or `.bz2` marks a compressed file.

    Parameters
    ----------
    path : str or path
        The file.
    format : str, optional
        One of the suffixes above, with or without the dot, for a file with another name.
    sep : str, optional
        The character that separates the fields of an edge list. By default the first line decides
        between commas, semicolons and blanks (or tabs).
    directed : bool, optional
        Whether edges run one way. By default the file decides: MatrixMarket by its symmetry,
        DIMACS and METIS by their definition, Graphalytics by its properties, edge lists by a
        comment "Undirected graph"; otherwise True. With False every listed edge runs both ways;
        with True an undirected one becomes two.
    num_vertices : int, optional
        The minimum number of vertices; required if ids are far larger than the number of edges.
    duplicates, self_loops, keep
        As in `Graph.from_edges`.
    columns : sequence of str, optional
        For an edge list the names of its columns in order, including `"src"`, `"dst"` and
        optionally `"weight"`; other columns are skipped. For Parquet the columns to read.
    labels : bool
        Whether the ids of an edge list are names (text or sparse integers), which become vertex
        labels; otherwise a name is an error. Parquet, GraphML and GML always turn text ids into
        labels; there it applies to integer ids.
    verify : bool, optional
        Whether the checksums of a `.weft` file are verified on opening; by default for files up to
        16 MiB. Offsets and targets are always checked before they are first used.
    unpack_limit : int, optional
        The maximum number of bytes that a compressed or Parquet file may unpack to. By default the
        environment variable ``WEFT_UNPACK_LIMIT`` (such as 8G), else 200 times the size of the file
        or 1 GiB, whichever is more.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If the suffix is unknown. Its subclass `FileFormatError`, with the line or byte, if the file
        violates its format.

    Examples
    --------
    >>> import pathlib, tempfile, weft
    >>> file = pathlib.Path(tempfile.mkdtemp(), "roads.txt")
    >>> _ = file.write_text("# from to metres\\n0 1 120\\n1 2 80\\n")
    >>> weft.read(file)
    Graph(3 vertices, 2 edges, directed, weighted, 56 B)
    >>> weft.read(file, directed=False).out_degree
    array([1, 2, 1], dtype=int32)
    """
    source, kind = find_format(path, format)
    options = Options(
        directed, num_vertices, duplicates, self_loops, keep, columns, labels, sep, verify
    )
    for field in dataclasses.fields(Options):
        if getattr(options, field.name) != field.default and field.name not in kind.takes:
            takes = ", ".join(f"{name}=" for name in kind.takes)
            raise ConfigError(
                f"{field.name}={getattr(options, field.name)!r} means nothing for {kind.name} "
                f"files. Expected one of {takes}; leave it out."
            )
    if num_vertices is not None and check_count("num_vertices", num_vertices) > MOST_VERTICES:
        raise GraphError(
            f"num_vertices={num_vertices} is too large. Expected at most {MOST_VERTICES}."
        )
    if unpack_limit is not None:
        check_count("unpack_limit", unpack_limit)
    try:
        return kind.read(dataclasses.replace(source, unpack_limit=unpack_limit), options)
    except MemoryError as error:
        if isinstance(error, WeftError):
            raise
        raise source.error(
            f"reading the graph needs more memory than is available ({error}). Expected less; "
            "correct the numbers in the file, or read it on a larger machine.",
            byte=0,
        ) from error


def write(g: Graph, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph to a file, in the format of its suffix or of `format` (see `read`).

    The file is replaced only once it is complete: after an error the old one remains.

    `.weft` holds everything, `.parquet` all edge columns. Text formats hold the structure and the
    weights: integers are read back as int64 (uint64 if needed), other numbers as float64, each with
    the same value. GraphML and GML hold all columns of numbers, METIS the vertex columns `weight`
    and `size`. Edge lists, GraphML, GML, Parquet and `.weft` files hold labels; the others hold
    vertex numbers instead. A warning names whatever is omitted.

    A symbolic link is followed, and an existing file keeps its permissions.

    Parameters
    ----------
    g : Graph
        On any device.
    path : str or path
        The file, which is replaced if it exists.
    format : str, optional
        As for `read`.

    Raises
    ------
    GraphError
        If the suffix is unknown, or the format cannot hold the graph.

    Warns
    -----
    UserWarning
        If the graph has labels or columns that the format cannot hold.

    Examples
    --------
    >>> import pathlib, tempfile, weft
    >>> file = pathlib.Path(tempfile.mkdtemp(), "g.mtx.gz")
    >>> weft.write(weft.Graph.from_edges([0, 1], [1, 2], num_vertices=5), file)
    >>> weft.read(file).num_vertices
    5
    """
    source, kind = find_format(path, format)
    if not isinstance(g, Graph):
        raise GraphError(
            f"g is a {type(g).__name__}. Expected a weft.Graph; build one with Graph.from_..."
        )
    lost = kind.lost(g)
    if lost:
        warnings.warn(
            f"{kind.name} files do not hold everything: {', '.join(lost)} will be missing from "
            f"{source.path.name!r}. Write a '.weft' file to keep all of it.",
            stacklevel=2,
        )
    with replacing(source.path, source.compression) as file:
        kind.write(g.to("cpu"), file, source.suffix)


def find_format(path: str | os.PathLike[str], asked: str | None = None) -> tuple[Source, Format]:
    """Return the file and its format: the given one, or the one of the suffix."""
    if not isinstance(path, str | os.PathLike):
        raise GraphError(f"{shortened(path)} is not the path of a file. Expected a str or a Path.")
    file = Path(path)
    suffixes = [suffix.lower() for suffix in file.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    suffix = suffixes[-1] if suffixes else ""
    if asked is not None:
        suffix = f".{str(asked).lower().removeprefix('.')}"
        if suffix not in formats():
            raise ConfigError(unknown("format", asked, [x[1:] for x in known_suffixes()]))
    format = formats().get(suffix)
    if format is None:
        got = f"{file.name!r} ends with {suffix!r}" if suffix else f"{file.name!r} has no suffix"
        raise GraphError(
            f"The format of a file is told by its suffix; {got}. Expected one of "
            f"{', '.join(known_suffixes())}, and perhaps {', '.join(COMPRESSIONS)} after it; "
            "or format=, such as format='csv'." + nearest(suffix, known_suffixes())
        )
    return Source(file, suffix, compression), format


@dataclass
class Listing:
    """The edges listed in a file, before a graph is built from them.

    Parameters
    ----------
    src, dst : ndarray of int64
    columns : dict of str to ndarray
        The values of each edge, including `"weight"` if edges have one.
    num_vertices : int
        As stated by the file, or the largest id plus one.
    directed : bool
        As stated by the file.
    line : int, callable that returns one, or None
        The line to report if there are implausibly many vertices.
    labels : sequence, ndarray or None
        A name for each vertex.
    """

    src: Array
    dst: Array
    columns: Mapping[str, Array]
    num_vertices: int
    directed: bool
    line: int | Callable[[], int] | None = None
    labels: Sequence[Any] | Array | None = None


def build(source: Source, listing: Listing, options: Options) -> Graph:
    """Return the graph of the edges in a file, built with the options."""
    count = _checked_count(source, listing, options)
    src, dst, columns = listing.src, listing.dst, dict(listing.columns)
    directed = listing.directed if options.directed is None else bool(options.directed)
    if directed and not listing.directed:
        src, dst, columns = both_ways(src, dst, columns)
    topology, columns = assemble(
        src,
        dst,
        columns,
        count,
        BuildRules(directed, options.duplicates, options.self_loops, options.keep),
    )
    return Graph(topology, edge=columns, labels=listing.labels)


def _checked_count(source: Source, listing: Listing, options: Options) -> int:
    """Return the number of vertices, if the file and the caller agree and it is plausible."""
    count, edges, asked = listing.num_vertices, listing.src.size, options.num_vertices
    sparse = count > _PLAUSIBLE_VERTICES and count > _SPARSEST * edges
    if asked is None and not sparse:
        return count
    if asked is not None and asked >= count and listing.labels is None:
        return asked
    if asked is None:
        problem = (
            f"this makes {count} vertices, but there are only {edges} edges. Expected ids that "
            "count from 0 or 1; renumber them, or pass num_vertices= to insist or (for an edge "
            "list) labels=True to take them for names."
        )
    else:
        problem = (
            f"this makes {count} vertices, but num_vertices={asked} was passed. Expected {count} "
            "or more (with labels, exactly as many as there are); leave it out."
        )
    line = listing.line() if callable(listing.line) else listing.line
    raise source.error(problem, line=line, byte=0 if line is None else None)


def weights(values: Array | None) -> dict[str, Array]:
    """Return the weights as edge columns; empty without weights."""
    return {} if values is None else {"weight": values}


def both_ways(
    src: Array, dst: Array, columns: Mapping[str, Array]
) -> tuple[Array, Array, dict[str, Array]]:
    """Return every edge in both directions, and self-loops once."""
    proper = src != dst
    turned = {name: np.concatenate((values, values[proper])) for name, values in columns.items()}
    return np.concatenate((src, dst[proper])), np.concatenate((dst, src[proper])), turned
