"""General use of the unit, pages, and the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import weft
from weft.cli import app
from weft.errors import GraphError
from weft.weaver import Machine, WeaverError, programs, simulate
from weft.weaver.page import page, unit_frames


def test_hash_lookup():
    """Every query's bucket is a row; a query that is found skips the rest of its bucket."""
    rng = np.random.default_rng(0)
    keys = rng.choice(10_000, 800, replace=False)
    buckets = 64
    order = np.argsort(keys % buckets, kind="stable")
    stored = {"key": keys[order], "value": keys[order] * 3}
    bounds = np.searchsorted(keys[order] % buckets, np.arange(buckets + 1))
    queries = np.concatenate([keys[::5], [10_001, 10_002]])
    begins, ends = bounds[queries % buckets], bounds[queries % buckets + 1]
    found = np.full(queries.size, -1)

    def probe(rows, items):
        hit = items["key"] == queries[rows]
        found[rows[hit]] = items["value"][hit]
        return hit

    woven = weft.weave((begins, ends - begins), stored, probe)
    assert found.tolist() == [*(keys[::5] * 3), -1, -1]
    assert woven.items < int((ends - begins).sum())  # early exits save the rest of the buckets


def test_sparse_product():
    rng = np.random.default_rng(1)
    degrees = rng.integers(0, 30, 700)
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    columns = rng.integers(0, 50, offsets[-1])
    values, x = rng.random(offsets[-1]), rng.random((50, 4))
    y = np.zeros((700, 4))

    def multiply(rows, items):
        np.add.at(y, rows, items["value"][:, None] * x[items["column"]])

    woven = weft.weave(offsets, {"value": values, "column": columns}, multiply)
    dense = np.zeros((700, 50))
    np.add.at(dense, (np.repeat(np.arange(700), degrees), columns), values)
    assert np.allclose(y, dense @ x)
    assert woven.rounds == 2 and woven.items == offsets[-1]
    assert woven.filled > 0.97


def test_wrong_rows_are_refused():
    with pytest.raises(GraphError, match="reaches beyond the 2 items"):
        weft.weave([0, 3], np.zeros(2), lambda rows, items: None)
    with pytest.raises(WeaverError, match="NEGATIVE_DEGREE"):
        weft.weave([2, 0], np.zeros(2), lambda rows, items: None)
    assert weft.weave([0], np.zeros(0), lambda rows, items: None).decodes == 0


def test_page_steps_through_the_unit():
    frames = unit_frames([(0, 2, 1), (2, 10, 2), (4, 30, 5)])
    answers = [frame["answer"] for frame in frames if frame["answer"]]
    assert answers[:2] == ["warp 1: 0 2 2 4", "warp 0: 4 4 4 4"]
    assert frames[-1]["dt"] == {"1": [2, 10, 11, 30], "0": [31, 32, 33, 34]}
    g = weft.generators.star(20)
    small = Machine(sockets=1, cores_per_socket=1, warps=2, threads=4, entries=8)
    run = simulate(g, lambda g: programs.bfs(g, 0), machine=small, traced=500)
    text = page("a < b", [(0, 0, 3)], {"weaver": run.counters})
    assert "a &lt; b" in text and "Gantt chart of warps" in text and "Output OD" in text
    assert "http" not in text.replace("http://www.w3.org", "")


def invoke(*arguments):
    result = CliRunner().invoke(app, ["weave", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_command_line(tmp_path):
    file = tmp_path / "g.weft"
    weft.write(weft.generators.rmat(5, 4, seed=1), file)
    trace, web = tmp_path / "t.json", tmp_path / "p.html"
    told = json.loads(
        invoke("sim", file, "--algorithm", "pr", "--schedule", "weaver,vertex,eghw", "--cores", 2,
               "--trace", trace, "--page", web, "--json")
    )  # fmt: skip
    assert set(told) == {"weaver", "vertex", "eghw"} and told["weaver"]["cycles"] > 0
    kinds = {event["ph"] for event in json.loads(trace.read_text())["traceEvents"]}
    assert kinds == {"M", "X"}
    assert "<title>pr on g.weft</title>" in web.read_text()
    assert "weaver_dec_loc" in invoke("asm", "--algorithm", "bfs")
    assert ".macro weaver_reg rs1, rs2, rs3" in invoke("asm", "--macros")


def test_verilog_from_the_command_line(tmp_path):
    pytest.importorskip("amaranth")
    file = tmp_path / "weaver.v"
    invoke("rtl", "--lanes", 2, "--warps", 2, "--entries", 4, "-o", file)
    assert "endmodule" in file.read_text()


def test_info_about_the_unit():
    result = CliRunner().invoke(app, ["info", "--unit", "--json"])
    assert result.exit_code == 0, (result.output, result.exception)
    told = json.loads(result.stdout)
    assert told["unit"].startswith("none") and told["software"]["entries"] == 4096
    assert told["modelled unit"]["lanes"] == 32 and told["modelled unit"]["ST bytes"] == 6144
    assert "synthesised unit" in told
    text = CliRunner().invoke(app, ["info", "--unit", "--device", "emulated"]).stdout
    assert "each block" in text and "modelled unit lanes" in text
    assert "Expected the file of a graph, or --unit" in CliRunner().invoke(app, ["info"]).output
