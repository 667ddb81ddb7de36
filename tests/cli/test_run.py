"""`weft run`: every algorithm, every way to get its result, every mistake."""

import csv
import json
import re

import numpy as np
import pytest

from weft.algorithms import algorithm_names

# A sample with every kind of result: arrays, tuples of arrays, numbers, graphs, values of edges.
ALGORITHMS = {
    "bfs": ("--source", "0"),
    "sssp": ("--source", "0"),
    "pagerank": ("--damping", "0.9"),
    "connected_components": (),
    "core_number": (),
    "triangle_count": (),
    "clustering": (),
    "betweenness": ("--sources", "3", "--seed", "1"),
    "label_propagation": ("--iterations", "3"),
    "condensation": (),
    "diameter": (),
    "hits": (),
    "multi_source_bfs": ("--sources", "0,2"),
    "sample_neighbors": ("--seeds", "0,2", "--fanouts", "2,-1"),
    "percolation": ("--states", "0=0.5,1=1"),
    "maximum_flow": ("--source", "0", "--target", "2"),
    "similar_pairs": ("--top", "3"),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_runs(weft, edges, name):
    done = weft("run", name, edges, *ALGORITHMS[name])
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{name} on {edges}: 6 vertices, 5 edges, directed\n")
    assert "compiling included" in done.out


def test_all_algorithms_are_commands(weft):
    done = weft("run", "--help")
    listed = re.findall(r"^  (\w+) {2,}\w", done.out.split("Commands:")[1], re.M)
    assert set(listed) == set(algorithm_names())


def test_help_of_an_algorithm_tells_its_own_options(weft):
    done = weft("run", "pagerank", "--help")
    assert done.code == 0
    text = " ".join(done.out.split())
    assert "The PageRank of every vertex; the ranks add up to 1." in text
    for part in (
        "--damping",
        "The probability of following an edge rather than jumping home. [default: 0.85]",
        "--max-iter",
        "--device",
        "--config KEY=VALUE",
        "--top N",
        "-o, --output",
        "--report",
        "--json",
    ):
        assert part in text
    assert "`" not in text


def test_json_holds_what_was_asked_and_found(weft, edges):
    done = weft("run", "bfs", edges, "--source", "0", "--json", "--top", "2", "--profile")
    told = json.loads(done.out)
    assert told["options"] == {"source": 0, "target": None, "cutoff": None}
    assert told["graph"]["vertices"] == 6
    assert told["summary"]["vertices reached"] == 4
    assert told["top"] == [
        {"vertex": 3, "level": 2, "parent": 2},
        {"vertex": 1, "level": 1, "parent": 0},
    ]
    assert told["profile"]["runs"][0]["records"]


def test_json_has_no_infinity(weft, edges):
    done = weft("run", "sssp", edges, "--source", "3", "--json")
    told = json.loads(done.out, parse_constant=lambda name: pytest.fail(name))
    assert told["top"] == [{"vertex": 3, "dist": 0, "parent": 3}]


def test_groups_are_shown_by_size(weft, edges):
    told = json.loads(weft("run", "connected-components", edges, "--json").out)
    assert told["summary"] == {"components": 2, "largest": 4, "with one vertex": 0}
    assert told["top"][0] == {"component": 0, "vertices": 4, "share": 4 / 6}


def test_undirected_takes_edges_both_ways(weft, edges):
    told = json.loads(weft("run", "bfs", edges, "--source", "3", "--undirected", "--json").out)
    assert told["summary"]["vertices reached"] == 4


def test_csv_and_npz_hold_all_vertices(weft, edges, tmp_path):
    assert weft("run", "sssp", edges, "--source", "0", "-o", "d.csv").code == 0
    with (tmp_path / "d.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["vertex"] for row in rows] == list("012345")
    assert [row["dist"] for row in rows] == ["0", "2", "3", "7", "-1", "-1"]
    done = weft("run", "sssp", edges, "--source", "0", "-o", "d.npz")
    assert done.err == "wrote d.npz\n"
    held = np.load(tmp_path / "d.npz")
    assert held["parent"].tolist() == [0, 0, 1, 2, -1, -1]


def test_parquet_and_npy(weft, edges, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert weft("run", "core_number", edges, "-o", "c.parquet").code == 0
    table = parquet.read_table(tmp_path / "c.parquet").to_pydict()
    assert table == {"vertex": [0, 1, 2, 3, 4, 5], "core": [2, 2, 2, 1, 1, 1]}
    assert weft("run", "core_number", edges, "-o", "c.npy").code == 0
    assert np.load(tmp_path / "c.npy").tolist() == [2, 2, 2, 1, 1, 1]


def test_one_number_can_be_written(weft, edges, tmp_path):
    assert weft("run", "triangle_count", edges, "-o", "t.csv").code == 0
    assert (tmp_path / "t.csv").read_text() == "triangle_count\n1\n"


def test_npy_holds_one_column(weft, edges, tmp_path):
    done = weft("run", "bfs", edges, "--source", "0", "-o", "b.npy")
    assert done.code == 1
    assert "bfs gives 2 columns (level, parent), and .npy holds one. Use .npz" in done.err
    assert not (tmp_path / "b.npy").exists()


def test_the_report_is_one_page_with_everything(weft, edges, tmp_path):
    done = weft(
        *("run", "bfs", edges, "--source", "0", "--report", "r.html"),
        *("--config", "direction=push", "--config", "threads=1"),
    )
    assert (done.code, done.err) == (0, "wrote r.html\n")
    page = (tmp_path / "r.html").read_text()
    for part in ("Result", "Distribution", "Profile", "Options", "Machine"):
        assert f"<h2>{part}</h2>" in page
    assert page.count("<svg") == 4
    assert "config direction" in page and "push" in page
    assert not re.search(r'(src|href)="|https?://|@import', page)


def test_the_device_can_be_chosen(weft, edges):
    done = weft("run", "bfs", edges, "--source", "0", "--device", "emulated", "--json")
    told = json.loads(done.out)
    assert told["graph"]["device"] == "emulated"
    assert told["summary"]["largest level"] == 2


def test_the_profile_is_a_table(weft, edges):
    done = weft("run", "bfs", edges, "--source", "0", "--profile")
    assert "M edges/s" in done.out and "superstep" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "bfs", "none.txt", "--source", "0"], 1, "none.txt"),
        (["run", "bfs", "small.txt", "--source", "77"], 1, "source=77 does not exist in a graph"),
        (["run", "bfs", "small.txt", "--source", "x"], 1, "'x' is not a vertex"),
        (["run", "bfs", "small.txt"], 2, "Missing option '--source'"),
        (["run", "bfs"], 2, "Missing"),
        (["run", "bsf", "small.txt"], 2, "'bsf' is not an algorithm. Did you mean 'bfs'?"),
        (["run", "pagerank", "small.txt", "--damping", "2"], 1, "damping=2.0"),
        (["run", "pagerank", "small.txt", "--damping", "x"], 2, "--damping"),
        (["run", "pagerank", "small.txt", "--config", "direction=up"], 1, "direction='up'"),
        (
            ["run", "pagerank", "small.txt", "--config", "dirction=up"],
            1,
            "Did you mean 'direction'",
        ),
        (["run", "pagerank", "small.txt", "--config", "up"], 1, "Expected key=value"),
        (["run", "pagerank", "small.txt", "--device", "gpu"], 1, "gpu"),
        (["run", "pagerank", "small.txt", "--device", "cuda:7"], 1, "cuda"),
        (["run", "pagerank", "small.txt", "-o", "r.xls"], 1, "Expected one of .csv, .parquet"),
        (["run", "pagerank", "small.txt", "-o", "no/r.csv"], 1, "the folder 'no' does not exist"),
        (["run", "pagerank", "bad.txt"], 1, "bad.txt, line 2"),
        (["run", "betweenness", "small.txt", "--sources", "x"], 1, "--sources 'x'"),
        (["run", "pagerank", "small.txt", "--personalization", "3"], 1, "such as 3=1,17=0.5"),
        (["run", "bfs", ".", "--source", "0"], 1, "."),
    ],
)
def test_mistakes_get_one_message_and_a_code(weft, edges, tmp_path, arguments, code, message):
    (tmp_path / "bad.txt").write_text("0 1\n1 x\n")
    done = weft(*arguments)
    assert (done.code, done.out) == (code, "")
    assert message in " ".join(done.err.split())
    if code == 1:
        assert done.err.startswith("weft: ")


