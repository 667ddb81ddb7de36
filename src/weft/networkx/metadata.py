"""The functions of the backend; imports only the standard library.

NetworkX imports this module in every process in which `weft-networkx` is installed, so the import
must cost next to nothing.
"""

from __future__ import annotations

import os
from typing import Any, Final

NEVER: Final = "never"  # answers after a look at few edges; a conversion looks at all
LINEAR: Final = "linear"  # looks at every edge a few times
MORE: Final = "more"  # works more than that

# Settings, each also an environment variable WEFT_NETWORKX_<NAME>.
DEFAULTS: Final[dict[str, Any]] = {
    "device": "auto",  # "auto", "cpu", "cuda", ...
    "linear_edges": 10_000,  # edges from which on a linear function is worth a conversion
    "more_edges": 2_000,  # ... and one that does more
    "gpu_entries": 2_000_000,  # entries of rows from which on "auto" prefers a GPU
    "engine_entries": 1_000_000,  # ... and the engine is faster than a search by one thread
}

# The functions of each module, by cost.
_SERVED: Final = {
    ("paths", NEVER): "bidirectional_shortest_path has_path",
    ("paths", LINEAR): """
        single_source_shortest_path_length single_target_shortest_path_length
        single_source_shortest_path single_target_shortest_path predecessor
        shortest_path shortest_path_length""",
    ("paths", MORE): "all_pairs_shortest_path_length all_pairs_shortest_path",
    ("weighted_paths", LINEAR): """
        multi_source_dijkstra multi_source_dijkstra_path multi_source_dijkstra_path_length
        single_source_dijkstra single_source_dijkstra_path single_source_dijkstra_path_length
        dijkstra_path dijkstra_path_length bidirectional_dijkstra
        single_source_bellman_ford single_source_bellman_ford_path
        single_source_bellman_ford_path_length bellman_ford_path bellman_ford_path_length""",
    ("weighted_paths", MORE): """
        all_pairs_dijkstra all_pairs_dijkstra_path all_pairs_dijkstra_path_length
        all_pairs_bellman_ford_path all_pairs_bellman_ford_path_length""",
    ("traversal", LINEAR): """
        bfs_edges generic_bfs_edges bfs_tree bfs_predecessors bfs_successors bfs_layers
        descendants_at_distance descendants ancestors""",
    ("ancestry", LINEAR): "lowest_common_ancestor",
    ("ancestry", MORE): "all_pairs_lowest_common_ancestor",
    ("derived", LINEAR): "ego_graph relabel_nodes convert_node_labels_to_integers reverse",
    ("derived", MORE): "complement",
    ("joined", LINEAR): """
        compose compose_all union union_all disjoint_union disjoint_union_all""",
    ("building", NEVER): """
        from_scipy_sparse_array from_numpy_array from_biadjacency_matrix from_dict_of_lists
        from_pandas_edgelist""",
    ("layouts", MORE): "forceatlas2_layout",
    ("depth", LINEAR): """
        dfs_edges dfs_tree dfs_predecessors dfs_successors dfs_postorder_nodes
        dfs_preorder_nodes dfs_labeled_edges""",
    ("equal_paths", LINEAR): """
        dijkstra_predecessor_and_distance all_shortest_paths single_source_all_shortest_paths
        negative_edge_cycle""",
    ("equal_paths", MORE): """
        all_pairs_all_shortest_paths johnson floyd_warshall
        floyd_warshall_predecessor_and_distance""",
    ("flows", MORE): "edge_betweenness_centrality_subset",
    ("holes", MORE): "effective_size constraint",
    ("frames", LINEAR): "to_pandas_adjacency to_pandas_edgelist",
    ("components", NEVER): "is_bipartite",
    ("components", LINEAR): """
        connected_components number_connected_components is_connected node_connected_component
        weakly_connected_components number_weakly_connected_components is_weakly_connected
        is_tree is_forest is_arborescence is_branching""",
    ("degrees", NEVER): """
        degree_centrality in_degree_centrality out_degree_centrality isolates number_of_isolates
        is_isolate number_of_selfloops is_negatively_weighted""",
    ("degrees", LINEAR): "overall_reciprocity reciprocity",
    ("distances", NEVER): "efficiency",
    ("distances", MORE): """
        average_shortest_path_length eccentricity diameter radius periphery center barycenter
        closeness_centrality harmonic_centrality global_efficiency local_efficiency wiener_index
        schultz_index gutman_index hyper_wiener_index harmonic_diameter""",
    ("strong", LINEAR): """
        strongly_connected_components kosaraju_strongly_connected_components
        number_strongly_connected_components is_strongly_connected condensation
        attracting_components number_attracting_components is_attracting_component
        is_semiconnected flow_hierarchy""",
    ("acyclic", LINEAR): """
        topological_generations topological_sort has_cycle is_directed_acyclic_graph
        dag_longest_path dag_longest_path_length is_aperiodic""",
    ("blocks", LINEAR): """
        biconnected_component_edges biconnected_components articulation_points is_biconnected
        bridges has_bridges""",
    ("greedy", LINEAR): """
        greedy_color maximal_matching min_maximal_matching minimum_spanning_edges
        maximum_spanning_edges minimum_spanning_tree maximum_spanning_tree""",
    ("greedy", MORE): "maximal_independent_set",
    ("cuts", LINEAR): """
        cut_size volume normalized_cut_size conductance edge_expansion mixing_expansion
        node_boundary node_expansion boundary_expansion edge_boundary is_dominating_set
        group_degree_centrality group_in_degree_centrality group_out_degree_centrality""",
    ("mixing", LINEAR): """
        average_neighbor_degree average_degree_connectivity s_metric rich_club_coefficient
        degree_pearson_correlation_coefficient degree_assortativity_coefficient
        is_regular is_k_regular""",
    ("communities", LINEAR): """
        modularity partition_quality intra_community_edges inter_community_edges""",
    ("partitions", MORE): """
        louvain_communities louvain_partitions leiden_communities leiden_partitions
        label_propagation_communities asyn_lpa_communities fast_label_propagation_communities""",
    ("shapes", LINEAR): """
        is_tournament score_sequence tournament_matrix faster_could_be_isomorphic
        fast_could_be_isomorphic is_eulerian has_eulerian_path is_semieulerian""",
    ("shapes", MORE): """
        number_of_walks adjacency_spectrum laplacian_spectrum normalized_laplacian_spectrum
        modularity_spectrum bethe_hessian_spectrum square_clustering generalized_degree
        all_triangles""",
    ("links", MORE): """
        jaccard_coefficient adamic_adar_index resource_allocation_index preferential_attachment
        common_neighbor_centrality cn_soundarajan_hopcroft ra_index_soundarajan_hopcroft
        within_inter_cluster""",
    ("powers", MORE): """
        eigenvector_centrality katz_centrality eigenvector_centrality_numpy
        katz_centrality_numpy hits""",
    ("brandes", MORE): """
        edge_betweenness_centrality betweenness_centrality_subset
        bipartite_betweenness_centrality global_reaching_centrality local_reaching_centrality""",
    ("all_pairs", LINEAR): """
        voronoi_cells group_closeness_centrality bipartite_degree_centrality""",
    ("all_pairs", MORE): "floyd_warshall_numpy bipartite_closeness_centrality",
    ("cores", MORE): "k_core k_shell k_crust k_corona onion_layers k_truss",
    ("clusters", MORE): "triangles clustering average_clustering transitivity core_number",
    ("ranking", MORE): "pagerank betweenness_centrality",
    ("matrices", LINEAR): """
        to_scipy_sparse_array adjacency_matrix to_numpy_array laplacian_matrix
        normalized_laplacian_matrix bethe_hessian_matrix modularity_matrix
        directed_modularity_matrix google_matrix incidence_matrix biadjacency_matrix
        to_dict_of_lists""",
}

# Name of each function: the module that has it, and its cost.
FUNCTIONS: Final = {
    name: (module, cost) for (module, cost), names in _SERVED.items() for name in names.split()
}


def default_config() -> dict[str, Any]:
    """Return the settings that the environment chooses."""
    chosen = {}
    for name, value in DEFAULTS.items():
        given = os.environ.get(f"WEFT_NETWORKX_{name.upper()}", value)
        chosen[name] = type(value)(given)
    return chosen


def get_info() -> dict[str, Any]:
    """Return the description of the backend for NetworkX."""
    return {
        "backend_name": "weft",
        "project": "weft",
        "package": "weft",
        "short_summary": "Parallel on CPUs and on NVIDIA GPUs.",
        "functions": {name: {} for name in FUNCTIONS},
        "default_config": default_config(),
    }
