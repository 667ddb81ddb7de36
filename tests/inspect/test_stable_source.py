"""Generated source depends on the program alone, so that later processes find it in the cache."""

import os
import subprocess
import sys

PROGRAM = """
import weft

@weft.vertex
def mix(v):
    total = v.gather(lambda u, e: u.a + u.b * e.weight + u.c, weft.sum)
    v.a, v.b, v.c, v.d = total, total + 1.0, total * 0.5, total - 1.0

@weft.edge(into=("a", "b", "c"), reduce=(weft.min, weft.max, weft.sum))
def send(u, v, e):
    return u.d + v.a, u.c - v.b, e.weight

for device in ("cpu", "emulated"):
    g = weft.generators.path(5).to(device)
    state = g.state(a=1.0, b=2.0, c=3.0, d=4.0, error=weft.scalar(0.0))
    for functions in (mix, send, [send, mix]):
        print(weft.explain(functions, g, state).source)
"""


def source(seed: str) -> str:
    """Return what the program prints in a process whose sets have the order of a seed."""
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def test_the_source_does_not_depend_on_the_order_of_sets():
    first = source("1")
    assert "def kernel(" in first and "__global__" in first
    assert source("2") == first
