"""Data frames of edges and of adjacency."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from weft.graph.interop.rows import EdgeValues, names_of, read_column
from weft.graph.interop.tables import optional
from weft.networkx.matrices import to_numpy_array
from weft.networkx.network import Network


def to_pandas_adjacency(
    G: Network,
    nodelist: Any = None,
    dtype: Any = None,
    order: Any = None,
    multigraph_weight: Any = sum,
    weight: Any = "weight",
    nonedge: Any = 0.0,
) -> Any:
    """The adjacency matrix with nodes as names."""
    pd = optional("pandas", "pandas", "data frames")

    matrix = to_numpy_array(G, nodelist, dtype, order, multigraph_weight, weight, nonedge)
    names = G.nodes if nodelist is None else nodelist
    return pd.DataFrame(data=matrix, index=names, columns=names)


def to_pandas_edgelist(
    G: Network,
    source: Any = "source",
    target: Any = "target",
    nodelist: Any = None,
    dtype: Any = None,
    edge_key: Any = None,
) -> Any:
    """One row for each edge, with its attributes."""
    pd = optional("pandas", "pandas", "data frames")

    if nodelist is not None or (edge_key is not None and G.is_multigraph()):
        raise NotImplementedError("edges of some nodes, and keys, are looked up by NetworkX")
    columns = _columns(G)
    for name, side in ((source, "Source"), (target, "Target")):
        if name in columns:
            raise nx.NetworkXError(f"{side} name {name!r} is an edge attr name")
    structure = G.structure
    first = slice(None) if structure.first is None else structure.first
    ends = {source: G.at(structure.sources[first]), target: G.at(structure.targets[first])}
    return pd.DataFrame({**ends, **columns}, dtype=dtype)


def _columns(G: Network) -> dict[Any, Any]:
    """Return the attributes of all edges, NaN where one is missing."""
    if G.attributes is not None:
        return dict(G.attributes)
    values = EdgeValues(G.origin, G.structure.rows)
    found: dict[Any, Any] = {}
    for name in names_of(values):
        column, present = read_column(values, name, lambda _: None, exact=True)
        if column is None:
            found[name] = [data.get(name, np.nan) for data in values.dictionaries]
        else:
            found[name] = column if present is None else np.where(present, column, np.nan)
    return found
