"""What is kept on disk between processes: found again by content, capped, never in the way."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_cupy
import weft
from weft.errors import ConfigError
from weft.formats import base as formats
from weft.formats import choose
from weft.storage import graph_cache as module
from weft.storage.graph_cache import clear, content_hash, entries, limit_bytes, stored
from weft.topology.orders import base as orders


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WEFT_CACHE_LIMIT", raising=False)


class Maker:
    """Makes arrays, and counts how often."""

    def __init__(self, **arrays):
        self.arrays, self.calls = arrays, 0

    def __call__(self):
        self.calls += 1
        return self.arrays


def test_arrays_are_made_once_and_mapped_again():
    make = Maker(a=np.arange(1000, dtype=np.uint16), none=np.zeros(0, np.int32))
    stored("something", "c", make)
    again = stored("something", "c", make)
    assert make.calls == 1
    assert isinstance(again["a"].base, np.memmap)
    again["a"][0] = 7  # in memory, not on disk
    again = stored("something", "c", make)
    np.testing.assert_array_equal(again["a"], np.arange(1000))
    assert again["none"].dtype == np.int32 and again["none"].size == 0
    for what, content in (("something else", "c"), ("something", "d")):
        stored(what, content, make)
    assert make.calls == 3
    (latest, *_) = entries()
    assert latest.what == "something"
    assert latest.nbytes > 2000
    assert clear() > 6000
    assert entries() == []


numbers = st.lists(st.integers(0, 2**31 - 1), max_size=20)


@given(numbers, numbers, numbers)
def test_hashes_are_equal_for_equal_content_alone(a, b, c):
    first = content_hash(np.array(a, np.int64), np.array(b, np.int64))
    assert first == content_hash(np.array(a, np.int32), np.array(b, np.uint32))
    other = content_hash(np.array(a, np.int64), np.array(c, np.int64))
    assert (first == other) == (b == c)
    assert (first == content_hash(np.array(b, np.int64), np.array(a, np.int64))) == (a == b)


def test_hashes_do_not_depend_on_chunks_or_devices(monkeypatch):
    values = np.random.default_rng(1).integers(0, 1000, 5000)
    whole = content_hash(values)
    monkeypatch.setattr(module, "_CHUNK", 77)
    assert content_hash(values) == whole
    changed = values.copy()
    changed[[10, 4000]] = changed[[4000, 10]] + [1, 0]
    assert content_hash(changed) != whole
    monkeypatch.setattr(module, "_DEVICE_CHUNK", 100)
    with fake_cupy.installed(monkeypatch):
        import cupy

        assert content_hash(cupy.asarray(values)) == whole


def test_the_least_recently_used_go_first(monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_LIMIT", "35K")
    makers = {name: Maker(a=np.zeros(10_000, np.uint8)) for name in "abcd"}
    for moment, name in enumerate("abc"):
        stored(name, "", makers[name])
        (entry,) = [entry for entry in entries() if entry.what == name]
        os.utime(entry.path / "entry.json", (moment, moment))
    stored("a", "", makers["a"])  # used now
    stored("d", "", makers["d"])
    assert {entry.what for entry in entries()} == {"a", "c", "d"}
    large = Maker(a=np.zeros(30_000, np.uint8))
    stored("large", "", large)
    stored("large", "", large)
    assert large.calls == 2  # it would leave room for little else


def test_damaged_entries_are_made_again():
    make = Maker(a=np.arange(5000))
    stored("x", "", make)
    (entry,) = entries()
    with open(entry.path / "a.npy", "r+b") as file:
        file.truncate(100)
    np.testing.assert_array_equal(stored("x", "", make)["a"], np.arange(5000))
    assert make.calls == 2
    for text in ("", "{}", "[1]"):
        (entry,) = entries()
        (entry.path / "entry.json").write_text(text)
        assert entries()[0].what == "damaged"
        stored("x", "", make)
    (entry,) = entries()
    (entry.path / "entry.json").unlink()
    stored("x", "", make)
    assert make.calls == 6
    stored("x", "", make)
    assert make.calls == 6


def test_nothing_is_kept_with_a_limit_of_zero(monkeypatch, tmp_path):
    monkeypatch.setenv("WEFT_CACHE_LIMIT", "0")
    make = Maker(a=np.arange(5))
    for _ in range(2):
        assert stored("x", "", make)["a"] is make.arrays["a"]
    assert make.calls == 2
    assert not (tmp_path / "cache").exists()
    assert clear() == 0


@pytest.mark.parametrize(("text", "want"), [("500", 500), ("2k", 2048), ("3 MB", 3 << 20)])
def test_limits_are_read(monkeypatch, text, want):
    monkeypatch.setenv("WEFT_CACHE_LIMIT", text)
    assert limit_bytes() == want


@pytest.mark.parametrize("text", ["much", "-5", "3X", "1.5G"])
def test_wrong_limits_are_explained(monkeypatch, text):
    monkeypatch.setenv("WEFT_CACHE_LIMIT", text)
    with pytest.raises(ConfigError, match=f"WEFT_CACHE_LIMIT='{text}' is not a size. Expected"):
        limit_bytes()


def test_a_full_disk_is_no_error(monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", fail)
    with pytest.warns(RuntimeWarning, match="x was not kept: .*No space left"):
        assert stored("x", "", Maker(a=np.arange(5)))["a"].size == 5
    assert entries() == []


def test_several_may_make_the_same_at_once():
    makers = [Maker(a=np.arange(3000)) for _ in range(4)]
    threads = [threading.Thread(target=stored, args=("x", "", make)) for make in makers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (entry,) = entries()
    assert entry.what == "x"
    assert len(list(entry.path.parent.iterdir())) == 1


@pytest.mark.parametrize("text", ["cr2(4)", "cr2_bare(8)", "tigr(4)", "ell(3)"])
@pytest.mark.parametrize("incoming", [False, True])
def test_formats_of_large_graphs_are_kept(monkeypatch, text, incoming):
    rows = weft.generators.powerlaw(60, 8, seed=1).topology.out
    want = choose(text).build(rows.offsets, rows.targets, np, incoming=incoming)
    monkeypatch.setattr(formats, "KEPT_ARCS", 10)
    first, second = (
        choose(text).build(rows.offsets, rows.targets, np, incoming=incoming) for _ in range(2)
    )
    assert isinstance(second.parts[-1].arrays["vertices"].base, np.memmap)
    for layout in (first, second):
        assert layout.facts == want.facts
        assert layout.nbytes == want.nbytes
        for got, part in zip(layout.parts, want.parts, strict=True):
            assert (got.rows, got.slots, got.numbers) == (part.rows, part.slots, part.numbers)
            for name, array in part.arrays.items():
                np.testing.assert_array_equal(got.arrays[name], array)
                assert got.arrays[name].dtype == array.dtype
    if want.places is not None:
        for layout in (second, first):
            np.testing.assert_array_equal(layout.places(), want.places())
    way = "in" if incoming else "out"
    names = {entry.what for entry in entries()}
    assert any(f"of the {way}-arcs of 60 vertices" in name for name in names)
    assert len(names) == (1 if want.places is None else 2)


def test_formats_that_are_the_adjacency_are_not_kept(monkeypatch):
    monkeypatch.setattr(formats, "KEPT_ARCS", 10)
    rows = weft.generators.powerlaw(60, 8, seed=1).topology.out
    for text in ("csr", "coo"):
        choose(text).build(rows.offsets, rows.targets, np)
    assert entries() == []


def test_orders_of_large_graphs_are_kept(monkeypatch):
    monkeypatch.setattr(orders, "_KEPT_ARCS", 10)
    calls = []
    maker = orders._MAKERS["rcm"]
    monkeypatch.setitem(orders._MAKERS, "rcm", lambda t: (calls.append(t), maker(t))[1])
    first = weft.generators.grid(8, 8).reorder("rcm")
    second = weft.generators.grid(8, 8).reorder("rcm")
    assert len(calls) == 1
    np.testing.assert_array_equal(first.order, second.order)
    assert entries()[0].what == "rcm order of 64 vertices, 224 arcs, undirected"
    weft.generators.grid(8, 9).reorder("rcm")
    directed = weft.Graph.from_edges(*first.topology.endpoints())
    directed.reorder("rcm")
    assert len(calls) == 3
    first.reorder("degree")  # is made sooner than it is found
    assert len(entries()) == 3
