"""Programs for the host emulation, compiled once per run; skipped where there is no compiler."""

from pathlib import Path

import pytest

from emulation import missing
from weft.backends.cuda.emulator import build
from weft.errors import DeviceError

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def compile_cuda():
    """Return a function that compiles one of the .cu files here: name, kernels, sanitizer."""
    try:
        build.compiler()
    except DeviceError as error:
        missing(str(error))
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
        missing(f"NVRTC cannot be loaded ({error}). Install weft[test].")
    return compile_cubin


@pytest.fixture(scope="session")
def run_cases():
    """Return a function that runs cases to their end and returns the outputs."""

    def run(program, cases):
        try:
            outcome = program.run(cases)
        except DeviceError as error:
            missing(str(error))
        if outcome.report is not None:
            pytest.fail(f"{outcome.report}\n{outcome.report.text}")
        return outcome.outputs

    return run
