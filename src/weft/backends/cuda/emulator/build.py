"""Compile CUDA kernels with the host compiler and run them, many cases per process.

A kernel's source includes ``device.cuh`` and becomes an executable together with the emulation's
run-time. Sanitizers decide what is looked for:

- ``"none"``: only what the emulation itself reports (barriers, masks, deadlocks);
- ``"address"``: AddressSanitizer and UndefinedBehaviorSanitizer;
- ``"thread"``: ThreadSanitizer, which sees every missing barrier or fence.

Compiled files are cached with their checksums. What is damaged, or could have been written by
another user, is compiled again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from weft.backends.cuda.emulator.cases import Case, Launch, decode, encode
from weft.backends.cuda.emulator.report import SOURCES, Report, parse_counts, parse_report
from weft.errors import ConfigError, DeviceError, unknown
from weft.storage.cache_dir import cache_dir
from weft.storage.sealed import read_own, read_sealed, remove, seal, write_sealed

HERE = Path(__file__).parent
DEVICE = HERE.parent / "runtime"  # holds device.cuh
COMPILED = ("simt.cpp", "runner.cpp")
KEPT_PROGRAMS = 256
SUMS = "sums"  # the file with the checksums of those beside it

__all__ = ["Case", "Launch", "Outcome", "Program", "Report", "build_runtime", "compile_program"]

SANITIZERS = {
    "none": (),
    "address": ("-fsanitize=address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover=all"),
    "thread": ("-fsanitize=thread",),
}
DEFINES = {
    "none": (),
    "address": ("-DWEFT_SIMT_ADDRESS",),
    "thread": ("-DWEFT_SIMT_THREAD",),
}
COMMON_FLAGS = ("-std=c++17", "-g1", "-fno-omit-frame-pointer", "-fcf-protection=none")
# Kernels run for milliseconds and compile for seconds.
KERNEL_FLAGS = ("-O0", "-fno-exceptions", "-fno-rtti", "-ffp-contract=off", "-x", "c++")
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=66:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=66",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:atexit_sleep_ms=0:report_thread_leaks=0",
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of running cases: the buffers of completed ones, and what stopped the next one.

    `counts` has what the emulation counted in all cases, where none was stopped.
    """

    outputs: list[dict[str, np.ndarray]] = field(default_factory=list)
    report: Report | None = None
    counts: dict[str, int] = field(default_factory=dict)


def compiler() -> str:
    """Return the path of the host compiler, ``$WEFT_SIMT_CXX`` or g++.

    Raises
    ------
    DeviceError
        If there is none.
    """
    wanted = os.environ.get("WEFT_SIMT_CXX") or "g++"
    found = shutil.which(wanted)
    if found is None:
        raise DeviceError(
            f"the SIMT emulation needs a C++ compiler, but {wanted!r} is not on the PATH. Install "
            "g++ (Debian, Ubuntu: apt install g++) or set WEFT_SIMT_CXX."
        )
    return found


