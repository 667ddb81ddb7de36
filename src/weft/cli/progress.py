"""A progress line with a clock for long work, on terminals only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DELAY_S = 0.5


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show `what` and the elapsed time on standard error, once it takes longer than `DELAY_S`."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    shown.add_task(what, total=None)
    timer = threading.Timer(DELAY_S, shown.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        shown.stop()
