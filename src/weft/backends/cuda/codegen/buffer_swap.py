"""Arrays and second buffers that change places, in place of being copied (see `may_turn`)."""

from __future__ import annotations

from weft.backends.cuda.codegen.machine import Kernel
from weft.plan.queries import buffered_edges
from weft.plan.sweeps import Sweep

Binding = tuple[str, str]


def turns(kernel: Kernel, sweep: Sweep) -> bool:
    """Whether second buffers change places with arrays after a sweep of all vertices."""
    turning = kernel.turning
    if turning is None or sweep is turning:
        return sweep is turning
    # Those that renew, where the steps for wide frontiers do.
    same = sweep.kind == turning.kind and sweep.buffered == turning.buffered
    return bool(kernel.program.wide) and same and not sweep.buffered_old


def turned_bindings(kernel: Kernel) -> list[tuple[Binding, Binding]]:
    """Return the arrays and buffers that do; other sweeps may have second buffers beside them."""
    sweep = kernel.turning
    if sweep is None:
        return []
    if sweep.kind == "edge":
        names = sorted(buffered_edges(sweep))
        return [(("edge_state", name), ("edge_next", name)) for name in names]
    return [(("field", name), ("next", name)) for name in sorted(sweep.buffered)]


def turned_arrays(kernel: Kernel) -> list[tuple[str, str]]:
    """Return them as C++, and ask for them."""
    use = kernel.args.use
    return [(use(*first), use(*second)) for first, second in turned_bindings(kernel)]
