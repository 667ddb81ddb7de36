"""Tables opened as a graph: ids, columns, hostile names, and errors."""

import gc

import numpy as np
import pytest

import weft
from weft.backends.relational.connections import connect, engine_of
from weft.errors import ConfigError, FaultError, FieldError, GraphError

duckdb = pytest.importorskip("duckdb")

PEOPLE = ["Ada", "Bob", "Eve", "Zed"]
ROWS = [("Ada", "Bob", 1.5), ("Bob", "Eve", 2.0), ("Eve", "Ada", 1.0), ("Ada", "Eve", 9.0)]


@pytest.fixture
def follows():
    con = duckdb.connect()
    con.execute("CREATE TABLE users (id VARCHAR)")
    con.executemany("INSERT INTO users VALUES (?)", [[name] for name in PEOPLE])
    con.execute("CREATE TABLE follows (a VARCHAR, b VARCHAR, w DOUBLE)")
    con.executemany("INSERT INTO follows VALUES (?, ?, ?)", ROWS)
    yield con
    weft.sql.close(con)


def opened(con, **options):
    given = {"src": "a", "dst": "b", "weight": "w", "vertices": "users", **options}
    return weft.sql.graph(con, "follows", **given)


def tables(con):
    """Return the names of tables, without those that a first run adds to a graph."""
    names = sorted(row[0] for row in con.execute("SHOW TABLES").fetchall())
    return [name for name in names if not (name.endswith("_lists") or "_arcs_" in name)]


def test_labels_weights_and_isolated_vertices(follows):
    g = opened(follows)
    assert g.labels.tolist() == PEOPLE
    assert (g.num_vertices, g.num_edges, g.directed, g.weighted) == (4, 4, True, True)
    assert g.out_degree.tolist() == [2, 1, 1, 0]
    found = weft.sssp(g, "Ada")
    assert found.dist.tolist() == [0.0, 1.5, 3.5, np.inf]


def test_no_arc_is_read_for_a_run(follows):
    g = opened(follows)
    weft.bfs(g, "Ada")
    weft.pagerank(g)
    assert "_primary" not in vars(g.topology)
    assert g.edge.memory_bytes == 0


def test_undirected(follows):
    g = opened(follows, directed=False)
    assert weft.sssp(g, "Eve").dist.tolist() == [1.0, 2.0, 0.0, np.inf]
    assert g.topology.num_arcs == 8


def test_to_memory_and_back(follows):
    g = opened(follows)
    here = g.to("cpu")
    assert here.device == "cpu"
    assert here.labels.tolist() == PEOPLE
    want = weft.Graph.from_edges([0, 1, 2, 0], [1, 2, 0, 2], [1.5, 2.0, 1.0, 9.0], num_vertices=4)
    for left, right in zip(here.to_edges(), want.to_edges(), strict=True):
        np.testing.assert_array_equal(left, right)
    back = here.to(follows)
    np.testing.assert_array_equal(weft.sssp(back, "Ada").dist, weft.sssp(g, "Ada").dist)


def test_parallel_edges_loops_and_integer_ids():
    con = duckdb.connect()
    con.execute("CREATE TABLE e AS SELECT * FROM (VALUES (7, 7), (7, 9), (7, 9), (9, 11)) t(a, b)")
    g = weft.sql.graph(con, "e", src="a", dst="b")
    assert g.labels.tolist() == [7, 9, 11]
    assert g.out_degree.tolist() == [3, 1, 0]
    state = g.state(got=weft.full(0))
    g.run(weft.edge(lambda u, v, e: e.rank + 1, into="got", reduce=weft.sum), state)
    assert state.got.tolist() == [1, 5, 1]
    weft.sql.close(con)


def test_tables_are_written_once_and_again_when_rows_change(follows):
    opened(follows)
    before = tables(follows)
    engine = weft.backends.relational.connections.engine_of(opened(follows).topology.device)
    engine.log = []
    opened(follows)
    assert not any(text.startswith("CREATE") for text in engine.log)
    follows.execute("INSERT INTO follows VALUES ('Zed', 'Ada', 1)")
    g = opened(follows)
    assert any(text.startswith("CREATE TABLE") for text in engine.log)
    assert tables(follows) == before
    assert g.num_edges == 5


def test_tables_of_a_run_are_dropped(follows):
    g = opened(follows)
    before = tables(follows)
    weft.bfs(g, "Ada")
    weft.core_number(g)
    assert tables(follows) == before
    opened(follows, resume=True)
    weft.pagerank(g)
    assert tables(follows) == before


def test_results_as_columns(follows):
    g = opened(follows)
    level = weft.bfs(g, "Ada").level
    found = weft.sql.columns(g, level=level)
    assert found.to_numpy()["level"] is level
    frame = found.to_ibis().execute()
    assert dict(zip(frame["id"], frame["level"], strict=True)) == {
        "Ada": 0, "Bob": 1, "Eve": 1, "Zed": -1,
    }  # fmt: skip


