"""Graphs and dtypes that the learning tests share.

Every pair of dtype and width is a kernel of its own, so few of them are run by default.
"""

import pytest

from dense import social


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def g(request):
    return social(directed=request.param)


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param
