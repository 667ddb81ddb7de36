"""Files as others write them, typed in from the descriptions of the formats."""

import numpy as np
import pytest

import weft
from weft.errors import ConfigError, FileFormatError, GraphError


def typed(tmp_path, name: str, text: str, **options) -> weft.Graph:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return weft.read(path, **options)


def edges(g: weft.Graph) -> list[tuple]:
    src, dst, weight = g.to_edges()
    columns = [src, dst] if weight is None else [src, dst, weight]
    return list(zip(*(column.tolist() for column in columns), strict=True))


# -- edge lists ---------------------------------------------------------------------------------

SNAP = """\
# Directed graph (each unordered pair of nodes is saved once): Amazon0302.txt \r
# Amazon product co-purchaisng network from March 02 2003\r
# Nodes: 6 Edges: 4\r
# FromNodeId\tToNodeId\r
0\t1\r
0\t2\r
1\t0\r
2\t4\r
"""


def test_snap(tmp_path):
    g = typed(tmp_path, "Amazon0302.txt", SNAP)
    assert (g.num_vertices, g.directed, g.weighted) == (6, True, False)
    assert edges(g) == [(0, 1), (0, 2), (1, 0), (2, 4)]


def test_snap_undirected(tmp_path):
    text = (
        "# Undirected graph: ../../data/output/amazon.ungraph.txt\n# Nodes: 2 Edges: 2\n1\t2\n0\t1"
    )
    g = typed(tmp_path, "com.txt", text)
    assert not g.directed
    assert g.num_vertices == 3  # ids of SNAP may leave gaps
    assert edges(g) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("gap.el", "0 1\n1 2", [(0, 1), (1, 2)]),
        ("gap.wel", "0 1 7\n1 2 9\n", [(0, 1, 7), (1, 2, 9)]),
        ("konect.tsv", "% sym weighted\n% 2 3 3\n1 2 0.5\n2 1 -3\n", [(1, 2, 0.5), (2, 1, -3)]),
        ("named.csv", "Source,Target,Weight\n0,1,0.5\n1,0,2\n", [(0, 1, 0.5), (1, 0, 2)]),
        ("turned.csv", "weight,to,from\n5,1,0\n", [(0, 1, 5)]),
        ("extra.csv", "src,when,dst\n0,2024-01-01,1\n", [(0, 1)]),
        ("quoted.csv", '"src","dst"\n"0","1"\n', [(0, 1)]),
        ("all-quoted.csv", '"src","x","dst","weight"\n"0","a,b","1","2.5"\n', [(0, 1, 2.5)]),
        ("empty.csv", 'src,x,dst\n0,"",1\n', [(0, 1)]),
        ("semicolon.csv", "0;1\n1;2\n", [(0, 1), (1, 2)]),
        ("blank.csv", " 0 , 1 \n\n 1,2\n\n", [(0, 1), (1, 2)]),
        ("mark.txt", "\ufeff0 1\n", [(0, 1)]),
        ("signs.wel", "+0 1 +5\n1 0 -5\n", [(0, 1, 5), (1, 0, -5)]),
        ("odd.wel", "+0 1 0.5\n1 0 2\n", [(0, 1, 0.5), (1, 0, 2.0)]),
        ("late.wel", "0 1 5\n1 0 2.5e-1\n", [(0, 1, 5.0), (1, 0, 0.25)]),
        ("wide.wel", "0 1 100000000000000000000\n1 0 0.5\n", [(0, 1, 1e20), (1, 0, 0.5)]),
        (
            "long.wel",
            f"0 1 {'9' * 50}\n1 0 -{'9' * 500}\n1 1 .5\n",
            [(0, 1, 1e50), (1, 0, -np.inf), (1, 1, 0.5)],
        ),
        ("zeros.wel", f"0 1 {'0' * 5000}7\n1 0 -{'0' * 50}7\n", [(0, 1, 7), (1, 0, -7)]),
        ("inf.wel", "0 1 1\n1 0 inf\n", [(0, 1, 1.0), (1, 0, np.inf)]),
        ("infinity.wel", "0 1 -Infinity\n1 0 -inf\n", [(0, 1, -np.inf), (1, 0, -np.inf)]),
        ("digits.wel", "0 1 0.10000000000000000555111512312578270211815834\n", [(0, 1, 0.1)]),
        ("tie.wel", "0 1 9007199254740993.00000000000000000000000\n", [(0, 1, 9007199254740992.0)]),
        ("comment.txt", "0 1\n# between\n%also\n1 2\n", [(0, 1), (1, 2)]),
    ],
)
def test_edge_lists(tmp_path, name, text, expected):
    assert edges(typed(tmp_path, name, text)) == expected


