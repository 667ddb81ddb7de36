"""A search ends with its budget: candidates that cannot be compiled in time are not begun."""

import pytest

import weft
from weft.arrays.device import CPU
from weft.backends import backend_of
from weft.tuning.compiling import Compilations
from weft.tuning.measuring import Bench
from weft.tuning.space import Traits
from weft.tuning.tuner import tune_on

COMPILING, RUNNING = 3.0, 0.01


class Slow:
    """An algorithm whose kernels take three seconds by a clock of our own, then milliseconds."""

    def __init__(self):
        self.now, self.compiled = 0.0, set()

    def __call__(self, config):
        self.now += RUNNING if config in self.compiled else COMPILING
        self.compiled.add(config)
        return 7


@pytest.mark.parametrize(("budget_s", "most"), [(1.0, 0), (7.0, 2), (30.0, 9)])
def test_nothing_is_compiled_beyond_the_budget(monkeypatch, budget_s, most):
    slow = Slow()
    bench = Bench(slow, CPU, trusted=True, clock=lambda: slow.now)
    monkeypatch.setattr(
        "weft.tuning.tuner.traits_of", lambda *_: Traits("cpu", ("push",), threads=2)
    )
    monkeypatch.setattr(Compilations, "wait_s", lambda self, config: (
        0.0 if config in slow.compiled else max(1.0, self.longest_s)
    ))  # fmt: skip
    report = tune_on(bench, weft.generators.path(9), "slow", budget_s, remember=False)
    tried = {trial.config for trial in report.trials} - {weft.Config()}
    assert len(tried) <= most
    assert report.seconds <= COMPILING + 1.1 * budget_s + 1


def test_a_kernel_that_is_cached_takes_no_time():
    g = weft.generators.path(40)
    config = weft.Config(compiled=True)
    with_wait = []
    bench = Bench(lambda given: weft.bfs(g, 0, config=config), CPU)
    bench.start()
    for request in bench.requests.values():
        with_wait.append(backend_of(CPU).compile_seconds(request))
    assert with_wait == [0.0]
    bench.compilations.close()
