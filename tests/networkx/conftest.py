"""Every test of this folder runs with the backend registered."""

import pytest

from networkx_registration import registered


@pytest.fixture(scope="package", autouse=True)
def backend():
    with registered():
        yield
