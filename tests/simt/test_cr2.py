"""CR²: what it promises about memory, and algorithms over it under several schedules."""

import functools

import numpy as np
import pytest

import weft
from agreement import agreed, on_device
from graphs import AWKWARD
from weft.backends.cuda.backend import CudaBackend
from weft.errors import ConfigError
from weft.formats import choose
from weft.formats.regular import expand, rows
from weft.graph.execution import signature_for, topology_for
from weft.ir.trace.steps import trace_program
from weft.tuning.compiling import under
from weft.tuning.measuring import Bench

# Each algorithm under another schedule, so that few kernels meet many of them.
CASES = {
    "bfs": (weft.bfs, (0,), {"schedule": "vertex"}),
    "sssp": (weft.sssp, (0,), {"schedule": "edge"}),
    "connected_components": (weft.connected_components, (), {"schedule": "merge"}),
    "pagerank": (weft.pagerank, (), {"schedule": "row", "direction": "pull"}),
}
NAMES = ("one self-loop", "self-loops", "parallel edges", "hub", "long path", "disconnected")


def graphs():
    """Return a clustered graph, one with hubs, and awkward ones."""
    found = [
        weft.generators.planted(120, 30, 14, seed=3, weights="int"),
        weft.generators.powerlaw(90, 9, seed=2, directed=True, weights="int"),
    ]
    return found + [AWKWARD[name]() for name in NAMES]


def values_of(result):
    """Return what of a result does not depend on choices."""
    for name in ("level", "dist"):
        if hasattr(result, name):
            return getattr(result, name)
    return result


@pytest.mark.parametrize(
    ("format_", "name"), [*(("cr2(4)", name) for name in CASES), ("cr2_bare(3)", "bfs")]
)
def test_algorithms_agree(name, format_):
    algorithm, arguments, choice = CASES[name]
    config = weft.Config(format=format_, **choice)
    for g in graphs():
        want = values_of(algorithm(g, *arguments))
        got = values_of(algorithm(g.to("emulated"), *arguments, config=config))
        np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize(("name", "times"), [("bfs", 1), ("sssp", 2)])
def test_fields_are_carried_back_behind_the_run(name, times, monkeypatch):
    """While it is under way, and once more where pairs are unpacked after it."""
    carried = []

    def carry(self, device, places, pairs, carry=CudaBackend.carry):
        if pairs:
            carried.append(pairs)
        carry(self, device, places, pairs)

    monkeypatch.setattr(CudaBackend, "carry", carry)
    algorithm, _, choice = CASES[name]
    config = weft.Config(format="cr2(4)", **choice)
    g = graphs()[0]
    there = g.to("emulated")
    for source in (3, 7):
        carried.clear()
        got = values_of(algorithm(there, source, config=config))
        np.testing.assert_array_equal(got, values_of(algorithm(g, source)))
    assert len(carried) == times


FIELDS = {"least": 10**9, "total": 0}


@weft.edge(into=("least", "total"), reduce=(weft.min, weft.sum))
def look(u, v, e):
    e.mark = e.mark + u.id * 100 + e.id
    return u.id * 1000 + e.id, e.weight + v.id


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_columns_ids_and_edge_state_are_those_of_the_arcs(direction):
    g = weft.generators.powerlaw(60, 12, seed=5, directed=True, weights="int")
    fields = {name: np.full(60, value) for name, value in FIELDS.items()}
    edges = {"mark": np.arange(g.num_edges)}
    config = weft.Config(format="cr2(3)", direction=direction, schedule="vertex")
    with on_device("emulated"):
        agreed(g, look, fields, [1, 2, 5, 6, 11, 40], edges=edges, configs=[config])


def test_rows_of_all_lengths_are_walked_one_after_another():
    """Degrees up to 32, which one thread gathers: sums of weights, ids and far ends."""

    @weft.vertex
    def add(v):
        v.total = v.gather(lambda u, e: e.weight * (u.id + 1) + e.id, weft.sum)

    rng = np.random.default_rng(5)
    for bits in (1, 3, 16):
        degrees = rng.integers(0, 33, 70)
        dst = np.repeat(np.arange(70), degrees)
        src = rng.integers(0, 70, dst.size)  # with loops and parallel edges
        weight = rng.integers(1, 99, dst.size)
        g = weft.Graph.from_edges(src, dst, num_vertices=70, weight=weight)
        chosen = weft.Config(format=f"cr2({bits})", schedule="vertex")
        states = [h.state(total=weft.full(0)) for h in (g, g.to("emulated"))]
        g.run(add, states[0])
        g.to("emulated").run(add, states[1], config=chosen)
        np.testing.assert_array_equal(states[1].total, states[0].total)


