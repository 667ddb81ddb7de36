"""Large `.weft` files open without a check; nothing follows their offsets and targets unchecked."""

import pickle

import numpy as np
import pytest

import weft
from weft.errors import FileFormatError
from weft.io import soundness
from weft.io.formats import weft_binary
from weft.io.soundness import find_flaw
from weft.topology.adjacency import Adjacency

OFFSETS = [0, 2, 2, 3, 5, 6, 6]
TARGETS = [1, 4, 4, 2, 5, 0]
FAR = 1 << 30  # reads far outside of any array, if something follows it
FLAWS = {
    "offset too large": ("offsets", 2, FAR),
    "negative offset": ("offsets", 1, -FAR),
    "offset above the next": ("offsets", 3, 6),
    "target too large": ("targets", 3, FAR),
    "target just too large": ("targets", 4, 6),
    "negative target": ("targets", 1, -FAR),
    "unsorted row": ("targets", 4, 1),
}
# Each reads the arrays in another way.
USES = {
    "to_edges": lambda g: g.to_edges(),
    "out_degree": lambda g: g.out_degree,
    "in_degree": lambda g: g.in_degree,
    "reverse": lambda g: g.reverse(),
    "to_undirected": lambda g: g.to_undirected(),
    "reorder": lambda g: g.reorder("degree"),
    "own order": lambda g: g.reorder([5, 4, 3, 2, 1, 0]),
    "subgraph": lambda g: g.subgraph([0, 1, 3]),
    "to_scipy": lambda g: g.to_scipy(),
    "emulated": lambda g: g.to("emulated").out_degree,
    "add_edges": lambda g: g.add_edges([0], [3]),
    "update": lambda g: g.update(add=([0], [3])),
    "pickle": pickle.dumps,
    "bfs": lambda g: weft.bfs(g, 0),
    "pagerank": weft.pagerank,
    "push": lambda g: weft.bfs(g, 0, config=weft.Config(direction="push")),
    "topology": lambda g: g.topology.out.targets,
}


@pytest.fixture
def unverified(monkeypatch):
    """Take every file for a large one."""
    monkeypatch.setattr(weft_binary, "ALWAYS_VERIFIED_BYTES", 0)


def damaged(path, array: str, index: int, value: int) -> None:
    """Write a file with one wrong number; its checksums fit."""
    g = weft.Graph.from_edges([0, 0, 2, 3, 3, 4], [1, 4, 4, 2, 5, 0], num_vertices=6)
    arcs = g.topology.out
    assert (arcs.offsets.tolist(), arcs.targets.tolist()) == (OFFSETS, TARGETS)
    getattr(arcs, array)[index] = value
    weft.write(g, path)


@pytest.mark.parametrize("flaw", FLAWS)
def test_every_flaw_is_found_on_first_use(tmp_path, unverified, flaw):
    array, index, value = FLAWS[flaw]
    damaged(tmp_path / "g.weft", array, index, value)
    g = weft.read(tmp_path / "g.weft")
    assert (g.num_vertices, g.num_edges) == (6, 6)
    assert "6 edges" in repr(g)
    for _ in range(2):  # it stays unusable
        with pytest.raises(
            FileFormatError, match=r"g\.weft, byte \d+: (offset|target) \d"
        ) as caught:
            weft.bfs(g, 0)
    raw = (tmp_path / "g.weft").read_bytes()
    width = 8 if array == "offsets" else 4
    found = int.from_bytes(raw[caught.value.byte :][:width], "little", signed=True)
    assert f"is {found}" in str(caught.value)


@pytest.mark.parametrize("use", USES)
def test_every_use_checks_first(tmp_path, unverified, use):
    damaged(tmp_path / "g.weft", *FLAWS["target too large"])
    g = weft.read(tmp_path / "g.weft")
    with pytest.raises(FileFormatError, match=f"target 3 is {FAR}"):
        USES[use](g)


