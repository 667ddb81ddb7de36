"""`weft cache`: what is kept, how much, and its end."""

import numpy as np

from weft.storage.graph_cache import stored


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
    assert " ".join(done.out.split()) == "16.2 kB just now rcm order of 9 vertices"
    done = weft("cache", "size")
    assert done.out.splitlines()[0] == str(place)
    assert "16.2 kB  orders and formats" in done.out
    assert "3.0 kB  code for the CPU" in done.out
    done = weft("cache", "clear")
    assert (done.code, done.err) == (0, "Removed 16.2 kB of orders and formats.\n")
    assert (place / "cpu" / "code.py").exists()
    weft("cache", "clear", "--code")
    assert not (place / "cpu").exists()
    assert (place / "tunings.sqlite").read_text() == "kept apart"
    done = weft("cache", "clera")
    assert done.code == 2