def test_lists_of_vertices(weft, edges):
    told = json.loads(weft("run", "betweenness", edges, "--sources", "0,2", "--json").out)
    assert told["options"]["sources"] == [0, 2]
    done = weft("run", "pagerank", edges, "--personalization", "3=1,1=1", "--json")
    assert json.loads(done.out)["options"]["personalization"] == "3=1,1=1"


def test_algorithms_are_listed_from_their_registry(weft):
    from weft.algorithms.registry import algorithms

    done = weft("run", "--list", env={"COLUMNS": "160"})
    assert done.code == 0 and all(one.summary in done.out for one in algorithms().values())


def test_ids_may_be_names(weft, tmp_path):
    (tmp_path / "friends.txt").write_text("Ada Bob 1.5\nBob Eve 2.5\nAda Dan 9\n")
    done = weft("run", "sssp", "friends.txt", "--labels", "--source", "Bob", "-o", "far.csv")
    assert done.code == 0
    rows = (tmp_path / "far.csv").read_text().split()
    assert rows == ["vertex,dist,parent", "Ada,inf,", "Bob,0.0,Bob", "Eve,2.5,Bob", "Dan,inf,"]
    assert weft("convert", "friends.txt", "friends.graphml", "--labels").code == 0
    told = json.loads(weft("run", "bfs", "friends.graphml", "--source", "Ada", "--json").out)
    assert {row["vertex"]: row["parent"] for row in told["top"]}["Eve"] == "Bob"
    done = weft("run", "bfs", "friends.txt", "--labels", "--source", "Zoe")
    assert done.code == 1 and "'Zoe' is not the label of a vertex" in done.err
    assert "labels" in weft("info", "friends.txt", "--labels").out
