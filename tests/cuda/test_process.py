"""Processes: Ctrl-C, the cache of compiled kernels, the default stream left usable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft

pytestmark = pytest.mark.cuda

SOURCE = str(Path(weft.__file__).parents[1])


def run_script(text, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": SOURCE, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


INTERRUPTED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
import numpy as np
import weft

g = weft.generators.rmat(14, 8, seed=1).to(sys.argv[1])
config = weft.Config(fuse=sys.argv[2])

@weft.edge(into="x", reduce=weft.sum)
def grow(u, v, e):
    return u.x + 1

@weft.vertex(on="all")
def turn(v):
    v.x = v.x ^ 5

def state():
    return g.state(x=weft.full(0, weft.int64))

expected = weft.bfs(g.to("cpu"), 0).level
g.iterate([grow, turn], state(), max_iter=3, config=config)
for _ in range(3):
    pressed = []
    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(0.3, press)
    timer.start()
    try:
        g.iterate([grow, turn], state(), config=config)
        raise SystemExit("the loop ended by itself")
    except KeyboardInterrupt:
        late = time.monotonic() - pressed[0]
    timer.join()
    assert late < 5, late
    found = weft.bfs(g, 0).level.get()
    assert (found == expected).all()
print("fine")
"""


@pytest.mark.parametrize("fuse", ["none", "direction", "all"])
def test_an_interrupt_ends_a_loop_and_leaves_the_gpu_usable(on_gpu, fuse):
    assert run_script(INTERRUPTED, on_gpu, fuse) == ["fine"]


DYING = """
import sys
import numpy as np
import weft
from weft.backends.cuda.drivers import driver_of
from weft.backends.cuda.drivers.base import Geometry

driver = driver_of(sys.argv[1])
source = 'extern "C" __global__ void die() { __trap(); }'
kernel = driver.compile(source, ["die"], {}).kernel("die")
driver.launch(kernel, Geometry(1, 32), driver.pack([]))
try:
    driver.wait(np.zeros(1, np.uint32))
except weft.errors.DeviceError as error:
    assert "gave up a kernel" in str(error) and "again" in str(error), error
    print("told", flush=True)
"""


def test_a_kernel_that_dies_is_told_of(on_gpu):
    assert run_script(DYING, on_gpu)[0] == "told"


COMPILING = """
import sys
import weft
from weft.backends.cuda.drivers import gpu

compiled = []
original = gpu.compile_cubin
def compile_cubin(*arguments, **options):
    compiled.append(arguments)
    return original(*arguments, **options)
gpu.compile_cubin = compile_cubin
g = weft.generators.rmat(8, 6, seed=1, weights="int").to(sys.argv[1])
level = weft.bfs(g, 0).level
rank = weft.pagerank(g)
assert (level.get() == weft.bfs(g.to("cpu"), 0).level).all()
print(len(compiled), float(rank.sum()))
"""


def test_a_second_process_compiles_nothing(on_gpu, tmp_path):
    first, _ = run_script(COMPILING, on_gpu, WEFT_CACHE_DIR=str(tmp_path))
    assert int(first) >= 2
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.cubin")}
    assert len(files) == int(first)
    second, _ = run_script(COMPILING, on_gpu, WEFT_CACHE_DIR=str(tmp_path))
    assert second == "0"
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.cubin")}


def test_a_damaged_cache_is_compiled_anew(on_gpu, tmp_path):
    first, _ = run_script(COMPILING, on_gpu, WEFT_CACHE_DIR=str(tmp_path))
    for path in tmp_path.rglob("*.cubin"):
        path.write_bytes(b"nonsense")
    again, _ = run_script(COMPILING, on_gpu, WEFT_CACHE_DIR=str(tmp_path))
    assert again == first


def test_a_stream_of_the_user_is_respected(on_gpu):
    import cupy

    g = weft.generators.rmat(10, 8, seed=1).to(on_gpu)
    expected = weft.bfs(g, 0).level
    with cupy.cuda.Stream(non_blocking=True):
        found = weft.bfs(g, 0).level
        assert bool((found == expected).all())
