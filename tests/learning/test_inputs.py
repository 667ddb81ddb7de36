"""What cannot be computed with is told before anything is computed."""

import numpy as np
import pytest

import weft
from weft.errors import ConfigError, GraphError

learning = weft.learning
PSI = np.eye(2) + 0.5
CALLS = {
    "manifold_ranking": lambda g, x, **o: learning.manifold_ranking(g, x, weight="w", **o),
    "label_propagation": lambda g, x, **o: learning.label_propagation_features(
        g, x, weight="w", **o
    ),
    "multimodal": lambda g, x, **o: learning.multimodal(g, x, [0.1], weight="w", **o),
    "beliefs": lambda g, x, **o: learning.belief_propagation(g, x, PSI, **o),
    "als": lambda g, x, **o: learning.als(g, 2, users=[0, 2], start=x, **o),
}


def graph(weights=(1.0, 2.0, 3.0)):
    g = weft.Graph.from_edges([0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0], directed=False)
    g.edge["w"] = np.array(weights)
    return g


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_must_be_finite(name, bad):
    x = np.ones((4, 2))
    x[1, 0] = bad
    with pytest.raises(GraphError, match=rf"holds {bad} at \[1, 0\]. Expected finite numbers"):
        CALLS[name](graph(), x)


@pytest.mark.parametrize("name", list(CALLS)[:3])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_must_be_finite(name, bad):
    with pytest.raises(GraphError, match=rf"edge column 'w' holds {bad} at \[2\]. Expected finite"):
        CALLS[name](graph([1.0, 0.0, bad]), np.ones((4, 2)))


@pytest.mark.parametrize("name", list(CALLS)[:2])
def test_weights_of_a_mean_are_not_negative(name):
    with pytest.raises(GraphError, match=r"'w' holds -1.0 at \[0\]. Expected .* from 0 on"):
        CALLS[name](graph([-1.0, 1.0, 1.0]), np.ones((4, 2)))


@pytest.mark.parametrize("name", CALLS)
def test_options_must_be_numbers(name):
    x = np.ones((4, 2))
    for tol in ("small", None, np.nan, -1):
        with pytest.raises(ConfigError, match=r"tol=.* is not a tolerance"):
            CALLS[name](graph(), x, tol=tol)
    with pytest.raises(GraphError, match=r"is no array of numbers"):
        CALLS[name](graph(), [[1, 2], [1], [2], [3]])
    with pytest.raises(GraphError, match=r"has dtype complex128. Expected real numbers"):
        CALLS[name](graph(), x + 1j)


@pytest.mark.parametrize("options", [{"ridge": np.inf}, {"ridge": "0.1"}, {"implicit": np.inf}])
def test_penalties_must_be_finite(options):
    with pytest.raises(ConfigError, match=r"is out of range. Expected a positive number"):
        learning.als(graph(), 2, users=[0, 2], **options)


@pytest.mark.parametrize(
    "options",
    [{"weights": 1.0}, {"weights": ["a"]}, {"degree_power": np.nan}, {"degree_power": "half"}],
)
def test_rounds_and_powers_must_be_numbers(options):
    with pytest.raises(ConfigError, match=rf"{next(iter(options))}=.*Expected a finite number"):
        learning.fastrp(graph(), 4, **options)


@pytest.mark.parametrize("alpha", [[], "x", None, [0.1, "x"]])
def test_mixtures_must_be_numbers(alpha):
    with pytest.raises(ConfigError, match=r"is not a mixture"):
        learning.multimodal(graph(), np.ones(4), alpha)
