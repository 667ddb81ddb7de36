"""What a call of an operator that recurs asks of a GPU: one copy, one launch, and no array."""

import pytest

import fake_cuda
import fake_cupy
import weft
from weft.operators import advance, compute, filter, neighbor_reduce


def unseen(u, v, e):
    return v.level < 0


def visit(u, v, e):
    v.level = u.level + 1


def near(v):
    return v.level < 30


def bump(v):
    v.seen = v.seen + 1


def level_of(v, u, e):
    return u.level


def search(g, state, frontier):
    return advance(g, frontier, None, state, cond=unseen, apply=visit, idempotent=True)


CALLS = {
    "advance": search,
    "filter": lambda g, s, f: filter(g, f, near, s),
    "compute": lambda g, s, f: compute(g, f, bump, s),
    "neighbor_reduce": lambda g, s, f: (
        neighbor_reduce(g, f, level_of, weft.max, s, into="seen", identity=0, output=None) or f
    ),
}


class Meter:
    """Counts what is asked of a GPU."""

    def __init__(self, monkeypatch, cuda):
        self.cuda, self.arrays, self.copies = cuda, 0, 0
        make, send = fake_cupy.ndarray.__init__, fake_cupy.CUPY.cuda.runtime.memcpyAsync

        def made(array, *arguments):
            self.arrays += 1
            make(array, *arguments)

        def sent(*arguments):
            self.copies += 1
            send(*arguments)

        monkeypatch.setattr(fake_cupy.ndarray, "__init__", made)
        monkeypatch.setattr(fake_cupy.CUPY.cuda.runtime, "memcpyAsync", sent)

    def now(self):
        """Return how often what was asked for."""
        waits = self.cuda.events + len(fake_cupy.READS)
        return {
            "launches": len(self.cuda.launches), "copies": self.copies, "arrays": self.arrays,
            "waits": waits,
        }  # fmt: skip

    def since(self, before):
        """Return how often it was asked for since then."""
        return {name: count - before[name] for name, count in self.now().items()}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_recurs_launches_once_and_makes_no_array(name, monkeypatch):
    with fake_cuda.installed(monkeypatch) as cuda:
        meter = Meter(monkeypatch, cuda)
        g = weft.generators.path(12).to("cuda")
        state = g.state(level=weft.full(-1).but(6, 0), seen=weft.full(0))
        call, frontier = CALLS[name], search(g, state, g.frontier([6]))
        for _ in range(2):
            frontier = call(g, state, frontier)  # is prepared
        before = meter.now()
        frontier = call(g, state, frontier)
        assert len(frontier) == 2
        assert meter.since(before) == {"launches": 1, "copies": 1, "arrays": 0, "waits": 0}


def test_a_search_asks_for_the_arrays_of_its_result_alone(monkeypatch):
    with fake_cuda.installed(monkeypatch) as cuda:
        meter = Meter(monkeypatch, cuda)
        g = weft.generators.path(12).to("cuda")
        for _ in range(3):
            weft.bfs(g, 2)
        before = meter.now()
        found = weft.bfs(g, 2)  # the fields are filled, the search runs
        assert meter.since(before) == {"launches": 2, "copies": 1, "arrays": 2, "waits": 0}
        assert found.level.tolist() == [abs(k - 2) for k in range(12)]
