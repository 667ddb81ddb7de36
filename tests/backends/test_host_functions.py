"""Traced functions of numbers as text of host kernels."""

import numpy as np
import pytest

import weft
from weft.backends.host_functions import function_text, head, is_loaded, load
from weft.errors import TraceError

INT64, FLOAT32 = np.dtype(np.int64), np.dtype(np.float32)
USER = """
@compiled
def weigh_all(a, b, out):
    for i in range(len(a)):
        out[i] = weigh(a[i], b[i])
"""


def weigh(x, y):
    return weft.where(x > 2, x * y, -y)


def test_functions_run_inside_of_loops():
    text = head() + function_text("weigh", weigh, (INT64, FLOAT32), FLOAT32) + USER
    module = load(text, "test functions")
    assert is_loaded(text, "test functions") and load(text, "test functions") is module
    a, b = np.arange(5), np.linspace(0, 1, 5, dtype=np.float32)
    out = np.empty(5, np.float32)
    module.weigh_all(a, b, out)
    np.testing.assert_array_equal(out, np.where(a > 2, a.astype(np.float32) * b, -b))


@pytest.mark.parametrize(
    "function",
    [lambda x: weft.degree(x), lambda x: x if x > 0 else -x, lambda x: weft.superstep() + x],
)
def test_what_is_no_function_of_numbers_is_refused(function):
    with pytest.raises(TraceError):
        function_text("refused", function, (INT64,), INT64)
