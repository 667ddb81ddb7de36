"""The graph cache on disk: entries found by content, bounded in size, never fatal."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import zlib
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_cupy
import weft
from damage import damage_file
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


def files_of(entry):
    return sorted(entry.path.iterdir())


def test_one_wrong_bit_anywhere_makes_an_entry_again():
    want = {"a": np.arange(40, dtype=np.int32), "b": np.zeros(0, np.int64)}
    make = Maker(**want)
    stored("x", "c", make)
    for number in range(len(files_of(entries()[0]))):
        size = files_of(entries()[0])[number].stat().st_size
        for place in range(0, size, 7):
            file = files_of(entries()[0])[number]
            content = bytearray(file.read_bytes())
            content[place] ^= 1 << (place % 8)
            file.write_bytes(content)
            make.calls = 0
            for _ in range(2):
                again = stored("x", "c", make)
                for name, array in want.items():
                    np.testing.assert_array_equal(again[name], array)
                    assert again[name].dtype == array.dtype
            assert make.calls == 1, f"{file.name} at {place}"


def test_random_damage_is_repaired():
    rng = Random(1)
    want = {"a": np.arange(300, dtype=np.int32), "b": np.arange(7) > 3, "none": np.zeros(0)}
    make = Maker(**want)
    stored("x", "c", make)
    for _ in range(80):
        (entry,) = entries()
        damage_file(rng.choice(files_of(entry)), rng)
        entries()
        make.calls = 0
        for _ in range(2):
            again = stored("x", "c", make)
            for name, array in want.items():
                np.testing.assert_array_equal(again[name], array)
        assert make.calls == 1
    assert len(list((entries()[0].path).parent.iterdir())) == 1


def write_description(folder, described):
    line = described if isinstance(described, bytes) else json.dumps(described).encode()
    (folder / "entry.json").write_bytes(line + b"\n%08x" % zlib.crc32(line))


HOSTILE = (
    b"[" * 100_000,
    b'{"what": "x", "content": "c", "arrays": ' + b'{"a":' * 50_000,
    b"9" * 10_000,
    b"\xff\xfe",
    b"null",
    {"what": "x", "content": "c", "arrays": {"../../x/a": [5, 5]}},
    {"what": "x", "content": "c", "arrays": {"a": "ab"}},
    {"what": "x", "content": "c", "arrays": {"a": [10**40, 0]}},
    {"what": "x", "content": "c", "arrays": ["a", 3]},
    {"what": "y", "content": "c", "arrays": {}},
    {"what": "x", "content": "d", "arrays": {}},
    {"what": "x", "arrays": {}},
)


@pytest.mark.parametrize("described", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_descriptions_are_refused(described):
    make = Maker(a=np.arange(5))
    stored("x", "c", make)
    write_description(entries()[0].path, described)
    entries()
    np.testing.assert_array_equal(stored("x", "c", make)["a"], np.arange(5))
    stored("x", "c", make)
    assert make.calls == 2


def pickled(path):
    np.save(path, np.array([os.getpid], object), allow_pickle=True)


def huge(path):
    with open(path, "wb") as file:
        header = {"descr": "<i8", "fortran_order": False, "shape": (1 << 60, 1 << 60)}
        np.lib.format.write_array_header_2_0(file, header)
        file.write(bytes(8))


def archive(path):
    with open(path, "wb") as file:
        np.savez(file, a=np.arange(3))


@pytest.mark.parametrize("forge", [pickled, huge, archive])
def test_hostile_arrays_are_refused(forge):
    """Even where the checksum is right."""
    make = Maker(a=np.arange(5))
    stored("x", "c", make)
    (entry,) = entries()
    forge(entry.path / "a.npy")
    content = (entry.path / "a.npy").read_bytes()
    sums = {"a": (len(content), zlib.crc32(content))}
    write_description(entry.path, {"what": "x", "content": "c", "arrays": sums})
    np.testing.assert_array_equal(stored("x", "c", make)["a"], np.arange(5))
    stored("x", "c", make)
    assert make.calls == 2


def replaced_by_file(path):
    shutil.rmtree(path)
    path.write_text("in the way")


def replaced_by_link(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))
    (path / "a.npy").unlink()


def replaced_by_pipe(path):
    (path / "a.npy").unlink()
    os.mkfifo(path / "a.npy")


def described_by_pipe(path):
    (path / "entry.json").unlink()
    os.mkfifo(path / "entry.json")


def written_by_others(path):
    (path / "a.npy").chmod(0o666)


def owned_by_others(path):
    os.chown(path / "a.npy", 54321, 54321)


@pytest.mark.skipif(os.name != "posix", reason="owners, modes and pipes")
@pytest.mark.parametrize(
    "spoil",
    [replaced_by_file, replaced_by_link, replaced_by_pipe, described_by_pipe, written_by_others,
     owned_by_others],
)  # fmt: skip
def test_entries_that_others_could_have_made_are_made_again(spoil):
    if spoil is owned_by_others and os.geteuid() != 0:
        pytest.skip("root alone gives files away")
    make = Maker(a=np.arange(5))
    stored("x", "c", make)
    spoil(entries()[0].path)
    np.testing.assert_array_equal(stored("x", "c", make)["a"], np.arange(5))
    stored("x", "c", make)
    assert make.calls == 2


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_entries_are_private_for_any_umask():
    before = os.umask(0)
    try:
        make = Maker(a=np.arange(5))
        stored("x", "c", make)
    finally:
        os.umask(before)
    stored("x", "c", make)
    assert make.calls == 1


def test_entries_that_changed_places_are_made_again():
    makers = {name: Maker(a=np.full(9, ord(name)), b=np.arange(9)) for name in "xy"}
    for name, make in makers.items():
        stored(name, "c", make)
    first, second = (entry.path for entry in entries())
    first.rename(first.with_name("z"))
    second.rename(first)
    first.with_name("z").rename(second)
    for name, make in makers.items():
        np.testing.assert_array_equal(stored(name, "c", make)["a"], np.full(9, ord(name)))
        assert make.calls == 2
    path = entries()[0].path
    (path / "a.npy").rename(path / "c.npy")
    (path / "b.npy").rename(path / "a.npy")
    (path / "c.npy").rename(path / "b.npy")
    for name, make in makers.items():
        np.testing.assert_array_equal(stored(name, "c", make)["a"], np.full(9, ord(name)))


def test_programs_over_damaged_formats_are_right(monkeypatch):
    monkeypatch.setattr(formats, "KEPT_ARCS", 10)
    rng = Random(2)
    ends = weft.generators.powerlaw(60, 8, seed=1).topology.endpoints()
    want = weft.bfs(weft.Graph.from_edges(*ends), 0).level
    for _ in range(20):
        g = weft.Graph.from_edges(*ends)
        level = weft.bfs(g, 0, config=weft.Config(format="tigr(4)", direction="push")).level
        np.testing.assert_array_equal(level, want)
        for entry in entries():
            damage_file(rng.choice(files_of(entry)), rng)


def test_a_kept_format_of_another_shape_is_built_again(monkeypatch):
    """Its checksum is right, as after a change of weft that forgot to count `FORMAT` up."""
    monkeypatch.setattr(formats, "KEPT_ARCS", 10)
    rows = weft.generators.powerlaw(60, 8, seed=1).topology.out
    first = choose("tigr(4)").build(rows.offsets, rows.targets, np)
    (entry,) = entries()
    described = json.loads((entry.path / "entry.json").read_bytes().splitlines()[0])
    np.save(entry.path / "facts.npy", np.frombuffer(b"[[" * 50_000, np.uint8))
    content = (entry.path / "facts.npy").read_bytes()
    described["arrays"]["facts"] = len(content), zlib.crc32(content)
    write_description(entry.path, described)
    again = choose("tigr(4)").build(rows.offsets, rows.targets, np)
    assert again.facts == first.facts
    assert np.load(entry.path / "facts.npy").size < 50_000


def test_what_lies_in_a_private_directory_is_listed_and_evicted(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "cache").write_text("in the way")
    monkeypatch.setenv("WEFT_CACHE_LIMIT", "25K")
    with pytest.warns(RuntimeWarning, match="is not used: Not a directory"):
        for name in "abcd":
            stored(name, "", Maker(a=np.zeros(10_000, np.uint8)))
    assert {entry.what for entry in entries()} < {"a", "b", "c", "d"}
    assert clear() > 10_000 and entries() == []


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
    with pytest.warns(RuntimeWarning, match="x was not cached: .*No space left"):
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
