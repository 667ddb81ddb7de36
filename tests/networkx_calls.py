"""A call of every function that is served, and graphs to call it with."""

import networkx as nx
import numpy as np
import scipy.sparse as sp


def weighted(graph, seed=1):
    rng = np.random.default_rng(seed)
    for data in (d for *_, d in graph.edges(data=True)):
        data["weight"] = float(rng.integers(1, 9)) / 2
    return graph


def with_communities(graph):
    for i, node in enumerate(graph):
        graph.nodes[node]["community"] = i % 2
    return graph


def named(graph):
    return nx.relabel_nodes(graph, lambda node: f"n{node}")


def graphs():
    """Return graphs of every kind, by name."""
    rng = np.random.default_rng(7)
    pairs = rng.integers(0, 12, (30, 2)).tolist()
    acyclic = nx.DiGraph((min(u, v), max(u, v)) for u, v in pairs if u != v)
    return {
        "named": named(weighted(nx.gnm_random_graph(14, 30, seed=3))),
        "integers": nx.Graph([(3, 1, {"weight": 2}), (1, 2, {"weight": 5}), (2, 3)]),
        "loops": nx.Graph([*pairs[:20], (3, 3)]),
        "directed": weighted(nx.gnp_random_graph(12, 0.25, seed=5, directed=True)),
        "acyclic": weighted(acyclic),
        "multi": weighted(nx.MultiGraph(pairs)),
        "multi directed": weighted(nx.MultiDiGraph(pairs)),
        "apart": nx.disjoint_union(nx.path_graph(4), nx.cycle_graph(3)),
        "tree": nx.balanced_tree(2, 3),
        "tournament": nx.tournament.random_tournament(6, seed=1),
        "alone": nx.empty_graph(1),
        "null": nx.Graph(),
        "null directed": nx.DiGraph(),
    }


def first(graph):
    return next(iter(graph), 0)


def last(graph):
    return list(graph)[-1] if len(graph) else 0


