"""Dispatch: what is declared, when weft steps in, what it costs those who do not use it."""

import inspect
import logging
import subprocess
import sys

import networkx as nx
import pytest
from networkx.utils.backends import _registered_algorithms

from networkx_registration import ROOT, entry_points, printed
from weft.networkx.interface import backend
from weft.networkx.metadata import DEFAULTS, FUNCTIONS, NEVER, get_info

USED = "import networkx as nx; G = nx.gnm_random_graph({}, {}, seed=1); "


def original(name):
    function = inspect.unwrap(_registered_algorithms[name])
    return getattr(function, "orig_func", function)


def test_enough_functions_are_served():
    assert len(FUNCTIONS) >= 240


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signatures_are_those_of_networkx(name):
    ours = inspect.signature(getattr(backend, name)).parameters.values()
    theirs = inspect.signature(original(name)).parameters.values()
    assert [(p.name, p.kind, p.default) for p in ours] == [
        (p.name, p.kind, p.default) for p in theirs
    ]


def test_what_is_not_served_is_no_attribute():
    assert not hasattr(backend, "held_karp_ascent")


def test_metadata_imports_the_standard_library_alone():
    code = (
        "import sys; before = set(sys.modules); import weft.networkx.metadata as m; m.get_info(); "
        "found = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(found - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "['weft']"


def test_weft_alone_registers_nothing():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "entry-points" not in project
    assert entry_points().keys() == {"networkx.backends", "networkx.backend_info"}


def test_one_variable_is_enough(tmp_path):
    code = USED.format(3000, 9000) + "print(type(nx.pagerank(G)), list(G.__networkx_cache__))"
    found = printed(tmp_path, code, NETWORKX_BACKEND_PRIORITY="weft")
    assert found.strip() == "<class 'dict'> ['backends']"


def test_settings_come_from_the_environment(tmp_path):
    code = "import networkx as nx; print(nx.config.backends.weft.more_edges)"
    assert printed(tmp_path, code, WEFT_NETWORKX_MORE_EDGES="77").strip() == "77"


def test_the_description_names_every_function():
    info = get_info()
    assert info["functions"].keys() == FUNCTIONS.keys()
    assert info["default_config"].keys() == DEFAULTS.keys()


def test_small_graphs_stay_with_networkx(monkeypatch, caplog):
    monkeypatch.setattr(nx.config.backend_priority, "algos", ["weft"])
    graph = nx.path_graph(50)
    with caplog.at_level(logging.DEBUG, "networkx.utils.backends"):
        assert nx.number_connected_components(graph) == 1
    assert not graph.__networkx_cache__
    assert "fewer than 10000 edges" in caplog.text
    monkeypatch.setattr(nx.config.backends.weft, "linear_edges", 10)
    assert nx.number_connected_components(graph) == 1
    assert graph.__networkx_cache__


def test_a_converted_graph_is_used(monkeypatch):
    graph = nx.path_graph(50)
    assert backend.should_run("is_connected", (graph,), {}) != True  # noqa: E712
    nx.is_connected(graph, backend="weft")
    assert backend.should_run("is_connected", (graph,), {}) is True


@pytest.mark.parametrize("name", sorted(n for n, (_, cost) in FUNCTIONS.items() if cost == NEVER))
def test_short_answers_are_not_worth_a_conversion(name, monkeypatch):
    monkeypatch.setattr(nx.config.backends.weft, "linear_edges", 0)
    assert "less than a conversion" in backend.should_run(name, (nx.path_graph(5),), {})


def test_functions_as_weights_are_refused(caplog):
    graph = nx.path_graph(4)
    with pytest.raises(NotImplementedError):
        nx.dijkstra_path(graph, 0, 3, weight=lambda u, v, d: 1, backend="weft")
    reason = backend.can_run("dijkstra_path", (graph, 0, 3), {"weight": len})
    assert reason == "weight= is a function"
    assert backend.can_run("closeness_centrality", (graph, None, len), {}) == (
        "distance= is a function"
    )


def test_generators_refuse_before_they_begin():
    graph = nx.path_graph(4)
    with pytest.raises(NotImplementedError):
        nx.bfs_edges(graph, 0, sort_neighbors=sorted, backend="weft")


def test_a_seed_is_left_alone_where_networkx_goes_on():
    graph = nx.karate_club_graph()
    expected = nx.betweenness_centrality(graph, k=5, seed=1, weight="weight")
    nx.config.backend_priority.algos = ["weft"]
    try:
        assert nx.betweenness_centrality(graph, k=5, seed=1, weight="weight") == expected
    finally:
        nx.config.backend_priority.algos = []


SHORT = [
    ("shortest_path", (0, 5), {}),
    ("shortest_path_length", (), {"source": 0, "target": 5}),
    ("single_source_shortest_path_length", (0, 1), {}),
    ("bfs_edges", (0,), {"depth_limit": 2}),
    ("dfs_tree", (0, 1), {}),
    ("ego_graph", (0,), {"radius": 1}),
    ("descendants_at_distance", (0, 1), {}),
    ("clustering", (3,), {}),
    ("triangles", ([1, 2],), {}),
    ("volume", ({1, 2},), {}),
    ("edge_boundary", ([1],), {}),
    ("jaccard_coefficient", ([(0, 1)],), {}),
    ("is_tree", (), {}),
]
LONG = [
    ("shortest_path", (0,), {}),
    ("shortest_path", (0, 5, "weight"), {}),
    ("single_source_shortest_path_length", (0,), {}),
    ("clustering", (), {}),
    ("triangles", (list(range(30)),), {}),
    ("volume", (set(range(30)),), {}),
    ("jaccard_coefficient", (), {}),
    ("closeness_centrality", (0,), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "pays"), [
    *((*call, False) for call in SHORT), *((*call, True) for call in LONG)
])  # fmt: skip
def test_arguments_decide_whether_a_conversion_pays(name, args, kwargs, pays, monkeypatch):
    for setting in ("linear_edges", "more_edges"):
        monkeypatch.setattr(nx.config.backends.weft, setting, 10)
    graph = nx.cycle_graph(50)
    answer = backend.should_run(name, (graph, *args), kwargs)
    assert answer is True if pays else "less than a conversion" in answer


@pytest.mark.parametrize(("name", "args", "kwargs"), [
    ("pagerank", (), {"dangling": {0: 1}}),
    ("greedy_color", ("DSATUR",), {}),
    ("minimum_spanning_tree", (), {"algorithm": "prim"}),
    ("all_shortest_paths", (0, 1), {"method": "bellman-ford"}),
    ("dfs_edges", (), {"sort_neighbors": sorted}),
    ("forceatlas2_layout", (), {"store_pos_as": "pos"}),
])  # fmt: skip
def test_what_weft_does_not_have_is_refused_before_a_conversion(name, args, kwargs):
    graph = nx.path_graph(4)
    assert f"weft does not have {name} with" in backend.can_run(name, (graph, *args), kwargs)
    assert backend.can_run(name, (graph, *args[:-1]), {}) is True
    assert not graph.__networkx_cache__


def test_kinds_of_graphs_are_refused_before_a_conversion():
    assert "undirected" in backend.can_run("transitivity", (nx.DiGraph(),), {})
    assert "parallel edges" in backend.can_run("complement", (nx.MultiGraph(),), {})
    assert backend.can_run("complement", (nx.DiGraph(),), {}) is True


def test_lists_of_graphs_are_judged_together():
    small, large = nx.path_graph(3), nx.path_graph(20_000)
    assert backend.should_run("compose_all", ([small, large],), {}) is True
    assert "fewer than" in backend.should_run("compose_all", ([small, small],), {})