def test_weights_are_integers_if_all_are(tmp_path):
    assert typed(tmp_path, "a.wel", "0 1 5\n").edge["weight"].dtype == np.int64
    assert typed(tmp_path, "b.wel", "0 1 5.0\n").edge["weight"].dtype == np.float64


BIG = 2**64 - 1
WIDE = {
    "g.wel": "0 1 {0}\n1 2 {1}\n2 0 {2}\n",
    "g.csv": 'src,weight,dst\n0,"{0}",1\n1,{1},2\n2,{2},0\n',
    "g.mtx": "%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 2 {0}\n2 3 {1}\n3 1 {2}\n",
    "g.gr": "p sp 3 3\na 1 2 {0}\na 2 3 {1}\na 3 1 {2}\n",
}


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize(
    "values",
    [
        (2**63 - 1, -(2**63), 0),
        (2**63, 1, 0),
        (1, 2**63, BIG),
        (BIG, BIG - 1, 2**53 + 1),
        (0, f"+{BIG}", f"000{BIG}"),
        (0, 2**63, "-0"),
    ],
)
def test_integers_stay_exact(tmp_path, name, values):
    g = typed(tmp_path, name, WIDE[name].format(*values))
    assert g.edge["weight"].tolist() == [int(value) for value in values]
    wide = max(map(int, values)) >= 2**63
    assert g.edge["weight"].dtype == (np.uint64 if wide else np.int64)


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize(
    ("values", "row"),
    [
        ((1, 2, 2**64), 2),
        ((1, -(2**63) - 1, 1), 1),
        ((-1, 2**63, 1), 1),
        ((2**63, 1, -1), 2),
        ((1, "9" * 500, 3), 1),
        ((1, "9" * 5000, 3), 1),
    ],
)
def test_integers_that_no_dtype_holds(tmp_path, name, values, row):
    text = WIDE[name].format(*values)
    with pytest.raises(FileFormatError, match="no integer dtype holds it") as caught:
        typed(tmp_path, name, text)
    assert caught.value.line == text.count("\n") - 2 + row


@pytest.mark.parametrize("values", [(1, 2**64, 0.5), (0.5, 2**64, 1), (-1, 2**63, 0.5)])
def test_real_columns_round_large_integers(tmp_path, values):
    for name in ("g.wel", "g.csv"):
        g = typed(tmp_path, name, WIDE[name].format(*values))
        assert g.edge["weight"].tolist() == [float(value) for value in values]


def test_large_integers_in_metis_files(tmp_path):
    text = f"2 1 111 2\n{BIG} 1 {2**63} 2 {BIG}\n5 3 4 1 {BIG}\n"
    g = typed(tmp_path, "g.graph", text)
    assert g.edge["weight"].tolist() == [BIG]
    assert g.vertex["size"].tolist() == [BIG, 5]
    assert g.vertex["weight"].tolist() == [[1, 2**63], [3, 4]]
    weft.write(g, tmp_path / "g.graph")
    assert (tmp_path / "g.graph").read_text() == text
    for wrong in (BIG + 1, 10**30, "9" * 5000):
        with pytest.raises(FileFormatError, match=f"Expected an integer from 0 to {BIG}"):
            typed(tmp_path, "g.graph", text.replace(str(BIG), str(wrong)))


def test_a_skew_symmetric_matrix_is_not_negated_with_overflow(tmp_path):
    text = "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 {}\n"
    assert typed(tmp_path, "g.mtx", text.format(2**63 - 1)).edge["weight"].min() == 1 - 2**63
    for value in (2**63, -(2**63)):
        with pytest.raises(FileFormatError, match="2\\*\\*63 or more in size"):
            typed(tmp_path, "g.mtx", text.format(value))


def test_columns_can_be_named_by_the_caller(tmp_path):
    text = "1 0 9 1700000000\n"
    g = typed(tmp_path, "a.txt", text, columns=("dst", "src", "weight", "time"))
    assert edges(g) == [(0, 1, 9)]
    g = typed(tmp_path, "b.csv", "a,b,c\n0,1,2\n", columns=("src", "dst", "weight"))
    assert edges(g) == [(0, 1, 2)]
    with pytest.raises(GraphError, match="'src' and 'dst' once each"):
        typed(tmp_path, "a.txt", text, columns=("src", "weight"))


