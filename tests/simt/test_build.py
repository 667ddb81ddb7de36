"""Compiling and running: the cache, what is refused, and how every kind of end is reported."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import numpy as np
import pytest

from damage import damage_file
from weft.backends.cuda.emulator import build
from weft.backends.cuda.emulator.build import Case, Launch, Program, compile_program
from weft.backends.cuda.emulator.report import parse_report
from weft.errors import ConfigError, DeviceError
from weft.storage import cache_dir as cachedir

ENDINGS = """#include "device.cuh"
#include "more.cuh"

__global__ void endless(int n) {
    while (n > 0) asm volatile("");
}

__global__ void crash(int* null) {
    *null = 7;
}

__global__ void fine(int* out, double x, twelve_bytes s) {
    out[weft::thread_id()] = static_cast<int>(x) + s.values[2];
}

__global__ void counted(int* out) {
    weft::sync_block();
    weft::sync_warp(weft::full_mask);
    const int sum = weft::shuffle(weft::full_mask, 1, 0) + weft::shuffle_up(weft::full_mask, 1, 1);
    if (weft::ballot(weft::full_mask, true) == weft::full_mask) weft::atomic_add(out, sum);
    weft::atomic_cas(out + 1, 0, 1);
}
"""
MORE = "struct twelve_bytes { int values[3]; };\n"
KERNELS = ("endless", "crash", "fine", "counted")


@pytest.fixture(scope="module")
def endings(compile_cuda):
    return compile_program(ENDINGS, KERNELS, headers={"more.cuh": MORE})


def run_one(program, launch, **options):
    return program.run([Case({"out": np.zeros(32, np.int32)}, [launch])], **options)


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("WEFT_SIMT_CXX", "no-such-compiler")
    with pytest.raises(DeviceError, match=r"'no-such-compiler' is not on the PATH\. Install"):
        compile_program(ENDINGS, KERNELS)


@pytest.mark.parametrize(("required", "ending"), [("0", "skipped"), ("1", "failed")])
def test_without_a_compiler_tests_are_skipped_or_fail(required, ending, tmp_path):
    """Also those that reach for the emulation without a word; the reason is printed."""
    name = "test_what_ran_before_on_a_graph_does_not_matter"
    variables = {"WEFT_SIMT_CXX": "no-such-compiler", "WEFT_REQUIRE_SIMT": required}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rN", "-p", "no:cacheprovider",
         f"tests/simt/test_directions.py::{name}"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True,
        env={**os.environ, **variables, "WEFT_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert f"1 {ending}" in done.stdout, done.stdout
    assert "needs a C++ compiler, but 'no-such-compiler' is not on the PATH" in done.stdout


def test_values_and_structures_are_passed(endings):
    scalar = np.array([(1, 2, 3)], dtype="i4,i4,i4")[0]
    outcome = run_one(endings, Launch("fine", ("out", np.float64(4), scalar)))
    assert outcome.report is None
    assert (outcome.outputs[0]["out"] == 7).all()


def test_atomics_shuffles_votes_and_barriers_are_counted(endings):
    outcome = run_one(endings, Launch("counted", ("out",), grid=3, block=64))
    assert outcome.outputs[0]["out"][0] == 3 * 64 * 2
    assert outcome.counts == {  # an atomic by each lane, the others by each warp or block
        "atomics": 3 * 64 * 2, "shuffles": 3 * 2 * 2, "votes": 3 * 2, "warp_barriers": 3 * 2,
        "block_barriers": 3, "arcs": 0, "warp_iterations": 0, "searches": 0,
    }  # fmt: skip


def test_a_compiled_program_is_found_again(endings, monkeypatch):
    monkeypatch.setattr(build, "_compile", None)
    again = compile_program(ENDINGS, KERNELS, headers={"more.cuh": MORE})
    assert again.executable == endings.executable


TINY = """#include "device.cuh"

__global__ void seven(int* out) {
    out[weft::thread_id()] = 7;
}
"""


@pytest.fixture
def tiny(compile_cuda, tmp_path, monkeypatch):
    """Compile a small program into an empty cache; return how to do so again."""
    cached = {path.parent.name: path.parent for path in build.build_runtime("none")}
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "cache"))
    for name, path in cached.items():
        shutil.copytree(path, tmp_path / "cache" / "simt" / name)
    commands = []
    compile_ = build._compile
    monkeypatch.setattr(build, "_compile", lambda *a: (commands.append(a[1]), compile_(*a))[1])

    def again():
        """Return the program's answer and what was compiled."""
        commands.clear()
        program = compile_program(TINY, ("seven",))
        outcome = run_one(program, Launch("seven", ("out",)))
        assert outcome.report is None and (outcome.outputs[0]["out"] == 7).all()
        return sorted(set(commands))

    assert again() == ["kernel.cu"]
    assert again() == []
    return again


def cached_files(tmp_path, pattern):
    return sorted(tmp_path.glob(f"cache/simt/{pattern}"))


def test_damaged_programs_are_compiled_again(tiny, tmp_path):
    rng = Random(1)
    for name in ("program", "sums"):
        for _ in range(2):
            (file,) = cached_files(tmp_path, f"program-*/{name}")
            damage_file(file, rng)
            assert tiny() == ["kernel.cu"] and tiny() == []


def test_a_damaged_run_time_is_compiled_again(tiny, tmp_path):
    for pattern in ("runtime-*/*.o", "runtime-*/sums"):
        damage_file(cached_files(tmp_path, pattern)[0], Random(2))
    build.build_runtime("none")
    assert tiny() == []


PLANTED = "#!/bin/sh\necho planted > {}; exit 1\n"


