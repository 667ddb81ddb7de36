"""Well-known small graphs from the literature, each with its source.

Examples
--------
>>> import weft
>>> g = weft.datasets.les_miserables()
>>> int(weft.bfs(g, "Javert").level[g.vertex_of("Cosette")])
1
"""

from weft.datasets.social import florentine_families, karate, les_miserables, southern_women
from weft.datasets.solids import dodecahedron, heawood, icosahedron, petersen

__all__ = [
    "dodecahedron",
    "florentine_families",
    "heawood",
    "icosahedron",
    "karate",
    "les_miserables",
    "petersen",
    "southern_women",
]