def test_options_reach_the_graph(tmp_path):
    text = "0 1 5\n0 1 7\n1 1 2\n"
    g = typed(tmp_path, "a.wel", text, duplicates="sum", self_loops="drop", num_vertices=4)
    assert edges(g) == [(0, 1, 12)]
    assert g.num_vertices == 4
    assert typed(tmp_path, "a.wel", text, keep="in").topology.keep == "in"
    with pytest.raises(GraphError, match=r"num_vertices=1 was passed\. Expected 2"):
        typed(tmp_path, "a.wel", text, num_vertices=1)
    with pytest.raises(GraphError, match="num_vertices=-1"):
        typed(tmp_path, "a.wel", text, num_vertices=-1)


def test_no_edges(tmp_path):
    assert typed(tmp_path, "a.txt", "# Nodes: 4 Edges: 0\n").num_vertices == 4
    assert typed(tmp_path, "a.csv", "src,dst\n").num_vertices == 0
    assert typed(tmp_path, "a.el", "\n", num_vertices=3).num_vertices == 3
    with pytest.raises(FileFormatError, match="line 1: there are no edges"):
        typed(tmp_path, "a.el", "# nothing\n")


def test_ids_far_apart_need_insisting(tmp_path):
    text = "0 1\n2 900000000\n3 4\n"
    with pytest.raises(FileFormatError, match=r"line 2: this makes 900000001 vertices") as caught:
        typed(tmp_path, "a.txt", text)
    assert caught.value.line == 2


def test_csv_has_no_comment_unless_it_must(tmp_path):
    path = tmp_path / "g.csv"
    weft.write(weft.Graph.from_edges([0], [1], [2]), path)
    assert path.read_text() == "src,dst,weight\n0,1,2\n"
    weft.write(weft.Graph.from_edges([0], [1], num_vertices=3), path)
    assert path.read_text() == "# Directed graph\n# Nodes: 3 Edges: 1\nsrc,dst\n0,1\n"


# -- MatrixMarket -------------------------------------------------------------------------------

NIST = """\
%%MatrixMarket matrix coordinate real general
%=================================================================================
% This ASCII file represents a sparse MxN matrix with L nonzeros.
%=================================================================================
  5  5  8
    1     1   1.000e+00
    2     2   1.050e+01
    3     3   1.500e-02
    1     4   6.000e+00
    4     2   2.505e+02
    4     4  -2.800e+02
    4     5   3.332e+01
    5     5   1.200e+01
"""


def test_matrix_market_example_of_nist(tmp_path):
    import scipy.io

    g = typed(tmp_path, "nist.mtx", NIST)
    expected = scipy.io.mmread(tmp_path / "nist.mtx").toarray()
    np.testing.assert_array_equal(g.to_scipy().toarray(), expected)


@pytest.mark.parametrize(
    ("banner", "entries", "directed", "expected"),
    [
        ("pattern general", "1 2\n3 1", True, [(0, 1), (2, 0)]),
        ("pattern symmetric", "2 1\n3 3", False, [(0, 1), (2, 2)]),
        ("integer symmetric", "2 1 5\n3 1 7", False, [(0, 1, 5), (0, 2, 7)]),
        ("real general", "1 2 3\n2 1 4", True, [(0, 1, 3.0), (1, 0, 4.0)]),
        ("integer skew-symmetric", "2 1 5\n3 2 -1", True,
         [(0, 1, -5), (1, 0, 5), (1, 2, 1), (2, 1, -1)]),
    ],
)  # fmt: skip
def test_matrix_market_kinds(tmp_path, banner, entries, directed, expected):
    text = f"%%matrixmarket MATRIX Coordinate {banner}\n\n4 4 2\n{entries}\n"
    g = typed(tmp_path, "g.mtx", text)
    assert (g.num_vertices, g.directed) == (4, directed)
    assert edges(g) == expected


def test_symmetric_matrix_can_be_read_as_directed(tmp_path):
    text = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"
    assert edges(typed(tmp_path, "g.mtx", text, directed=True)) == [(0, 1), (1, 0), (2, 2)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "'array'"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2 3\n", "'complex'"),
        ("%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", "'hermitian'"),
        ("%%MatrixMarket matrix coordinate real general\n2 3 0\n", "Expected a square one"),
        ("%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n2 2\n", "diagonal"),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 1.5\n", "not an integer"),
    ],
)
def test_matrix_market_that_is_no_graph(tmp_path, text, message):
    with pytest.raises(FileFormatError, match=message):
        typed(tmp_path, "g.mtx", text)


