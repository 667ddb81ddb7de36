"""A quick build runs first, and the full one takes its place."""

import copy
import threading
from types import SimpleNamespace

import pytest

import weft
from weft.backends.cuda.drivers import gpu
from weft.backends.cuda.drivers.builds import Successor
from weft.backends.cuda.drivers.emulated import EmulatedDriver
from weft.backends.cuda.host import run as engine
from weft.storage import sealed


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """A driver whose compilers only say what they made."""
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(gpu, "nvrtc_version", lambda: (13, 0))
    monkeypatch.setattr(gpu, "compile_cubin", lambda *a: b"quick" if a[4] else b"full")
    made = object.__new__(gpu.GpuDriver)
    made.limits = SimpleNamespace(architecture="sm_90")
    made._building, made._building_lock, made._builder = {}, threading.Lock(), None
    made._load = lambda code, kernels: SimpleNamespace(code=code, successor=None)
    made.ordered = []

    def build(source, kernels, headers):
        made.ordered.append(source)
        if source == "broken":
            raise weft.errors.DeviceError("the process has ended")
        sealed.write_sealed(gpu.cubin_path(source, headers, "sm_90"), b"full")

    made.compiler = lambda: SimpleNamespace(compile=build)
    return made


def test_the_cache_has_the_full_build_only(driver):
    first = driver.compile("source", (), {}, quick=True)
    assert first.code == b"quick"
    first.successor.wait()
    assert first.successor.ready
    second = driver.compile("source", (), {}, quick=True)
    assert second.code == b"full" and second.successor is None
    assert driver.ordered == ["source"]


def test_one_source_is_built_once(driver):
    first, second = (driver.compile("broken", (), {}, quick=True) for _ in range(2))
    assert first.successor is second.successor
    first.successor.wait()
    assert driver.ordered == ["broken"]
    assert not first.successor.ready  # it keeps running on what there is


def test_an_old_compiler_builds_in_full(driver, monkeypatch):
    monkeypatch.setattr(gpu, "nvrtc_version", lambda: (12, 4))
    assert driver.compile("source", (), {}, quick=True).code == b"full"


class TwoBuilds(EmulatedDriver):
    """Has a quick build of everything, and a full one once it is released."""

    def __init__(self):
        super().__init__()
        self.released, self.launched = threading.Event(), []
        self.successors = []

    def compile(self, source, kernels, headers, quick=False):
        compiled = super().compile(source, kernels, headers)
        build, successor = "full", None
        if quick and not self.released.is_set():
            build, successor = "quick", Successor(self.released.wait)
            self.successors.append(successor)

        def kernel(name):
            made = copy.copy(compiled.kernel(name))
            object.__setattr__(made, "build", build)
            return made

        return SimpleNamespace(kernel=kernel, successor=successor)

    def launch(self, kernel, *arguments, **how):
        self.launched.append(kernel.build)
        super().launch(kernel, *arguments, **how)


@weft.vertex
def double(v):
    v.x = v.x * 2


@pytest.fixture
def builds(monkeypatch):
    """A function that runs once more and returns which build ran; a driver with two builds."""
    monkeypatch.setenv("WEFT_QUICK_BUILD", "on")
    driver = TwoBuilds()
    monkeypatch.setattr(engine, "driver_of", lambda kind, index: driver)
    g = weft.generators.path(9).to("emulated")
    s = g.state(x=weft.full(1.0))

    def run(**config):
        before = s.x.copy()
        g.run(double, s, config=weft.Config(**config))
        assert (s.x == 2 * before).all()
        return driver.launched.pop()

    yield run, driver
    driver.released.set()


def _release(driver):
    driver.released.set()
    for successor in driver.successors:
        successor.wait()


def test_a_later_run_takes_the_full_build(builds):
    run, driver = builds
    assert [run(), run()] == ["quick", "quick"]
    _release(driver)
    assert [run(), run()] == ["full", "full"]
    assert len(driver.successors) == 1


def test_a_full_build_can_be_asked_for(builds):
    run, _ = builds
    assert run() == "quick"
    assert run(compiled=True) == "full"
    assert run() == "full"  # since it is there now


def test_the_environment_refuses_quick_builds(builds, monkeypatch):
    run, _ = builds
    monkeypatch.setenv("WEFT_QUICK_BUILD", "off")
    assert run() == "full"


def test_large_graphs_start_in_full(builds, monkeypatch):
    run, _ = builds
    monkeypatch.setattr(engine, "QUICK_WORK", 24)  # 9 vertices and 16 arcs are more
    assert run() == "full"
