"""Programs for the host emulation, compiled once per run; skipped where there is no compiler."""

import os
from pathlib import Path

import pytest

from weft.backends.cuda.simt import build
from weft.errors import DeviceError

HERE = Path(__file__).parent
REASON = "host emulation not tested: "
_skips: set[str] = set()


def _missing(error: DeviceError) -> None:
    """Skip the test with the reason, or fail where the emulation is required."""
    if os.environ.get("WEFT_REQUIRE_SIMT") == "1":
        pytest.fail(f"WEFT_REQUIRE_SIMT=1, but: {error}")
    _skips.add(str(error))
    pytest.skip(REASON + str(error))


def pytest_terminal_summary(terminalreporter):
    for reason in sorted(_skips):
        terminalreporter.write_line(REASON + reason)


@pytest.fixture(scope="session")
def compile_cuda():
    """Return a function that compiles one of the .cu files here: name, kernels, sanitizer."""
    try:
        build.compiler()
    except DeviceError as error:
        _missing(error)
    programs = {}

    def compile_file(name, kernels, sanitizer):
        key = name, sanitizer
        if key not in programs:
            source = (HERE / f"{name}.cu").read_text(encoding="utf-8")
            programs[key] = build.compile_program(source, kernels, sanitizer=sanitizer, label=name)
        return programs[key]

    return compile_file


@pytest.fixture(scope="session")
def compile_cubin():
    """Return the function that compiles CUDA for a GPU, which need not be there."""
    try:
        from weft.backends.cuda.drivers.gpu import compile_cubin, nvrtc_version

        nvrtc_version()
    except (ImportError, RuntimeError) as error:
        _missing(DeviceError(f"NVRTC cannot be loaded ({error}). Install weft[test]."))
    return compile_cubin


@pytest.fixture(scope="session")
def run_cases():
    """Return a function that runs cases to their end and returns the outputs."""

    def run(program, cases):
        try:
            outcome = program.run(cases)
        except DeviceError as error:
            _missing(error)
        if outcome.report is not None:
            pytest.fail(f"{outcome.report}\n{outcome.report.text}")
        return outcome.outputs

    return run
