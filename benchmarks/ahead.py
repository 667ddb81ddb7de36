"""Compile the programs of later measurements in other processes during earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

WORKERS = 12


class NotCompiled(Exception):
    """A run reached a program that is not compiled yet."""


class Ahead:
    """Background compilations for one device; without a GPU, nothing is compiled."""

    def __init__(self, device: str) -> None:
        self.driver: Any = None
        self.troubles: list[str] = []
        if device.startswith("cuda"):
            from weft.backends.cuda.drivers import driver_of

            self.driver = driver_of("cuda", 0)
            self._compiler = self.driver.compiler()
            self._threads = ThreadPoolExecutor(WORKERS)
            self._begun: dict[str, Future[None]] = {}

    def begin(self, calls: Iterable[Callable[[], Any]]) -> list[Future[None]]:
        """Start compiling the first program that each call reaches."""
        if self.driver is None:
            return []
        found: list[Future[None]] = []
        plain = self.driver.compile

        def note(source: str, kernels: Any, headers: Any) -> Any:
            if source not in self._begun:
                self._begun[source] = self._threads.submit(
                    self._compiler.compile, source, kernels, headers
                )
            future = self._begun[source]
            found.append(future)
            if future.done() and future.exception() is None:
                return plain(source, kernels, headers)
            raise NotCompiled

        self.driver.compile = note
        try:
            for call in calls:
                try:
                    call()
                except NotCompiled:
                    continue
                except Exception as error:  # the measurement reports it if it fails there too
                    self.troubles.append(f"{type(error).__name__}: {str(error)[:100]}")
        finally:
            del self.driver.compile
        return found

    def close(self) -> None:
        """Cancel compilations that have not finished."""
        if self.driver is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._compiler.close()
            self._threads.shutdown(wait=True)
