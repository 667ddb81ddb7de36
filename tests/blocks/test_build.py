"""Building block files: the same graph as in memory, by bounded pieces, and resumed."""

import errno
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from partitioned import on_blocks, written
from weft.blocks import build as building
from weft.blocks.build import BuildPlan, Chunk, build
from weft.blocks.manifest import read_manifest
from weft.errors import ConfigError, GraphError

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40)


def same(partitioned, whole):
    """Whether a partitioned graph has the arcs, columns and degrees of one in memory."""
    np.testing.assert_array_equal(partitioned.out_degree, whole.out_degree)
    np.testing.assert_array_equal(partitioned.in_degree, whole.in_degree)
    loaded = partitioned.to("cpu")
    for ours, theirs in zip(loaded.to_edges(), whole.to_edges(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (loaded.num_vertices, loaded.directed) == (whole.num_vertices, whole.directed)


@given(
    EDGES, st.booleans(), st.sampled_from(["keep", "first", "sum", "min", "max"]),
    st.sampled_from(["keep", "drop"]), st.sampled_from(["both", "out", "in"]), st.integers(1, 5),
)  # fmt: skip
@settings(max_examples=40, derandomize=True)
def test_blocks_hold_what_from_edges_builds(edges, directed, duplicates, loops, keep, blocks):
    ends = np.array(edges, np.int64).reshape(-1, 2)
    weight = np.arange(len(edges)) % 5 + 0.5
    made = weft.Graph.from_edges(ends[:, 0], ends[:, 1], weight, num_vertices=11)
    options = {"directed": directed, "duplicates": duplicates, "self_loops": loops, "keep": keep}
    src, dst, weight = made.to_edges()  # in the order in which the file has them
    whole = weft.Graph.from_edges(src, dst, weight, num_vertices=11, **options)
    with on_blocks(made, blocks, **options) as partitioned:
        same(partitioned, whole)
        manifest = partitioned.topology.manifest
        rows = whole.topology.adjacency(whole.topology.primary_direction)
        owners = rows.rows()
        assert manifest.loops == np.count_nonzero(owners == rows.targets)
        pairs = {(int(a), int(b)) for a, b in zip(owners, rows.targets, strict=True)}
        assert manifest.parallel == rows.targets.size - len(pairs)


@pytest.mark.parametrize("suffix", [".txt", ".parquet", ".mtx", ".csv.gz", ".weft"])
@pytest.mark.parametrize("directed", [True, False])
def test_every_reader_can_be_partitioned(tmp_path, suffix, directed):
    whole = weft.Graph.from_edges(
        [0, 3, 1, 1, 5], [1, 3, 2, 2, 0], [1.5, 2.0, 3.0, 4.0, 0.25], num_vertices=8,
        directed=directed,
    )  # fmt: skip
    weft.write(whole, tmp_path / f"g{suffix}")
    weft.partition(tmp_path / f"g{suffix}", tmp_path / "out", blocks=3)
    same(weft.open(tmp_path / "out"), weft.read(tmp_path / f"g{suffix}"))


def test_many_files_and_small_chunks_make_one_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "LEAST_CHUNK", 3)
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 50, (2, 400))
    for part in range(4):
        text = "".join(f"{a} {b}\n" for a, b in ends[:, part * 100 : part * 100 + 100].T)
        (tmp_path / f"part-{part}.txt").write_text(text)
    plan = BuildPlan(memory=1 << 20)
    monkeypatch.setattr(building._Build, "_chunk_rows", lambda self, size: 7)
    weft.partition(str(tmp_path / "part-*.txt"), tmp_path / "out", blocks=4, num_vertices=50)
    assert plan.ways == ("out", "in")
    same(weft.open(tmp_path / "out"), weft.Graph.from_edges(*ends, num_vertices=50))


def test_id_dtypes_of_64_bits_and_vector_columns(tmp_path):
    whole = weft.generators.grid(3, 3)
    whole.edge["length"] = np.arange(whole.num_edges, dtype=np.int16)
    whole.edge["place"] = np.arange(2.0 * whole.num_edges).reshape(-1, 2)
    partitioned = written(whole, tmp_path, 2)
    loaded = partitioned.to("cpu")
    for name in ("length", "place"):
        np.testing.assert_array_equal(loaded.edge[name], whole.edge[name])
    assert loaded.edge["length"].dtype == np.int16


