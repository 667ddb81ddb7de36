"""Power iterations: the stopping condition and the convergence check."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import weft
from weft.errors import ConvergenceError


@functools.lru_cache(maxsize=16)
def moved_little(tol: float) -> Callable[..., Any]:
    """Return the condition that ends an iteration: a total change of at most `tol`."""
    return lambda moved: moved <= tol


def check_convergence(run: weft.Run, what: str, tol: float) -> None:
    """Raise unless an iteration ended by convergence."""
    if run.converged or run.steps == 0:
        return
    raise ConvergenceError(
        f"{what} did not converge: the values moved by {float(run.scalars['moved']):.3g} in the "
        f"last of {run.steps} iterations. Expected at most {tol:.3g}; raise max_iter or tol."
    )
