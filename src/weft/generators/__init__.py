"""Generated graphs: seeded, vectorised, weighted on request.

Every function takes `weights=`: None, `"int"` (1 to 64), `"float"` (at least 0, below 1) or a pair
`(low, high)`. A weight is a hash of the seed and the two ends, so it is the same in both
directions.
"""

from typing import NoReturn

from weft.errors import FieldError, nearest
from weft.generators.classic import complete, cycle, path, star, tree
from weft.generators.geometric import delaunay, geometric
from weft.generators.kronecker import kron, rmat
from weft.generators.lattice import grid, road
from weft.generators.planted import planted
from weft.generators.random_graphs import erdos_renyi, powerlaw

__all__ = [
    "complete",
    "cycle",
    "delaunay",
    "erdos_renyi",
    "geometric",
    "grid",
    "kron",
    "path",
    "planted",
    "powerlaw",
    "rmat",
    "road",
    "star",
    "tree",
]


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise FieldError(f"weft.generators has no {name!r}.{nearest(name, __all__)}")
