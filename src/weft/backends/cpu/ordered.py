"""Ordered relaxation: near work first, the rest waits (delta-stepping with bucket fusion).

A vertex that was improved goes to the near queue if its priority is below the threshold, else to
the far list; a flag per vertex keeps it from being in either more than once. Threads go on with
their own near vertices without a barrier while these are few. When no near work is left the
threshold rises and the far list is split anew.
"""

from __future__ import annotations

from weft.backends.cpu.kernel import Kernel
from weft.ir.plan import Sweep


def render_ordered(kernel: Kernel, sweep: Sweep) -> None:
    """Render the loop of an in-place step with a priority."""
    raise NotImplementedError