@functools.cache
def _version(path: str) -> str:
    command = [path, "-dumpfullversion", "-dumpmachine"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _compile(command: Sequence[str], what: str, directory: Path) -> None:
    done = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        raise DeviceError(f"{what} does not compile: {' '.join(command)}\n{done.stderr.strip()}")


def _digest(parts: Iterable[object]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode() + b"\0")
    return digest.hexdigest()[:24]


def _install(directory: Path, target: Path, made: Sequence[str]) -> None:
    """Move a finished directory to its place; another process may have been faster.

    Parameters
    ----------
    directory, target
        What to move, and where to.
    made
        The files in it that will be used.
    """
    for name in made:
        (directory / name).chmod(0o700)  # the umask may have let others write
    write_sealed(directory / SUMS, _sums(directory, made, target.name) or b"")
    try:
        os.replace(directory, target)
    except OSError:
        if _is_whole(target, made):
            return
        remove(target)
        os.replace(directory, target)


def _is_whole(directory: Path, made: Sequence[str]) -> bool:
    """Whether files are what `_install` put there."""
    sums = read_sealed(directory / SUMS)
    return sums is not None and sums == _sums(directory, made, directory.name)


def _sums(directory: Path, made: Sequence[str], title: str) -> bytes | None:
    """Return the checksums of files, or None if one cannot be read or others can write it."""
    sums = b""
    for name in made:
        content = read_own(directory / name)
        if content is None:
            return None
        sums += seal(f"{title}/{name}", content)
    return sums


def _check_sanitizer(sanitizer: str) -> None:
    if sanitizer not in SANITIZERS:
        raise ConfigError(unknown("sanitizer", sanitizer, SANITIZERS))


def build_runtime(sanitizer: str, *, defines: tuple[str, ...] = ()) -> list[Path]:
    """Return the object files of the emulation's run-time, compiled unless the cache has them.

    Only the kernels are instrumented. The run-time passes the required facts to the sanitizers.
    """
    _check_sanitizer(sanitizer)
    cxx = compiler()
    flags = (*COMMON_FLAGS, "-O2", "-I", str(DEVICE), *DEFINES[sanitizer], *defines)
    texts = [path.read_text(encoding="utf-8") for path in SOURCES]
    target = cache_dir("simt").resolve() / f"runtime-{_digest([cxx, _version(cxx), flags, texts])}"
    objects = [target / f"{Path(name).stem}.o" for name in COMPILED]
    names = [path.name for path in objects]
    if _is_whole(target, names):
        return objects
    work = Path(tempfile.mkdtemp(prefix="making-", dir=target.parent))
    try:
        for name, path in zip(COMPILED, objects, strict=True):
            _compile([cxx, *flags, "-c", str(HERE / name), "-o", path.name], name, work)
        _install(work, target, names)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return objects


def _with_table(source: str, kernels: Sequence[str]) -> str:
    """Return the source followed by the table of its kernels; its own lines keep their numbers."""
    entries = ", ".join(f'weft::simt::Entry<&{name}>::named("{name}")' for name in kernels)
    return (
        f"{source}\n"
        f"const weft::simt::Kernel weft::simt::kernels[] = {{{entries}}};\n"
        f"const weft::u32 weft::simt::num_kernels = {len(kernels)};\n"
    )


def compile_program(
    source: str,
    kernels: Sequence[str],
    *,
    sanitizer: str = "none",
    label: str = "kernel",
    headers: Mapping[str, str] | None = None,
    runtime_defines: tuple[str, ...] = (),
) -> Program:
    """Compile CUDA source for the host.

    Parameters
    ----------
    source
        The text. It includes ``"device.cuh"``, perhaps files of `headers`, and nothing else.
    kernels
        What can be launched: names, or expressions such as ``"sweep<8>"``.
    sanitizer
        One of ``"none"``, ``"address"``, ``"thread"``.
    label
        The name of the source file in reports, without ``.cu``.
    headers
        Texts of included files by name.
    runtime_defines
        Options for the run-time's own compilation; ``-DWEFT_SIMT_UCONTEXT`` switches fibres by the
        C library instead of by machine code.

    Raises
    ------
    DeviceError
        If there is no compiler, or the source does not compile.
    """
    objects = build_runtime(sanitizer, defines=runtime_defines)
    cxx = compiler()
    flags = (*COMMON_FLAGS, *DEFINES[sanitizer], *SANITIZERS[sanitizer])
    text = _with_table(source, kernels)
    included = sorted((headers or {}).items())
    parts = [str(objects[0].parent), flags, KERNEL_FLAGS, text, label, included]
    target = cache_dir("simt").resolve() / f"program-{_digest(parts)}"
    executable = target / "program"
    if not _is_whole(target, [executable.name]):
        files = {f"{label}.cu": text, **dict(included)}
        compiling = [
            cxx,
            *flags,
            *KERNEL_FLAGS,
            "-I",
            ".",
            "-I",
            str(HERE),
            "-I",
            str(DEVICE),
            "-c",
            f"{label}.cu",
        ]
        linking = [cxx, *SANITIZERS[sanitizer], *map(str, objects)]
        _build_program(target, files, compiling, linking)
        _forget_old_programs(target.parent)
    with contextlib.suppress(OSError):
        os.utime(target)
    return Program(executable, tuple(kernels), sanitizer)


def _build_program(
    target: Path, files: Mapping[str, str], compiling: list[str], linking: list[str]
) -> None:
    """Compile the first of the files to ``target/program``."""
    name = next(iter(files))
    work = Path(tempfile.mkdtemp(prefix="making-", dir=target.parent))
    try:
        for path, content in files.items():
            (work / path).write_text(content, encoding="utf-8")
        _compile([*compiling, "-o", "kernel.o"], name, work)
        _compile([*linking, "kernel.o", "-o", "program"], name, work)
        (work / "kernel.o").unlink()
        _install(work, target, ["program"])
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _forget_old_programs(directory: Path) -> None:
    """Keep the programs that were used last, and always those of the last hour."""
    ages = []
    for path in directory.glob("program-*"):
        with contextlib.suppress(OSError):
            ages.append((path.stat().st_mtime, path))
    ages.sort(reverse=True)
    if not ages:
        return
    recent = ages[0][0] - 3600
    for modified, path in ages[KEPT_PROGRAMS:]:
        if modified < recent:
            shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True)
