"""Checkpoints of runs: the state in the driver, written every few supersteps.

Runs are distinguished by their order and their program. A driver that is started again with
``resume=True`` and calls the same functions in the same order takes finished runs from their
checkpoints, and continues the one that was under way.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from weft.backends.blocks.carrier import Resumed, Work
from weft.ir.check.key import Keyer
from weft.ir.ops import Program

Array = np.ndarray[Any, Any]


class Checkpoints:
    """The checkpoints of one graph's runs; without a folder none are kept.

    Parameters
    ----------
    folder
        Where they are kept: a folder that the driver can write to.
    every
        After how many supersteps the state is written.
    resume
        Whether to take what an earlier driver left; otherwise it is removed.
    """

    def __init__(self, folder: Path | None, every: int, resume: bool) -> None:
        self.folder, self.every = folder, every
        self._runs = 0
        self._path: Path | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            if not resume:
                for path in folder.glob("run-*.npz"):
                    path.unlink()

    def begin(self, program: Program, work: Work) -> Resumed | None:
        """Restore and return the checkpoint of an earlier run; None to start afresh."""
        number, self._runs, self._path = self._runs, self._runs + 1, None
        if self.folder is None or program.trail:  # a trail is as long as the run
            return None
        name = hashlib.sha256(repr(_plain(Keyer(False).program(program))).encode()).hexdigest()
        self._path = self.folder / f"run-{number:05d}-{name[:16]}.npz"
        if not self._path.is_file():
            return None
        with np.load(self._path, allow_pickle=False) as held:
            facts = json.loads(str(held["facts"]))
            for group in ("fields", "scalars"):
                for name, array in getattr(work.data, group).items():
                    array[...] = held[f"{group}/{name}"]
            frontier = None if facts["all"] else held["frontier"]
        return Resumed(frontier, facts["ended"], facts["converged"])

    def superstep(self, number: int, work: Work, frontier: Array | None) -> None:
        """Write the state if enough supersteps have passed."""
        if self._path is not None and number % self.every == 0:
            self._write(work, Resumed(frontier, False, False))

    def end(self, work: Work, resumed: Resumed) -> None:
        """Write the state that a run ended with."""
        if self._path is not None:
            self._write(work, resumed)

    def _write(self, work: Work, at: Resumed) -> None:
        """Write a checkpoint, which takes the place of the last one when it is complete."""
        assert self._path is not None
        facts = {"all": at.frontier is None, "ended": at.ended, "converged": at.converged}
        arrays: dict[str, Any] = {"facts": np.array(json.dumps(facts))}
        if at.frontier is not None:
            arrays["frontier"] = at.frontier
        for group in ("fields", "scalars"):
            for name, array in getattr(work.data, group).items():
                arrays[f"{group}/{name}"] = array
        temporary = self._path.with_suffix(".tmp")
        with temporary.open("wb") as file:
            np.savez(file, **arrays)
        os.replace(temporary, self._path)


def _plain(key: Any) -> Any:
    """Return a key of nested tuples in a form whose text is the same in every process."""
    if isinstance(key, tuple):
        return tuple(_plain(part) for part in key)
    return sorted(key) if isinstance(key, frozenset) else str(key)
