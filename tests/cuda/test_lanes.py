"""Features shared by lanes on the device: every width, with groups and blind, against the host."""

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.cuda

WIDTHS = (1, 2, 3, 4, 7, 8, 16, 32, 33, 64, 128)


@weft.vertex
def mix(v):
    total = v.gather(lambda u, e: e.share * u.x, weft.sum)
    new = weft.normalize(0.5 * weft.normalize(total + 1) + 0.5 * v.x)
    v.moved = weft.max(abs(new - v.x))
    v.x = new


@weft.edge(into=("total", "count"), reduce=(weft.sum, weft.sum))
def send(u, v, e):
    return e.share * u.x, weft.cast(weft.argmax(u.x), weft.int64)


@weft.vertex
def refit(v):
    gram, right = v.gather(lambda u, e: (weft.outer(u.x, u.x), e.share * u.x), weft.sum)
    v.x = weft.solve(gram + 3 * weft.eye(v.x.size), right + 1, assume="spd")
    v.twice = gram @ v.x


def graph(device):
    small = device == "emulated"
    g = weft.generators.rmat(5 if small else 11, 8, seed=3, directed=True, self_loops="keep")
    g.edge["share"] = np.random.default_rng(1).random(g.num_edges)
    return g


def both(device, functions, fields, **options):
    """Return what a run leaves behind on the host, and on the device with groups and without."""
    g = graph(device)
    found = []
    for place, lanes in (("cpu", None), (device, 32), (device, 1)):
        here = g.to(place)
        state = here.state(**{name: np.array(values) for name, values in fields.items()})
        here.iterate(functions, state, config=weft.Config(lanes=lanes), **options)
        found.append(dict(state.fields))
    return found


@pytest.mark.parametrize("k", WIDTHS)
def test_widths(device, host, k):
    n, rng = graph(device).num_vertices, np.random.default_rng(k)
    first = {"x": rng.random((n, k)), "total": np.zeros((n, k)), "count": np.zeros(n, np.int64)}
    first["moved"] = np.zeros(n)
    cpu, groups, blind = both(device, [send, mix], first, max_iter=2)
    for name, values in cpu.items():
        for got in (groups, blind):
            np.testing.assert_allclose(host(got[name]), values, 1e-9, 1e-9, err_msg=name)


@pytest.mark.parametrize("k", [2, 7, 16, 33])
def test_systems_of_equations(device, host, k):
    n, rng = graph(device).num_vertices, np.random.default_rng(k)
    first = {"x": rng.random((n, k)), "twice": np.zeros((n, k))}
    cpu, groups, blind = both(device, refit, first, max_iter=2)
    for got in (groups, blind):
        for name in first:
            np.testing.assert_allclose(host(got[name]), cpu[name], 1e-6, 1e-6, err_msg=name)


@weft.vertex
def settle(v):
    v.x = 0.2 + 0.5 * weft.tanh(v.gather(lambda u, e: e.share * u.x, weft.sum) / 64)


def test_runs_that_are_driven_by_changes(device, host):
    g = graph(device)
    first = np.random.default_rng(2).random((g.num_vertices, 5))
    g = g.to(device)
    state = g.state(x=first)
    run = g.iterate(settle, state, change_driven=True, tolerance=1e-8, max_iter=500)
    assert run.converged
    before = np.array(host(state.x))
    g.run(settle, state)
    assert np.abs(host(state.x) - before).max() <= 2e-8


@weft.edge(into="total", reduce=weft.sum)
def pass_on(u, v, e):
    return e.share * u.x


@pytest.mark.parametrize(
    ("schedule", "k", "block"),
    [("vertex", 33, None), ("twc", 256, None), ("strict", 512, 128), ("merge", 300, 64),
     ("edge", 1024, 256)],
)  # fmt: skip
def test_a_block_shares_features(device, host, schedule, k, block):
    g, rng = graph(device), np.random.default_rng(k)
    k = min(k, 100) if device == "emulated" else k
    first = {"x": rng.random((g.num_vertices, k)), "total": np.zeros((g.num_vertices, k))}
    first["moved"] = np.zeros(g.num_vertices)
    blocks = weft.Config(lanes="block", schedule=schedule, block_size=block)
    found = []
    for place, config in (("cpu", None), (device, blocks)):
        here = g.to(place)
        state = here.state(**{name: np.array(values) for name, values in first.items()})
        here.iterate([pass_on, mix], state, max_iter=2, config=config)
        found.append(dict(state.fields))
    for name, values in found[0].items():
        np.testing.assert_allclose(host(found[1][name]), values, 1e-9, 1e-9, err_msg=name)
