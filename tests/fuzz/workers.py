"""Processes that run cases, so that a crash costs one case and not the run."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import wait

from .cases import Outcome, run_case

_CONTEXT = multiprocessing.get_context("spawn")
PATIENCE_S = 300.0
"""A case that takes longer is a failure: it hangs, or nearly so."""


def _serve(connection, device: str) -> None:
    """Run the cases that arrive until the other end closes."""
    while True:
        try:
            cases = connection.recv()
        except EOFError:
            return
        for kind, seed in cases:
            connection.send(run_case(kind, seed, device))


class Worker:
    """A process and the cases that it has been given and has not answered yet."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.pending: list[tuple[str, int]] = []
        self._start()

    def _start(self) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(theirs, self.device), daemon=True)
        self.process.start()
        theirs.close()
        self.heard = time.monotonic()

    def give(self, cases: list[tuple[str, int]]) -> None:
        """Hand over some cases."""
        self.pending = list(cases)
        self.heard = time.monotonic()
        if cases:
            self.connection.send(self.pending)

    def answer(self) -> Outcome:
        """Return the next outcome; the case during which the process died is a failure."""
        try:
            outcome = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(10.0)
            return self.replace()
        self.pending.pop(0)
        self.heard = time.monotonic()
        return outcome

    def replace(self) -> Outcome:
        """Start a new process for the cases after the one that ended or held up this one."""
        late = self.process.is_alive()
        if late:
            self.process.kill()
        self.process.join()
        code = self.process.exitcode
        text = f"no result within {PATIENCE_S:.0f} s" if late else f"the process died: exit {code}"
        kind, seed = self.pending.pop(0)
        self.connection.close()
        self._start()
        self.give(self.pending)
        return Outcome(kind, seed, "different", text)

    def close(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.terminate()
        self.process.join()


def run_all(
    batches: Iterable[list[tuple[str, int]]], jobs: int, device: str, deadline: float
) -> Iterator[Outcome]:
    """Yield the outcome of every case of the batches, in the order in which they are ready.

    Nothing is begun after the deadline (of `time.monotonic`); what was begun is finished.
    """
    waiting = iter(batches)
    workers = [Worker(device) for _ in range(jobs)]
    try:
        while True:
            for worker in workers:
                if not worker.pending and time.monotonic() < deadline:
                    worker.give(next(waiting, []))
            busy = {worker.connection: worker for worker in workers if worker.pending}
            if not busy:
                return
            for connection in wait(list(busy), timeout=1.0):
                yield busy[connection].answer()
            for worker in busy.values():
                if worker.pending and time.monotonic() - worker.heard > PATIENCE_S:
                    yield worker.replace()
    finally:
        for worker in workers:
            worker.close()
