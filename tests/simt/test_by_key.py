"""Gathers by key by threads, warps and blocks: rows at every border, under both sanitizers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import weft
from agreement import assert_bits_equal, emulated
from weft.backends.cuda.drivers.emulated import EmulatedDriver

pytestmark = pytest.mark.usefixtures("compile_cuda")  # skips where there is no compiler

# Around the most that a thread takes, a warp's table and a block's, with entries of 8 and 16 bytes;
# the blocks of the emulation have two warps.
BORDERS = (0, 1, 8, 9, 32, 33, 192, 193, 384, 385, 769, 1700)
DRIVERS: dict[tuple[str, int], EmulatedDriver] = {}


def driver(sanitizer: str, seed: int) -> EmulatedDriver:
    """Return the one driver with these properties: modules are kept by driver."""
    return DRIVERS.setdefault((sanitizer, seed), EmulatedDriver(sanitizer, seed))


@dataclass
class Rows:
    """A graph with rows of given lengths into its first vertices, and what their arcs bring."""

    g: weft.Graph
    key: Any
    value: Any
    row: Any

    def entries(self, combine: Any) -> list[dict[int, Any]]:
        """Return what keys come to in each row, in the order of slots."""
        found: list[dict[int, Any]] = [{} for _ in range(self.g.num_vertices)]
        for v, k, x in zip(self.row.tolist(), self.key.tolist(), self.value, strict=True):
            found[v][k] = combine(found[v][k], x) if k in found[v] else x
        return found


def rows_of(lengths, key, held, kinds, seed=0):
    """Return rows with so many different keys at most, the extremes of their type among them."""
    rng = np.random.default_rng(seed)
    into = np.repeat(np.arange(len(lengths)), lengths)
    n, m = len(lengths) + 20, into.size
    source = rng.integers(0, n, m)
    g = weft.Graph.from_edges(source, into, num_vertices=n, self_loops="keep", duplicates="keep")
    row = np.asarray(g.topology.edge_endpoints()[1])
    info = np.iinfo(key)
    pool = rng.integers(info.min, info.max, kinds, dtype=key, endpoint=True)
    pool[:3] = info.min, info.max, 0
    keys = pool[rng.integers(0, kinds, m)]
    if np.dtype(held).kind == "f":
        values = (rng.integers(-8, 9, m) / 4).astype(held)
        for number in (np.nan, np.inf, -np.inf):
            values[rng.integers(0, m, 4)] = number
    else:
        values = rng.integers(-5, 6, m).astype(held)
    g.edge["k"], g.edge["x"] = keys, values
    return Rows(g, keys, values, row)


def choosing(monoid, key):
    """Return a function that takes a key with the largest value, counts keys, and asks for 0."""

    @weft.vertex
    def look(v):
        found = v.gather_by(lambda u, e: e.k, lambda u, e: e.x, monoid)
        v.best, v.most = found.argmax()
        v.kinds, v.least, v.total = found.reduce(
            lambda k, x: (1, k, weft.cast(k, weft.float64) / 4), (weft.sum, weft.min, weft.sum)
        )
        v.zero = found.get(0)

    return look


def chosen(rows, combine, key, held):
    """Answer by dictionaries."""
    n = rows.g.num_vertices
    none = -1 if np.dtype(key).kind == "i" else 0
    want = {"best": np.full(n, none, key), "most": np.full(n, 0, held)}
    want |= {"kinds": np.zeros(n, np.int64), "least": np.full(n, np.iinfo(key).max, key)}
    want["zero"], want["total"] = np.zeros(n, held), np.zeros(n)
    floats = np.dtype(held).kind == "f"
    want["most"][:] = -np.inf if floats else np.iinfo(held).min
    with np.errstate(all="ignore"):
        entries = rows.entries(combine)
    for v, found in enumerate(entries):
        for k in sorted(found):
            if found[k] > want["most"][v]:
                want["best"][v], want["most"][v] = k, found[k]
        want["kinds"][v] = len(found)
        want["total"][v] = sum(k / 4 for k in found)
        want["least"][v] = min(found, default=np.iinfo(key).max)
        want["zero"][v] = found.get(0, held(0))
    return want


def fields_of(n, key, held):
    fields = {"best": np.zeros(n, key), "most": np.zeros(n, held), "kinds": np.zeros(n, np.int64)}
    return fields | {"least": np.zeros(n, key), "zero": np.zeros(n, held), "total": np.zeros(n)}


CASES = {
    "sums of few keys": (np.int32, np.float32, 7, weft.sum, np.add, {}),
    "sums of many keys": (np.int64, np.float64, 5000, weft.sum, np.add, {}),
    "sums in order": (np.int64, np.float64, 900, weft.sum, np.add, {"deterministic": True}),
    "least of many keys": (np.int32, np.float64, 5000, weft.min, np.fmin, {}),
    "products": (np.uint64, np.int32, 900, weft.prod, np.multiply, {}),
    "narrow keys": (np.int8, np.int16, 250, weft.max, np.maximum, {"fuse": "none"}),
    "own": (
        np.int32, np.int64, 900, weft.monoid(lambda a, b: a ^ b, identity=0), np.bitwise_xor, {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rows_of_every_length(name):
    key, held, kinds, monoid, combine, options = CASES[name]
    rows = rows_of(BORDERS, key, held, kinds)
    check(rows, monoid, combine, key, held, options)


def check(rows, monoid, combine, key, held, options):
    fields = fields_of(rows.g.num_vertices, key, held)
    got = emulated(rows.g, choosing(monoid, key), fields, choices=options)
    for field, want in chosen(rows, combine, key, held).items():
        if field == "total":  # 64-bit keys are rounded
            np.testing.assert_allclose(got.total, want, rtol=1e-9, atol=1e6)
        else:
            assert_bits_equal(getattr(got, field), want, field)


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize("deterministic", [False, True])
def test_sanitizers_find_nothing(sanitizer, deterministic):
    rows = rows_of((5, 0, 40, 500, 900), np.int32, np.float64, 700)
    options = {"block_size": 64, "deterministic": deterministic}
    for seed in range(2):
        chosen_driver = {"driver": driver(sanitizer, seed)}
        check(rows, weft.sum, np.add, np.int32, np.float64, options | chosen_driver)


@weft.vertex
def listing(v):
    found = v.gather_by(lambda u, e: e.k, lambda u, e: e.x, weft.max)

    def put(key, value):
        weft.emit(v.id, key, value, when=value > -5)
        weft.emit(v.id, key, value * 2, when=value > 3)

    found.each(put)


@pytest.mark.parametrize("key", [np.int32, np.uint64])
def test_records_come_in_the_order_of_keys(key):
    rows = rows_of(BORDERS, key, np.int64, 5000)
    want = []
    for v, found in enumerate(rows.entries(max)):
        for k in sorted(found):
            x = int(found[k])
            want += [(v, k, x)] * (x > -5) + [(v, k, 2 * x)] * (x > 3)
    place = rows.g.to("emulated")
    got = place.emit(listing, place.state())
    assert list(zip(*(x.tolist() for x in got), strict=True)) == want


@weft.vertex
def elect(v):
    v.own = v.gather(lambda u, e: weft.send(u.label, when=e.x != 1), weft.mode, direction="both")
    v.best = v.gather(lambda u, e: (u.label, e.x), weft.mode, direction="both")


@pytest.mark.parametrize("kinds", [3, 2000])
def test_modes_of_rows_of_every_length(kinds):
    rows = rows_of(BORDERS, np.int32, np.float64, 3)
    n = rows.g.num_vertices
    label = np.random.default_rng(kinds).integers(-1, kinds, n)
    fields = {"label": label, "own": np.zeros(n, np.int64), "best": np.zeros(n, np.int64)}
    got = emulated(rows.g, elect, fields)
    source, target = (np.asarray(x).tolist() for x in rows.g.topology.edge_endpoints())
    counts, totals = ([{} for _ in range(n)] for _ in range(2))
    for a, b, x in zip(source, target, rows.g.edge["x"].tolist(), strict=True):
        for v, k in ((b, label[a]), (a, label[b])):
            totals[v][k] = totals[v].get(k, -0.0) + x
            counts[v][k] = counts[v].get(k, 0) + (x != 1)
    for v in range(n):
        cast = {k: c for k, c in counts[v].items() if c}
        assert got.own[v] == min(cast, key=lambda k: (-cast[k], k), default=0)
        heavy = {k: -np.inf if np.isnan(t) else t for k, t in totals[v].items()}
        lost = {k for k, t in totals[v].items() if np.isnan(t)}
        assert got.best[v] == min(heavy, key=lambda k: (k in lost, -heavy[k], k), default=0)


def test_two_hops_by_teams():
    g = weft.generators.star(60, directed=False)
    far = weft.Graph.from_edges(*g.topology.endpoints(), num_vertices=60, directed=True)
    n = far.num_vertices

    @weft.vertex
    def reach(v):
        paths = v.gather_by(
            lambda u, e, w, f: w.id, lambda u, e, w, f: 1, weft.sum, direction="out"
        )
        v.kinds = paths.count()
        v.best, v.most = paths.argmax()

    fields = {name: np.zeros(n, np.int64) for name in ("kinds", "best", "most")}
    got = emulated(far, reach, fields)
    matrix = far.to_scipy().astype(np.int64)
    paths = (matrix @ matrix).toarray()
    assert got.kinds.tolist() == (paths > 0).sum(axis=1).tolist()
    assert got.most.tolist() == paths.max(axis=1).tolist()
    assert got.best.tolist() == paths.argmax(axis=1).tolist()


def test_live_fields_are_gathered_in_place():
    """What others add to at once cannot be read ahead of the function."""

    @weft.vertex
    def pass_on(v):
        v.total.at(v.id).add(1)
        v.most = v.gather_by(lambda u, e: e.k, lambda u, e: e.x, weft.max).argmax()[1]

    rows = rows_of((0, 9, 400), np.int32, np.int64, 50)
    n = rows.g.num_vertices
    fields = {"total": np.zeros(n, np.int64), "most": np.zeros(n, np.int64)}
    got = emulated(rows.g, pass_on, fields, mode="run")
    want = [max(found.values(), default=np.iinfo(np.int64).min) for found in rows.entries(max)]
    assert got.most.tolist() == want and got.total.tolist() == [1] * n
