"""Which calls weft takes, judged by arguments before anything is converted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sized
from typing import Any, Final

from weft.networkx.metadata import FUNCTIONS, LINEAR, NEVER

Given = dict[str, Any]
Rule = Callable[[Given, Any], str | None]

NEAR: Final = 2  # hops within which a search looks at few nodes
FEW: Final = 10  # a set with less than this part of the nodes is looked at node by node
FEW_PAIRS: Final = 1000

# Arguments that name a weight; a function in their place is refused.
WEIGHTS: Final = ("weight", "distance")

# Arguments with which weft can do nothing but what is named here.
ONLY: Final[dict[str, dict[str, tuple[Any, ...]]]] = {
    "global_reaching_centrality": {"weight": (None,)},
    "local_reaching_centrality": {"weight": (None,), "paths": (None,)},
    "pagerank": {"dangling": (None,)},
    "all_shortest_paths": {"method": ("dijkstra",)},
    "single_source_all_shortest_paths": {"method": ("dijkstra",)},
    "all_pairs_all_shortest_paths": {"method": ("dijkstra",)},
    "effective_size": {"nodes": (None,)},
    "constraint": {"nodes": (None,)},
    "to_pandas_edgelist": {"nodelist": (None,)},
    "dfs_edges": {"sort_neighbors": (None,)},
    "dfs_tree": {"sort_neighbors": (None,)},
    "dfs_predecessors": {"sort_neighbors": (None,)},
    "dfs_successors": {"sort_neighbors": (None,)},
    "dfs_preorder_nodes": {"sort_neighbors": (None,)},
    "dfs_postorder_nodes": {"sort_neighbors": (None,)},
    "dfs_labeled_edges": {"sort_neighbors": (None,)},
    "eccentricity": {"sp": (None,)},
    "barycenter": {"sp": (None,), "attr": (None,)},
    "harmonic_diameter": {"sp": (None,)},
    "rich_club_coefficient": {"normalized": (False,)},
    "dag_longest_path": {"topo_order": (None,)},
    "is_negatively_weighted": {"edge": (None,)},
    "greedy_color": {
        "strategy": ("largest_first", "connected_sequential", "connected_sequential_bfs"),
        "interchange": (False,),
    },
    "minimum_spanning_edges": {"algorithm": ("kruskal",)},
    "maximum_spanning_edges": {"algorithm": ("kruskal",)},
    "minimum_spanning_tree": {"algorithm": ("kruskal",)},
    "maximum_spanning_tree": {"algorithm": ("kruskal",)},
    "kosaraju_strongly_connected_components": {"source": (None,)},
    "bfs_edges": {"sort_neighbors": (None,)},
    "bfs_tree": {"sort_neighbors": (None,)},
    "bfs_predecessors": {"sort_neighbors": (None,)},
    "bfs_successors": {"sort_neighbors": (None,)},
    "generic_bfs_edges": {"neighbors": (None,)},
    "forceatlas2_layout": {"store_pos_as": (None,)},
    "relabel_nodes": {"copy": (True,)},
    "reverse": {"copy": (True,)},
}

# Functions that weft has for undirected graphs, and for graphs without parallel edges alone.
_UNDIRECTED: Final = """
    transitivity square_clustering group_closeness_centrality"""
_SIMPLE: Final = """
    edge_betweenness_centrality betweenness_centrality_subset
    edge_betweenness_centrality_subset square_clustering
    minimum_spanning_edges maximum_spanning_edges minimum_spanning_tree maximum_spanning_tree
    complement reverse to_dict_of_lists inter_community_edges"""
UNDIRECTED: Final = frozenset(_UNDIRECTED.split())
SIMPLE: Final = frozenset(_SIMPLE.split())

# Functions that look at few nodes if an argument says so: a limit on hops, nodes, a set, pairs.
_WITH_CUTOFF: Final = """
    single_source_shortest_path single_source_shortest_path_length
    single_target_shortest_path single_target_shortest_path_length predecessor"""
_WITH_DEPTH_LIMIT: Final = """
    bfs_edges bfs_tree bfs_predecessors bfs_successors generic_bfs_edges
    dfs_edges dfs_tree dfs_predecessors dfs_successors dfs_preorder_nodes dfs_postorder_nodes
    dfs_labeled_edges"""
_WITH_NODES: Final = "reciprocity triangles clustering square_clustering generalized_degree"
_WITH_SET: Final = """
    cut_size volume normalized_cut_size conductance edge_expansion mixing_expansion
    node_expansion boundary_expansion is_dominating_set
    group_degree_centrality group_in_degree_centrality group_out_degree_centrality"""
_WITH_PAIRS: Final = """
    jaccard_coefficient adamic_adar_index resource_allocation_index preferential_attachment
    cn_soundarajan_hopcroft ra_index_soundarajan_hopcroft within_inter_cluster"""


class Calls:
    """The known properties of a function's arguments."""

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function
        parameters = inspect.signature(function).parameters
        self.names = list(parameters)
        self.defaults = {name: p.default for name, p in parameters.items()}
        self.weight = next((name for name in self.names if name in WEIGHTS), None)

    def given(self, args: tuple[Any, ...], kwargs: Given) -> Given:
        """Return the arguments of a call by name."""
        return {**dict(zip(self.names, args, strict=False)), **kwargs}

    def refusal(self, given: Given) -> str | None:
        """Return why a call cannot be served; None if it can."""
        if self.weight is not None and callable(given.get(self.weight)):
            return f"{self.weight}= is a function"
        for argument, values in ONLY.get(self.name, {}).items():
            value = given.get(argument, self.defaults[argument])
            if not any(value is known or value == known for known in values):
                return f"weft does not have {self.name} with {argument}={value!r}"
        graph = given.get("G")
        if self.name in UNDIRECTED and graph is not None and graph.is_directed():
            return f"weft has {self.name} for undirected graphs alone"
        if self.name in SIMPLE and graph is not None and graph.is_multigraph():
            return f"weft has {self.name} for graphs without parallel edges alone"
        own = getattr(self.function, "refusal", None)
        return None if own is None else own({**self.defaults, **given})

    def cost(self, given: Given) -> str:
        """Return the class of cost of a call in NetworkX."""
        rule = _RULES.get(self.name)
        found = None if rule is None else rule(given, given.get("G"))
        return FUNCTIONS[self.name][1] if found is None else found