def test_blocks_that_need_more_memory_are_refused(tmp_path):
    src = np.arange(200_000) % 1000
    chunk = Chunk(src, src[::-1], {})
    with pytest.raises(ConfigError, match="blocks=1 makes blocks that need more than memory"):
        build(tmp_path, lambda rows: iter([chunk]), BuildPlan(memory=1 << 20, blocks=1))
    manifest = build(tmp_path, lambda rows: iter([chunk]), BuildPlan(memory=1 << 20))
    assert manifest.num_blocks > 10


class _Stop(Exception):
    pass


def test_an_interrupted_build_continues_where_it_was(tmp_path, monkeypatch):
    """Every write of the journal is interrupted once; the result is the same."""
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 30, (2, 200))
    whole = weft.Graph.from_edges(src, dst, num_vertices=30)
    chunks = [Chunk(src[k : k + 40], dst[k : k + 40], {}) for k in range(0, 200, 40)]
    plan = BuildPlan(memory=1 << 24, blocks=3)
    original, left, taken = building.replace_file, [0], []

    def interrupted(path, content):
        original(path, content)
        taken.append(json.loads(content))
        left[0] -= 1
        if left[0] < 0:
            raise _Stop

    monkeypatch.setattr(building, "replace_file", interrupted)
    for step in range(40):
        left[0] = step % 2
        try:
            build(tmp_path / "out", lambda rows: iter(chunks), plan)
            break
        except _Stop:
            with pytest.raises(GraphError, match="interrupted"):
                read_manifest(tmp_path / "out")
    assert 5 < step < 40
    assert sum("cuts" in journal and "chunks" not in journal for journal in taken) == 1
    assert not list((tmp_path / "out").glob("run-*"))
    same(weft.open(tmp_path / "out"), whole)


def test_a_full_disk_is_told_and_the_build_continues(tmp_path, monkeypatch):
    whole = weft.generators.rmat(6)
    weft.write(whole, tmp_path / "g.weft")
    original, calls = building.write_block, []

    def full(path, block):
        calls.append(path)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return original(path, block)

    monkeypatch.setattr(building, "write_block", full)
    with pytest.raises(GraphError, match=r"No space left on device.*free some.*continues"):
        weft.partition(tmp_path / "g.weft", tmp_path / "out", blocks=4)
    before = len(calls)
    weft.partition(tmp_path / "g.weft", tmp_path / "out", blocks=4)
    ways = len(weft.open(tmp_path / "out").topology.manifest.blocks)
    assert len(calls) - before == 4 * ways - 2, "finished blocks are not built again"
    same(weft.open(tmp_path / "out"), whole)


def test_other_options_begin_anew(tmp_path):
    whole = weft.generators.rmat(5)
    written(whole, tmp_path, 4)
    weft.partition(tmp_path / "whole.weft", tmp_path / "blocks", blocks=2)
    partitioned = weft.open(tmp_path / "blocks")
    assert partitioned.topology.manifest.num_blocks == 2
    assert len(list((tmp_path / "blocks").glob("*.block"))) == 2 * (2 if whole.directed else 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"blocks": 0}, "blocks=0 is not possible"),
        ({"memory": "lots"}, "memory='lots' is not an amount of memory"),
        ({"memory": 5}, "not an amount of memory"),
        ({"duplicates": "last"}, "duplicates='last' is not known"),
        ({"num_vertices": 3}, "num_vertices=3 was passed"),
    ],
)
def test_wrong_options_are_told(tmp_path, options, message):
    (tmp_path / "g.txt").write_text("0 1\n1 5\n")
    with pytest.raises((ConfigError, GraphError), match=message):
        weft.partition(tmp_path / "g.txt", tmp_path / "out", **options)


def test_files_without_edges_or_with_labels(tmp_path):
    with pytest.raises(GraphError, match=r"none\.parquet does not exist"):
        weft.partition(tmp_path / "none.parquet", tmp_path / "out")
    named = weft.Graph.from_edges(["a", "b"], ["b", "c"])
    weft.write(named, tmp_path / "named.txt")
    with pytest.raises(GraphError, match="ids are labels"):
        weft.partition(tmp_path / "named.txt", tmp_path / "out")
