"""Every benchmark takes its graphs by the same names, and files."""

import argparse
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

import weft
from benchmarks import gpu_graphs, graph_names, graphs

BENCHMARKS = Path(graph_names.__file__).parent


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("kron18", ("kron", 18, None)),
        ("rmat22x64", ("rmat", 22, 64)),
        ("road1000", ("road", 1000, None)),
        ("rgg20", ("rgg", 20, None)),
        ("delaunay9", ("delaunay", 9, None)),
        ("er5", ("er", 5, None)),
    ],
)
def test_names_are_parsed(name, told):
    found = graph_names.parse(name)
    assert (found.family, found.size, found.factor) == told


@pytest.mark.parametrize("name", ["grid5", "kron", "er5x3", "rmat22x", "kron18.weft", ""])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match=r"is not known\. Expected one of kron<scale>"):
        graph_names.parse(name)


@pytest.mark.parametrize("name", ["kron6", "rmat5x3", "road7", "planted6", "rgg6", "delaunay6",
                                  "er6", "er1", "powerlaw6"])  # fmt: skip
def test_graphs_are_undirected_simple_and_weighted(name):
    g = graph_names.generate(name)
    src, dst, weight = g.to_edges()
    assert not g.directed and (src != dst).all()
    assert len(set(zip(src.tolist(), dst.tolist(), strict=True))) == g.num_edges
    assert np.isin(weight, np.arange(1, 65)).all()
    told = graph_names.parse(name)
    assert g.num_vertices == (told.size**2 if told.family == "road" else 1 << told.size)
    again = graph_names.generate(name, weights=None)
    assert not again.weighted and (again.to_edges().dst == dst).all()


def test_edge_factors_are_those_of_the_name_or_of_the_caller():
    few, usual, on_cpu = (
        graph_names.generate(name, weights=None, factors=factors).num_edges
        for name, factors in (
            ("kron10x2", graph_names.FACTORS),
            ("kron10", graph_names.FACTORS),
            ("kron10", graph_names.ON_A_CPU),
        )
    )
    assert few <= 2 << 10 < on_cpu <= 16 << 10 < usual
    assert weft.generators.kron(10, 16, seed=1).num_edges == on_cpu


def test_geometric_graphs_are_about_as_dense_as_those_of_dimacs():
    g = graph_names.generate("rgg12", weights=None)
    degree = np.log(4096) * np.pi * 0.55**2
    assert g.out_degree.mean() == pytest.approx(degree, rel=0.1)
    largest = max(nx.connected_components(g.to_networkx()), key=len)
    assert len(largest) > 0.99 * 4096


def test_files_become_undirected_and_simple(tmp_path):
    path = tmp_path / "some.el"
    path.write_text("0 1\n1 0\n2 2\n1 3\n1 3\n")
    g = graph_names.generate(str(path))
    assert not g.directed and g.num_vertices == 4
    assert sorted(zip(*map(np.ndarray.tolist, g.to_edges()[:2]), strict=True)) == [(0, 1), (1, 3)]
    assert np.isin(g.edge["weight"], np.arange(1, 65)).all()
    weighted = tmp_path / "weighted.wel"
    weighted.write_text("0 1 5\n1 0 3\n")
    assert graph_names.generate(str(weighted)).edge["weight"].tolist() == [3]
    assert graph_names.short(str(path)) == "some.el"


@pytest.mark.parametrize("make", [graphs.make, lambda name: gpu_graphs.make(name, "cpu")])
def test_workloads_of_files_start_at_the_busiest_vertex(make, tmp_path):
    path = tmp_path / "star.el"
    path.write_text("3 0\n3 1\n3 2\n0 1\n")
    workload = make(str(path))
    assert (workload.name, workload.source) == ("star.el", 3)


def parsed(arguments):
    parser = argparse.ArgumentParser()
    graph_names.add_graphs(parser, ("kron21", "road4900"), {"tiny": ("kron8",)})
    return graph_names.chosen(parser.parse_args(arguments))


def test_options_of_the_command_line(tmp_path, capsys):
    path = tmp_path / "a.el"
    path.write_text("0 1\n")
    file = str(path)
    assert parsed([]) == ["kron21", "road4900"]
    assert parsed(["--tiny"]) == ["kron8"]
    assert parsed(["--graphs", "er5, rgg6"]) == ["er5", "rgg6"]
    assert parsed(["--file", file]) == [file]
    assert parsed(["--graphs", "er5", "--file", file]) == ["er5", file]
    for wrong in (["--graphs", "kron8,grid5"], ["--graphs", ","], ["--file", file + "x"]):
        with pytest.raises(SystemExit):
            parsed(wrong)
    assert "'grid5' is not known" in capsys.readouterr().err


def test_every_benchmark_that_makes_graphs_takes_names_and_files():
    """A command line without the shared options must not generate graphs."""
    without = {
        "headline.py", "operator_lines.py", "format_lines.py", "gpu_worker.py", "graph_names.py",
    }  # fmt: skip
    takes = ("add_graph(", "add_graphs(", '"--file"', "add_file(")
    for path in sorted(BENCHMARKS.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        is_command = '__name__ == "__main__"' in text
        if is_command and path.name not in without:
            assert any(word in text for word in takes), f"{path.name} takes no --file"
