"""The bad files in tests/corpus give a sound graph or an error of weft, whatever is in them."""

import math

import pytest

from fuzz.corpus import FILES
from fuzz.workers import run_all


@pytest.fixture(scope="module")
def outcomes():
    cases = [[("corpus", seed) for seed in range(len(FILES))]]
    return {outcome.seed: outcome for outcome in run_all(cases, 1, "cpu", math.inf)}


@pytest.mark.parametrize("seed", range(len(FILES)), ids=[path.name for path in FILES])
def test_bad_files(outcomes, seed):
    assert outcomes[seed].verdict == "ok", outcomes[seed].text
