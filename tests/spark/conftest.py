"""A Spark session of this machine, shared by the tests."""

import pytest

from spark_session import session_on


@pytest.fixture(scope="session")
def session():
    made = session_on("local[2]")
    yield made
    made.stop()
