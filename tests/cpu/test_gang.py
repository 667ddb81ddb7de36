"""Gangs: barrier, faults, errors, signals, forks and callers at the same time."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import weft.errors
from weft.arrays.threads import MOST, cgroup_quota, num_threads
from weft.backends.cpu.host import gang
from weft.backends.cpu.runtime.barrier import LONGEST_NS
from weft.backends.cpu.runtime.control import (
    ABORT,
    ARRIVED,
    ASLEEP,
    FAULT,
    FIRST_FREE,
    GENERATION,
    STOP,
    STRIDE,
    control,
    rearm,
)
from weft.backends.cpu.runtime.names import (
    atomic_add,
    atomic_load,
    barrier,
    fault,
    load_acquire,
    pause,
)
from weft.backends.cpu.runtime.processor import FUTEX
from weft.errors import ConfigError

SOURCE = str(Path(weft.errors.__file__).parents[1])


@njit(nogil=True)
def _phases(tid, nt, ctl, seen, late, phases):
    """Count how often a fellow is met that has not written the present phase."""
    for phase in range(1, phases + 1):
        seen[16 * tid] = phase
        if barrier(ctl, nt):
            return
        for other in range(nt):
            late[16 * tid] += seen[16 * other] != phase
        if barrier(ctl, nt):
            return


@pytest.fixture(params=[0, LONGEST_NS], ids=["sleeping", "spinning"])
def patience(request, monkeypatch):
    """Let threads that wait in a barrier sleep almost at once, or as late as possible."""
    monkeypatch.setattr(gang._pool, "_patience_ns", request.param)
    return request.param


@pytest.mark.parametrize(("nt", "phases"), [(1, 100), (2, 5000), (3, 50), (5, 20)])
def test_no_thread_passes_a_barrier_before_all_arrived(nt, phases, patience):
    ctl = control()
    seen, late = np.zeros(16 * nt, np.int64), np.zeros(16 * nt, np.int64)
    gang.run(_phases, nt, ctl, (seen, late, phases))
    assert not late.any()
    assert seen[::16].tolist() == [phases] * nt
    assert ctl[GENERATION] // 2 == (2 * phases if nt > 1 else 0) and ctl[ARRIVED] == 0


@njit(nogil=True)
def _until_asleep(tid, nt, ctl, seen):
    """Arrive at each barrier only when the other thread sleeps there."""
    for phase in range(seen.size):
        if tid == 0:
            while load_acquire(ctl, GENERATION) & ASLEEP == 0:
                pause()
            seen[phase] = True
        if barrier(ctl, nt):
            return


@pytest.mark.skipif(not FUTEX, reason="the system does not sleep on memory")
def test_a_thread_that_waits_sleeps_and_is_woken(patience):
    seen = np.zeros(50, bool)
    gang.run(_until_asleep, 2, control(), (seen,))
    assert seen.all()


def test_threads_become_patient_again(monkeypatch):
    monkeypatch.setattr(gang._pool, "_patience_ns", LONGEST_NS // 4)
    for expected in (LONGEST_NS // 2, LONGEST_NS, LONGEST_NS):
        gang.run(_who, 2, control(), (np.zeros(5, np.int64), 1))  # meets no barrier
        assert gang._pool._patience_ns == expected


@njit(nogil=True)
def _who(tid, nt, ctl, calls, times):
    atomic_add(calls, tid, times)
    calls[4] = nt


def test_every_thread_id_runs_once():
    for nt in (1, 4, 2, 3):
        calls = np.zeros(5, np.int64)
        for _ in range(20):
            gang.run(_who, nt, control(), (calls, 2))
        assert calls.tolist() == [40] * nt + [0] * (4 - nt) + [nt]


@njit(nogil=True)
def _faults(tid, nt, ctl):
    barrier(ctl, nt)
    fault(ctl, tid + 1, 10 * (tid + 1), 100 * (tid + 1))


def test_the_first_fault_is_kept_whole():
    ctl = control()
    gang.run(_faults, 2, ctl)
    cause = int(ctl[FAULT])
    assert cause in (1, 2)
    assert ctl[FAULT : FAULT + 3].tolist() == [cause, 10 * cause, 100 * cause]
    gang.run(_faults, 2, ctl)
    assert ctl[FAULT] == cause


def test_the_control_block_is_aligned_and_cleared():
    ctl = control(3)
    assert ctl.dtype == np.int64 and ctl.flags.c_contiguous and not ctl.any()
    assert ctl.size == FIRST_FREE + 3 * STRIDE
    assert ctl.ctypes.data % 128 == 0
    ctl[[ARRIVED, STOP, ABORT, FAULT]] = 1
    rearm(ctl)
    assert ctl.sum() == ctl[FAULT] == 1


@njit(nogil=True)
def _barriers(ctl, nt, count):
    for i in range(count):
        if barrier(ctl, nt):
            return i
    return count


def test_an_error_in_one_worker_frees_the_others_and_reaches_the_caller(patience):
    passed = {}

    def kernel(tid, nt, ctl):
        if tid == 1:
            _barriers(ctl, nt, 3)
            raise ZeroDivisionError("in a worker")
        passed[tid] = _barriers(ctl, nt, 10)

    ctl = control()
    _barriers(ctl, 1, 1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="in a worker"):
            gang.run(kernel, 3, ctl)
        # A thread on its way out of the third barrier may already see the abort.
        assert set(passed) == {0, 2} and set(passed.values()) <= {2, 3}
        assert ctl[ABORT] == 0 and ctl[ARRIVED] == 0, "the block can be used again"
    calls = np.zeros(5, np.int64)
    gang.run(_who, 2, ctl, (calls, 1))
    assert calls.tolist() == [1, 1, 0, 0, 2]


def test_nothing_keeps_the_arguments_alive():
    """Neither a sleeping worker nor a cycle through a traceback, which would wait for the GC."""
    array = np.zeros(5, np.int64)
    alive = weakref.ref(array)

    def fail(tid, nt, ctl, array):
        raise ValueError

    gc.collect()
    gc.disable()
    try:
        gang.run(_who, 2, control(), (array, 1))
        with contextlib.suppress(ValueError):
            gang.run(fail, 2, control(), (array,))
        del array
        deadline = time.monotonic() + 10
        while alive() is not None and time.monotonic() < deadline:
            time.sleep(0.001)  # the last worker may still be on its way back to sleep
        assert alive() is None
    finally:
        gc.enable()


def test_a_gang_within_a_gang_runs_in_its_thread():
    inner = np.zeros((2, 5), np.int64)

    def kernel(tid, nt, ctl):
        gang.run(_who, 4, control(), (inner[tid], 1))

    gang.run(kernel, 2, control())
    assert inner.tolist() == [[1, 0, 0, 0, 1]] * 2


def test_callers_in_several_threads_are_served_in_turn():
    rounds, results = 100, []

    def caller():
        ctl, late = control(), np.zeros(32, np.int64)
        for _ in range(rounds):
            gang.run(_phases, 2, ctl, (np.zeros(32, np.int64), late, 3))
        results.append((int(late.sum()), int(ctl[GENERATION] // 2)))

    callers = [threading.Thread(target=caller) for _ in range(3)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join(60)
    assert results == [(0, 6 * rounds)] * 3


@njit(nogil=True)
def _until_stopped(tid, nt, ctl, started):
    """Loop like an engine: one thread samples STOP and publishes it before the barrier."""
    shared = FIRST_FREE
    while True:
        if tid == 0:
            ctl[shared] = atomic_load(ctl, STOP)
        started[0] = 1
        if barrier(ctl, nt) or ctl[shared] != 0:
            return
        if barrier(ctl, nt):
            return
        pause()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_signal_that_raises_stops_the_gang():
    class Alarm(Exception):
        pass

    def on_alarm(number, frame):
        raise Alarm

    previous = signal.signal(signal.SIGALRM, on_alarm)
    ctl, started = control(1), np.zeros(1, np.int64)
    _until_stopped.compile("void(int64, int64, int64[::1], int64[::1])")
    try:
        for _ in range(3):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(Alarm):
                gang.run(_until_stopped, 2, ctl, (started,))
            assert ctl[STOP] == 0 and ctl[ARRIVED] == 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert started[0] == 1


PRELUDE = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
import numpy as np
from numba import njit
from weft.backends.cpu.host import gang
from weft.backends.cpu.runtime.control import FIRST_FREE, STOP, control
from weft.backends.cpu.runtime.names import atomic_add, atomic_load, barrier

@njit(nogil=True)
def count(tid, nt, ctl, calls):
    for _ in range(3):
        if barrier(ctl, nt):
            return
    atomic_add(calls, 0, 1)

@njit(nogil=True)
def endless(tid, nt, ctl, started):
    while True:
        started[0] = 1
        if tid == 0:
            ctl[FIRST_FREE] = atomic_load(ctl, STOP)
        if barrier(ctl, nt) or ctl[FIRST_FREE] != 0 or barrier(ctl, nt):
            return

def counted(nt=2):
    calls = np.zeros(1, np.int64)
    gang.run(count, nt, control(), (calls,))
    return int(calls[0])

assert counted() == 2
"""


