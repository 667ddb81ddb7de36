"""Algorithms that pass on differences alone end near the fixed point, as whole sweeps do."""

import numpy as np
import pytest

import dense
import weft
from dense import social

DRIVEN = weft.Config(change_driven=True)
TOL = 1e-7


def run(name, g, x, config):
    learning = weft.learning
    if name == "ranking":
        return learning.manifold_ranking(g, x, 0.7, TOL, config=config)
    if name == "labels":
        return learning.label_propagation_features(g, x, 0.8, TOL, 400, seeds=[0, 7], config=config)
    return learning.multimodal(g, x, [0.5, 0.25], TOL, weight="by", config=config)


def expected(name, g, x):
    if name == "ranking":
        return dense.manifold_ranking(g, x, 0.7, "weight", 1e-12, 1000)[0]
    if name == "labels":
        return dense.label_propagation(g, x, 0.8, "weight", [0, 7], 1e-12, 2000)[0]
    return dense.multimodal(g, x, [0.5, 0.25], "by", 1e-12, 1000)[0]


@pytest.mark.parametrize("name", ["ranking", "labels", "modalities"])
@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_differences_lead_to_the_fixed_point(name, device):
    g = social()
    g.edge["by"] = np.random.default_rng(0).random((g.num_edges, 2)) / int(g.in_degree.max())
    x = np.random.default_rng(1).random((g.num_vertices, 3))
    found = run(name, g.to(device), x, DRIVEN)
    np.testing.assert_allclose(found, expected(name, g, x), atol=1e-4)
