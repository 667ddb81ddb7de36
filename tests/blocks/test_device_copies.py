"""Copies of blocks to a device run in a stream of their own: every access must be ordered.

`Watched` stands for the link to a GPU. The host and the kernels' stream are one here, the link's
stream is another, which runs as late as it may: a copy is done when something waits for it. That
shows whoever reads too early, or lets memory of the host be written over too early. Clocks show
the other kind: a copy into memory that the kernels' stream may still be filling or reading.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import weft
from partitioned import written
from weft.backends.cuda.host.block_run import Link


class Staging(np.ndarray):
    """Memory of the device that the link writes to, and kernels read."""

    def __getitem__(self, key):
        self.link.touched(self)
        return np.asarray(self)[key]


class Watched(Link):
    """A link whose stream runs late, and that notes which accesses nothing puts in order."""

    def __init__(self, device):
        super().__init__(device)
        self.clock = 0  # of the kernels' stream
        self.seen = 0  # up to where the link waits for it
        self.last = {}  # when the kernels' stream touched an array last
        self.pending = []
        self.unordered = []

    def zeros(self, shape, dtype):
        made = np.zeros(shape, dtype).view(Staging)
        made.link = self
        self.touched(made)
        return made

    def touched(self, array):
        """Note that the kernels' stream fills or reads an array."""
        self.clock += 1
        self.last[id(array)] = self.clock
        if any(target is array for target, _ in self.pending):
            self.unordered.append("read before the copy has arrived")

    def send(self, target, source):
        if self.last[id(target)] > self.seen:
            self.unordered.append("copied to while it may be filled or read")
        self.pending.append((target, source))

    def sent(self):
        return SimpleNamespace(synchronize=self.wait)

    def receive(self):
        self.wait()

    def wait(self):
        for target, source in self.pending:
            np.asarray(target)[: source.shape[0]] = source
        self.pending.clear()

    def taken(self):
        self.seen = self.clock


@pytest.fixture(params=["read over", "kept"])
def watched(request, tmp_path, monkeypatch):
    """A graph on a device behind such a link, and the same in memory.

    Its blocks are read over, or stay in the memory of the host.
    """
    whole = weft.generators.rmat(7, seed=2, directed=True)
    written(whole, tmp_path, 4)
    g = weft.open(tmp_path / "blocks", memory="50MB", device="emulated")
    carrier = g.topology.carrier
    space = carrier.space
    space.link = Watched(carrier.device)
    monkeypatch.setattr(space, "xp", SimpleNamespace(zeros=space.link.zeros, arange=np.arange))
    if request.param == "read over":
        monkeypatch.setattr(carrier, "_room", 0)
        recycle = carrier.reader.recycle

        def poisoned(block):
            block.targets[:] = 0
            recycle(block)

        monkeypatch.setattr(carrier.reader, "recycle", poisoned)
    return g, whole


def test_all_accesses_are_ordered(watched):
    g, whole = watched
    for run in (lambda g: weft.pagerank(g, max_iter=30), lambda g: weft.bfs(g, 0).level):
        np.testing.assert_allclose(run(g), run(whole), rtol=1e-10)
    assert g.topology.carrier.space.link.unordered == []


def test_the_first_block_is_sent_ahead_of_the_next_superstep(watched, request):
    g, _ = watched
    carrier = g.topology.carrier
    before = carrier.counters["bytes_copied"]
    blocks = carrier.manifest.blocks["in"]
    for count in (3, 3):
        weft.pagerank(g, tol=0, max_iter=count, on_unconverged="return")
    copied = carrier.counters["bytes_copied"] - before
    arcs = [entry.arcs * 4 for entry in blocks]
    rows = 4 * (g.num_vertices + len(blocks))  # offsets
    first = arcs[0] + 4 * (carrier.manifest.cuts[1] + 1)
    kept = request.node.callspec.params["watched"] == "kept"
    assert copied == 6 * (sum(arcs) + rows) + (first if kept else 0)


@pytest.mark.parametrize("which", ["taken", "receive"])
def test_a_missing_order_is_noticed(watched, monkeypatch, which):
    g, _ = watched
    link = g.topology.carrier.space.link
    monkeypatch.setattr(link, which, lambda: None)
    weft.pagerank(g, max_iter=3, on_unconverged="return")
    assert link.unordered


def test_no_copy_is_under_way_when_a_sweep_fails(watched, monkeypatch):
    g, _ = watched
    carrier = g.topology.carrier
    run = carrier.space.run

    def failing(*arguments):
        made = run(*arguments)
        monkeypatch.setattr(made, "block", lambda *arguments: 1 / 0)
        return made

    monkeypatch.setattr(carrier.space, "run", failing)
    with pytest.raises(ZeroDivisionError):
        weft.pagerank(g)
    assert carrier.space.link.pending == []
