"""Fetches memory before it is needed.

A pushed arc touches its target at random, and an atomic update waits for all loads and stores
before it: without help one cache miss follows another. Three stages run ahead of the row being
walked: the offsets of a row, then its arcs, then what its first arcs touch; inside a long row the
targets of later arcs are fetched.
"""

from __future__ import annotations

from weft.backends.cpu.codegen.kernel import Kernel
from weft.ir.check.facts import block_facts
from weft.ir.ops import Step
from weft.plan.sweeps import Sweep
from weft.topology.topology import Direction


def touched_places(kernel: Kernel, sweep: Sweep, *, ordered: bool = False) -> list[str]:
    """Return the arrays and places that a pushed arc touches at its target w."""
    use = kernel.args.use
    step = sweep.steps[0]
    places = []
    for name in dict.fromkeys([*sorted(block_facts(step.accept).near), *step.into]):
        if name in kernel.pairs:
            array, width = kernel.pairs[name]
            places.append(f"{array}, w" if width == 64 else f"{array}, w << ONE")
        elif not kernel.types[name][1] and not any(name in s.into[1:] for s in _paired(sweep)):
            places.append(f"{use('field', name)}, w")
    if ordered:
        places.append(f"{use('flags')}, w")
    elif sweep.mode in ("online", "deferred"):
        places.append(f"{use('stamp')}, w")
    elif sweep.mode == "once" and kernel.counts_edges:
        places.append(f"{use('offsets', kernel.counted)}, w")
    if kernel.args.row_bits and "common" in block_facts(step.body).ops:
        places.append(f"{use('row_bits')}, w << np.uint64(2)")
        places.append(f"{use('offsets', 'out')}, w")
    return places


def _paired(sweep: Sweep) -> list[Step]:
    """Return the step whose payload lies in a pair with its key."""
    paired = sweep.mode == "online" and sweep.steps[0].reductions[0].selecting
    return sweep.steps[:1] if paired else []


def fetch_rows_ahead(kernel: Kernel, item: str, way: Direction, places: list[str]) -> None:
    """Fetch what the rows after the present one need; `item.format(k)` is the k-th of them."""
    out = kernel.out
    offsets, targets = fetch_arcs_of_rows_ahead(kernel, item, way)
    out.line(f"ahead = {item.format('AHEAD_TARGETS')}")
    # As many arcs of every row, be they those of the next one: a loop that ends with the row would
    # be guessed wrong by the processor, which costs more than a few fetches in vain.
    with out.block("if arcs >= FEW_ARCS:"):
        out.line(f"few = min({offsets}[ahead], np.uint64(arcs) - FEW_ARCS)")
        with out.block("for nth in range(FEW_ARCS):"):
            out.line(f"w = np.uint64({targets}[few + nth])")
            for place in places:
                out.line(f"prefetch({place})")


def fetch_arcs_of_rows_ahead(kernel: Kernel, item: str, way: Direction) -> tuple[str, str]:
    """Fetch the first arcs of a later row, and the offsets of one behind it; return both arrays."""
    out, use = kernel.out, kernel.args.use
    offsets, targets = use("offsets", way), use("targets", way)
    out.line(f"prefetch({offsets}, {item.format('AHEAD_OFFSETS')})")
    out.line(f"ahead = {item.format('AHEAD_ARCS')}")
    out.line(f"prefetch({targets}, {offsets}[ahead])")
    return offsets, targets


def fetch_arcs_ahead(kernel: Kernel, way: Direction, places: list[str]) -> None:
    """Fetch what a later arc of the row being walked touches."""
    out, targets = kernel.out, kernel.args.use("targets", way)
    with out.block("if s + LATER < end:"):
        out.line(f"w = np.uint64({targets}[s + LATER])")
        for place in places:
            out.line(f"prefetch({place})")
