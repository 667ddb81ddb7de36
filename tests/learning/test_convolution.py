"""Propagation for neural networks: forward against matrices, backward against differences."""

import sys
import types

import numpy as np
import pytest

import dense
import weft
from dense import social, tolerance
from graphs import AWKWARD
from weft.errors import ConfigError, GraphError

propagate = weft.learning.gcn_propagate
CASES = [("gcn", None), ("gcn", "weight"), ("sum", "weight"), ("mean", None), ("mean", "weight")]


def features(g, k, dtype=float, seed=0):
    return np.random.default_rng(seed).normal(size=(g.num_vertices, k)).astype(dtype)


@pytest.mark.parametrize(("aggregation", "weight"), CASES)
def test_forward_and_backward_of_directed_graphs(aggregation, weight):
    g = social(directed=True)
    x = features(g, 3)
    operator = dense.propagation_matrix(g, aggregation, weight)
    close = {"rtol": 1e-9, "atol": 1e-12}
    found = propagate(g, x, aggregation, weight=weight)
    np.testing.assert_allclose(found, operator @ x, **close)
    found = propagate(g, x, aggregation, weight=weight, transposed=True)
    np.testing.assert_allclose(found, operator.T @ x, **close)


def test_backward_is_the_gradient():
    """Of the loss Σ c ∘ tanh(P x), by central differences."""
    g = social()
    x, c = features(g, 3), features(g, 3, seed=1)

    def loss(x):
        return (c * np.tanh(propagate(g, x))).sum()

    gradient = propagate(g, c * (1 - np.tanh(propagate(g, x)) ** 2), transposed=True)
    for place in [(0, 0), (5, 1), (17, 2), (59, 0)]:
        step = np.zeros_like(x)
        step[place] = 1e-5
        slope = (loss(x + step) - loss(x - step)) / 2e-5
        np.testing.assert_allclose(gradient[place], slope, rtol=1e-6, atol=1e-9)


def test_numbers_and_float32():
    g = social()
    x = features(g, 33, "float32")
    found = propagate(g, x)
    assert found.dtype == np.float32
    want = dense.propagation_matrix(g, "gcn") @ x.astype(float)
    np.testing.assert_allclose(found, want, **tolerance("float32"))


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_features_are_read_where_they_lie(device):
    g = social()
    n, room = g.num_vertices, features(g, 5, "float32").reshape(-1)
    lying = {
        "beside": room[1 : 1 + 4 * n].reshape(n, 4), "by columns": room[: 4 * n].reshape(4, n).T,
        "wider": room.reshape(n, 5)[:, :4],
    }  # fmt: skip
    for name, x in lying.items():
        x.flags.writeable = False
        found = propagate(g.to(device), x, "sum", weight="weight")
        want = dense.propagation_matrix(g, "sum", "weight") @ x.astype(float)
        np.testing.assert_allclose(found, want, **tolerance("float32"), err_msg=name)
        assert not np.shares_memory(found, x)


@pytest.mark.slow
@pytest.mark.parametrize("k", [*dense.WIDTHS, 1024])
def test_all_widths(k, dtype):
    g = social()
    x = features(g, k, dtype)
    for transposed in (False, True):
        operator = dense.propagation_matrix(g, "mean", "weight")
        operator = operator.T if transposed else operator
        found = propagate(g, x, "mean", weight="weight", transposed=transposed)
        close = tolerance(dtype) | {"atol": 1e-4 if dtype == "float32" else 1e-10}
        np.testing.assert_allclose(found, operator @ x.astype(float), **close)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    x = features(g, 3)
    want = dense.propagation_matrix(g, "gcn") @ x if g.num_vertices else x
    np.testing.assert_allclose(propagate(g, x), want, rtol=1e-9, atol=1e-12)


def test_emulated_device():
    g = social(directed=True)
    x = features(g, 5, "float32")
    there = g.to("emulated")
    for aggregation, transposed in (("gcn", False), ("mean", True)):
        operator = dense.propagation_matrix(g, aggregation, "weight")
        operator = operator.T if transposed else operator
        found = propagate(there, x, aggregation, weight="weight", transposed=transposed)
        np.testing.assert_allclose(found, operator @ x, **tolerance("float32"))


def test_errors():
    g = social()
    with pytest.raises(ConfigError, match="aggregation='max' is not known"):
        propagate(g, features(g, 3), "max")
    with pytest.raises(GraphError, match=r"x has shape \(4, 3\)"):
        propagate(g, np.zeros((4, 3)))
    g.edge["weight"] = np.full(g.num_edges, -1.0)
    with pytest.raises(GraphError, match=r"holds -1.0 at \[0\]"):
        propagate(g, features(g, 3), weight="weight")


class FakeTensor:
    """As much of a tensor as is needed: data, and the function that made it."""

    def __init__(self, data, made_by=None):
        self.data, self.made_by, self.gradient = data, made_by, None
        self.dtype = f"torch.{data.dtype}"

    def detach(self):
        return FakeTensor(self.data)

    contiguous = detach

    def __dlpack__(self, **options):
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


class FakeFunction:
    @classmethod
    def apply(cls, x):
        made = cls.forward(None, x)
        made.made_by = (cls, x)
        return made


def fake_torch():
    torch = types.ModuleType("torch")
    torch.Tensor = FakeTensor
    torch.autograd = types.SimpleNamespace(Function=FakeFunction)
    torch.from_dlpack = lambda array: FakeTensor(np.from_dlpack(array))
    return torch


def test_tensors_go_in_and_come_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch())
    g = social(directed=True)
    x, upstream = features(g, 3), features(g, 3, seed=1)
    out = propagate(g, FakeTensor(x), "mean")
    operator = dense.propagation_matrix(g, "mean")
    np.testing.assert_allclose(out.data, operator @ x, rtol=1e-9, atol=1e-12)
    function, source = out.made_by
    gradient = function.backward(None, FakeTensor(upstream))
    np.testing.assert_allclose(gradient.data, operator.T @ upstream, rtol=1e-9, atol=1e-12)
    assert source.data is x
    with pytest.raises(GraphError, match=r"tensor of torch.int64. Expected float32"):
        propagate(g, FakeTensor(np.zeros((60, 2), int)))


def test_torch_differentiates():
    torch = pytest.importorskip("torch")
    g = social(directed=True)
    x = torch.tensor(features(g, 3), requires_grad=True)
    for aggregation in ("gcn", "sum", "mean"):
        assert torch.autograd.gradcheck(lambda t, a=aggregation: propagate(g, t, a), (x,))