def half(graph):
    return list(graph)[: max(1, len(graph) // 2)]


def halves(graph):
    nodes = list(graph)
    return [set(nodes[::2]), set(nodes[1::2])] if len(nodes) > 1 else [set(nodes)]


def pairs_of(graph):
    nodes = list(graph)
    return [(u, v) for u in nodes[:6] for v in nodes[6:9]]


SOURCE = "bfs_edges generic_bfs_edges bfs_tree bfs_predecessors bfs_successors bfs_layers "
SOURCE += "descendants ancestors single_source_shortest_path_length predecessor is_isolate "
SOURCE += "single_target_shortest_path_length single_source_shortest_path "
SOURCE += "single_target_shortest_path single_source_dijkstra single_source_dijkstra_path "
SOURCE += "single_source_dijkstra_path_length single_source_bellman_ford "
SOURCE += "single_source_bellman_ford_path single_source_bellman_ford_path_length "
SOURCE += "dfs_edges dfs_tree dfs_predecessors dfs_successors dfs_postorder_nodes "
SOURCE += "dfs_preorder_nodes dijkstra_predecessor_and_distance single_source_all_shortest_paths "
SOURCE += "node_connected_component local_reaching_centrality"
PAIR = "all_shortest_paths bidirectional_shortest_path has_path dijkstra_path dijkstra_path_length "
PAIR += "bidirectional_dijkstra bellman_ford_path bellman_ford_path_length efficiency"
SOURCES = "multi_source_dijkstra multi_source_dijkstra_path multi_source_dijkstra_path_length "
SOURCES += "cut_size volume normalized_cut_size conductance edge_expansion mixing_expansion "
SOURCES += "node_boundary node_expansion boundary_expansion edge_boundary is_dominating_set "
SOURCES += "group_degree_centrality group_in_degree_centrality group_out_degree_centrality "
SOURCES += "voronoi_cells group_closeness_centrality bipartite_degree_centrality "
SOURCES += "bipartite_closeness_centrality bipartite_betweenness_centrality biadjacency_matrix"
BLOCKS = "modularity partition_quality intra_community_edges inter_community_edges"
LINKS = "jaccard_coefficient adamic_adar_index resource_allocation_index preferential_attachment "
LINKS += "common_neighbor_centrality cn_soundarajan_hopcroft ra_index_soundarajan_hopcroft "
LINKS += "within_inter_cluster"

SPECIAL = {
    "descendants_at_distance": lambda g: ((g, first(g), 1), {}),
    "shortest_path": lambda g: ((g,), {"source": first(g), "weight": "weight"}),
    "shortest_path_length": lambda g: ((g,), {"target": last(g), "weight": "weight"}),
    "is_k_regular": lambda g: ((g, 2), {}),
    "k_corona": lambda g: ((g, 2), {}),
    "k_truss": lambda g: ((g, 3), {}),
    "number_of_walks": lambda g: ((g, 3), {}),
    "rich_club_coefficient": lambda g: ((g,), {"normalized": False}),
    "betweenness_centrality_subset": lambda g: ((g, half(g), list(g)), {}),
    "edge_betweenness_centrality_subset": lambda g: ((g, half(g), list(g)), {"weight": "weight"}),
    "clustering": lambda g: ((g,), {"weight": "weight"} if len(g) == 14 else {}),
    "dfs_labeled_edges": lambda g: ((g,), {"depth_limit": 3}),
    "fast_could_be_isomorphic": lambda g: ((g, g.copy()), {}),
    "faster_could_be_isomorphic": lambda g: ((g, g.copy()), {}),
    "betweenness_centrality": lambda g: ((g,), {"k": max(1, len(g) - 2), "seed": 4}),
    "maximal_independent_set": lambda g: ((g,), {"seed": 3}),
    "compose": lambda g: ((g, g.subgraph(half(g)).copy()), {}),
    "union": lambda g: ((g, g), {"rename": ("a", "b")}),
    "disjoint_union": lambda g: ((g, g), {}),
    "compose_all": lambda g: (([g, g, nx.create_empty_copy(g)],), {}),
    "union_all": lambda g: (([g, g, g],), {"rename": ("a", "b")}),
    "disjoint_union_all": lambda g: (([g, g, g],), {}),
    "relabel_nodes": lambda g: ((g, {node: (node, 1) for node in half(g)}), {}),
    "convert_node_labels_to_integers": lambda g: ((g,), {"first_label": 2, "label_attribute": "a"}),
    "ego_graph": lambda g: ((g, first(g)), {"radius": 2}),
    "lowest_common_ancestor": lambda g: (
        ((g, last(g), half(g)[-1]), {}) if len(g) else ((g, 0, 0), {})
    ),
    "forceatlas2_layout": lambda g: ((g,), {"max_iter": 3, "seed": 5}),
    "louvain_communities": lambda g: ((g,), {"seed": 2, "max_level": 2}),
    "louvain_partitions": lambda g: ((g,), {"seed": 2}),
    "hits": lambda g: ((g,), {"nstart": dict.fromkeys(g, 1.0)}),
    "katz_centrality": lambda g: ((g,), {"alpha": 0.05}),
    "eigenvector_centrality": lambda g: ((g,), {"max_iter": 1000}),
}


def sparse(graph):
    return nx.to_scipy_sparse_array(graph) if len(graph) else sp.csr_array((0, 0))


BUILDERS = {
    "from_scipy_sparse_array": lambda g: ((sparse(g),), {}),
    "from_numpy_array": lambda g: ((nx.to_numpy_array(g),), {"nodelist": list(g)}),
    "from_biadjacency_matrix": lambda g: ((sparse(g)[: len(g) // 2],), {}),
    "from_dict_of_lists": lambda g: ((nx.to_dict_of_lists(g),), {}),
    "from_pandas_edgelist": lambda g: (
        (nx.to_pandas_edgelist(g),),
        {"edge_attr": "weight" if nx.is_weighted(g) and g.size() else None},
    ),
}


def call(name, graph):
    """Return the positional and keyword arguments of a call."""
    if name in BUILDERS:
        args, kwargs = BUILDERS[name](graph)
        return args, {**kwargs, "create_using": nx.DiGraph if graph.is_directed() else nx.Graph}
    if name in SPECIAL:
        return SPECIAL[name](graph)
    for names, arguments in (
        (SOURCE, lambda: (first(graph),)),
        (PAIR, lambda: (first(graph), last(graph))),
        (SOURCES, lambda: (half(graph),)),
        (BLOCKS, lambda: (halves(graph),)),
        (LINKS, lambda: (pairs_of(graph),)),
    ):
        if name in names.split():
            return (graph, *arguments()), {}
    return (graph,), {}
