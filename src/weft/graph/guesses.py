"""Errors for attributes and methods that users of other libraries expect of a graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, cast

from weft.errors import FieldError, GraphError, nearest, shortened
from weft.graph.build import maker_of
from weft.graph.columns import ColumnError
from weft.topology.topology import Topology

Constructor = TypeVar("Constructor", bound=Callable[..., None])

WRITTEN = {
    "nodes": "range(g.num_vertices), or g.labels",
    "vertices": "range(g.num_vertices), or g.labels",
    "edges": "g.to_edges()",
    "vs": 'g.vertex["name"] for a column of the vertices',
    "es": 'g.edge["name"] for a column of the edges',
    "weight": 'g.edge["weight"]',
    "weights": 'g.edge["weight"]',
    "number_of_nodes": "g.num_vertices",
    "number_of_edges": "g.num_edges",
    "num_nodes": "g.num_vertices",
    "n": "g.num_vertices",
    "m": "g.num_edges",
    "vcount": "g.num_vertices",
    "ecount": "g.num_edges",
    "adj": "g.neighbors(vertex)",
    "successors": "g.neighbors(vertex)",
    "add_edge": "g.add_edges([(a, b)]), which returns a new graph",
    "add_edges_from": "g.add_edges(pairs), which returns a new graph",
    "add_node": "g.add_edges([], [], num_vertices=...), which returns a new graph",
    "add_vertex": "g.add_edges([], [], num_vertices=...), which returns a new graph",
    "remove_edge": "g.remove_edges([(a, b)]), which returns a new graph",
    "write": "weft.write(g, path)",
    "save": "weft.write(g, path)",
    "read": "weft.read(path)",
    "load": "weft.read(path)",
}


def only_of_topology(construct: Constructor) -> Constructor:
    """Make the constructor of a graph suggest the right function for other arguments."""

    @functools.wraps(construct)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        topology = args[0] if args else options.get("topology")
        if len(args) > 1 or not isinstance(topology, Topology):
            shown = ", ".join([*map(shortened, args), *(f"{name}=..." for name in options)])
            maker = maker_of(args[0]) if args else ""
            maker = maker or "Graph.from_edges(src, dst, weight), or of a list of pairs"
            raise GraphError(
                f"Graph({shown}) is not possible: it takes a Topology. Build a graph with {maker}."
            )
        construct(self, *args, **options)

    return cast(Constructor, checked)


def no_attribute(graph: Any, name: str) -> Any:
    """Raise the error about an attribute that a graph does not have."""
    if name.startswith("_"):  # Python probes for optional attributes
        raise AttributeError(name)
    hint = f" Use {WRITTEN[name]}." if name in WRITTEN else ""
    if not hint:
        hint = nearest(name, (known for known in dir(type(graph)) if known[0] != "_"))
    raise FieldError(f"a graph has no attribute {name!r}.{hint}")


def no_item(graph: Any, key: object) -> NoReturn:
    """Raise the error about a graph that is subscripted, iterated or searched by `in`."""
    # A KeyError makes NumPy treat a graph as one object, not as a sequence.
    raise ColumnError(
        f"a graph is not a container: g[{key!r}], iteration and `in` have no meaning. Columns are "
        'g.vertex["name"] and g.edge["name"], neighbours g.neighbors(vertex), vertices '
        "range(g.num_vertices)."
    )
