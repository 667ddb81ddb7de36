"""`weft tune`: what it finds, keeps, lists and forgets."""

import contextlib
import json
import sqlite3

import pytest


@pytest.fixture
def store(tmp_path):
    return {"WEFT_TUNINGS": str(tmp_path / "tunings.sqlite")}


def test_what_is_tuned_is_listed_used_and_forgotten(weft, edges, tmp_path, store):
    done = weft(
        "tune", "bfs", edges, "--source", "0", "--budget", "0.01", "--json",
        "--report", "page.html", env=store,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "wrote page.html\n")
    told = json.loads(done.out)
    assert told["algorithm"] == "bfs" and told["best_ms"] <= told["default_ms"]
    assert told["graph"]["vertices"] == 6 and told["trials"][0]["status"] == "ok"
    assert "Generated kernel" in (tmp_path / "page.html").read_text(encoding="utf-8")
    listed = weft("tune", "--list", env=store)
    assert listed.code == 0 and listed.out.startswith("1 tuned in ")
    assert "bfs" in listed.out
    with contextlib.closing(sqlite3.connect(store["WEFT_TUNINGS"])) as held, held:
        held.execute("UPDATE tunings SET config = ?", ('{"schedule": "merge"}',))
    run = ("run", "bfs", edges, "--source", "0", "--profile", "--json")
    for given, schedule in (((), "merge"), (("--config", "direction=push"), None)):
        profile = json.loads(weft(*run, *given, env=store).out)["profile"]
        assert profile["runs"][0]["config"].get("schedule") == schedule
    forgot = weft("tune", "--forget", "bfs", "--list", env=store).out
    assert forgot.startswith("forgot 1 stored configuration\nnothing is stored in ")


def test_nothing_is_listed_where_nothing_is_kept(weft):
    done = weft("tune", "--list", "--forget", "all", env={"WEFT_TUNINGS": "off"})
    told = "forgot 0 stored configurations\nWEFT_TUNINGS=off: nothing is stored\n"
    assert (done.code, done.out) == (0, told)


def test_the_fastest_are_shown(weft, edges, store):
    done = weft("tune", "bfs", edges, "--source", "0", "--budget", "0.01", "--top", "1", env=store)
    assert done.code == 0
    assert done.out.startswith("bfs on 6 vertices, 5 arcs, cpu ")
    assert "times as long as the best" in done.out and "× best" in done.out


def test_a_store_that_cannot_be_used_is_explained(weft, edges, tmp_path, store):
    path = tmp_path / "tunings.sqlite"
    path.write_bytes(b"no database " * 500)
    listed = weft("tune", "--list", env=store)
    assert listed.code == 0 and listed.out.startswith("nothing is stored in ")
    assert listed.err.startswith("weft: warning: the tuning store ")
    assert "was moved to 'tunings.sqlite.aside-" in listed.err and "tune again" in listed.err
    path.mkdir()
    run = weft("run", "bfs", edges, "--source", "0", env=store)
    assert run.code == 0 and "cannot be read (it is not a file)" in run.err
    assert "The default configuration is used. Set WEFT_TUNINGS" in run.err
    forgot = weft("tune", "--forget", "all", env=store)
    assert forgot.code == 1 and "cannot be written (it is not a file)" in forgot.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("tune", "bsf", "x"), 2, "Did you mean 'bfs'?"),
        (("tune", "bfs", "missing.txt", "--source", "0"), 1, "missing.txt"),
        (("tune", "bfs", "small.txt", "--source", "0", "--budget", "0"), 1, "above 0"),
        (("tune",), 2, ""),
    ],
)
def test_mistakes_are_told(weft, edges, arguments, code, words):
    done = weft(*arguments)
    assert done.code == code and words in done.err
