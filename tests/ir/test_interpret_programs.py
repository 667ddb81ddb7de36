"""Random programs: the interpreter does not depend on order, and passes do not change meaning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expressions
from oracle import PlainState, assert_same, run_interpreted
from programs import Case, cases, fixpoints
from weft.graph import Graph
from weft.ir.ops import Block, Signature
from weft.ir.passes import run_passes
from weft.ir.reference.evaluate import evaluate_arrays
from weft.ir.trace.builder import Builder
from weft.ir.trace.proxies import Vertex
from weft.program import vertex


def run(case: Case, **options):
    arguments = {"mode": case.mode, **case.options(), **options}
    return run_interpreted(case.graph(), case.functions(), case.state(), case.frontier, **arguments)


@given(case=cases(), seed=st.integers(0, 9))
@settings(max_examples=50)
def test_bounded_programs_do_not_depend_on_order(case, seed):
    assert_same(run(case), run(case, shuffle=seed))


@given(case=fixpoints(), seed=st.integers(0, 9))
@settings(max_examples=50)
def test_fixpoints_are_reached_and_do_not_depend_on_order(case, seed):
    result = run(case)
    assert result.outcome.converged
    assert result.frontier == []
    # Live access reaches the same fixpoint in more or fewer supersteps.
    assert_same(result, run(case, shuffle=seed), steps=False)


@given(case=cases())
@settings(max_examples=50)
def test_passes_keep_the_meaning(case):
    assert_same(run(case), run(case, passes=run_passes))


@st.composite
def trees(draw):
    dtype = draw(st.sampled_from(expressions.DTYPES))
    return dtype, draw(expressions.expressions(dtype))


def columns(seed, count=8):
    return {name: expressions.field_values(name, count, seed) for name in expressions.FIELDS}


def traced(tree, graph, fields):
    """Trace one expression of v and return its block."""
    rows = tuple((name, array.dtype, array.shape[1:]) for name, array in fields.items())
    signature = Signature(rows, (), (), (), graph.topology.index_dtype)
    with Builder(signature, "test") as builder:
        result = tree.build({"v": Vertex("v")}).node
        return Block((), builder.blocks[0].body, (builder.strong(result),))


@given(drawn=st.lists(trees(), min_size=1, max_size=5), seed=st.integers(0, 99))
@settings(max_examples=50)
def test_expressions_have_their_dtype_and_evaluate_at_a_vertex_as_on_arrays(drawn, seed):
    graph = Graph.from_edges([0, 0, 3, 5, 5], [1, 2, 3, 0, 0], num_vertices=8)
    fields = columns(seed)
    outputs = {f"out{k}": np.zeros(8, dtype) for k, (dtype, _) in enumerate(drawn)}
    body = expressions.assigning([tree for _, tree in drawn])
    result = run_interpreted(graph, vertex(body), PlainState(fields | outputs), mode="run")

    def load(attr):
        known = {
            "id": np.arange(8),
            "out_degree": graph.out_degree,
            "in_degree": graph.in_degree,
        }
        return fields[attr[2]] if attr[0] == "field" else known[attr[0]]

    for k, (dtype, tree) in enumerate(drawn):
        block = traced(tree, graph, fields)
        assert block.results[0].dtype == dtype
        if all(value.op not in ("for", "while", "project") for value in block.body):
            expected = np.broadcast_to(evaluate_arrays(block, load), 8)
            np.testing.assert_array_equal(result.state.fields[f"out{k}"], expected)


@pytest.mark.parametrize("dtype", expressions.DTYPES)
def test_field_values_hold_corner_cases(dtype):
    values = expressions.field_values(f"x_{dtype}", 16, 0)
    assert values.dtype == dtype
    if dtype in expressions.INTEGERS:
        assert np.iinfo(dtype).max in values
