"""Label and belief propagation with hand-written, folded kernels: one pass per iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import handwritten
from benchmarks import learning_rivals as rivals
from benchmarks.learning_tasks import ALPHA, Task
from weft.backends.cuda.drivers.base import Geometry

THREADS, BLOCKS = 256, 4  # of a block, and on a multiprocessor
LONG, CUT = 32, 1024  # rows from here on are a warp's, or are cut
PIECE = 4096  # slots of a cut row that a block takes


class ByHand:
    """A hand-written task for a multiple of four features."""

    def __init__(self, task: Task, driver: Any) -> None:
        if task.k % 4 or task.k > 128:
            raise ValueError(f"k = {task.k}: hand-written kernels take a multiple of 4 up to 128")
        self.task, self.driver, self.xp = task, driver, task.xp
        self.offsets = task.data.offsets.astype(np.int64)
        self.targets = task.data.src.astype(np.int32)
        self.grid = BLOCKS * driver.limits.multiprocessors
        self._lay_out()
        name = task.name.lower()
        words = ("LOG",) if task.log_domain else ()
        self._step, self._finish = self._compiled(name, words)

    def _lay_out(self) -> None:
        """Sort rows by descending degree and cut the longest into pieces."""
        xp = self.xp
        degree = xp.diff(self.offsets)
        cut = degree >= CUT
        if self.task.name == "BP" and not self.task.log_domain:
            cut &= False  # parts of products are not added
        long = (degree >= LONG) & ~cut
        short = xp.flatnonzero(~(cut | long))
        self.cut = xp.flatnonzero(cut).astype(np.int32)
        longest = xp.flatnonzero(long)
        longest = longest[xp.argsort(-degree[longest])]
        self.listed = xp.concatenate([short, longest]).astype(np.int32)
        begins, ends = (
            rivals.as_array(places)
            for places in (self.offsets[self.cut], self.offsets[self.cut + 1])
        )
        pieces = (ends - begins + PIECE - 1) // PIECE
        row = np.repeat(np.arange(begins.size), pieces)
        first = np.cumsum(pieces) - pieces
        begin = begins[row] + (np.arange(row.size) - first[row]) * PIECE
        end = np.minimum(begin + PIECE, ends[row])
        numbers = (np.int64(short.size), np.int64(longest.size), np.int64(row.size))
        arrays = [xp.asarray(a) for a in (row.astype(np.int32), begin, end)]
        self.rows = (*numbers, self.listed, *arrays, self.offsets, self.targets)
        self.scratch = xp.zeros((max(self.cut.size, 1), self.task.k), np.float32)

    def _compiled(self, name: str, words: tuple[str, ...]) -> list[Callable[..., None]]:
        emulated = self.xp is np
        text = handwritten.source(
            name, THREADS, BLOCKS, emulated=emulated, features=self.task.k, defined=words
        )
        names = (name, f"{name}_finish")
        if emulated:
            module = self.driver.compile(text, names, {})
            geometry = Geometry(self.grid, THREADS)
            kernels = [module.kernel(n) for n in names]
            return [
                lambda *given, kernel=kernel: self.driver.launch(kernel, geometry, given)
                for kernel in kernels
            ]
        module = self.xp.RawModule(code=text, options=("-std=c++17",))
        kernels = [module.get_function(n) for n in names]
        return [
            lambda *given, kernel=kernel: kernel((self.grid,), (THREADS,), given)
            for kernel in kernels
        ]

    def __call__(self, iterations: int) -> Any:
        """Run some iterations; return the same result as weft's task."""
        return getattr(self, f"_{self.task.name.lower()}")(iterations)

    def _lp(self, iterations: int) -> Any:
        x = rivals.normalized(self.task.data.x)
        y = self.xp.empty_like(x)
        weights = self.task.data.weight
        alpha = np.float32(ALPHA)
        for _ in range(iterations):
            self._step(*self.rows, weights, x, y, self.scratch, alpha)
            if self.cut.size:
                self._finish(np.int64(self.cut.size), self.cut, x, y, self.scratch, alpha)
            x, y = y, x
        return x

    def _bp(self, iterations: int) -> Any:
        xp, task = self.xp, self.task
        reverse = task.g.topology.reverse_arcs().astype(np.int32)
        psi = xp.asarray(task.psi, dtype=np.float32)
        prior = rivals.normalized(task.data.x)
        prior = xp.log(prior) if task.log_domain else prior
        now, after = prior.copy(), xp.empty_like(prior)
        start = 0 if task.log_domain else 1
        said = xp.full((self.targets.size, task.k), start, np.float32)
        says = xp.empty_like(said)
        error = xp.zeros(1, np.uint32)
        for _ in range(iterations):
            self._step(*self.rows, reverse, psi, prior, now, after, said, says, self.scratch, error)
            if self.cut.size:
                self._finish(np.int64(self.cut.size), self.cut, prior, after, self.scratch)
            now, after, said, says = after, now, says, said
        return xp.exp(now) if task.log_domain else now
