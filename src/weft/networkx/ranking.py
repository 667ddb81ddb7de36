"""PageRank and betweenness."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from weft.algorithms.betweenness import betweenness
from weft.algorithms.pagerank import pagerank as engine_ranks
from weft.algorithms.support.simple import simple
from weft.arrays.device import to_host
from weft.errors import ConvergenceError, GraphError
from weft.networkx.flows import factors, path_flows
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def _shares(G: Network, given: Any) -> Array | None:
    """Return a dictionary of values as a distribution over the rows."""
    if given is None:
        return None
    values = np.array([given.get(node, 0) for node in G.nodes], dtype=float)
    if values.sum() == 0:
        raise ZeroDivisionError
    return values / values.sum()


def pagerank(  # noqa: PLR0913
    G: Network,
    alpha: float = 0.85,
    personalization: Any = None,
    max_iter: int = 100,
    tol: float = 1e-06,
    nstart: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
) -> dict[Any, float]:
    """Power iteration from the same start, to the same error, as in NetworkX."""
    size = G.size
    if not size:
        return {}
    if dangling is not None:
        raise NotImplementedError("dangling= sends the mass of sinks elsewhere")
    home, start = _shares(G, personalization), _shares(G, nstart)
    if any(part is not None and (part < 0).any() for part in (home, start)):
        raise NotImplementedError("negative personalization or nstart")
    g = G.graph(weight)
    options: dict[str, Any] = {} if start is None else {"warm_start": start}
    try:
        ranks = engine_ranks(
            g, alpha, np.nextafter(tol * size, 0), max_iter, home, g.weighted, **options
        )
    except ConvergenceError:
        raise nx.PowerIterationFailedConvergence(max_iter) from None
    except GraphError as error:
        raise NotImplementedError(str(error)) from error
    return G.named(ranks)


def betweenness_centrality(
    G: Network,
    k: Any = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """Brandes' accumulation over all nodes or a sample of them."""
    if weight is not None or endpoints:
        return _by_flows(G, k, normalized, weight, endpoints, seed)
    if k is None or k == G.size:
        if not G.size:
            return {}
        g = simple(G.graph(), directed=True)
        return G.named(betweenness(g, normalized=normalized))
    rows = [G.structure.place[node] for node in seed.sample(list(G.nodes), k)]
    if k == 0:
        raise ZeroDivisionError("division by zero")
    g = simple(G.graph(), directed=True)
    return G.named(to_host(betweenness(g, np.array(rows), normalized)))


def _by_flows(
    G: Network, k: Any, normalized: bool, weight: Any, endpoints: bool, seed: Any
) -> dict[Any, float]:
    sampled = None
    sources = np.arange(G.size)
    if weight is not None:
        G.weights(weight)  # refuses before anything is drawn
    if G.is_multigraph():
        raise NotImplementedError("flows along parallel edges are NetworkX's own")
    if k is not None and k != G.size:
        nodes = seed.sample(list(G.nodes), k)
        sources = sampled = np.array([G.structure.place[node] for node in nodes], np.int64)
        if k == 0:
            raise ZeroDivisionError("division by zero")
    through, _ = path_flows(G, sources, weight, endpoints=endpoints)
    return G.named(through * factors(G, sampled, normalized, endpoints, G.size))
