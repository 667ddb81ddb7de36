"""Virtual vertices: a vertex of many arcs becomes several rows of at most so many each.

(A. H. Nodehi Sabet, J. Qiu, Z. Zhao, Tigr: Transforming irregular graphs for GPU-friendly graph
processing, ASPLOS 2018: the virtual transformation, with edges coalesced.) The arcs stay where the
adjacency has them; a row knows its vertex, and a vertex the first of its rows.
"""

from __future__ import annotations

from typing import Any

from weft.config import BySide
from weft.formats.base import Array, Format, Kind, Layout, Parameter, Part, few_rows, register
from weft.formats.csr import OFFSETS, TARGETS, owners_of


def build(offsets: Any, targets: Any, xp: Any, incoming: bool, *, degree: int) -> Layout:
    """Return the rows of all vertices, one vertex after another."""
    n = offsets.size - 1
    degrees = offsets[1:] - offsets[:-1]
    firsts = xp.zeros(n + 1, xp.int64)
    firsts[1:] = xp.cumsum((degrees + degree - 1) // degree)
    rows = int(firsts[-1])
    vertices = owners_of(firsts, xp.empty(rows, targets.dtype), xp)
    arrays = {"offsets": offsets, "targets": targets, "vertices": vertices, "firsts": firsts}
    most = int((firsts[1:] - firsts[:-1]).max()) if n else 0
    part = Part(rows, targets.size, arrays, {"degree": degree, "few": few_rows(most)})
    return Layout(TIGR, [part], facts={"virtual rows": rows})


def to_coo(layout: Layout, offsets: Any, targets: Any, xp: Any) -> tuple[Any, Any]:
    """Return sources and targets of all arcs, row by row."""
    (part,) = layout.parts
    vertices, degree = part.arrays["vertices"], part.numbers["degree"]
    at = xp.arange(part.rows) - part.arrays["firsts"][vertices]
    begins = offsets[vertices] + at * degree
    ends = xp.minimum(begins + degree, offsets[vertices.astype(xp.int64) + 1])
    slots = xp.arange(targets.size, dtype=xp.int64)
    row = xp.searchsorted(ends, slots, side="right")
    return vertices[row], targets[slots]


# The number of a row among those of its vertex, of which the first ones are full.
AT = "({r} - {firsts}[{v}])"
LAST = "{offsets}[{v} + ONE]"
ROWS = "({firsts}[{v} + ONE] - {firsts}[{v}])"
FULL = f"({ROWS} - np.uint64({ROWS} * {{degree}} > {LAST} - {{offsets}}[{{v}}]))"
INTERLEAVED = (
    f"{{offsets}}[{{v}}] + ({{s}} - {{offsets}}[{{v}}] - {AT} * {{degree}}) * {FULL} + {AT}"
)
TIGR = register(
    Format(
        name="tigr",
        title="virtual rows of at most `degree` arcs, interleaved",
        kinds=(
            Kind(
                "Tigr",
                (OFFSETS, TARGETS, Array("vertices"), Array("firsts", "int64")),
                ("degree", "few"),
                virtual=True,
                expands=True,
                joins=True,
                wholes=True,
                loops=(
                    ("begin", f"{{offsets}}[{{v}}] + {AT} * {{degree}}"),
                    ("end", f"min({{offsets}}[{{v}}] + ({AT} + ONE) * {{degree}}, {LAST})"),
                    ("place", f"{INTERLEAVED} if {AT} < {FULL} else {{s}}"),
                    ("target", "{targets}[{p}]"),
                ),
            ),
        ),
        build=build,
        to_coo=to_coo,
        formula="E + virtual rows",
        turns=False,
        # All rows are short; those of a queue lie anywhere.
        schedule=BySide({"push": "warp", "pull": "vertex", "gather": "vertex"}),
        parameters=(Parameter("degree", 8, (4, 8, 16, 32)),),
    )
)