def run_script(body: str) -> str:
    """Run a script in a fresh process; it must end well and say nothing on stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRELUDE + body],
        env={**os.environ, "PYTHONPATH": SOURCE, "WEFT_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.skipif(os.name != "posix", reason="signals and fork")
def test_interrupt_and_fork():
    """Ctrl-C ends a long kernel at once, and the pool works after it and in forked children."""
    out = run_script("""
started = np.zeros(1, np.int64)
endless.compile("void(int64, int64, int64[::1], int64[::1])")

def press_ctrl_c():
    while not started[0]:
        time.sleep(0.001)
    pressed.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

for _ in range(3):
    pressed = []
    started[0] = 0
    threading.Thread(target=press_ctrl_c).start()
    try:
        gang.run(endless, 2, control(1), (started,))
    except KeyboardInterrupt:
        print("interrupted", time.perf_counter() - pressed[0] < 1.0)
    print("then", counted())

for _ in range(2):
    child = os.fork()
    if child == 0:
        os._exit(10 + counted(2) + counted(3))
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "parent", counted())

# A fork while another thread holds the pool.
started[0] = 0
busy = control(1)
holder = threading.Thread(target=gang.run, args=(endless, 2, busy, (started,)))
holder.start()
while not started[0]:
    time.sleep(0.001)
