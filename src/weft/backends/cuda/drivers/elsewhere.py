"""Compilation by NVRTC in processes of its own, into the cache that all processes share.

NVRTC compiles one program at a time in a process. Run as a module, this file is such a process: it
reads sources from its standard input, one after another, and answers each on its standard output.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from weft.errors import DeviceError

SOURCE = Path(__file__).parents[4]
NICENESS = 10  # of the processes: timed ones come first


class Elsewhere:
    """Compiles in other processes: as many as there are threads that call it.

    Parameters
    ----------
    architecture
        What to compile for, such as ``"sm_90"``.
    """

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []

    def compile(self, source: str, kernels: Sequence[str], headers: Mapping[str, str]) -> None:
        """Compile a source unless the cache has it.

        Raises
        ------
        DeviceError
            If it does not compile, or the process ended.
        """
        process = self._take()
        assert process.stdin is not None and process.stdout is not None
        try:
            _send(process.stdin, (source, tuple(kernels), dict(headers), self.architecture))
            trouble = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.PickleError) as error:
            process.kill()
            raise DeviceError(f"a process that compiles has ended: {error}") from error
        with self._lock:
            self._idle.append(process)
        if trouble:
            raise DeviceError(trouble)

    def _take(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the waiting process
        )
        with self._lock:
            self._all.append(process)
        return process

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            processes, self._all, self._idle = self._all, [], []
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate()


def _send(file: IO[bytes], value: Any) -> None:
    pickle.dump(value, file)
    file.flush()


def serve(asked: IO[bytes], answers: IO[bytes]) -> None:
    """Compile what is asked until there is no more; answer with what went wrong, or nothing."""
    from weft.backends.cuda.drivers.gpu import fill_cache

    while True:
        try:
            order = pickle.load(asked)
        except EOFError:
            return
        try:
            fill_cache(*order)
            trouble = ""
        except Exception as error:
            trouble = f"{type(error).__name__}: {error}"
        _send(answers, trouble)


if __name__ == "__main__":
    os.nice(NICENESS)
    serve(sys.stdin.buffer, sys.stdout.buffer)
