"""Decides whether a run is evaluated with NumPy or by its kernel, which may have to be compiled."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from weft.backends.cpu.host.cache import is_cached
from weft.errors import ConfigError
from weft.ir.request import Outcome, Request

if TYPE_CHECKING:
    from weft.backends.cpu.host.run import Compiled

SMALL_WORK = 1 << 14  # arcs and vertices; above that a superstep takes over a millisecond
COMPILE_S, LOAD_S = 1.0, 0.01  # what a kernel costs before its first run
FOREVER = 1e9


def allowed_s(request: Request, compiled: Compiled) -> float:
    """Return the seconds for which a run may be evaluated; 0 if the kernel is to do it.

    As in renting skis: evaluating goes on until all runs together have taken as long as it would
    have taken to get the kernel.
    """
    wanted = request.options.config.compiled
    if wanted is False:
        return FOREVER
    topology = request.topology
    if wanted or os.environ.get("WEFT_EVALUATE") == "off":
        return 0.0
    if topology.num_vertices + topology.num_arcs > SMALL_WORK:
        return 0.0
    cost = LOAD_S if is_cached(compiled.rendered.source, "weft") else COMPILE_S
    return cost - compiled.evaluated_s


def evaluated(request: Request, compiled: Compiled) -> Outcome | None:
    """Evaluate a request if that is possible and pays; otherwise return None."""
    seconds = allowed_s(request, compiled)
    if seconds <= 0:
        return None
    from weft.backends.cpu.arrays import run

    if not run.may_evaluate(request):
        if request.options.config.compiled is False:
            raise ConfigError(
                "compiled=False is not possible for this run: it uses loops, live access, folds, "
                "features or a profile, which need a kernel. Leave `compiled` out."
            )
        return None
    began = time.perf_counter()
    outcome = run.evaluate(request, seconds)
    compiled.evaluated_s += time.perf_counter() - began
    return outcome
