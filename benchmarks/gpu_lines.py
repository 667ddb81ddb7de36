"""Run a process and read its output line by line, with a time limit."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class SilentError(Exception):
    """A process printed nothing within its time limit."""


class Lines:
    """A Python process that runs a script of this repository, weft on its path."""

    def __init__(self, script: Path, *arguments: str) -> None:
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, text=True,
            cwd=ROOT, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def next(self, seconds: float) -> str | None:
        """Return the next line, None after the last; raise `SilentError` on a timeout."""
        deadline = time.perf_counter() + seconds
        try:
            return self._lines.get(timeout=max(0.01, deadline - time.perf_counter()))
        except queue.Empty:
            raise SilentError from None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
