"""A time limit for callers that only need to know whether a run is fast enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft.errors import TimeLimitError


class TimeLimit:
    """Seconds that the runs of a call may take together; compiling and building do not count.

    Parameters
    ----------
    seconds
        The limit; infinite by default.
    clock
        What gives the time.

    Attributes
    ----------
    spent_s
        What the runs have taken so far.
    """

    def __init__(
        self, seconds: float = float("inf"), clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.seconds, self.clock = seconds, clock
        self.spent_s = 0.0
        self._began: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time inside the block."""
        self._began = self.clock()
        try:
            yield
        finally:
            self.spent_s += self.clock() - self._began
            self._began = None

    @property
    def left_s(self) -> float:
        """The remaining seconds."""
        now = 0.0 if self._began is None else self.clock() - self._began
        return self.seconds - self.spent_s - now

    def check(self) -> None:
        """Raise if nothing is left.

        Raises
        ------
        TimeLimitError
            Then the contents of the state are unspecified.
        """
        if self.left_s < 0:
            raise TimeLimitError(f"the run took longer than {self.seconds:.3g} s.")
