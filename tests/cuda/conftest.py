"""Tests on a real GPU: `pytest -m cuda tests/cuda`.

`WEFT_TEST_DEVICE=emulated` runs the same tests in the host emulation on smaller graphs, to try the
tests themselves without a GPU. This folder must never become a package: `tests` is on the path, and
`cuda` is the namespace that cuda-core lives in.
"""

import functools
import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.arrays.device import cuda_problem, to_host

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benchmarks.checks import CHECKS, Paths, Reference, Search  # noqa: E402
from benchmarks.graphs import canonical_matrix  # noqa: E402

DEVICE = os.environ.get("WEFT_TEST_DEVICE", "cuda")


@pytest.fixture(scope="session")
def device():
    """The name of the device under test."""
    problem = cuda_problem() if DEVICE.startswith("cuda") else None
    if problem is not None:
        if os.environ.get("WEFT_REQUIRE_CUDA") == "1":
            pytest.fail(f"WEFT_REQUIRE_CUDA=1, but: {problem}")
        pytest.skip(f"no GPU to test on: {problem}")
    return DEVICE


@pytest.fixture
def on_gpu(device):
    """For tests that the emulation cannot stand in for."""
    if not device.startswith("cuda"):
        pytest.skip("needs a GPU, not its emulation")
    return device


@pytest.fixture(scope="session")
def sized(device):
    """Return a size for a GPU, or a smaller one for the emulation."""
    return lambda gpu, emulated: gpu if device.startswith("cuda") else emulated


@pytest.fixture(scope="session")
def host():
    """Return a function that copies results to the host, named tuples of arrays too."""

    def copied(result):
        if isinstance(result, tuple):
            return type(result)(*map(to_host, result))
        return result if isinstance(result, int | float) else to_host(result)

    return copied


@pytest.fixture(scope="session")
def oracle():
    """Return a function that loads the checks of tests/algorithms/test_<name>.py."""

    @functools.cache
    def load(name):
        path = ROOT / "tests" / "algorithms" / f"test_{name}.py"
        spec = importlib.util.spec_from_file_location(f"oracle_{name}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


class Judge:
    """Knows the right answers for an undirected simple graph with integer weights."""

    def __init__(self, g, source):
        weighted = weft.Graph.from_edges(
            *g.to_edges()[:2], g.edge["weight"].astype(np.float64), num_vertices=g.num_vertices,
            directed=False,
        )  # fmt: skip
        self.g, self.source = g, source
        self.reference = Reference(canonical_matrix(weighted.to_scipy()), source)

    def run(self, task, device, config=None):
        """Run a task on a device and return what is wrong with its result, or None."""
        return self.check(task, answer(task, self.g.to(device), self.source, config))

    def check(self, task, result):
        return CHECKS[task](self.reference, result)


def answer(task, g, source, config=None):
    """The result of a task as `benchmarks.checks` takes it."""
    if task == "bfs":
        return Search(*map(to_host, weft.bfs(g, source, config=config)))
    if task == "sssp":
        dist, parent = map(to_host, weft.sssp(g, source, config=config))
        return Paths(np.where(dist < 0, np.inf, dist.astype(np.float64)), parent)
    if task == "pagerank":
        options = {"tol": 0, "max_iter": 20, "on_unconverged": "return"}
        return to_host(weft.pagerank(g, config=config, **options))
    if task == "components":
        return to_host(weft.connected_components(g, config=config))
    if task == "triangles":
        return weft.triangle_count(g, config=config)
    return to_host(weft.core_number(g, config=config))


@pytest.fixture(scope="session")
def judge():
    """Return a function that makes the judge of a graph, given by name."""

    @functools.cache
    def make(name):
        g = GRAPHS[name]()
        return Judge(g, int(np.argmax(g.out_degree)))

    return make


def _hub(leaves):
    """A star whose leaves also form a path: one row of many slots."""
    leaf = np.arange(1, leaves + 1)
    src, dst = np.concatenate([np.zeros(leaves, int), leaf[:-1]]), np.concatenate([leaf, leaf[1:]])
    weight = np.random.default_rng(2).integers(1, 65, src.size).astype(np.int32)
    return weft.Graph.from_edges(src, dst, weight, directed=False)


def _weighted(g):
    src, dst, _ = g.to_edges()
    weight = np.random.default_rng(3).integers(1, 65, g.num_edges).astype(np.int32)
    return weft.Graph.from_edges(src, dst, weight, num_vertices=g.num_vertices, directed=False)


GENERATORS = weft.generators
GRAPHS = {
    "kron 5": lambda: GENERATORS.rmat(5, 6, seed=4, weights="int"),
    "kron 7": lambda: GENERATORS.rmat(7, 6, seed=4, weights="int"),
    "kron 11": lambda: GENERATORS.rmat(11, 12, seed=4, weights="int"),
    "kron 13": lambda: GENERATORS.rmat(13, 8, seed=4, weights="int"),
    "kron 16": lambda: GENERATORS.rmat(16, 16, seed=4, weights="int"),
    "uniform": lambda: _weighted(GENERATORS.erdos_renyi(200_000, m=900_000, seed=4)),
    "uniform small": lambda: _weighted(GENERATORS.erdos_renyi(60, m=150, seed=4)),
    "road 8": lambda: GENERATORS.road(8, 0.7, seed=4, weights="int"),
    "road 95": lambda: GENERATORS.road(95, 0.7, seed=4, weights="int"),
    "road 700": lambda: GENERATORS.road(700, 0.7, seed=4, weights="int"),
    "hub 40": lambda: _hub(40),
    "hub 9000": lambda: _hub(9_000),
    "hub 300000": lambda: _hub(300_000),
    "path 30000": lambda: GENERATORS.path(30_000, weights="int"),
}
"""Name -> function that makes an undirected simple graph with integer weights."""
