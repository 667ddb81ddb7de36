"""Edge state over blocks: values of arcs, those of opposite arcs, belief propagation."""

import errno

import numpy as np
import pytest

import weft
from partitioned import written
from weft.blocks import scratch
from weft.errors import ConfigError, GraphError


def random_graph(directed, self_loops="keep"):
    """Return a graph with parallel edges, loops and vertices without edges."""
    rng = np.random.default_rng(8)
    src, dst = rng.integers(0, 60, (2, 240))
    return weft.Graph.from_edges(
        src, dst, rng.random(240), num_vertices=64, directed=directed, self_loops=self_loops
    )


@pytest.fixture(scope="module", params=[1, 4])
def undirected(request, tmp_path_factory):
    whole = random_graph(False)
    return written(whole, tmp_path_factory.mktemp("undirected"), request.param), whole


@pytest.fixture(scope="module")
def directed(tmp_path_factory):
    whole = random_graph(True)
    return written(whole, tmp_path_factory.mktemp("directed"), 4), whole


@weft.edge(into="total", reduce=weft.sum, active=lambda v, old: True)
def count(u, v, e):
    e.seen = e.seen + 1
    return e.seen * e.weight


@weft.edge(into="total", reduce=weft.sum, active=lambda v, old: True)
def swap(u, v, e):
    e.held = e.reverse.held + u.total
    return e.held


def check(graphs, function, frontier, compiled, name="seen"):
    results, values = [], np.arange(graphs[1].topology.num_arcs) * 0.5
    for g in (graphs[0], graphs[1].to("reference")):
        state, arcs = g.state(total=weft.full(1.0)), g.edge_state(**{name: values})
        config = weft.Config(compiled=compiled) if g is graphs[0] else None
        run = g.iterate(function, state, frontier, edge_state=arcs, max_iter=3, config=config)
        results.append((run.frontier, state.total, getattr(arcs, name)))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("frontier", [None, [0, 3, 50]])
def test_arcs_keep_values(directed, undirected, frontier, compiled):
    for graphs in (directed, undirected):
        check(graphs, count, frontier, compiled)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("frontier", [None, [0, 3, 50]])
def test_opposite_arcs_are_as_the_step_began(undirected, frontier, compiled):
    check(undirected, swap, frontier, compiled, "held")


def test_opposite_arcs(undirected):
    blocks, whole = undirected
    found = blocks.topology.carrier.opposite_arcs()
    np.testing.assert_array_equal(found, whole.topology.reverse_arcs())


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    whole = random_graph(False, "drop")
    rng = np.random.default_rng(9)
    whole.edge["psi"] = np.exp(rng.normal(size=(whole.num_edges, 3, 3)) * 0.3)
    return written(whole, tmp_path_factory.mktemp("field"), 4), whole


@pytest.mark.parametrize(
    ("options", "shared"), [({}, True), ({"mode": "max", "damping": 0.3}, False)], ids=str
)
def test_belief_propagation(field, options, shared):
    rng = np.random.default_rng(5)
    priors = rng.random((64, 3))
    potential = np.exp(rng.normal(size=(3, 3)) * 0.3) if shared else "psi"
    ours, theirs = (
        weft.learning.belief_propagation(g, priors, potential, **options) for g in field
    )
    assert (ours.converged, ours.steps) == (theirs.converged, theirs.steps)
    np.testing.assert_allclose(ours.beliefs, theirs.beliefs, rtol=1e-9)


def test_large_edge_state_lies_in_a_file(field, monkeypatch):
    monkeypatch.setattr(scratch, "IN_MEMORY", 100)
    assert isinstance(field[0].edge_state(held=weft.full(1.0)).held, np.memmap)
    check(field, swap, None, True, "held")


def test_a_full_disk_is_found_before_the_run(field, monkeypatch):
    def full(file, start, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(scratch, "IN_MEMORY", 100)
    monkeypatch.setattr(scratch.os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        field[0].edge_state(held=weft.full(1.0))


@weft.edge(into="total", reduce=weft.sum, along="in")
def against(u, v, e):
    return e.seen


@weft.vertex
def gather(v):
    v.total = v.gather(lambda u, e: e.seen, weft.sum)


@pytest.mark.parametrize("function", [against, gather])
def test_edge_state_against_the_stored_order_is_refused(directed, function):
    g = directed[0]
    with pytest.raises(ConfigError, match=rf"'{function.__name__}'.*edge state against.*along"):
        g.run(function, g.state(total=weft.full(1.0)), edge_state=g.edge_state(seen=weft.full(1.0)))


def test_what_has_no_opposite_arcs_or_is_elsewhere_is_refused(directed, undirected, tmp_path):
    g = directed[0]
    arcs = g.edge_state(held=weft.full(1.0))
    with pytest.raises(ConfigError, match=r"'swap'.*e\.reverse.*directed.*--undirected"):
        g.run(swap, g.state(total=weft.full(1.0)), edge_state=arcs)
    written(undirected[1], tmp_path, 2)
    on_device = weft.open(tmp_path / "blocks", device="emulated")
    arcs = on_device.edge_state(held=weft.full(1.0))
    with pytest.raises(ConfigError, match=r"'swap'.*edge state.*without device="):
        on_device.run(swap, on_device.state(total=weft.full(1.0)), edge_state=arcs)
    group = weft.HostExchange(0, 1, ("127.0.0.1", 1), b"alone")
    shared = weft.open(tmp_path / "blocks", exchange=group)
    with pytest.raises(ConfigError, match=r"'swap'.*on other machines.*weft\.open"):
        shared.run(
            swap,
            shared.state(total=weft.full(1.0)),
            edge_state=shared.edge_state(held=weft.full(1.0)),
        )
    with pytest.raises(GraphError, match=r"edges lead from a vertex to itself.*self_loops='drop'"):
        weft.learning.belief_propagation(undirected[0], np.ones((64, 2)), np.ones((2, 2)))