def test_the_check_runs_once_and_not_on_opening(tmp_path, unverified, monkeypatch):
    calls = []

    def counted(*args, **options):
        calls.append(args)
        return find_flaw(*args, **options)

    monkeypatch.setattr(weft_binary, "find_flaw", counted)
    weft.write(weft.Graph.from_edges([0, 1, 1], [1, 2, 3], directed=False), tmp_path / "g.weft")
    g = weft.read(tmp_path / "g.weft")
    assert (g.num_vertices, g.memory_bytes, len(calls)) == (4, g.memory_bytes, 0)
    for _ in range(2):
        weft.bfs(g, 0)
        weft.bfs(g.reverse().to("emulated"), 0)
        g.reorder("degree")
    assert len(calls) == 1
    weft.read(tmp_path / "g.weft", verify=True)
    assert len(calls) == 2


def test_undirected_arcs_must_be_pairs(tmp_path, unverified, monkeypatch):
    g = weft.Graph.from_edges([0, 1], [1, 2], directed=False)
    assert g.topology.out.targets.tolist() == [1, 0, 2, 1]
    g.topology.out.targets[3] = 0
    weft.write(g, tmp_path / "g.weft")
    for verify in (None, True):
        with pytest.raises(FileFormatError, match="the arc 2 -> 0 has no opposite"):
            weft.read(tmp_path / "g.weft", verify=verify).to_edges()
    monkeypatch.setattr(weft_binary, "ALWAYS_PAIRED_BYTES", 0)
    with pytest.raises(FileFormatError, match="the arc 2 -> 0 has no opposite"):
        weft.read(tmp_path / "g.weft", verify=True)
    g.topology.out.targets[3] = 2
    weft.write(g, tmp_path / "g.weft")
    with pytest.raises(FileFormatError, match="2 arcs lead to a higher vertex, 1 to a lower one"):
        weft.read(tmp_path / "g.weft").to_edges()


def test_a_large_file_with_one_wrong_offset(tmp_path):
    """The file is just above the size up to which all files are verified on opening."""
    size = 1 << 21
    g = weft.Graph.from_edges(np.arange(size), (np.arange(size) + 1) % size)
    path = tmp_path / "g.weft"
    weft.write(g, path)
    assert path.stat().st_size > weft_binary.ALWAYS_VERIFIED_BYTES
    assert weft.read(path).topology.out.offsets.size == size + 1
    raw = bytearray(path.read_bytes())
    at = raw.index((1000).to_bytes(8, "little"))
    raw[at + 6] = 1
    path.write_bytes(raw)
    damaged = weft.read(path)
    with pytest.raises(FileFormatError, match=f"byte {at + 8}: offset 1001 is 1001, less than"):
        weft.bfs(damaged, 0)
    with pytest.raises(FileFormatError, match="checksum of the array 'offsets'"):
        weft.read(path, verify=True)


@pytest.mark.parametrize("directed", [True, False])
def test_blocks_do_not_matter(monkeypatch, directed):
    """Every single wrong number is found, whatever blocks the arrays are read in."""
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 20, (2, 40))
    arcs = weft.Graph.from_edges(*ends, num_vertices=23, directed=directed).topology.out
    for block in (1, 3, 7, 1 << 18):
        monkeypatch.setattr(soundness, "_BLOCK", block)
        assert find_flaw(arcs, 40, directed, pairs=True) is None
        for k in range(arcs.targets.size):
            changed = Adjacency(arcs.offsets, arcs.targets.copy())
            changed.targets[k] = -1 if k % 2 else 23
            flaw = find_flaw(changed, 40, directed)
            assert flaw is not None and (flaw.array, flaw.position) == ("targets", k)
        for k in range(1, 23):
            if arcs.offsets[k] != arcs.offsets[k - 1]:
                changed = Adjacency(arcs.offsets.copy(), arcs.targets)
                changed.offsets[k] = arcs.offsets[k - 1] - 1
                flaw = find_flaw(changed, 40, directed)
                assert flaw is not None and flaw[:2] == ("offsets", k)