def _between_two(given: Given, graph: Any) -> str | None:
    """Two searches that meet look at few nodes."""
    both = given.get("source") is not None and given.get("target") is not None
    return NEVER if both and given.get("weight") is None else None


def _near(argument: str) -> Rule:
    def rule(given: Given, graph: Any) -> str | None:
        limit = given.get(argument)
        return NEVER if isinstance(limit, int | float) and limit <= NEAR else None

    return rule


def _few(argument: str) -> Rule:
    def rule(given: Given, graph: Any) -> str | None:
        nodes = given.get(argument)
        if nodes is None or graph is None:
            return None
        try:
            few = nodes in graph
        except TypeError:  # no node, as it cannot be hashed
            few = False
        if isinstance(nodes, Sized):
            few = few or len(nodes) * FEW <= graph.number_of_nodes()
        return NEVER if few else None

    return rule


def _one_search(argument: str) -> Rule:
    return lambda given, graph: LINEAR if given.get(argument) is not None else None


def _few_pairs(given: Given, graph: Any) -> str | None:
    pairs = given.get("ebunch")
    return NEVER if isinstance(pairs, Sized) and len(pairs) <= FEW_PAIRS else None


def _tree(given: Given, graph: Any) -> str | None:
    """A graph with too many edges for a tree is none."""
    try:
        return None if graph.number_of_edges() == len(graph) - 1 else NEVER
    except (AttributeError, TypeError):
        return None


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {
        "shortest_path": _between_two,
        "shortest_path_length": _between_two,
        "is_tree": _tree,
        "is_arborescence": _tree,
        "closeness_centrality": _one_search("u"),
        "eccentricity": _one_search("v"),
        "descendants_at_distance": _near("distance"),
        "ego_graph": _near("radius"),
        "node_boundary": _few("nbunch1"),
        "edge_boundary": _few("nbunch1"),
    }
    for names, rule in (
        (_WITH_CUTOFF, _near("cutoff")),
        (_WITH_DEPTH_LIMIT, _near("depth_limit")),
        (_WITH_NODES, _few("nodes")),
        (_WITH_SET, _few("S")),
        (_WITH_PAIRS, _few_pairs),
    ):
        rules.update(dict.fromkeys(names.split(), rule))
    return rules


_RULES: Final = _rules()
