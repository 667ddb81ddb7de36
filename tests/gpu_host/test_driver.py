"""What the driver of a GPU does on the host: arguments as words, and waiting for a kernel."""

import ctypes
import threading
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

import weft
from damage import damage_file
from weft.algorithms.bfs import discover
from weft.backends.cuda.drivers import gpu
from weft.backends.cuda.drivers.base import merged, open_places
from weft.backends.cuda.drivers.emulated import EmulatedDriver
from weft.backends.cuda.drivers.gpu import GpuDriver, _Words
from weft.backends.cuda.host import bind as binding
from weft.backends.cuda.host import run as execute
from weft.backends.cuda.host.control import FEW, LOOP, START, Control, bytes_ahead, control_sizes
from weft.storage import sealed


def test_a_launch_finds_its_arguments_and_those_that_are_given_later():
    words = _Words([1, 0, 2**64 - 1])
    for given in (5, 2**63):
        words.set([1], [given])
        places = (ctypes.c_uint64 * 3).from_address(words.places_address)
        found = [ctypes.c_uint64.from_address(place).value for place in places]
        assert found == [1, given, 2**64 - 1]
    words.set([0, 1, 2], [4, 2**64 - 1, 6])
    assert [ctypes.c_uint64.from_address(place).value for place in places] == [4, 2**64 - 1, 6]


def test_what_is_given_goes_to_the_open_places():
    packed = EmulatedDriver().pack([1, None, 3, None])
    assert packed.open == open_places([1, None, 3, None]) == (1, 3)
    assert merged(packed, [5, 6]) == [1, 5, 3, 6] and merged([1, 2], ()) == [1, 2]
    assert packed.arguments == (1, None, 3, None)  # what was given is not kept
    with pytest.raises(ValueError, match="shorter"):
        merged(packed, [5])


class Waiting:
    """A driver without a GPU, and what it was asked."""

    def __init__(self):
        self.asked = []
        self.driver = object.__new__(GpuDriver)
        self.statuses = []  # of the event; then it is done
        event = SimpleNamespace(record=lambda: self.asked.append("event"), ptr=7)
        runtime = SimpleNamespace(eventQuery=self.query, CUDARuntimeError=RuntimeError)
        cuda = SimpleNamespace(Event=lambda **_: event, runtime=runtime)
        self.driver.xp = SimpleNamespace(cuda=cuda)
        self.driver._own = threading.local()
        self.stop = np.zeros(1, np.uint32)

    def query(self, event):
        assert event == 7
        return self.statuses.pop(0) if self.statuses else 0


def test_a_kernel_that_says_that_it_has_ended_is_believed():
    waiting, ended = Waiting(), np.ones(1, np.uint64)
    waiting.driver.wait(waiting.stop, None, ended)
    assert waiting.asked == [] and waiting.stop[0] == 0
    waiting.driver.wait(waiting.stop)  # nobody says it
    assert waiting.asked == ["event"]


def test_a_kernel_that_says_nothing_is_waited_for(monkeypatch):
    monkeypatch.setattr(gpu, "SPIN_S", 1e-4)
    waiting = Waiting()
    waiting.driver.wait(waiting.stop, None, np.zeros(1, np.uint64))
    assert waiting.asked == ["event"]


def test_a_kernel_that_died_is_not_waited_for():
    waiting, illegal_address = Waiting(), 700
    waiting.statuses = [gpu.NOT_READY, gpu.NOT_READY, illegal_address]
    with pytest.raises(
        weft.errors.DeviceError, match=r"gave up a kernel \(700\).*Start the process again"
    ):
        waiting.driver.wait(waiting.stop)
    assert waiting.asked == ["event"] and waiting.statuses == []


def test_whoever_stops_waiting_asks_the_kernel_to_stop():
    waiting = Waiting()
    waiting.statuses = [gpu.NOT_READY, gpu.NOT_READY]

    def check():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        waiting.driver.wait(waiting.stop, SimpleNamespace(check=check), np.zeros(1, np.uint64))
    assert waiting.stop[0] == 1 and waiting.asked == ["event"]
    assert waiting.statuses == []  # it was waited for


