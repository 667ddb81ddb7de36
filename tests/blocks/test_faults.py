"""Damaged partitions: a missing, truncated or changed file is named and refused."""

import json
import shutil

import numpy as np
import pytest

import weft
from partitioned import written
from weft.blocks.block_file import BlockReader
from weft.errors import ConfigError, FileFormatError, GraphError


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    written(weft.generators.rmat(7, seed=1), folder, 4)
    return folder / "blocks"


@pytest.fixture
def folder(sound, tmp_path):
    shutil.copytree(sound, tmp_path / "copy")
    return tmp_path / "copy"


def swept(folder):
    g = weft.open(folder, memory="50MB")
    state = g.state(count=weft.full(0))
    g.run(count, state)
    return state.count


@weft.edge(into="count", reduce=weft.sum)
def count(u, v, e):
    return 1


def test_a_sound_partition_is_read(folder):
    np.testing.assert_array_equal(swept(folder), weft.open(folder).in_degree)


def test_a_missing_block_is_named(folder):
    (folder / "out-00002.block").unlink()
    with pytest.raises(FileFormatError, match=r"out-00002\.block: the block is missing"):
        swept(folder)


@pytest.mark.parametrize("kept", [0, 100, 5000])
def test_a_truncated_block_is_named(folder, kept):
    path = folder / "out-00001.block"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(FileFormatError, match=rf"out-00001\.block.*it has {kept} bytes, not"):
        swept(folder)


def places(data):
    """Return the bytes of a block file that hold something."""
    head = json.loads(data[4096 : 4096 + int.from_bytes(data[16:24], "little")])
    begin = -(-(4096 + int.from_bytes(data[16:24], "little")) // 4096) * 4096
    yield from (0, 9, 13, 20, 28, 4096, 4100)
    for part in head["arrays"]:
        size = np.dtype(part["dtype"]).itemsize * int(np.prod(part["shape"]))
        yield from (begin + part["at"], begin + part["at"] + size - 1)


def test_every_changed_byte_is_found(folder):
    path = folder / "out-00000.block"
    data = path.read_bytes()
    for place in places(data):
        changed = bytearray(data)
        changed[place] ^= 0x40
        path.write_bytes(changed)
        with pytest.raises(FileFormatError, match=r"out-00000\.block.*(damaged|checksum)"):
            swept(folder)


def test_exchanged_blocks_are_found(folder):
    one, two = folder / "out-00000.block", folder / "out-00001.block"
    data = one.read_bytes()
    size = max(len(data), two.stat().st_size)
    one.write_bytes(two.read_bytes())
    two.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"out-0000[01]\.block"):
        swept(folder)
    assert size


@pytest.mark.parametrize("text", ["", "{}", '{"format": "other", "version": 1}', "[1]"])
def test_a_damaged_manifest_is_named(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"manifest\.json"):
        weft.open(folder)


def test_degrees_are_checked(folder):
    degrees = np.load(folder / "out_degree.npy")
    for wrong in (degrees[:-1], degrees + 1):
        np.save(folder / "out_degree.npy", wrong)
        with pytest.raises(FileFormatError, match=r"out_degree\.npy"):
            weft.open(folder)


def test_other_folders_are_no_graph(tmp_path):
    with pytest.raises(GraphError, match="holds no partitioned graph"):
        weft.open(tmp_path)


def test_too_little_memory_is_told_before_anything_runs(tmp_path):
    src = np.arange(1_000_000) % 1000
    weft.write(weft.Graph.from_edges(src, src[::-1]), tmp_path / "g.weft")
    weft.partition(tmp_path / "g.weft", tmp_path / "out", blocks=2)
    with pytest.raises(ConfigError, match="is too little to read blocks ahead"):
        weft.open(tmp_path / "out", memory="2MB")


def test_reading_past_the_page_cache_or_not_gives_the_same(sound):
    manifest = weft.open(sound).topology.manifest
    for number, entry in enumerate(manifest.blocks["out"]):
        first, end = manifest.cuts[number], manifest.cuts[number + 1]
        one, two = (
            BlockReader(sound, direct=direct).read(entry, first, end - first)
            for direct in (True, False)
        )
        np.testing.assert_array_equal(one.targets, two.targets)
        np.testing.assert_array_equal(one.offsets, two.offsets)
