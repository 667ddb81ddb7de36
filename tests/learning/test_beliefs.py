"""Belief propagation against sums over all assignments, and against messages without division."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import weft
from dense import tolerance
from weft.errors import ConfigError, FieldError, GraphError
from weft.learning.beliefs import passing

propagate = weft.learning.belief_propagation


def tree(n, seed):
    """A random forest: every vertex but some hangs on an earlier one."""
    rng = np.random.default_rng(seed)
    child = np.arange(1, n)[rng.random(n - 1) < 0.85]
    parent = (rng.random(child.size) * child).astype(int)
    return weft.Graph.from_edges(parent, child, num_vertices=n, directed=False)


def field_of(g, k, seed, dtype=float, symmetric=False):
    """Random priors and a random potential for each edge."""
    rng = np.random.default_rng(seed)
    priors = rng.random((g.num_vertices, k)).astype(dtype) + 0.1
    potentials = rng.random((g.num_edges, k, k)) + 0.1
    if symmetric:
        potentials = potentials + potentials.swapaxes(1, 2)
    g.edge["psi"] = potentials
    return priors, potentials


@given(st.integers(1, 6), st.integers(0, 10**6))
@settings(max_examples=15)
def test_exact_on_trees(n, seed):
    g = tree(n, seed)
    priors, potentials = field_of(g, 2, seed)
    found = propagate(g, priors, "psi")
    assert found.converged
    want = dense.brute_force_marginals(g, priors, potentials)
    np.testing.assert_allclose(found.beliefs, want, rtol=1e-9)


@given(st.integers(1, 5), st.integers(0, 10**6))
@settings(max_examples=10)
def test_most_probable_states_of_trees(n, seed):
    g = tree(n, seed)
    priors, potentials = field_of(g, 3, seed)
    priors[:, 0] = 0  # a state that nobody can be in
    found = propagate(g, priors, "psi", "max", log_domain=True)
    want = dense.brute_force_marginals(g, priors, potentials, "max")
    np.testing.assert_allclose(found.beliefs, want, rtol=1e-9)


@pytest.mark.parametrize(
    ("k", "dtype", "options"),
    [(3, "float64", {}), (4, "float32", {"damping": 0.25})],
    ids=["plain", "damped"],
)
def test_loops_agree_with_single_messages(k, dtype, options):
    g = weft.generators.grid(3, 4)
    psi = np.eye(k) + 0.6
    priors, _ = field_of(g, k, 1, dtype)
    found = propagate(g, priors, psi, **options)
    want, steps = dense.loopy_messages(g, priors.astype(float), [psi] * g.num_edges, **options)
    assert found.converged and found.beliefs.dtype == dtype
    assert abs(found.steps - steps) <= 1
    np.testing.assert_allclose(found.beliefs, want, **tolerance(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("k", dense.WIDTHS)
@pytest.mark.parametrize("mode", ["sum", "max"])
@pytest.mark.parametrize("log_domain", [False, True])
def test_all_widths(k, mode, log_domain, dtype):
    g = weft.generators.grid(2, 3)
    priors, potentials = field_of(g, k, k, dtype)
    found = propagate(g, priors, "psi", mode, 0.0, 8, log_domain=log_domain)
    want, _ = dense.loopy_messages(g, priors.astype(float), potentials, mode, 0.0, 0.0, 8)
    np.testing.assert_allclose(found.beliefs, want, **tolerance(dtype))


def test_parallel_edges_are_factors_each():
    g = weft.Graph.from_edges([0, 0, 1], [1, 1, 2], directed=False, num_vertices=4)
    priors, potentials = field_of(g, 2, 3)
    found = propagate(g, priors, "psi", max_iter=60)
    want, _ = dense.loopy_messages(g, priors, potentials, max_iter=60)
    np.testing.assert_allclose(found.beliefs, want, rtol=1e-5)
    np.testing.assert_allclose(found.beliefs[3], priors[3] / priors[3].sum())


def test_logarithms_hold_where_products_underflow():
    g = weft.generators.star(1200)
    priors = np.tile([0.4, 0.6], (1200, 1)).astype("float32")
    priors[1:600] = priors[1:600, ::-1]
    psi = [[0.9, 0.1], [0.1, 0.9]]
    found = propagate(g, priors, psi, log_domain=True).beliefs
    # 599 leaves against 600: one message and the prior are left over.
    message = np.array([0.42, 0.58])
    want = message * [0.4, 0.6]
    np.testing.assert_allclose(found[0], want / want.sum(), rtol=2e-3)


def beliefs_of_star(priors, potentials, mode="sum"):
    """Exact beliefs of a star whose hub is vertex 0, by logarithms in float64."""
    priors, potentials = (np.asarray(x, np.float64) for x in (priors, potentials))
    with np.errstate(divide="ignore"):
        logs, reduced = np.log(priors), np.sum if mode == "sum" else np.max
        up = np.log(reduced(potentials * priors[1:, None, :], axis=2))
        hub = logs[0] + up.sum(axis=0)
        cavity = hub - up
        cavity = np.exp(cavity - cavity.max(axis=1, keepdims=True))
        down = np.log(reduced(potentials * cavity[:, :, None], axis=1))
    belief = np.concatenate([hub[None], logs[1:] + down])
    belief = np.exp(belief - belief.max(axis=1, keepdims=True))
    return belief / belief.sum(axis=1, keepdims=True)


def star_field(leaves, dtype):
    """Leaves that nearly cancel out, and would push the hub into a state that it cannot have."""
    rng = np.random.default_rng(3)
    priors = rng.random((leaves + 1, 3)) + 0.5
    priors[1 : leaves // 2, :2] += 0.6
    priors[leaves // 2 :, 1] += 0.55
    priors[0] = [0.3, 0.7, 0]
    return priors.astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "mode", "device"),
    [("float64", "max", "cpu"), ("float32", "sum", "cpu"), ("float32", "sum", "emulated")],
)
def test_hubs_do_not_underflow(dtype, mode, device):
    leaves = 1000
    priors, psi = star_field(leaves, dtype), np.eye(3) + 0.3
    found = propagate(weft.generators.star(leaves + 1).to(device), priors, psi, mode)
    want = beliefs_of_star(priors, np.broadcast_to(psi, (leaves, 3, 3)), mode)
    assert found.converged and found.beliefs.dtype == dtype
    accuracy = {"rtol": 1e-9} if dtype == "float64" else {"rtol": 2e-3, "atol": 1e-6}
    np.testing.assert_allclose(found.beliefs, want, **accuracy)


@pytest.mark.parametrize(
    ("least", "dtype", "shared"),
    [
        (0.2, "float64", True),
        (0.2, "float32", False),
        (1e-30, "float32", False),
        (1e-290, "float64", False),
    ],
)
def test_potentials_of_any_size(least, dtype, shared):
    """Factors of potentials do not matter, and nearly impossible pairs are no zeros."""
    g = weft.generators.star(6)
    priors = star_field(5, dtype)
    tame = np.stack([np.array([[1.0, least], [least, 0.5]])] * 5)
    priors = priors[:, :2]
    tame[2] = tame[2] if shared else [[least, 1.0], [1.0, least]]
    unit = 1e307 if least == 0.2 else 1
    g.edge["psi"] = tame * unit
    found = propagate(g, priors, tame[0] * unit if shared else "psi")
    np.testing.assert_allclose(found.beliefs, beliefs_of_star(priors, tame), **tolerance(dtype))


def test_priors_whose_sum_is_no_float():
    g = weft.generators.path(3)
    psi = np.eye(2) + 0.5
    priors = np.array([[1.5, 1.0], [0.5, 1.7], [1.0, 1.0]])
    found, want = (propagate(g, p, psi).beliefs for p in (priors * 1e308, priors))
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_folded_is_step_by_step():
    """Message and belief in one sweep, and with a barrier between them."""
    g = weft.generators.grid(4, 5)
    priors, _ = field_of(g, 3, 7)
    psi = np.eye(3) + 0.6
    step = passing(None, False, "sum", 0.0, "products")
    state = g.state(prior=priors, belief=priors, product=weft.full(1.0, shape=3),
                    potential=weft.parameter(psi), error=weft.scalar(np.inf))  # fmt: skip
    messages = g.edge_state(message=weft.full(1.0, shape=3))
    g.iterate(list(step.parts), state, edge_state=messages, max_iter=6, direction="pull")
    folded = propagate(g, priors / priors.sum(axis=1, keepdims=True), psi, tol=0.0, max_iter=6)
    np.testing.assert_allclose(state.belief, folded.beliefs, rtol=1e-12)


def test_emulated_device():
    g = weft.generators.grid(3, 3)
    priors, potentials = field_of(g, 3, 1, "float32")
    found = propagate(g.to("emulated"), priors, "psi", damping=0.1)
    want, _ = dense.loopy_messages(g, priors.astype(float), potentials, damping=0.1)
    np.testing.assert_allclose(found.beliefs, want, **tolerance("float32"))


@pytest.mark.parametrize("device", [pytest.param("cpu", marks=pytest.mark.slow), "emulated"])
def test_changes_alone_lead_to_the_same_beliefs(device):
    g = weft.generators.grid(3, 3)
    priors, potentials = field_of(g, 3, 1)
    priors[0] = [0, 1, 0]
    config = weft.Config(change_driven=True, direction="push")
    found = propagate(g.to(device), priors, "psi", config=config)
    assert found.converged
    want, _ = dense.loopy_messages(g, priors, potentials)
    np.testing.assert_allclose(found.beliefs, want, atol=1e-4)


def test_small_graphs_are_not_worth_runs_by_changes():
    g = weft.generators.grid(3, 3)
    priors, _ = field_of(g, 3, 1)
    auto = propagate(g, priors, "psi", config=weft.Config(change_driven="auto"))
    plain = propagate(g, priors, "psi")
    assert auto.steps == plain.steps
    np.testing.assert_array_equal(auto.beliefs, plain.beliefs)


@weft.edge(into="got", reduce=weft.sum, on="all", active=lambda v, old: True)
def tell(u, v, e):
    e.message = e.reverse.message + u.total + u.id
    return e.message


@weft.vertex
def take(v):
    v.total, v.got = v.got, 0


@pytest.mark.parametrize("known", [(), ("uniform",), ("uniform", "dropped")])
def test_what_is_known_of_messages_makes_no_difference(known):
    g = weft.generators.grid(3, 3).to("emulated")
    seen = []
    for hints in ((), known):
        state = g.state(total=weft.full(0.0), got=weft.full(0.0))
        messages = g.edge_state(message=weft.full(1.0)).known_to_be(*hints)
        g.iterate([tell, take], state, edge_state=messages, direction="pull", max_iter=3)
        seen.append((state.total, messages.message))
    np.testing.assert_array_equal(seen[0][0], seen[1][0])
    if "dropped" not in known:
        np.testing.assert_array_equal(seen[0][1], seen[1][1])


def test_a_graph_without_vertices_is_at_rest():
    g = weft.Graph.from_edges([], [], directed=False)
    found = weft.learning.belief_propagation(g, np.ones((0, 2)), np.ones((2, 2)))
    assert found.converged and found.beliefs.shape == (0, 2)


def test_what_does_not_come_to_rest_says_so():
    g = weft.generators.grid(3, 3)
    priors, _ = field_of(g, 3, 1)
    found = propagate(g, priors, np.eye(3) + 0.6, max_iter=2)
    assert (found.steps, found.converged) == (2, False)


def test_errors():
    g = weft.generators.path(3)
    priors, psi = np.ones((3, 2)), np.ones((2, 2))
    with pytest.raises(GraphError, match="needs an undirected graph"):
        propagate(weft.generators.path(3, directed=True), priors, psi)
    with pytest.raises(GraphError, match="vertex 1 has an edge to itself"):
        propagate(weft.Graph.from_edges([0, 1], [1, 1], directed=False), priors[:2], psi)
    with pytest.raises(GraphError, match="priors of vertex 1 are all 0"):
        propagate(g, [[1, 1], [0, 0], [1, 0]], psi)
    with pytest.raises(GraphError, match=r"potential holds 0\.0. Expected positive"):
        propagate(g, priors, np.eye(2))
    with pytest.raises(FieldError, match=r"potential has shape \(3, 3\). Expected \(2, 2\)"):
        propagate(g, priors, np.ones((3, 3)))
    with pytest.raises(ConfigError, match="mode='mean'"):
        propagate(g, priors, psi, "mean")
    with pytest.raises(ConfigError, match="damping=1 keeps"):
        propagate(g, priors, psi, damping=1)