def test_a_kernel_that_does_not_stop_is_left_alone_at_last(monkeypatch):
    waiting, presses = Waiting(), iter([KeyboardInterrupt("first"), KeyboardInterrupt("second")])
    waiting.statuses = [gpu.NOT_READY] * 9

    def press(_):
        raise next(presses)

    monkeypatch.setattr(gpu, "SPIN_S", 0)
    monkeypatch.setattr(gpu.time, "sleep", press)
    with pytest.raises(KeyboardInterrupt, match="second"):
        waiting.driver.wait(waiting.stop)
    assert waiting.stop[0] == 1 and len(waiting.statuses) == 7


@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_small_frontier_comes_with_the_loop(count, dtype):
    sizes = control_sizes(2, 1)
    first = bytes_ahead(sizes) // np.dtype(dtype).itemsize
    memory = np.full(first + 100, 7, dtype)
    control = Control(EmulatedDriver(), sizes, memory)
    control.begin(np.arange(3, dtype=np.uint64))
    control.write(size=count)
    control.upload(np.arange(5, 5 + count, dtype=dtype))
    assert control.queue[: count + 1].tolist() == [*range(5, 5 + count), 7]
    assert control.queue.ctypes.data % 128 == memory.ctypes.data % 128
    loop = control.parts["loop"].view(np.int64)
    assert loop[4] == count and loop[1] == START["phase"]
    assert control.parts["accumulators"].tolist() == [0, 1, 2]


def test_every_launch_is_waited_for(monkeypatch):
    """A trail that becomes too long ends a kernel early: the next one has not ended yet."""
    seen = []

    class Attentive(EmulatedDriver):
        def launch(self, kernel, geometry, arguments, given=()):
            report = next(a for a in arguments.arguments if a is not None and a.size > len(LOOP))
            seen.append(report[-1] == 0)
            super().launch(kernel, geometry, arguments, given)
            assert report[-1] == 1

    driver = Attentive()
    monkeypatch.setattr(execute, "driver_of", lambda kind, index: driver)
    monkeypatch.setattr(binding, "TRAIL_STEPS", 4)
    g = weft.generators.path(40).to("emulated")
    state = g.state(level=weft.full(-1).but(0, 0), parent=weft.full(-1, weft.vertex_id))
    run = g.iterate(discover, state, [0], trail=True, config=weft.Config(schedule="warp"))
    assert run.steps == 40 and [part.tolist() for part in run.trail] == [[k] for k in range(40)]
    assert len(seen) > 1 and all(seen)


def test_damaged_machine_code_is_compiled_again(tmp_path, monkeypatch):
    """A driver loads a cubin with a wrong bit, and the GPU then computes something else."""
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(gpu, "nvrtc_version", lambda: (13, 0))
    compiled = []
    code = bytes(range(256)) * 4
    monkeypatch.setattr(gpu, "compile_cubin", lambda *a: (compiled.append(a), code)[1])
    driver = object.__new__(GpuDriver)
    driver.limits = SimpleNamespace(architecture="sm_90")
    driver._load = lambda found, kernels: found
    path = gpu.cubin_path("source", {}, "sm_90")
    rng = Random(1)
    for use in (
        lambda: driver.compile("source", (), {}),
        lambda: gpu.fill_cache("source", (), {}, "sm_90"),
    ):
        for _ in range(40):
            compiled.clear()
            for _ in range(2):
                assert use() in (None, code)
            assert len(compiled) == 1
            damage_file(path, rng)


def test_machine_code_that_the_driver_refuses_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(gpu, "nvrtc_version", lambda: (13, 0))
    monkeypatch.setattr(gpu, "compile_cubin", lambda *a: b"new")
    driver = object.__new__(GpuDriver)
    driver.limits = SimpleNamespace(architecture="sm_90")

    def load(found, kernels):
        if found == b"old":
            raise RuntimeError("no kernel image is available")
        return found

    driver._load = load
    sealed.write_sealed(gpu.cubin_path("source", {}, "sm_90"), b"old")
    assert driver.compile("source", (), {}) == b"new"
    assert sealed.read_sealed(gpu.cubin_path("source", {}, "sm_90")) == b"new"
