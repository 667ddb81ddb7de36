"""Lists of vertex pairs that edge functions run over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from weft.arrays.device import is_device_array, move
from weft.config import Config, check_config
from weft.engine.frontier import Pairs
from weft.errors import GraphError, TraceError
from weft.graph.build import check_ends
from weft.graph.labels import label_array
from weft.ir.ops import Program, program_blocks

if TYPE_CHECKING:
    from weft.graph.graph import Graph


def pairs_of(g: Graph, a: Any, b: Any) -> Pairs:
    """Return pairs of vertices of a graph; see `Graph.pairs`."""
    topology = g._topology
    if g._labels is not None:
        a, b = (_numbers(g, x) for x in (a, b))
    with topology.device.current():
        first, second, _ = check_ends(a, b, topology.num_vertices, topology.device)
        ends = tuple(
            move(x.astype(topology.index_dtype, copy=False), topology.device)
            for x in (first, second)
        )
        return Pairs((ends[0], ends[1]), topology, g._history.version)


def _numbers(g: Graph, vertices: Any) -> Any:
    """Return vertices by their numbers; integers are numbers already."""
    given = vertices if is_device_array(vertices) else label_array(vertices)
    return given if given.dtype.kind in "iu" else g.vertex_of(given)


def for_pairs(g: Graph, pairs: Pairs, program: Program, config: Config | None) -> Config:
    """Return the configuration for a run over pairs; raise if a program needs arcs."""
    if not pairs.version.current or pairs._topology is not g._topology:
        raise GraphError("the pairs belong to another graph or version. Make them by g.pairs(...).")
    for step in program.steps:
        if step.kind != "edge" or step.into or len(program.steps) > 1:
            raise TraceError(
                f"over pairs runs one edge function without into=, but got {step.name}. Assign the "
                "results to fields of pairs.state(...), or emit them."
            )
    for block in program_blocks(program):
        for value in block.walk():
            if value.op == "load":
                _check_load(value.attr)
    return replace(check_config(config), reorder="none")


def _check_load(attr: tuple[Any, ...]) -> None:
    kind, *rest = attr
    of_arc = kind in ("column", "edge_id", "rank") and rest[:1] in ([], ["e"])
    if of_arc or (kind == "edge_state" and rest[0] != "e"):
        name = rest[-1] if rest else kind
        raise TraceError(
            f"a pair is not an arc: e.{name} has no value there, nor has the state of arcs. Read "
            "the columns of the arcs that weft.common finds, and fields of pairs.state(...)."
        )
