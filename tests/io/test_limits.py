"""Files that promise or unpack to more than they hold are refused before memory is asked for."""

import bz2
import gzip
import json
import lzma
import struct
import tracemalloc
import zlib

import numpy as np
import pytest

import weft
from weft.errors import ConfigError, FileFormatError, GraphError
from weft.io import compression
from weft.io.compression import LEAST_UNPACK_LIMIT, MOST_UNPACK_RATIO, Source

PACKERS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
# Names and contents; each would need hundreds of megabytes or more if the promise were believed.
PROMISES = {
    "vertex weights": ("g.graph", "200000 0 010 1000\n" + "\n" * 200_000),
    "vertices": ("g.graph", "99999999999 1\n2\n1\n"),
    "edges": ("g.graph", "2 99999999999\n2\n1\n"),
    "edge weights": ("g.graph", "100 300 001\n" + "\n" * 1500),
    "matrix entries": ("g.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 99999999999\n"),
    "matrix size": ("g.mtx", "%%MatrixMarket matrix coordinate real general\n9{0} 9{0} 0\n"),
    "paths": ("g.gr", "p sp 5 99999999999\na 1 2 3\n"),
    "path vertices": ("g.gr", "p sp 9{0} 1\na 1 2 3\n"),
    "width": ("g.gr", "p tw 5 99999999999\n1 2\n"),
    "nodes": ("g.txt", "# Nodes: 9{0} Edges: 1\n0 1\n"),
    "list edges": ("g.txt", "# Nodes: 2 Edges: 9{0}\n0 1\n"),
    "id": ("g.csv", "0,9{0}\n"),
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Have the kernels compiled before memory is counted."""
    folder = tmp_path_factory.mktemp("compiled")
    texts = {"g.wel": "0 1 2\n0 1 0.5\n", "g.graph": "2 1\n2\n1\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
        weft.read(folder / name)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("promise", PROMISES)
def test_promises_are_compared_with_the_size_of_the_file(tmp_path, promise):
    name, text = PROMISES[promise]
    data = text.replace("{0}", "0" * 12).encode()
    (tmp_path / name).write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError) as caught:
            weft.read(tmp_path / name)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.line is not None
    assert peak < 50_000_000


def test_a_metis_file_may_be_as_short_as_possible(tmp_path):
    for text in ("3 0\n\n\n", "2 1\n2\n1", "1 0 010 2\n3 4", "2 1 1\n2 5\n1 5"):
        (tmp_path / "g.graph").write_text(text)
        assert weft.read(tmp_path / "g.graph").num_vertices == int(text[0])


def test_weft_head_with_sizes_that_nothing_can_have(tmp_path):
    path = tmp_path / "g.weft"
    for shape in ([2**70, 0], [2**62, 2], [1] * 70, [0] * 40, [True], [1.0], [[1]], [-1, -1]):
        arrays = [{"name": "offsets", "dtype": "int64", "shape": shape, "at": 0, "crc32": 0}]
        facts = {"num_vertices": 0, "num_edges": 0, "directed": True, "keep": "both"}
        path.write_bytes(with_head(json.dumps(facts | {"arrays": arrays}).encode()))
        with pytest.raises(FileFormatError, match=r"at most 3 sizes|wrong form"):
            weft.read(path)
    path.write_bytes(with_head(b"[" * 100_000))
    with pytest.raises(FileFormatError, match="the head is not JSON"):
        weft.read(path)


def with_head(head: bytes) -> bytes:
    """Return a `.weft` file of a head whose checksum fits."""
    head = head.ljust(-(-len(head) // 64) * 64)
    magic = b"\x89WEFT\r\n\x1a"
    return struct.pack("<8sIIQQ32x", magic, 1, zlib.crc32(head), len(head), 64 + len(head)) + head


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_bomb_stops_at_the_limit(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(compression, "LEAST_UNPACK_LIMIT", 1 << 20)
    path = tmp_path / f"g.el{suffix}"
    path.write_bytes(PACKERS[suffix](b"0 1\n" + b"\n" * (1 << 25)))
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=r"pass unpack_limit= .* WEFT_UNPACK_LIMIT"):
            weft.read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 25_000_000


@pytest.mark.parametrize("suffix", PACKERS)
def test_the_limit_can_be_set(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"g.el{suffix}"
    path.write_bytes(PACKERS[suffix](b"0 1\n" * 1000))
    assert weft.read(path).num_edges == 1000
    assert weft.read(path, unpack_limit=4000).num_edges == 1000
    with pytest.raises(FileFormatError, match=rf"the {suffix[1:]} data unpack to more than 3999"):
        weft.read(path, unpack_limit=3999)
    monkeypatch.setenv("WEFT_UNPACK_LIMIT", "3K")
    with pytest.raises(FileFormatError, match="unpack to more than 3072 bytes"):
        weft.read(path)
    assert weft.read(path, unpack_limit=4000).num_edges == 1000
    monkeypatch.setenv("WEFT_UNPACK_LIMIT", "a lot")
    with pytest.raises(ConfigError, match="WEFT_UNPACK_LIMIT='a lot' is not a size"):
        weft.read(path)


def test_the_default_limit_follows_the_size_of_the_file(tmp_path):
    path = tmp_path / "g.el.gz"
    path.write_bytes(b"x")
    assert Source(path, ".el", ".gz").max_unpacked() == LEAST_UNPACK_LIMIT
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    assert Source(path, ".el", ".gz").max_unpacked() == MOST_UNPACK_RATIO << 30


@pytest.mark.parametrize("limit", [-1, 1.5, "1G", True])
def test_the_limit_is_a_count(tmp_path, limit):
    with pytest.raises(GraphError, match="unpack_limit"):
        weft.read(tmp_path / "g.el.gz", unpack_limit=limit)


def test_parquet_rows_that_repeat(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "g.parquet"
    zeros = np.zeros(1_000_000, np.int64)
    parquet.write_table(pyarrow.table({"src": zeros, "dst": zeros}), path)
    assert path.stat().st_size < 10_000
    with pytest.raises(FileFormatError, match="promises 1000000 rows of 2 columns"):
        weft.read(path, unpack_limit=1 << 20)
    assert weft.read(path).num_edges == 1_000_000


def test_more_vertices_than_memory(tmp_path):
    path = tmp_path / "g.el"
    path.write_text("0 1\n")
    with pytest.raises(GraphError, match="num_vertices=4611686018427387904 is too large"):
        weft.read(path, num_vertices=2**62)
    with pytest.raises(FileFormatError, match="needs more memory than is available"):
        weft.read(path, num_vertices=2**47)