child = os.fork()
if child == 0:
    os._exit(20 + counted())
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
busy[STOP] = 1
holder.join()
print("end", counted())
""")
    lines = out.splitlines()
    assert lines == ["interrupted True", "then 2"] * 3 + ["child 15 parent 2"] * 2 + [
        "child 22",
        "end 2",
    ]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_signals_at_any_moment_leave_the_pool_usable():
    """Raise from a timer at moments all over the dispatch; every gang must be complete or none."""
    out = run_script("""
class Alarm(Exception):
    pass

def on_alarm(number, frame):
    raise Alarm

signal.signal(signal.SIGALRM, on_alarm)
calls, ctl, raised = np.zeros(1, np.int64), control(), 0
for i in range(1500):
    delay = 1e-6 * (1 + i % 97)
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        while True:
            gang.run(count, 2, ctl, (calls,))
    except Alarm:
        raised += 1
print(raised, calls[0] % 2, counted(), counted(3))
""")
    assert out.split() == ["1500", "0", "2", "3"]


def test_number_of_threads(monkeypatch):
    monkeypatch.delenv("WEFT_NUM_THREADS", raising=False)
    assert 1 <= num_threads() <= (os.cpu_count() or 1)
    monkeypatch.setenv("WEFT_NUM_THREADS", " 7 ")
    assert gang.num_threads() == 7
    for wrong in ("0", "-1", "two", "1.5", str(MOST + 1), "²"):
        monkeypatch.setenv("WEFT_NUM_THREADS", wrong)
        with pytest.raises(ConfigError, match=r"WEFT_NUM_THREADS=.* Expected an integer from 1"):
            num_threads()


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/a/b\n", {"cpu.max": "max 100000"}, MOST),
        ("0::/a/b\n", {"a/b/cpu.max": "150000 100000", "a/cpu.max": "400000 100000"}, 2),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 1),
        ("0::/not/mounted\n", {"cpu.max": "300000 100000"}, 3),
        (
            "4:memory:/x\n3:cpu,cpuacct:/x\n",
            {
                "cpu,cpuacct/x/cpu.cfs_quota_us": "250000",
                "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
            },
            3,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, MOST),
        ("0::/\n", {"cpu.max": "garbage"}, MOST),
    ],
)
def test_cgroup_quota(tmp_path, membership, files, expected):
    (tmp_path / "cgroup").write_text(membership)
    for name, text in files.items():
        path = tmp_path / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    assert cgroup_quota(tmp_path / "cgroup", tmp_path / "fs") == expected


def test_no_cgroups_is_no_limit(tmp_path):
    assert cgroup_quota(tmp_path / "absent", tmp_path) == MOST


# -- processors ----------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system has no affinities")
def test_as_many_workers_as_processors_have_one_each():
    mine = os.sched_getaffinity(0)

    def allowed(tid, nt, ctl, found):
        found[tid] = os.sched_getaffinity(0)

    def found_by(nt):
        found = {}
        gang.run(allowed, nt, control(), (found,))
        return [found[tid] for tid in range(nt)]

    if len(mine) > 1:
        assert found_by(len(mine)) == [{processor} for processor in sorted(mine)]
    for nt in (len(mine) + 1, *range(2, len(mine))):  # the system places those
        assert found_by(nt) == [mine] * nt
    assert os.sched_getaffinity(0) == mine  # the caller's own are left alone
    try:
        os.sched_setaffinity(0, {min(mine)})
        assert found_by(2) == [{min(mine)}] * 2  # what the caller may use, no more
    finally:
        os.sched_setaffinity(0, mine)
