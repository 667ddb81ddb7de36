"""What the backend serves; the standard library alone is imported here.

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
    "linear_edges": 20_000,  # edges from which on a linear function is worth a conversion
    "more_edges": 2_000,  # ... and one that does more
    "gpu_entries": 2_000_000,  # entries of rows from which on "auto" prefers a GPU
    "engine_entries": 8_192,  # ... and the engine is faster than a search by one thread
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
