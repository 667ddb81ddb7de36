"""`weft cache`: what is kept, how much, and its end."""

import os

import numpy as np
import pytest

from weft.storage.graph_cache import entries, stored


def test_cache_is_listed_measured_and_cleared(weft, tmp_path, monkeypatch):
    place = tmp_path / "kept"
    monkeypatch.setenv("WEFT_CACHE_DIR", str(place))
    done = weft("cache", "list")
    assert (done.code, done.out, done.err) == (0, "", "Nothing is kept.\n")
    stored("rcm order of 9 vertices", "x", lambda: {"order": np.arange(2000)})
    (place / "cpu").mkdir()
    (place / "cpu" / "code.py").write_text("1" * 3000)
    (place / "tunings.sqlite").write_text("kept apart")
    done = weft("cache", "list")
    assert done.code == 0
    assert " ".join(done.out.split()) == "16.3 kB just now rcm order of 9 vertices"
    done = weft("cache", "size")
    assert done.out.splitlines()[0] == str(place)
    assert "16.3 kB  orders and formats" in done.out
    assert "3.0 kB  code for the CPU" in done.out
    done = weft("cache", "clear")
    assert (done.code, done.err) == (0, "Removed 16.3 kB of orders and formats.\n")
    assert (place / "cpu" / "code.py").exists()
    weft("cache", "clear", "--code")
    assert not (place / "cpu").exists()
    assert (place / "tunings.sqlite").read_text() == "kept apart"
    done = weft("cache", "clera")
    assert done.code == 2


def test_damaged_entries_are_listed_and_cleared(weft, tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "kept"))
    stored("rcm order of 9 vertices", "x", lambda: {"order": np.arange(2000)})
    (entries()[0].path / "entry.json").write_text("[" * 100_000)
    done = weft("cache", "list")
    assert done.code == 0 and done.out.split()[-1] == "damaged"
    assert "rebuilt when needed" in done.err
    assert weft("cache", "clear").code == 0
    assert weft("cache", "list").err == "Nothing is kept.\n"


@pytest.mark.skipif(os.name != "posix", reason="modes")
@pytest.mark.parametrize("part", ["", "cpu"])
def test_a_directory_that_others_can_write_is_reported(weft, tmp_path, part):
    place = tmp_path / "shared"
    (place / part).mkdir(parents=True)
    (place / part / "planted").write_text("1" * 3000)
    (place / part).chmod(0o777)
    (tmp_path / "tmp").mkdir()
    env = {"WEFT_CACHE_DIR": str(place), "TMPDIR": str(tmp_path / "tmp")}
    reason = f"{str(place / part)!r} is not used: others can write to it (mode 0777"
    for command in (("list",), ("clear", "--code")):
        done = weft("cache", *command, env=env)
        assert done.code == 0 and reason in done.err and "Set WEFT_CACHE_DIR" in done.err
    assert (place / part / "planted").exists()
    done = weft("cache", "size", env=env)
    assert reason in done.err and "0 B  code for the CPU" in done.out


def test_warming_compiles_ahead(weft, tmp_path, monkeypatch):
    store = {"WEFT_CACHE_DIR": str(tmp_path / "kept")}
    done = weft("cache", "warm", "degree_centrality", "pagerank", "--weights", "none", env=store)
    assert done.code == 0
    assert [line.split()[-1] for line in done.out.splitlines()] == ["degree_centrality", "pagerank"]
    kernels = sorted((tmp_path / "kept" / "cpu").glob("*.py"))
    assert kernels
    (tmp_path / "g.txt").write_text("0 1\n1 2\n2 0\n")
    ran = weft("run", "pagerank", "g.txt", "--config", "compiled=true", env=store)
    assert ran.code == 0
    assert sorted((tmp_path / "kept" / "cpu").glob("*.py")) == kernels
    done = weft("cache", "warm", "modularity", env=store)
    assert "modularity needs more than a graph and vertices" in done.err
    done = weft("cache", "warm", "bsf", env=store)
    assert done.code == 1 and "Did you mean 'bfs'?" in done.err