HOSTILE = ['a"; DROP TABLE follows; --', "x' OR '1'='1", "@now@", "a b`c\\", "Ünïcode 🦆"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_labels(name):
    con = duckdb.connect()

    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    con.execute("CREATE TABLE follows (k INTEGER)")
    columns = [name + "1", name + "2", name + "3"]
    declared = ", ".join(f"{quoted(c)} {t}" for c, t in zip(columns, ["VARCHAR"] * 2 + ["DOUBLE"],
                                                            strict=True))  # fmt: skip
    con.execute(f"CREATE TABLE {quoted(name)} ({declared})")
    con.execute(f"INSERT INTO {quoted(name)} VALUES (?, ?, 2.5)", [name, name + "'"])
    src, dst, weight = columns
    g = weft.sql.graph(con, name, src=src, dst=dst, weight=weight)
    assert g.labels.tolist() == [name, name + "'"]
    assert weft.sssp(g, name).dist.tolist() == [0.0, 2.5]
    frame = weft.sql.columns(g, **{name: weft.bfs(g, name).level}).to_ibis().execute()
    assert frame["id"].tolist() == [name, name + "'"]
    assert frame[name].tolist() == [0, 1]
    assert "follows" in tables(con)
    weft.sql.close(con)


def test_further_columns(follows):
    follows.execute("ALTER TABLE follows ADD COLUMN year INTEGER DEFAULT 2020")
    g = opened(follows, columns=["year"])
    state = g.state(latest=weft.full(0, weft.int32))
    g.run(weft.edge(lambda u, v, e: e.year, into="latest", reduce=weft.max), state)
    assert state.latest.tolist() == [2020, 2020, 2020, 0]
    with pytest.raises(GraphError, match="cannot be assigned"):
        g.edge["weight"] = np.ones(4)


@pytest.mark.parametrize(
    ("change", "options", "error", "text"),
    [
        ("INSERT INTO follows VALUES ('Ada', 'Moe', 1)", {}, GraphError, "not in 'users'"),
        ("INSERT INTO follows VALUES ('Ada', NULL, 1)", {"vertices": None}, GraphError, "NULL"),
        ("INSERT INTO users VALUES ('Ada')", {}, GraphError, "1 repeated"),
        ("INSERT INTO follows VALUES ('Ada', 'Bob', NULL)", {}, GraphError, "'weight' is NULL"),
        ("SELECT 1", {"src": "aa"}, FieldError, "Did you mean 'a'"),
        ("SELECT 1", {"weight": "a"}, FieldError, "Expected numbers"),
        ("SELECT 1", {"plan": "fast"}, ConfigError, "'delta'"),
        ("SELECT 1", {"directory": "x"}, ConfigError, "for Spark"),
    ],
)
def test_errors(follows, change, options, error, text):
    follows.execute(change)
    with pytest.raises(error, match=text):
        opened(follows, **options)


def test_connections_of_other_kinds_are_refused():
    with pytest.raises(ConfigError, match="is not a connection"):
        weft.generators.path(2).to(7)
    with pytest.raises(ConfigError, match="does not lie in a database"):
        weft.sql.columns(weft.generators.path(2), x=[1, 2])


def test_tables_of_a_graph_that_is_gone_are_dropped():
    con = duckdb.connect()
    g = weft.generators.path(3).to(con)
    weft.bfs(g, 0)
    first = [name for name in _all(con) if "_arcs_" in name]
    assert len(first) == 1
    del g
    gc.collect()
    weft.bfs(weft.generators.path(4).to(con), 0)
    assert not set(first) & set(_all(con))
    weft.sql.close(con)


def _all(con):
    return [row[0] for row in con.execute("SHOW TABLES").fetchall()]


def test_settings_of_the_connection_are_restored(follows):
    def held():
        return follows.execute("SELECT current_setting('perfect_ht_threshold')").fetchone()[0]

    g = opened(follows)
    follows.execute("SET perfect_ht_threshold = 7")
    weft.bfs(g, "Ada")
    assert held() == 7
    with pytest.raises(FaultError):
        g.run(weft.vertex(lambda v: setattr(v, "x", v.x.at(v.id + 9))), g.state(x=weft.full(0)))
    assert held() == 7


@pytest.mark.parametrize(("limit", "bits"), [("100MB", 18), ("500MB", 20), ("8GB", 22)])
def test_groups_found_by_value_take_half_of_the_memory(limit, bits):
    con = duckdb.connect()
    con.execute("SET threads = 2")
    con.execute("SET memory_limit = ?", [limit])
    with engine_of(connect(con)).direct_groups():
        held = con.execute("SELECT current_setting('perfect_ht_threshold')").fetchone()
    assert held == (bits,)
    weft.sql.close(con)
