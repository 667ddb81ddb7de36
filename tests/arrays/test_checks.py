"""Numbers of the wrong type or size, wherever an option takes a number: clear errors."""

import numpy as np
import pytest

import weft
from weft.arrays.checks import check_between, check_integer, check_steps, check_tolerance
from weft.errors import ConfigError, WeftError

LARGE, LARGEST = 10**400, 10**5000  # Python itself refuses to write the second
NO_INTEGERS = (True, np.bool_(True), 1.5, float("nan"), "3", None, [1], np.array([1, 2]), object())
NO_REALS = (True, np.bool_(False), "0.5", None, [0.5, 0.5], object(), 1j, LARGE, LARGEST)


@weft.vertex
def grow(v):
    v.x = v.x + 1


@weft.vertex
def settle(v):
    v.x = v.own + 0.1 * v.gather(lambda u, e: u.x, weft.sum)


G = weft.Graph.from_edges([0, 1], [1, 2])


def iterated(**options):
    return G.iterate(grow, G.state(x=weft.full(0)), **options)


# Functions of an integer, and the least that it may be.
INTEGERS = {
    "threads": (lambda x: weft.Config(threads=x), 1),
    "block_size": (lambda x: weft.Config(block_size=x), 32),
    "items_per_thread": (lambda x: weft.Config(items_per_thread=x), 1),
    "bin_size": (lambda x: weft.Config(bin_size=x), 1),
    "max_iter": (lambda x: iterated(max_iter=x), 0),
    "pagerank": (lambda x: weft.pagerank(G, max_iter=x), 0),
    "label_propagation": (lambda x: weft.label_propagation(G, x), 0),
    "seed": (lambda x: weft.generators.path(3, seed=x), 0),
    "seed of a sample": (lambda x: weft.betweenness(G, 1, seed=x), 0),
    "seed of vectors": (lambda x: weft.learning.fastrp(G, 2, seed=x), 0),
    "n": (lambda x: weft.generators.path(x), 0),
    "scale": (lambda x: weft.generators.rmat(x), 0),
    "community": (lambda x: weft.generators.planted(4, x), 1),
    "num_vertices": (lambda x: weft.Graph.from_edges([0], [1], num_vertices=x), 0),
    "dimension": (lambda x: weft.learning.fastrp(G, x), 1),
    "since": (lambda x: weft.connected_components(G, warm_start=[0, 0, 0], since=x), None),
    "added_since": (lambda x: G.added_since(x), None),
    "shape": (lambda x: G.state(x=weft.full(0.0, shape=x)), 1),
    "source": (lambda x: weft.bfs(G, x), 0),
}
OPTIONAL = {"threads", "block_size", "items_per_thread", "bin_size", "max_iter", "pagerank",
            "num_vertices", "label_propagation"}  # fmt: skip
LISTS = {"community", "shape", "n", "source"}  # may be several
BOUNDLESS = {"seed", "seed of a sample", "seed of vectors", "community"}
REALS = {
    "delta": (lambda x: weft.Config(delta=x), 0.0),
    "tolerance": (
        lambda x: G.iterate(
            settle, G.state(x=weft.full(0.0), own=weft.full(1.0)), change_driven=True, tolerance=x
        ),
        -1.0,
    ),
    "damping": (lambda x: weft.pagerank(G, x), -0.5),
    "tol": (lambda x: weft.pagerank(G, tol=x), -1.0),
    "alpha": (lambda x: weft.learning.manifold_ranking(G, [1.0, 0, 0], x), -0.5),
    "ridge": (lambda x: weft.learning.als(G, 1, x), 0.0),
    "mixture": (lambda x: weft.learning.multimodal(G, [1.0, 0, 0], x), -0.5),
    "degree_power": (lambda x: weft.learning.fastrp(G, 2, degree_power=x), float("inf")),
    "keep": (lambda x: weft.generators.road(3, x), -0.5),
}


def refuses(call, value):
    with pytest.raises(WeftError) as caught:
        call(value)
    assert "xpected" in str(caught.value) and len(str(caught.value)) < 700


@pytest.mark.parametrize("name", INTEGERS)
def test_what_is_no_integer_is_refused(name):
    call, least = INTEGERS[name]
    for value in NO_INTEGERS:
        if value is None and name in OPTIONAL:
            continue
        if isinstance(value, list | np.ndarray) and name in LISTS:
            continue
        refuses(call, value)
    if least is not None:
        refuses(call, least - 1)
    if name not in BOUNDLESS:
        for value in (2**70, LARGE, LARGEST):
            refuses(call, value)


@pytest.mark.parametrize("name", REALS)
def test_what_is_no_number_is_refused(name):
    call, outside = REALS[name]
    for value in (*NO_REALS, float("nan"), outside):
        if value is None and name == "delta":
            continue
        refuses(call, value)


def test_numbers_of_numpy_are_numbers():
    config = weft.Config(threads=np.int8(2), delta=np.float32(0.5), block_size=np.uint16(64))
    assert (config.threads, config.delta, config.block_size) == (2, 0.5, 64)
    assert type(config.delta) is float
    assert iterated(max_iter=np.uint8(2)).steps == 2
    assert weft.generators.path(np.int16(3), seed=np.int64(1)).num_vertices == 3
    assert G.added_since(np.int64(0))[0].size == 0
    empty = weft.Graph.from_edges([], [])
    assert weft.pagerank(empty, np.float32(0.5), np.float64(1e-9), np.int32(500)).size == 0
    state = empty.state(x=weft.full(0.0), own=weft.full(1.0))
    assert empty.iterate(settle, state, change_driven=True, tolerance=np.float32(0.5)).converged


def test_the_checks_say_what_is_possible():
    assert check_integer("k", np.int8(3), 1, 5) == 3
    assert check_steps("max_iter", 2**63 - 1) == 2**63 - 1
    assert check_between("p", np.float32(0.5), 0, 1) == 0.5
    assert check_tolerance("tol", 0) == 0.0
    with pytest.raises(ConfigError, match=r"k=9 is not possible. Expected an integer from 1 to 5"):
        check_integer("k", 9, 1, 5)
    with pytest.raises(ConfigError, match=r"k=-1 is not possible. Expected an integer from 0 on"):
        check_integer("k", -1, 0)
    with pytest.raises(ConfigError, match=r"max_iter=\d+ is not a count.*from 0 to 2\*\*63 - 1"):
        check_steps("max_iter", 2**70)
    with pytest.raises(ConfigError, match=r"max_iter=True is not a count.*integer from 0 on"):
        check_steps("max_iter", True)
