"""doctor: report what weft finds on a machine, and what to install for the rest.

Probes are independent: one that fails becomes a line of the report, never an exception.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata

from weft.arrays import device as devices
from weft.storage import cache_dir as cachedir

OLDEST_JAVA = 17
OK, MISSING, NOTE = "ok", "missing", "note"
_MARKS = {OK: "[ok]", MISSING: "[--]", NOTE: "[  ]"}


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes
    ----------
    name
        What was checked.
    status
        "ok", "missing", or "note" for something optional or not available on this machine.
    detail
        What was found, or what is wrong.
    remedy
        The command or step that fixes it; empty if there is nothing to do.
    needed
        Whether weft needs it to run on the CPU.
    """

    name: str
    status: str
    detail: str
    remedy: str = ""
    needed: bool = False

    def __str__(self) -> str:
        line = f"{_MARKS[self.status]:<5}{self.name:<16} {self.detail}"
        return f"{line}\n{'':<22}-> {self.remedy}" if self.remedy else line


def examine() -> list[Finding]:
    """Run all probes and return their findings in print order; never raises."""
    findings: list[Finding] = []
    for name, needed, probe in _PROBES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                findings += probe()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            findings.append(Finding(name, MISSING, problem, needed=needed))
    return findings


def works(findings: Iterable[Finding]) -> bool:
    """Whether weft runs on the CPU, according to the findings."""
    return not any(finding.needed and finding.status == MISSING for finding in findings)


def report(findings: Iterable[Finding]) -> str:
    """Return the findings as text, with a summary."""
    found = list(findings)
    lines = [str(finding) for finding in found]
    gpu = any(f.name.startswith("GPU ") and f.status == OK for f in found)
    cpu_text = "works" if works(found) else "does not work"
    gpu_text = "can be used: g.to('cuda')" if gpu else "cannot be used"
    lines.append(f"\nThe CPU {cpu_text}. A GPU {gpu_text}.")
    return "\n".join(lines)


def _python() -> list[Finding]:
    version = platform.python_version()
    where = f"{version} ({sys.executable}), {platform.system()} {platform.machine()}"
    if sys.version_info < (3, 11):  # noqa: UP036
        return [Finding("Python", MISSING, where, "install Python 3.11 or newer", needed=True)]
    return [Finding("Python", OK, where, needed=True)]


def _package(module: str, package: str, remedy: str = "") -> Callable[[], list[Finding]]:
    def probe() -> list[Finding]:
        remedy_text = remedy or f"pip install {package}"
        if not devices.has_module(module):
            return [Finding(package, MISSING, "not installed", remedy_text, needed=True)]
        try:
            importlib.import_module(module)
        except Exception as error:
            reinstall = f"pip install --force-reinstall {package}"
            return [Finding(package, MISSING, f"cannot be imported: {error}", reinstall, True)]
        return [Finding(package, OK, metadata.version(package), needed=True)]

    return probe


def _threads() -> list[Finding]:
    from weft.arrays.threads import num_threads

    return [Finding("CPU threads", OK, f"{num_threads()} of {os.cpu_count()}", needed=True)]


def _cache() -> list[Finding]:
    findings = []
    for part, directory, problem in cachedir.refusals():
        detail = f"{directory} is not used: {problem}; weft uses {cachedir.used_dir(part)} instead"
        findings.append(Finding("cache directory", NOTE, detail, cachedir.REMEDY))
    return findings or [Finding("cache directory", OK, str(cachedir.wanted_dir()))]


def _trial() -> list[Finding]:
    """Compile and run a small search to prove that the CPU works."""
    from weft.algorithms.bfs import bfs
    from weft.generators import path

    if bfs(path(3), 0).level.tolist() != [0, 1, 2]:
        return [Finding("trial run", MISSING, "gave a wrong result", "report this", needed=True)]
    return [Finding("trial run", OK, "a search on the CPU gave the right result", needed=True)]


