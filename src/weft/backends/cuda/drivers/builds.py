"""Two builds of a source: a quick one that runs at once, and the full one that replaces it.

Optimisation takes most of the time of a compilation. A program that is compiled for a small graph
therefore starts on code that is hardly optimised, while another process builds the full code into
the cache; a later call takes it from there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

VARIABLE = "WEFT_QUICK_BUILD"


def quick_allowed() -> bool:
    """Whether the environment allows quick builds; `WEFT_QUICK_BUILD=off` does not."""
    return os.environ.get(VARIABLE) != "off"


class Successor:
    """The full build of a source on its way; it is `ready` once the cache has it."""

    def __init__(self, build: Callable[[], None]) -> None:
        self.ready = False
        self._build = build
        # The interpreter does not wait for a daemon when it ends. The process that compiles
        # finishes what it has begun, so that the next process finds the full build.
        self._thread = threading.Thread(target=self._run, name="weft-full-build", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._build()
        except Exception:  # the quick build is right, too: it stays
            return
        self.ready = True

    def wait(self) -> None:
        """Wait until the build has ended, whether or not it succeeded."""
        self._thread.join()
