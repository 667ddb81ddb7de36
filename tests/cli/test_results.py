"""Results on labels, and options from signatures."""

import csv
import inspect

import numpy as np
import pytest

import weft
from weft.cli.results import jsonable, result_of, summary, top, write_result
from weft.cli.signatures import described, first_sentence, parameters, plain
from weft.cli.vertices import personalization_of, sources_of, vertex_of

NAMED = weft.Graph.from_edges(["Ada", "Bob", "Ada"], ["Bob", "Eve", "Cy"], num_vertices=4)
NUMBERED = weft.Graph.from_edges([100, 7], [7, 5_000_000_000])


def test_vertices_are_named_by_label():
    assert vertex_of(NAMED, "Bob") == "Bob"
    assert vertex_of(NUMBERED, "100") == 100
    assert sources_of(NAMED, "Bob,Eve") == ["Bob", "Eve"]
    assert weft.bfs(NUMBERED, vertex_of(NUMBERED, "100")).level.max() == 2
    values = personalization_of(NAMED, "Bob=2,Eve=0.5")
    assert values[NAMED.vertex_of("Bob")] == 2 and values.sum() == 2.5


def test_unknown_vertices_are_named():
    with pytest.raises(weft.WeftError, match="Bop"):
        personalization_of(NAMED, "Bop=1")
    with pytest.raises(weft.WeftError, match="Expected a number"):
        vertex_of(NUMBERED, "Bob")
    with pytest.raises(weft.WeftError, match="Vertex 9 does not exist"):
        personalization_of(weft.generators.path(3), "9=1")


def test_results_are_told_in_labels(tmp_path):
    result = result_of("bfs", weft.bfs(NAMED, "Ada"), NAMED)
    assert top(result, 1) == [{"vertex": "Eve", "level": 2, "parent": "Bob"}]
    write_result(result, tmp_path / "l.csv")
    with (tmp_path / "l.csv").open() as file:
        rows = {row["vertex"]: row["parent"] for row in csv.DictReader(file)}
    assert rows == {"Ada": "Ada", "Bob": "Ada", "Eve": "Bob", "Cy": "Ada"}


def test_groups_are_told_in_labels(tmp_path):
    result = result_of("connected_components", weft.connected_components(NAMED), NAMED)
    assert top(result, 5) == [{"component": "Ada", "vertices": 4, "share": 1.0}]
    write_result(result, tmp_path / "l.npz")
    assert np.load(tmp_path / "l.npz")["vertex"].tolist() == NAMED.labels.tolist()


def test_the_largest_come_first_the_lower_number_among_equals():
    g = weft.generators.path(6)
    result = result_of("clustering", np.array([1.0, 3.0, np.nan, 3.0, 2.0, 3.0]), g)
    assert [row["vertex"] for row in top(result, 3)] == [1, 3, 5]
    assert [row["vertex"] for row in top(result, 2)] == [1, 3]
    assert len(top(result, 99)) == 5
    assert top(result, 0) == []
    assert summary(result)["vertices with a value"] == 5


def test_an_empty_graph_has_a_summary():
    g = weft.Graph.from_edges([], [], num_vertices=0)
    for name in ("pagerank", "connected_components", "core_number"):
        result = result_of(name, getattr(weft, name)(g), g)
        assert top(result, 3) == []
        summary(result)


def test_json_gets_what_it_knows():
    told = jsonable({"a": np.float64("inf"), "b": (np.int32(3), {1}), "c": float("nan")})
    assert told == {"a": None, "b": [3, [1]], "c": None}


@pytest.mark.parametrize("name", weft.generators.__all__)
def test_generators_explain_all_their_options(name):
    function = getattr(weft.generators, name)
    assert set(described(function)) >= set(inspect.signature(function).parameters)


def test_options_come_from_signature_and_docstring():
    made = {p.name: p for p in parameters(weft.pagerank, skip=("g", "config"))}
    assert made["damping"].default == 0.85
    assert made["damping"].annotation.__origin__ is float
    assert made["weighted"].annotation.__origin__ is bool
    assert "`" not in described(weft.pagerank)["personalization"]
    assert first_sentence(weft.core_number) == "The core number of every vertex."
    assert plain("``a`` or `b`") == "a or b"
