"""The learning algorithms on a GPU against the dense oracles."""

import numpy as np
import pytest

import dense
import weft
from dense import social, tolerance

pytestmark = pytest.mark.cuda
learning = weft.learning


def near(found, want, dtype="float32"):
    found = found.get() if hasattr(found, "get") else found
    np.testing.assert_allclose(found, want, **(tolerance(dtype) | {"atol": 1e-4}))


def features(g, k, dtype, seed=1):
    return (np.random.default_rng(seed).random((g.num_vertices, k)) + 0.05).astype(dtype)


@pytest.mark.parametrize("lanes", [None, 1])
@pytest.mark.parametrize("k", dense.WIDTHS)
def test_every_width(k, lanes, device):
    config = weft.Config(lanes=lanes)
    g = social()
    g.edge["near"] = np.random.default_rng(0).integers(1, 5, (g.num_edges, k)) / 2
    x = features(g, k, "float32")
    there = g.to(device)
    found = learning.manifold_ranking(there, x, 0.7, weight="near", config=config)
    near(found, dense.manifold_ranking(g, x, 0.7, "near")[0])
    found = learning.label_propagation_features(there, x, 0.8, 1e-5, config=config)
    near(found, dense.label_propagation(g, x, 0.8, "weight", (), 1e-5)[0])
    for transposed in (False, True):
        operator = dense.propagation_matrix(g, "gcn", "weight")
        operator = operator.T if transposed else operator
        found = learning.gcn_propagate(
            there, x, weight="weight", transposed=transposed, config=config
        )
        near(found, operator @ x)
    homes = x.astype(float)
    found = weft.pagerank(there, personalization=homes, tol=1e-8, max_iter=200, config=config)
    alone = weft.pagerank(g, personalization=homes[:, 0], tol=1e-8, max_iter=200)
    near(found[:, 0], alone, "float64")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [1, 3, 4, 16, 33])
def test_beliefs(k, dtype, device):
    g = weft.generators.grid(3, 4)
    rng = np.random.default_rng(k)
    priors = features(g, k, dtype)
    potentials = g.edge["psi"] = rng.random((g.num_edges, k, k)) + 0.1
    for mode in ("sum", "max"):
        for log_domain in (False, True):
            found = learning.belief_propagation(
                g.to(device), priors, "psi", mode, 0.0, 8, log_domain=log_domain
            )
            want, _ = dense.loopy_messages(g, priors.astype(float), potentials, mode, 0.0, 0.0, 8)
            near(found.beliefs, want, dtype)


@pytest.mark.parametrize("implicit", [None, 1.5])
@pytest.mark.parametrize("k", [1, 3, 8, 32, 64])
def test_factors(k, implicit, device):
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 30, 200), rng.integers(30, 50, 200)
    g = weft.Graph.from_edges(src, dst, rng.random(200), num_vertices=50)
    start = rng.normal(size=(50, k))
    found = learning.als(g.to(device), k, 0.3, 2, 0.0, start=start, implicit=implicit)
    ratings, rated = np.zeros((2, 50, 50))
    for a, b, w in zip(*(np.asarray(x) for x in g.to_edges()), strict=True):
        ratings[a, b] += w
        ratings[b, a] += w
        rated[a, b] += 1
        rated[b, a] += 1
    want = start
    for _ in range(2):
        want = dense.als_sweep(ratings, rated, want, np.arange(50) < 30, 0.3, implicit)
    near(found.factors, want, "float64")


def test_embeddings_and_modalities(device):
    g = social()
    here, there = (learning.fastrp(x, 128, (1.0, 0.5)) for x in (g, g.to(device)))
    near(there, here)
    g.edge["by"] = np.full((g.num_edges, 3), 0.01)
    x = features(g, 32, "float32")
    found = learning.multimodal(g.to(device), x, [0.3, 0.3, 0.2], weight="by")
    near(found, dense.multimodal(g, x, [0.3, 0.3, 0.2], "by")[0])
    rank = weft.pagerank(g.to(device), adaptive=True, tol=1e-8, max_iter=300)
    near(rank, weft.pagerank(g, tol=1e-8, max_iter=300), "float64")


def test_torch_differentiates_on_the_device(device):
    torch = pytest.importorskip("torch")
    if not (device == "emulated" or torch.cuda.is_available()):
        pytest.skip("PyTorch has no GPU")
    g = social(directed=True).to(device)
    place = "cpu" if device == "emulated" else device
    x = torch.tensor(features(g, 3, "float64"), device=place, requires_grad=True)
    for aggregation in ("gcn", "sum", "mean"):
        assert torch.autograd.gradcheck(
            lambda t, a=aggregation: learning.gcn_propagate(g, t, a), (x,)
        )