class Program:
    """An executable that runs the kernels of one source."""

    executable: Path
    kernels: tuple[str, ...]
    sanitizer: str

    def run(self, cases: Sequence[Case], *, timeout_s: float = 60.0) -> Outcome:
        """Run the cases one after another in one process, up to the first that is reported."""
        with tempfile.TemporaryDirectory(prefix="weft-simt-") as directory:
            asked = Path(directory) / "cases"
            answer = Path(directory) / "results"
            asked.write_bytes(encode(cases, self.kernels))
            answer.touch()
            command = [str(self.executable), str(asked), str(answer)]
            code, text = _execute(command, self.sanitizer, timeout_s)
            outputs = decode(cases, answer.read_bytes())
        if code == 0:
            return Outcome(outputs, counts=parse_counts(text))
        return Outcome(outputs, parse_report(_reason(code, timeout_s) + text, len(outputs)))


def _execute(command: list[str], sanitizer: str, timeout_s: float) -> tuple[int | None, str]:
    """Run a program; return its exit code (None: it took too long) and what it wrote to stderr."""
    code, text = _run(command, timeout_s)
    if sanitizer == "thread" and "unexpected memory mapping" in text:
        # The kernel spreads mappings wider than this ThreadSanitizer expects: ask for none of it.
        code, text = _run(["setarch", platform.machine(), "-R", *command], timeout_s)
        if "unexpected memory mapping" in text or "setarch" in text:
            raise DeviceError(
                "ThreadSanitizer cannot run on this machine: the kernel randomises more of the "
                "address space than it supports, and that cannot be switched off for one process "
                f"({text.strip()[:200]}). Lower it with 'sysctl vm.mmap_rnd_bits=28'."
            )
    return code, text


def _run(command: list[str], timeout_s: float) -> tuple[int | None, str]:
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **OPTIONS},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return None, (late.stderr or b"").decode(errors="replace")
    except FileNotFoundError as error:
        return 127, f"{error.filename}: not found"
    return done.returncode, done.stderr.decode(errors="replace")


def _reason(code: int | None, timeout_s: float) -> str:
    """Return a line about an end that the program itself could not report."""
    if code is None:
        return f"weft-simt: ended: timeout: no end within {timeout_s:g} s\n"
    if code < 0:
        return f"weft-simt: ended: crash: {signal.Signals(-code).name}\n"
    return ""