def test_scipy_reads_what_is_written(tmp_path):
    import scipy.io

    g = weft.Graph.from_edges([0, 1], [2, 1], [0.1, 3.5], num_vertices=4, directed=False)
    weft.write(g, tmp_path / "g.mtx")
    back = scipy.io.mmread(tmp_path / "g.mtx").toarray()
    np.testing.assert_array_equal(back, g.to_scipy().toarray())


# -- DIMACS -------------------------------------------------------------------------------------

DIMACS = """\
c 9th DIMACS Implementation Challenge: Shortest Paths
c http://www.dis.uniroma1.it/~challenge9
c Sample graph file
c
p sp 6 8
c graph contains 6 nodes and 8 arcs
c node ids are numbers in 1..6
c
a 1 2 17
c arc from node 1 to node 2 of weight 17
c
a 1 3 10
a 2 4 2
a 3 5 0
a 4 3 0
a 4 6 3
a 5 2 0
a 5 6 20
"""
PACE = """\
c This file describes a path with five vertices and four edges.
p tw 5 4
1 2
2 3
c we are half-way done with the instance definition.
3 4
4 5
"""


def test_dimacs_sample_of_the_challenge(tmp_path):
    g = typed(tmp_path, "sample.gr", DIMACS)
    assert (g.num_vertices, g.num_edges, g.directed) == (6, 8, True)
    assert edges(g)[:3] == [(0, 1, 17), (0, 2, 10), (1, 3, 2)]


def test_pace_sample(tmp_path):
    g = typed(tmp_path, "path.gr", PACE)
    assert not g.directed
    assert edges(g) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_dimacs_has_lengths_and_arcs(tmp_path):
    path = tmp_path / "g.gr"
    weft.write(weft.Graph.from_edges([0], [1]), path)
    assert path.read_text() == "p sp 2 1\na 1 2 1\n"
    weft.write(weft.Graph.from_edges([0], [1], [5], directed=False), path)
    assert path.read_text() == "p sp 2 2\na 1 2 5\na 2 1 5\n"
    with pytest.raises(GraphError, match="Expected integers"):
        weft.write(weft.Graph.from_edges([0], [1], [0.5]), path)


# -- METIS: the examples of figure 2 of the manual ----------------------------------------------

PLAIN = "7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n"
WEIGHTED = (
    "% weights of edges\n7 11 001\n5 1 3 2 2 1\n1 1 3 2 4 1\n5 3 4 2 2 2 1 2\n"
    "2 1 3 2 6 2 7 5\n1 1 3 3 6 2\n5 2 4 2 7 6\n6 6 4 5\n"
)
BOTH = (
    "7 11 011\n4 5 1 3 2 2 1\n2 1 1 3 2 4 1\n5 5 3 4 2 2 2 1 2\n3 2 1 3 2 6 2 7 5\n"
    "1 1 1 3 3 6 2\n6 5 2 4 2 7 6\n2 6 6 4 5\n"
)
MANY = (
    "7 11 010 3\n1 2 0 5 3 2\n0 2 2 1 3 4\n4 1 1 5 4 2 1\n2 2 3 2 3 6 7\n1 1 1 1 3 6\n"
    "2 2 1 5 4 7\n1 2 1 6 4\n"
)
PAIRS = [(0, 1), (0, 2), (0, 4), (1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (3, 6), (4, 5), (5, 6)]


@pytest.mark.parametrize("text", [PLAIN, WEIGHTED, BOTH, MANY])
def test_metis_manual(tmp_path, text):
    g = typed(tmp_path, "manual.graph", text)
    assert [edge[:2] for edge in edges(g)] == PAIRS
    assert g.weighted == (text in (WEIGHTED, BOTH))
    if g.weighted:
        assert g.edge["weight"].tolist() == [1, 2, 1, 2, 1, 2, 3, 2, 5, 2, 6]
    if text is BOTH:
        assert g.vertex["weight"].tolist() == [4, 2, 5, 3, 1, 6, 2]
    if text is MANY:
        assert g.vertex["weight"].shape == (7, 3)
        assert g.vertex["weight"][2].tolist() == [4, 1, 1]


def test_metis_sizes_comments_and_empty_lines(tmp_path):
    g = typed(tmp_path, "g.metis", "% head\n4 1 100\n9 2\n% between\n8 1\n7\n6")
    assert edges(g) == [(0, 1)]
    assert g.vertex["size"].tolist() == [9, 8, 7, 6]
    assert typed(tmp_path, "g.graph", "3 1\n2\n1\n").num_vertices == 3
    assert typed(tmp_path, "g.graph", "3 1\n\n3\n2\n\n").num_vertices == 3


def test_metis_parallel_edges_in_any_order(tmp_path):
    g = typed(tmp_path, "g.graph", "2 2 1\n2 5 2 7\n1 7 1 5\n")
    assert edges(g) == [(0, 1, 5), (0, 1, 7)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("2 1\n2\n\n", 1, "1 neighbours in all. Expected 2"),
        ("3 2\n2 3\n1\n2\n", None, "vertex [123] has the neighbour [123], but not the other"),
        ("2 1 1\n2 5\n1 6\n", 2, "another weight"),
        ("2 1\n1 2\n\n", 2, "its own neighbour"),
        ("2 1\n2\n1\n1\n", 4, "after the 2 vertices"),
        ("2 1 2\n2\n1\n", 1, "fmt is '2'"),
        ("2 1 10 2000\n2\n1\n", 1, "ncon is 2000"),
        ("2 1 1\n2\n1 1\n", 2, "1 fields of vertex 1"),
        ("2 1\n3\n1\n", 2, "neighbour 3 of vertex 1 is out of range"),
        ("2 1\n2 2 2\n1\n", 2, "more than 2 neighbours"),
    ],
)
def test_metis_that_does_not_fit_together(tmp_path, text, line, message):
    with pytest.raises(FileFormatError, match=message) as caught:
        typed(tmp_path, "g.graph", text)
    assert line is None or caught.value.line == line


