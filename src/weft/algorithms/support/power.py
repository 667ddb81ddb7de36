"""Power iterations: options, and what is said when one does not converge."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.engine.run import Run
from weft.errors import ConvergenceError


@functools.lru_cache(maxsize=16)
def moved_little(tol: float) -> Callable[..., Any]:
    """Return the condition that ends an iteration: the values moved by at most `tol` in all."""
    return lambda moved: moved <= tol


def check_convergence(run: Run, what: str, tol: float) -> None:
    """Raise unless an iteration ended because the values moved little."""
    if run.converged or run.steps == 0:
        return
    raise ConvergenceError(
        f"{what} did not converge: the values moved by {float(run.scalars['moved']):.3g} in the "
        f"last of {run.steps} iterations. Expected at most {tol:.3g}; raise max_iter or tol."
    )
