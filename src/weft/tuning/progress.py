"""A progress bar with the remaining time and the best trial so far, on a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from weft.tuning.measuring import Trial


class ProgressBar:
    """Shows the progress of a search on standard error; does nothing if that is not a terminal.

    Parameters
    ----------
    title
        The title of the bar.
    budget_s
        How long it may take.
    wanted
        Whether to show it; None where standard error is a terminal.
    """

    def __init__(self, title: str, budget_s: float, wanted: bool | None = None) -> None:
        self.title, self.budget_s = title, budget_s
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> ProgressBar:
        if self.wanted:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),
                TimeRemainingColumn(compact=True),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self.title, total=self.budget_s)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, seconds: float, tried: int, best: Trial, default: Trial) -> None:
        """Show the state of the search."""
        if self._bar is None:
            return
        chosen = ", ".join(f"{name}={value}" for name, value in best.config.given().items())
        told = (
            f"{self.title}: {tried} tried, best {best.ms:.3f} ms "
            f"({default.ms / best.ms:.2f}× the default) {chosen or 'the default itself'}"
        )
        self._bar.update(self._task, completed=min(seconds, self.budget_s), description=told[:160])
