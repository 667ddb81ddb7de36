"""The names by which every benchmark takes its graphs, and the graphs they stand for.

| name                 | graph                                                              |
|----------------------|--------------------------------------------------------------------|
| ``kron<scale>``      | R-MAT, 2^scale vertices, edge factor 48 (16 in CPU benchmarks)     |
| ``rmat<scale>``      | R-MAT, edge factor 16                                              |
| ``rmat<scale>x<f>``  | R-MAT, edge factor f; also ``kron<scale>x<f>``                     |
| ``road<side>``       | a square grid, each edge kept with probability 0.7                 |
| ``planted<scale>``   | planted communities, mean degree above 40                          |
| ``rgg<scale>``       | random geometric, radius 0.55 sqrt(ln n / n)                       |
| ``delaunay<scale>``  | the Delaunay triangulation of random points                        |
| ``er<scale>``        | Erdős–Rényi, 16 edges per vertex                                   |
| ``powerlaw<scale>``  | power-law degrees, mean 16                                         |
| a path               | a file that `weft.read` reads, made undirected and simple          |
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEED = 1
KEEP = 0.7
FACTORS = {"kron": 48, "rmat": 16}
ON_A_CPU = {"kron": 16, "rmat": 16}
EDGES_PER_VERTEX = 16
FAMILIES = ("kron", "rmat", "road", "planted", "rgg", "delaunay", "er", "powerlaw")
EXPECTED = "<scale>, ".join(f for f in FAMILIES if f != "road") + "<scale>, road<side>"
FILE = "file"


@dataclass(frozen=True)
class Name:
    """What the name of a graph says: `factor` edges per vertex, or the path of a file."""

    family: str
    size: int = 0
    factor: int | None = None
    path: Path | None = None


def parse(name: str) -> Name:
    """Return what a name says.

    Raises
    ------
    ValueError
        If it names no graph.
    """
    match = re.fullmatch(rf"({'|'.join(FAMILIES)})(\d+)(?:x(\d+))?", name)
    if match is not None and (match[3] is None or match[1] in FACTORS):
        return Name(match[1], int(match[2]), int(match[3]) if match[3] else None)
    path = Path(name)
    if path.is_file():
        return Name(FILE, path=path)
    raise ValueError(
        f"graph {name!r} is not known. Expected one of {EXPECTED}, rmat<scale>x<edge factor>, "
        "e.g. 'kron18', or the path of a file."
    )


def generate(
    name: str,
    device: str = "cpu",
    *,
    weights: Any = "int",
    factors: Mapping[str, int] = FACTORS,
) -> Any:
    """Return the graph of a name, undirected, on a device.

    Parameters
    ----------
    name : str
        As in the table above.
    device : str
        Where to make it; families that no GPU generates are moved there.
    weights : {None, "int", "float"} or (low, high)
        See `weft.generators`; a file keeps its own.
    factors : mapping
        Edges drawn per vertex, by family, where the name does not say.
    """
    from weft import generators

    told = parse(name)
    family, size, n = told.family, told.size, 1 << told.size
    shared: dict[str, Any] = {"seed": SEED, "weights": weights}
    if told.path is not None:
        return read(told.path, weights).to(device)
    if family == "road":
        return generators.road(size, KEEP, device=device, **shared)
    if family == "planted":
        return generators.planted(n, device=device, **shared)
    if family in FACTORS:
        return generators.rmat(size, told.factor or factors[family], device=device, **shared)
    return {
        "rgg": lambda: generators.geometric(n, geometric_radius(n), **shared),
        "delaunay": lambda: generators.delaunay(n, **shared),
        "er": lambda: generators.erdos_renyi(n, m=most_edges(n), **shared),
        "powerlaw": lambda: generators.powerlaw(n, EDGES_PER_VERTEX, **shared),
    }[family]().to(device)


def most_edges(n: int) -> int:
    """Return the edges of an ``er`` graph: 16 a vertex, or all pairs."""
    return min(EDGES_PER_VERTEX * n, n * (n - 1) // 2)


def geometric_radius(n: int) -> float:
    """Return the radius of the DIMACS series rgg_n_2: nearly all vertices are connected."""
    return 0.55 * math.sqrt(math.log(max(n, 2)) / max(n, 1))


def read(path: Path, weights: Any = "int") -> Any:
    """Return the graph of a file as undirected and simple, with weights if it has none."""
    import weft
    from weft.generators.weights import pair_weights, weight_range

    edges = (g := weft.read(path)).to_edges()
    # The smallest of several weights, so that the result depends on no order.
    simple = weft.Graph.from_edges(
        edges.src, edges.dst, edges.weight if g.weighted else None, num_vertices=g.num_vertices,
        directed=False, duplicates="min" if g.weighted else "first", self_loops="drop",
    )  # fmt: skip
    drawn = weight_range(weights)
    if not g.weighted and drawn is not None:
        simple.edge["weight"] = pair_weights(*simple.topology.edge_endpoints(), drawn, SEED)
    return simple


# -- options of the command line


def add_graph(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add ``--graph NAME`` and ``--file PATH`` to a benchmark of one graph."""
    usual = f"; by default {default}" if default else " in place of the generated graph"
    parser.add_argument("--graph", type=checked, default=default, help=EXPECTED + usual)
    add_file(parser)


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add ``--file PATH``, a file in place of the graph that would be generated."""
    parser.add_argument(
        "--file", dest="graph", type=existing, default=argparse.SUPPRESS, metavar="PATH",
        help="a file with a graph instead",
    )  # fmt: skip


def add_graphs(
    parser: argparse.ArgumentParser, default: Sequence[str], more: Mapping[str, Sequence[str]] = {}
) -> None:
    """Add ``--graphs NAMES``, ``--file PATH`` and flags that stand for `more` lists of names."""
    usual = f"; by default {','.join(default)}" if default else " in place of the usual ones"
    parser.set_defaults(graphs=None)
    parser.add_argument(
        "--graphs", type=listed, default=argparse.SUPPRESS,
        help=f"{EXPECTED}, between commas{usual}",
    )  # fmt: skip
    for flag, names in more.items():
        parser.add_argument(
            f"--{flag}", dest="graphs", action="store_const", const=list(names),
            default=argparse.SUPPRESS, help=", ".join(names),
        )  # fmt: skip
    parser.add_argument(
        "--file", dest="files", action="append", type=existing, default=[], metavar="PATH",
        help="a file with a graph; may be repeated",
    )  # fmt: skip
    parser.set_defaults(usual_graphs=list(default))


def chosen(options: argparse.Namespace) -> list[str]:
    """Return the names that a command line gave; files alone replace the usual graphs."""
    named = options.graphs if options.graphs is not None or options.files else options.usual_graphs
    return [*(named or []), *options.files]


def listed(text: str) -> list[str]:
    """Return checked names between commas."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("names nothing. Expected at least one graph.")
    return [checked(name) for name in names]


def checked(name: str) -> str:
    """Return a name that stands for a graph."""
    try:
        parse(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return name


def existing(text: str) -> str:
    """Return the path of a file that is there."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is not a file. Expected the path of a graph.")
    return text


def short(name: str) -> str:
    """Return what tables call a graph: the name, or that of the file without its folder."""
    return Path(name).name
