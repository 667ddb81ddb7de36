"""Compiles programs that may run next, while others run."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from weft.backends.cuda.drivers import driver_of
from weft.backends.cuda.host.run import compile_program
from weft.ir.request import Request

MOST_WORKERS = 12
LEFT = 4  # processors left to other threads: one that waits for a GPU must wake at once


class Ahead:
    """The background compilations on one device.

    Parameters
    ----------
    kind, index
        The device.
    workers
        How many sources are compiled at once; by default as many as leave a few processors.
    """

    def __init__(self, kind: str, index: int = 0, workers: int | None = None) -> None:
        self.driver = driver_of(kind, index)
        spare = len(os.sched_getaffinity(0)) - LEFT
        self.workers = workers or max(1, min(MOST_WORKERS, spare))
        self._compiler = self.driver.compiler()
        self._threads = ThreadPoolExecutor(self.workers, "weft-compiling")
        self._begun: dict[str, Future[None]] = {}

    def begin(self, request: Request) -> Future[None]:
        """Begin to compile a request's program; those of one source are one.

        Raises
        ------
        ConfigError
            If the program is not possible under the request's options.
        """
        rendered: Any = compile_program(request)[0].rendered
        found = self._begun.get(rendered.source)
        if found is None:
            found = self._threads.submit(
                self._compiler.compile, rendered.source, rendered.kernels, rendered.headers
            )
            self._begun[rendered.source] = found
        return found

    def close(self) -> None:
        """Cancel pending compilations."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._compiler.close()
        self._threads.shutdown(wait=True)