@pytest.mark.skipif(os.name != "posix", reason="owners and modes")
def test_planted_programs_are_not_run(tiny, tmp_path, monkeypatch):
    mark = tmp_path / "planted"
    (file,) = cached_files(tmp_path, "program-*/program")
    file.write_text(PLANTED.format(mark))
    assert tiny() == ["kernel.cu"]
    (file,) = cached_files(tmp_path, "program-*/program")
    file.chmod(0o777)
    assert tiny() == ["kernel.cu"], "others could have written it"
    (folder,) = cached_files(tmp_path, "program-*")
    shutil.rmtree(folder)
    folder.write_text("in the way")
    assert tiny() == ["kernel.cu"]
    (tmp_path / "cache" / "simt").chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (runtime,) = cached_files(tmp_path, "runtime-*")  # takes long to compile
    shutil.copytree(runtime, cachedir.private_temporary() / "simt" / runtime.name)
    with pytest.warns(RuntimeWarning, match="simt' is not used: others can write to it"):
        program = compile_program(TINY, ("seven",))
    assert program.executable.is_relative_to(cachedir.private_temporary().resolve())
    assert not mark.exists()


def test_source_that_does_not_compile(compile_cuda):
    with pytest.raises(DeviceError, match=r"broken\.cu does not compile[\s\S]*broken\.cu:2"):
        compile_program('#include "device.cuh"\nthis is no C++', (), label="broken")


def test_an_endless_kernel_times_out(endings):
    report = run_one(endings, Launch("endless", (np.int32(1),)), timeout_s=0.5).report
    assert report is not None and report.kind == "timeout" and report.places == ()


def test_a_crash_names_the_signal(endings):
    report = run_one(endings, Launch("crash", (np.uint64(0),))).report
    assert report is not None and report.kind == "crash" and "SIGSEGV" in report.message


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        (Launch("fin", ("out",)), "Did you mean 'fine'"),
        (Launch("fine", ("put",)), "buffer='put' is not known. Expected one of 'out'"),
        (Launch("fine", (3,)), "Expected the name of a buffer or a NumPy scalar"),
    ],
)
def test_arguments_are_checked(launch, message, endings):
    with pytest.raises(ConfigError, match=message):
        run_one(endings, launch)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        (Launch("endless", ()), "the number of arguments is not the kernel's"),
        (Launch("endless", (np.int64(0),)), "not of the size of the kernel's argument"),
        (Launch("endless", ("out",)), "a buffer was given where the kernel takes a value"),
        (Launch("endless", (np.int32(0),), block=2000), "expected 1 to 1024 threads"),
        (Launch("endless", (np.int32(0),), 3, cluster=2), "whole clusters"),
        (Launch("endless", (np.int32(0),), 999, cooperative=True), "must run together"),
    ],
)
def test_launches_are_checked(launch, message, endings):
    report = run_one(endings, launch).report
    assert report is not None and report.kind in ("runner", "launch")
    assert message in report.message


def test_an_unknown_sanitizer(compile_cuda):
    with pytest.raises(ConfigError, match="sanitizer='memory' is not known"):
        compile_program(ENDINGS, KERNELS, sanitizer="memory")


def fake_program(tmp_path, body):
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return Program(path, (), "thread")


MAPPING = "echo 'FATAL: ThreadSanitizer: unexpected memory mapping 0x1-0x2' >&2; exit 66"


def test_thread_sanitizer_runs_without_randomised_addresses(tmp_path, monkeypatch):
    # The stand-in fails as ThreadSanitizer does, unless setarch started it.
    (tmp_path / "setarch").write_text('#!/bin/sh\nshift 2\nFIXED=1 exec "$@"\n', encoding="utf-8")
    (tmp_path / "setarch").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    program = fake_program(tmp_path, f'[ "$FIXED" = 1 ] && exit 0; {MAPPING}')
    assert program.run([]).report is None


def test_thread_sanitizer_that_cannot_run_says_why(tmp_path):
    program = fake_program(tmp_path, MAPPING)
    with pytest.raises(DeviceError, match="ThreadSanitizer cannot run on this machine"):
        program.run([])


def test_old_programs_are_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "KEPT_PROGRAMS", 2)
    day = 86400
    for index, age in enumerate((0, day, 2 * day, 3 * day, 60)):
        path = tmp_path / f"program-{index}"
        path.mkdir()
        build.os.utime(path, (10 * day - age, 10 * day - age))
    build._forget_old_programs(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program-0", "program-4"]


ADDRESS_REPORT = """=================================================================
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60b at pc 0x5 bp 0x7 sp 0x7
READ of size 4 at 0x60b thread T0
    #0 0x55d in int weft::simt::load<int>(int const*) /x/simt/simt.h:301
    #1 0x55d in sweep /cache/making-x/sweep.cu:12
    #2 0x55e in weft::simt::fibre_main() /x/simt/schedule.h:150

0x60b is located 0 bytes to the right of 256-byte region [0x60a,0x60b)
allocated by thread T0 here:
    #0 0x7f8 in posix_memalign ../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:226
    #1 0x55e in main /x/elsewhere.cpp:90
"""


def test_places_are_those_of_the_kernel():
    report = parse_report(ADDRESS_REPORT, case=3)
    assert (report.kind, report.file, report.line) == ("heap-buffer-overflow", "sweep.cu", 12)
    assert report.places == (("sweep.cu", 12),)
    assert str(report).startswith("heap-buffer-overflow at sweep.cu:12 in case 3: ")


def test_text_that_is_no_report():
    report = parse_report("killed\n", case=0)
    assert (report.kind, report.message, report.line) == ("failed", "killed", None)
