"""Signals, threads and forks: a long run ends when asked to, and leaves the process usable."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import weft

SOURCE = str(Path(weft.__file__).parents[1])

# A loop that never ends by itself: every superstep changes every vertex.
PRELUDE = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
import numpy as np
import weft
from weft.backends.cpu.host import run as execute

if {threads} > 1:
    execute.SMALL_GRAPH = 0
config = weft.Config(threads={threads})
g = weft.generators.rmat({scale}, 8, seed=1, directed=True)

@weft.edge(into="x", reduce=weft.sum)
def {name}(u, v, e):
    return u.x + 1

@weft.vertex(on="all")
def turn(v):
    v.x = v.x ^ 5

@weft.vertex
def count(v):
    v.x = v.gather(lambda u, e: 1, weft.sum)

def state():
    return g.state(x=weft.full(0, weft.int64))

g.iterate([{name}, turn], state(), [], config=config)  # compiles it

def check():
    s = state()
    g.run(count, s, config=config)
    assert s.x.tolist() == g.in_degree.tolist()
    s = state()
    g.iterate([{name}, turn], s, max_iter=3, config=config)
    return s.x.tolist()
"""

RUN_UNTIL_INTERRUPTED = """
expected = check()
late = []
for _ in range(3):
    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    pressed = []
    timer = threading.Timer(0.3, press)
    timer.start()
    try:
        g.iterate([grow, turn], state(), config=config)
        raise SystemExit("the loop ended by itself")
    except KeyboardInterrupt:
        late.append(time.monotonic() - pressed[0])
    timer.join()
    assert check() == expected
assert min(late) < 1.0, late
print("fine")
"""


def run_script(text: str, **names: object) -> str:
    script = (PRELUDE + text).format(**{"name": "grow", "scale": 10, **names})
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("threads", "scale"), [(1, 10), (3, 10), (2, 16)])
def test_rule_39_an_interrupt_ends_a_loop_within_a_second_and_later_runs_are_right(threads, scale):
    assert run_script(RUN_UNTIL_INTERRUPTED, threads=threads, scale=scale) == "fine\n"


TWO_CALLERS = """
expected = check()
results = [[], []]
def work(mine):
    for _ in range(20):
        mine.append(check())
callers = [threading.Thread(target=work, args=(mine,)) for mine in results]
for caller in callers:
    caller.start()
for caller in callers:
    caller.join()
assert all(result == expected for mine in results for result in mine)
assert [len(mine) for mine in results] == [20, 20]
print("fine")
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_two_python_threads_may_run_programs_on_one_graph_at_once(threads):
    assert run_script(TWO_CALLERS, threads=threads) == "fine\n"


def test_two_python_threads_may_compile_at_once(g):
    """Each traces functions of its own, and all are new to the process."""

    def program(k):
        @weft.vertex
        def step(v):
            v.x = v.x * k if k % 2 else v.x + k
            v.y = v.x - k

        return step

    outcomes = {}

    def work(k):
        state = g.state(x=np.arange(6), y=np.zeros(6, int))
        g.run(program(k), state)
        outcomes[k] = state.y.tolist()

    callers = [threading.Thread(target=work, args=(k,)) for k in range(3, 9)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for k in range(3, 9):
        x = np.arange(6) * k if k % 2 else np.arange(6) + k
        assert outcomes[k] == (x - k).tolist()


AFTER_FORK = """
expected = check()
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    try:
        assert check() == expected
        assert check() == expected
        os.write(writing, b"fine")
    finally:
        os._exit(0)
os.close(writing)
assert check() == expected
assert os.read(reading, 4) == b"fine"
os.waitpid(child, 0)
print("fine")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("threads", [1, 3])
def test_programs_run_in_a_forked_child_and_in_its_parent(threads):
    assert run_script(AFTER_FORK, threads=threads) == "fine\n"


def test_an_exception_of_a_signal_handler_reaches_the_caller():
    text = """
class Enough(Exception):
    pass
def handler(*_):
    raise Enough
signal.signal(signal.SIGALRM, handler)
expected = check()
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    g.iterate([grow, turn], state(), config=config)
except Enough:
    print("fine")
assert check() == expected
"""
    assert run_script(text, threads=2) == "fine\n"


def test_an_interrupt_ends_a_long_superstep_too():
    text = """
path = weft.generators.path(100_000)

@weft.vertex
def toil(v, rounds):
    v.x = weft.for_range(0, rounds, lambda i, x: x * 3 + (x >> 7) + i, v.id + 0 * v.x)

def work(rounds):
    s = path.state(x=weft.full(0, weft.int64), rounds=weft.scalar(rounds))
    path.run(toil, s, config=config)

work(1)
expected = check()
began = time.monotonic()
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    work(1_000_000)  # a minute and more
except KeyboardInterrupt:
    print("fine" if time.monotonic() - began < 20 else "late")
assert check() == expected
"""
    assert run_script(text, threads=2) == "fine\n"
