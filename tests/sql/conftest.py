"""A DuckDB connection for each module, with small blocks so that several are met."""

import pytest

import weft
from weft.backends.relational.connections import connect, engine_of


@pytest.fixture(scope="module")
def con():
    con = pytest.importorskip("duckdb").connect()
    con.execute("SET threads = 1")
    engine_of(connect(con)).block = 4
    yield con
    weft.sql.close(con)
    con.close()


@pytest.fixture
def engine(con):
    engine = engine_of(connect(con))
    engine.plan = "auto"
    yield engine
    engine.plan, engine.log = "auto", None
