"""What `explain` reports: exact numbers of products, and which algorithm uses which principle."""

import networkx as nx
import numpy as np
import pytest

import weft.graphblas as gb
from weft.graphblas import algorithms

# Eight places and twenty arcs: rows 1, 2 and 5 have ten of them, columns 1 and 4 eight.
ARCS = [
    (0, 1), (0, 4), (1, 0), (1, 4), (1, 7), (2, 1), (2, 3), (2, 4), (2, 6), (3, 1),
    (3, 4), (4, 1), (5, 0), (5, 2), (5, 6), (6, 7), (6, 2), (7, 3), (7, 5), (7, 6),
]  # fmt: skip


class Counted:
    """Counts the products that a multiplication makes, in NumPy."""

    def __init__(self):
        self.products = 0

        def multiply(x, y):
            self.products += np.size(x)
            return x * y

        times = gb.binary.register_anonymous(multiply)
        self.semiring = gb.semiring.register_anonymous(gb.monoid.plus, times)
        self.products = 0


@pytest.fixture
def matrix():
    rows, cols = zip(*ARCS, strict=True)
    return gb.Matrix.from_coo(rows, cols, range(1, 21), nrows=8, ncols=8)


@pytest.mark.parametrize("variant", ["row", "column", "masked row", "dense"])
def test_products_are_counted_exactly(matrix, variant):
    """Of a full vector, a sparse one, a masked product, and a matrix that is full."""
    counted = Counted()
    full, sparse = gb.Vector.from_dense(range(8)), gb.Vector.from_coo([1, 4], [2, 3], size=8)
    mask = gb.Vector.from_coo([1, 2, 5], True, size=8)
    expected = {"row": 20, "column": 8, "masked row": 10, "dense": 64}[variant]
    A, v, m, direction = {
        "row": (matrix, full, None, "pull"),
        "column": (matrix, sparse, None, "push"),
        "masked row": (matrix, full, mask.S, "pull"),
        "dense": (gb.Matrix.from_dense(np.ones((8, 8), int)), full, None, "pull"),
    }[variant]
    expression = counted.semiring(A @ v)
    with gb.options(direction=direction, kernel="numpy"):
        assert gb.explain(expression, m).products == expected
        expression.new(mask=m).wait()
    assert counted.products == expected


def adjacency(graph):
    array = nx.to_scipy_sparse_array(graph, dtype=np.int64, weight=None)
    return gb.io.from_scipy_sparse(array)


@pytest.fixture(scope="module")
def A():
    found = adjacency(nx.barabasi_albert_graph(120, 4, seed=1))
    # Both sides are there, as GraphBLAST keeps them: neither direction has to make one first.
    found.T.new().wait()
    return found


def principles(run, methods=("mxv", "vxm", "mxm")):
    """Return which principles the products of an algorithm use."""
    with gb.Recorder(explain=True) as record:
        result = run()
        if hasattr(result, "wait"):
            result.wait()
    seen = [each for each in record.explanations if each.operation in methods]
    return {
        "directions": {each.direction for each in seen if each.direction},
        "masks": any(each.mask == "before" for each in seen),
        "structure": all(each.structure_only for each in seen),
    }


@pytest.mark.parametrize(
    ("name", "args", "directions", "masks", "structure"),
    [
        ("bfs_parents", (0,), {"push", "pull"}, True, True),
        ("bfs_levels", (0,), {"push", "pull"}, False, False),
        ("sssp", (0,), {"push", "pull"}, False, False),
        ("pagerank", (), {"pull"}, False, True),
        ("adaptive_pagerank", (), {"pull"}, True, True),
        ("connected_components", (), {"pull"}, False, True),
        ("triangle_count", (), set(), True, True),
        ("multi_source_levels", ([0, 5],), set(), True, True),
        ("independent_set", (), {"pull", "push"}, True, True),
    ],
)
def test_principles_of_algorithms(A, name, args, directions, masks, structure):
    found = principles(lambda: getattr(algorithms, name)(A, *args))
    assert found["directions"] == directions
    assert (found["masks"], found["structure"]) == (masks, structure)


def test_early_exit_structure_and_fusion(A):
    v, m = gb.Vector.from_scalar(True, A.nrows), gb.Vector.from_coo(range(100), 1, size=A.nrows)
    with gb.config.set(small=0):
        found = gb.explain(gb.semiring.any_pair(A @ v), ~m.S, gb.binary.plus)
        assert (found.direction, found.kernel, found.schedule) == ("pull", "compiled", "vertex")
        assert found.early_exit and found.structure_only
        assert found.fused == ("mask", "accumulate")
        assert gb.explain(gb.semiring.lor_land(A.dup(bool) @ v)).early_exit
        plain = gb.explain(gb.semiring.plus_times(A @ v))
        assert not plain.early_exit and not plain.structure_only and plain.fused == ()
        with gb.options(mask="after"):
            assert gb.explain(gb.semiring.any_pair(A @ v), ~m.S).mask == "after"
    assert gb.explain(gb.unary.ainv(A)).operation == "apply"
    with pytest.raises(TypeError, match="expression"):
        gb.explain(A)


def test_pushes_are_cheaper_once_they_are_compiled(A):
    half = gb.Vector.from_coo(range(0, A.nrows, 2), 1, "INT16", size=A.nrows)
    expression = gb.semiring.max_minus(half @ A)
    with gb.config.set(small=0):
        assert gb.explain(expression).direction == "pull"
        with gb.options(kernel="compiled", direction="push"):
            pushed = expression.new().wait()
        assert gb.explain(expression).direction == "push"
        assert expression.new().isequal(pushed)
        assert gb.explain(gb.semiring.any_pair(half @ A)).direction == "pull"
