"""A pull that tests the state in place of the frontier: where it may, and where it must not."""

from dataclasses import replace

import numpy as np
import pytest

import weft
from agreement import agreed, placed, run

N = 96
STATE = tuple(
    weft.Config(frontier_in="state", direction=direction, threads=3)
    for direction in ("pull", "auto")
)


def levels(start, message=lambda u, v, e: u.level + 1, dtype=np.int32, **options):
    """Return a search, and its field with the values of `start` at some vertices, -1 elsewhere."""
    options = {"into": "level", "accept": lambda v: v.level < 0, **options}
    field = np.full(N, -1, dtype)
    field[list(start)] = list(start.values())
    return weft.edge(message, reduce=weft.any, **options), {"level": field}


def made(g, functions, fields, frontier, **options):
    """Return the decisions about a program that may test the state."""
    g = placed(g)
    state = g.state(**fields)
    return weft.explain(
        functions, g, state, frontier, mode="iterate", config=STATE[0], **options
    ).passes


def _graph():
    """Return a graph with a long tail, so that unvisited vertices lie next to many levels."""
    rng = np.random.default_rng(3)
    src = np.concatenate([rng.integers(0, 60, 200), np.arange(50, N - 4)])
    dst = np.concatenate([rng.integers(0, 70, 200), np.arange(51, N - 3)])
    return weft.Graph.from_edges(src, dst, num_vertices=N)


GRAPH = _graph()


def test_levels_tell_who_is_in_the_frontier():
    search, fields = levels({7: 4})
    assert "operand_reuse" in made(GRAPH, search, fields, [7])
    agreed(GRAPH, search, fields, [7], mode="iterate", configs=STATE)
    agreed(GRAPH, search, *levels({7: 3, 9: 3})[1:], [7, 9], mode="iterate", configs=STATE)
    # The frontier that is left when a run ends early is told by the state too.
    for limit in (1, 2, 3):
        agreed(GRAPH, search, fields, [7], mode="iterate", max_iter=limit, configs=STATE)
    agreed(GRAPH, search, fields, [], mode="iterate", configs=STATE)
    everything = {"level": np.full(N, 2, np.int32)}
    agreed(GRAPH, search, everything, None, mode="iterate", configs=STATE)


def test_what_is_only_sent_sometimes():
    def odd(u, v, e):
        return weft.send(u.level + 2, when=(u.id + v.id) % 3 != 0)

    search, fields = levels({7: 0}, odd, np.int64)
    assert "operand_reuse" in made(GRAPH, search, fields, [7])
    agreed(GRAPH, search, fields, [7], mode="iterate", configs=STATE)


@pytest.mark.parametrize(
    ("start", "frontier", "mistaken"),
    [
        ({7: 0, 12: 0}, [7], [7, 12]),  # 12 was visited, but is not in the frontier
        ({7: 0, 12: 2}, [7], [7, 12]),  # and will look as if it were in a later one
        ({7: 0, 3: 1}, [3, 7], [3]),  # not all hold what the first one does
    ],
)
def test_a_start_that_the_state_does_not_tell(start, frontier, mistaken):
    search, fields = levels(start)
    fixed = [replace(config, deterministic=True) for config in STATE]  # which message is taken
    got = agreed(GRAPH, search, fields, frontier, mode="iterate", configs=fixed)
    other = run(GRAPH, search, fields, mistaken, mode="iterate", config=weft.Config())
    assert (other.level != got.level).any()  # a mistake would be seen


@pytest.mark.parametrize(
    ("message", "options", "dtype"),
    [
        (lambda u, v, e: u.level, {}, np.int32),  # all levels are one
        (lambda u, v, e: u.level + 0, {}, np.int32),
        (lambda u, v, e: weft.superstep() + 1, {}, np.int32),  # the first frontier is apart
        (lambda u, v, e: u.id, {}, np.int32),  # a parent does not tell when
        (lambda u, v, e: u.level + 1.0, {}, np.float32),
        (lambda u, v, e: u.level + 1, {"accept": lambda v: v.level == -1}, np.int32),
    ],
    ids=["same", "zero", "step", "parent", "float", "equal"],
)  # fmt: skip
def test_fields_that_do_not_tell(message, options, dtype):
    search, fields = levels({7: 7}, message, dtype, **options)
    assert "operand_reuse" not in made(GRAPH, search, fields, [7])
    if dtype is np.float32:  # what is not reused runs as it always does
        agreed(GRAPH, search, fields, [7], mode="iterate", configs=STATE[:1])


@weft.vertex
def settle(v):
    v.seen = v.level >= 0


def test_other_functions_may_change_the_frontier():
    search, fields = levels({7: 0})
    fields["seen"] = np.zeros(N, bool)
    assert "operand_reuse" not in made(GRAPH, [search, settle], fields, [7])
    off = weft.Config(frontier_in="state", passes_off="operand_reuse")
    told = weft.explain(search, placed(GRAPH), placed(GRAPH).state(**fields), [7], mode="iterate",
                        config=off)  # fmt: skip
    assert "operand_reuse" not in told.passes
