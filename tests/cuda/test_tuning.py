"""Tuning on a device: candidates are compiled elsewhere, stopped in time, and never wrong."""

import time

import numpy as np
import pytest

import weft
from weft.backends.limits import TimeLimit
from weft.engine import tuned as remembered
from weft.engine import watch as watching
from weft.errors import TimeLimitError
from weft.tuning import tuner
from weft.tuning.measuring import Bench

pytestmark = pytest.mark.cuda


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_TUNINGS", str(tmp_path / "tunings.sqlite"))
    remembered.forget_remembered()
    yield
    remembered.forget_remembered()


@pytest.mark.parametrize("fuse", ["all", "direction", "none"])
def test_a_run_is_stopped_at_its_limit(on_gpu, host, fuse):
    g = weft.generators.rmat(16, 16, seed=1).to(on_gpu)
    config = weft.Config(fuse=fuse)
    right = host(weft.pagerank(g, config=config))
    endless = {"tol": 0, "max_iter": 10**9, "on_unconverged": "return", "config": config}
    began = time.perf_counter()
    with watching.watching(watching.Watch(TimeLimit(0.05))), pytest.raises(TimeLimitError):
        weft.pagerank(g, **endless)
    assert time.perf_counter() - began < 5
    assert np.allclose(host(weft.pagerank(g, config=config)), right)


@pytest.mark.parametrize("name", ["bfs", "pagerank"])
def test_algorithms_are_tuned(device, host, sized, store, monkeypatch, name):
    g = weft.generators.rmat(sized(14, 6), 8, seed=1).to(device)
    arguments = (0,) if name == "bfs" else ()
    budget_s, enough = 3600, sized(12, 2)

    class Counting(Bench):
        """Lets the time of a search be over after some trials, however long they took."""

        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.tried = 0
            self.clock = lambda: time.perf_counter() + budget_s * (self.tried >= enough)

        def measure(self, config):
            trial = super().measure(config)
            self.tried += 1
            return trial

    monkeypatch.setattr(tuner, "Bench", Counting)
    report = weft.tune(g, name, *arguments, budget_s=budget_s)
    assert report.errors == [], report
    assert report.best.ms <= report.default.ms
    assert 1 < len({trial.config for trial in report.trials}) == len(report.trials)
    assert "__global__" in report.kernel
    tuned = host(getattr(weft, name)(g, *arguments))
    plain = host(getattr(weft, name)(g, *arguments, config=weft.Config()))
    if name == "bfs":
        assert np.array_equal(tuned.level, plain.level)
    else:
        assert np.allclose(tuned, plain)