def _compiler() -> list[Finding]:
    wanted = os.environ.get("WEFT_SIMT_CXX") or "g++"
    found = shutil.which(wanted)
    if found is None:
        what = f"{wanted} not found; only device='emulated' and tests need it"
        return [Finding("g++", NOTE, what, "apt install g++")]
    done = subprocess.run([found, "-dumpfullversion"], capture_output=True, text=True, timeout=20)
    return [Finding("g++", OK, f"{done.stdout.strip() or 'of unknown version'} ({found})")]


def _spark() -> list[Finding]:
    """Report pyspark and Java, which only graphs on Spark need."""
    findings = []
    if devices.has_module("pyspark"):
        findings.append(Finding("pyspark", OK, metadata.version("pyspark")))
    else:
        what = "not installed; only weft.spark needs it"
        findings.append(Finding("pyspark", NOTE, what, "pip install 'weft[spark]'"))
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    remedy = "install Java 17 or newer, on Debian: apt install default-jre-headless"
    if found is None:
        return [*findings, Finding("Java", NOTE, "not found; only weft.spark needs it", remedy)]
    done = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=20)
    version = re.search(r'version "(\d+)[^"]*"', done.stderr + done.stdout)
    if version is None or int(version[1]) < OLDEST_JAVA:
        told = version[0] if version else "of unknown version"
        return [*findings, Finding("Java", NOTE, f"{told} ({found}), too old for Spark 4", remedy)]
    return [*findings, Finding("Java", OK, f"{version[0][9:-1]} ({found})")]


def _driver() -> list[Finding]:
    version = devices.driver_version()
    if version is None:
        remedy = f"install one from {devices.DRIVER_PAGE}"
        return [Finding("NVIDIA driver", NOTE, "not found (libcuda.so.1)", remedy)]
    text = f"supports CUDA {version // 1000}.{version % 1000 // 10}"
    if version < devices.OLDEST_DRIVER:
        remedy = f"update it from {devices.DRIVER_PAGE}"
        return [Finding("NVIDIA driver", MISSING, f"{text}, too old", remedy)]
    return [Finding("NVIDIA driver", OK, text)]


def _cuda_packages() -> list[Finding]:
    version = devices.driver_version()
    absent = NOTE if version is None else MISSING
    command = devices.install_command(version)
    findings = []
    for name, module in (("CuPy", "cupy"), ("cuda-core", "cuda.core"), ("NVRTC", "cuda.bindings")):
        if not devices.has_module(module):
            findings.append(Finding(name, absent, "not installed", command))
            continue
        try:
            findings.append(Finding(name, OK, _cuda_version(module)))
        except Exception as error:
            findings.append(Finding(name, MISSING, f"{type(error).__name__}: {error}", command))
    return findings


def _cuda_version(module: str) -> str:
    if module == "cuda.bindings":
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        _, major, minor = nvrtc.nvrtcVersion()
        return f"{major}.{minor}"
    return str(importlib.import_module(module).__version__)


def _gpus() -> list[Finding]:
    if devices.driver_version() is None or not devices.has_module("cupy"):
        return []
    findings = []
    for index in range(devices.gpu_count()):
        gpu = devices.gpu_facts(index)
        capability = f"{gpu.capability[0]}.{gpu.capability[1]}"
        memory = devices.bytes_text(gpu.memory_bytes)
        text = f"{gpu.name}, compute capability {capability}, {memory}"
        problem = devices.cuda_problem(index)
        status, remedy = (OK, "") if problem is None else (MISSING, problem)
        findings.append(Finding(f"GPU {index}", status, text, remedy))
    if not findings:
        hint = "check nvidia-smi and CUDA_VISIBLE_DEVICES"
        findings.append(Finding("GPU", MISSING, "the driver sees none", hint))
    return findings


_PROBES: tuple[tuple[str, bool, Callable[[], list[Finding]]], ...] = (
    ("Python", True, _python),
    ("numpy", True, _package("numpy", "numpy")),
    ("scipy", True, _package("scipy", "scipy")),
    ("numba", True, _package("numba", "numba")),
    ("CPU threads", True, _threads),
    ("cache directory", False, _cache),
    ("trial run", True, _trial),
    ("g++", False, _compiler),
    ("Spark", False, _spark),
    ("NVIDIA driver", False, _driver),
    ("CUDA packages", False, _cuda_packages),
    ("GPU", False, _gpus),
)