@pytest.mark.parametrize(
    ("g", "message"),
    [
        (weft.Graph.from_edges([0], [1]), "directed"),
        (weft.Graph.from_edges([0], [0], directed=False), "1 self-loops"),
        (weft.Graph.from_edges([0], [1], [0.5], directed=False), "Expected integers"),
        (weft.Graph.from_edges([0], [1], [-5], directed=False), "Expected integers"),
    ],
)
def test_metis_cannot_hold_every_graph(tmp_path, g, message):
    with pytest.raises(GraphError, match=message):
        weft.write(g, tmp_path / "g.graph")
    assert not list(tmp_path.iterdir())


# -- suffixes and options -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["g", "g.xlsx", "g.gz", "g.mtxx", ".mtx"])
def test_unknown_suffix_lists_the_known_ones(tmp_path, name):
    for act in (lambda: weft.read(tmp_path / name), lambda: weft.write(None, tmp_path / name)):
        with pytest.raises(GraphError, match=r"\.csv, \.e, \.el, \.gml, \.gr, .*\.gz, \.xz, \.bz2"):
            act()


def test_unknown_suffix_suggests_the_nearest(tmp_path):
    with pytest.raises(GraphError, match=r"Did you mean '\.mtx'\?"):
        weft.read(tmp_path / "g.mtxx")


def test_options_that_mean_nothing_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"columns=.* means nothing for MatrixMarket files"):
        weft.read(tmp_path / "g.mtx", columns=("src", "dst"))
    with pytest.raises(ConfigError, match=r"directed=False means nothing for \.weft files"):
        weft.read(tmp_path / "g.weft", directed=False)


def test_missing_file_and_what_is_no_graph(tmp_path):
    with pytest.raises(FileNotFoundError):
        weft.read(tmp_path / "nowhere.txt")
    with pytest.raises(GraphError, match=r"g is a list\. Expected a weft\.Graph"):
        weft.write([1], tmp_path / "g.txt")


@pytest.mark.parametrize(
    ("start", "hint"),
    [
        (b"\x1f\x8b\x08\x00", r"gzip; let its name end with \.gz"),
        (b"PAR1\x15\x04", r"Parquet file; let its name end with \.parquet"),
        (b"\x89WEFT\r\n\x1a\n", r"\.weft file"),
    ],
)
def test_other_kinds_of_files_are_recognised(tmp_path, start, hint):
    path = tmp_path / "g.txt"
    path.write_bytes(start + b"abc")
    with pytest.raises(FileFormatError, match=hint):
        weft.read(path)
