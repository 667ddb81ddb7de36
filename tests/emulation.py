"""What becomes of a test that needs the host emulation where there is no compiler for it.

It is skipped, and the reason is printed at the end of the run; where ``WEFT_REQUIRE_SIMT=1`` is
set, it fails.
"""

import os

import pytest

REASON = "host emulation not tested: "
NO_COMPILER = "the SIMT emulation needs a C++ compiler"
skips: set[str] = set()


def missing(problem: str) -> None:
    """Skip the test with the reason, or fail where the emulation is required."""
    if os.environ.get("WEFT_REQUIRE_SIMT") == "1":
        pytest.fail(f"WEFT_REQUIRE_SIMT=1, but: {problem}")
    skips.add(problem)
    pytest.skip(REASON + problem)


def lacks_compiler(error: BaseException | None) -> bool:
    """Whether a test ended for want of a compiler, also where it said so in words of its own."""
    while error is not None:
        if NO_COMPILER in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