def test_wide_entries_are_read(monkeypatch):
    monkeypatch.setattr(expand, "NUMBER_BITS", 2)  # so that few rows need the wide ones
    g = weft.generators.planted(120, 30, 14, seed=4)
    config = weft.Config(format="cr2(5)", schedule="vertex")
    emulated = g.to("emulated")
    for source in (0, 5):  # the second search begins in the order of communities
        got = weft.bfs(emulated, source, config=config).level
        np.testing.assert_array_equal(got, weft.bfs(g, source).level)


# -- memory


@functools.cache
def built(text: str, name: str = "clustered"):
    g = {
        "clustered": lambda: weft.generators.planted(20_000, 1000, 48, seed=1),
        "kron": lambda: weft.generators.kron(12, seed=1),
        "road": lambda: weft.generators.road(100),
    }[name]()
    held = weft.topology.orders.arranged(g.topology, "community")
    return choose(text).build(held.out.offsets, held.out.targets, np), held


def test_a_clustered_graph_takes_at_most_four_fifths_of_csr():
    layout, _ = built("cr2")
    csr, _ = built("csr")
    assert layout.facts["share inside"] > 0.99  # one cluster has 65536 vertices
    assert layout.nbytes <= 0.8 * csr.nbytes
    small, _ = built("cr2(8)")
    assert 0.1 < small.facts["share inside"] < 1


@pytest.mark.parametrize("name", ["clustered", "kron", "road"])
def test_it_takes_less_than_tigr(name):
    assert built("cr2", name)[0].nbytes < built("tigr(8)", name)[0].nbytes


@pytest.mark.parametrize("name", ["clustered", "kron"])
@pytest.mark.parametrize("text", ["cr2", "cr2_bare", "cr2(8)"])
def test_bytes_follow_the_formula(text, name):
    layout, held = built(text, name)
    names = {"E": held.num_arcs, "V": held.num_vertices, **layout.facts}
    names = {key: value for key, value in names.items() if key.isidentifier()}
    formula = layout.format.formula.replace("2 (", "2 * (").replace(") E", ") * E")
    words = eval(formula.replace(") V", ") * V"), names)
    assert layout.nbytes == pytest.approx(4 * words, rel=1e-3)


# -- choices


def test_cr2_runs_in_the_order_of_communities():
    g = weft.generators.planted(300, 30, 20, seed=2).to("emulated")
    program = trace_program(look, signature_for(g, g.state(**FIELDS), g.edge_state(mark=0)), "run")

    def order(g, **choice):
        numbering = topology_for(g, program, weft.Config(**choice)).numbering
        return None if numbering is None else numbering.order.tolist()

    want = g.reorder("community").order.tolist()
    assert order(g, format="cr2") == order(g, format={"push": "cr2(8)"}) == want
    assert order(g, format="cr2", reorder="none") is order(g, format="csr") is None
    assert order(g, format="cr2", reorder="hub") == g.reorder("hub").order.tolist()
    assert order(g.reorder("hub"), format="cr2") == g.reorder("hub").order.tolist()
    assert order(g, format="cr2", deterministic=True) is None
    assert order(g.to("cpu"), format="cr2") == want


def test_the_tuner_compiles_for_the_order_of_a_format_and_tells_parameters_apart():
    g = weft.generators.planted(60, 30, 8, seed=2).to("emulated")
    bench = Bench(lambda config: weft.bfs(g, 0, config=config).level, g.topology.device)
    bench.start()
    (request,) = bench.requests.values()

    def is_renumbered(**choice):
        return under(request, weft.Config(**choice)).topology.numbering is not None

    assert is_renumbered(format="cr2") and is_renumbered(reorder="hub")
    assert not is_renumbered(format="cr2", reorder="none") and not is_renumbered(format="csr")
    assert not is_renumbered(format="cr2", deterministic=True)
    names = ("cr2", "cr2(16)", "cr2(8)", "csr", None)
    found = [bench._signature(weft.Config(format=name, reorder="none")) for name in names]
    bench.compilations.close()
    assert found[0] == found[1] != found[2]
    assert found[3] == found[4]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cr2(0)", "bits='0' is not possible"),
        ("cr2(-3)", "bits='-3' is not possible"),
        ("cr2(17)", "Expected an integer, 1 to 16"),
        ("cr2(8, bits=9)", "gives 'bits' twice"),
        ("cr2(wide=2)", "Expected one of 'bits'"),
        ("cr2(8, 9)", "too many parameters"),
    ],
)
def test_wrong_parameters_are_explained(text, words):
    g = weft.generators.path(5).to("emulated")
    with pytest.raises(ConfigError, match=words):
        weft.bfs(g, 0, config=weft.Config(format=text))


def test_large_graphs_are_built_by_threads(monkeypatch):
    want, held = built("cr2")
    monkeypatch.setattr(rows, "_COMPILED_ARCS", 1 << 60)
    got = choose("cr2").build(held.out.offsets, held.out.targets, np)
    for a, b in zip(got.parts, want.parts, strict=True):
        for name in a.arrays:
            np.testing.assert_array_equal(a.arrays[name], b.arrays[name])
    np.testing.assert_array_equal(got.places(), want.places())
