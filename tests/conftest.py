"""Settings that every test shares."""

import os

import pytest
from hypothesis import HealthCheck, settings

import emulation
from weft.backends.cuda.emulator import build
from weft.errors import DeviceError

# What was tuned on this machine must not choose what is tested.
os.environ.setdefault("WEFT_TUNINGS", "off")
# Compiled kernels are to be tested on small graphs too.
os.environ.setdefault("WEFT_EVALUATE", "off")

# Compiling takes seconds, so no example is judged by the clock.
settings.register_profile(
    "weft", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("weft"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "weft")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip what reached for the emulation where it cannot be had."""
    try:
        return (yield)
    except Exception as error:
        try:
            build.compiler()
        except DeviceError as problem:
            if emulation.lacks_compiler(error):
                emulation.missing(str(problem))
        raise


def pytest_terminal_summary(terminalreporter):
    for problem in sorted(emulation.skips):
        terminalreporter.write_line(emulation.REASON + problem)
