"""Resources and launch shapes of a program's kernels, for `weft.explain` and profiles."""

from __future__ import annotations

from typing import Any

from weft.backends.cuda.codegen.machine import Options, Side
from weft.backends.cuda.codegen.program import Rendered
from weft.backends.cuda.codegen.program_text import KERNELS, TURN_OF
from weft.backends.cuda.drivers import driver_of
from weft.backends.cuda.drivers.base import Limits, Multiprocessor, Resources
from weft.backends.cuda.host.options import Launching, launching
from weft.backends.cuda.host.run import ALTERNATIONS, Compiled
from weft.backends.kernel_facts import KernelFacts
from weft.config import SIDES
from weft.ir.request import Request
from weft.plan.queries import refused, side_of
from weft.plan.sweeps import Sweep

WARP = 32
REGISTER_UNIT = 256  # registers are handed to a warp in units of this many
SCHEDULERS = 4  # of a multiprocessor, each with its part of the registers
SHARED_UNIT = 128
TURN = "run_turn"
LAUNCHES = {
    "all": "1 a run: run_all to the end",
    "direction": "run_push and run_pull by turns, {pairs} pairs before the host looks",
    "width": "run_wide, run_anew, run_few and run_anew by turns, once before the host looks",
    "none": "1 to start, then 2 a phase: run_one and turn",
}


def describe_kernels(request: Request, compiled: Compiled) -> tuple[KernelFacts, ...]:
    """Compile a program, without running it, and return what its kernels take."""
    device = request.topology.device
    driver = driver_of(device.kind, device.index)
    module = compiled.module(driver)
    how = launching(request, compiled.rendered, compiled.options, driver, module)
    return tuple(
        _describe(name, compiled.rendered, how, driver.limits, module.kernel(name))
        for name in compiled.rendered.kernels
    )


def _describe(
    name: str, rendered: Rendered, how: Launching, limits: Limits, kernel: Any
) -> KernelFacts:
    resources = kernel.resources()
    alone = name == TURN
    grid, cluster = (1, 1) if alone else how.grid_of(name)
    cluster = 1 if name == "run_one" else cluster
    shared = how.shared_bytes + (resources.static_shared_bytes if resources is not None else 0)
    held, occupancy, limit = (None,) * 3 if alone else _held(kernel, how, cluster, limits)
    return KernelFacts(
        name, phases_of(name, rendered), resources and resources.registers,
        resources and resources.spilled_bytes, shared, held, grid, how.block, cluster, limit,
        occupancy, 0 if alone else how.knobs["hubs"],
    )  # fmt: skip


def _held(
    kernel: Any, how: Launching, cluster: int, limits: Limits
) -> tuple[float, float, str] | tuple[None, None, None]:
    """Return how many blocks a multiprocessor holds, their share of its threads, what limits it."""
    resources, room = kernel.resources(), limits.multiprocessor
    if resources is None or room is None:
        return None, None, None
    held = kernel.blocks_at_once(how.block, how.shared_bytes, cluster) / limits.multiprocessors
    limit = limit_of(room, resources, how.block, how.shared_bytes, held)
    return held, held * how.block / room.threads, limit


def phases_of(kernel: str, rendered: Rendered) -> tuple[str, ...]:
    """Return the phases that a kernel holds."""
    if kernel == TURN:
        return ()
    own = TURN_OF.get(kernel)
    return tuple(name for name, turn in rendered.phases if own is None or turn in ("both", own))


def limit_of(
    room: Multiprocessor, resources: Resources, block: int, shared_bytes: int, held: float
) -> str:
    """Return the resource that limits the number of blocks per multiprocessor."""
    warps = block // WARP
    a_warp = _rounded(resources.registers * WARP, REGISTER_UNIT)
    warps_at_once = room.registers // SCHEDULERS // max(1, a_warp) * SCHEDULERS
    a_block = shared_bytes + resources.static_shared_bytes + room.reserved_shared_bytes
    by = {
        "threads": room.threads // block,  # the first of equals is reported
        "blocks": room.blocks,
        "registers": warps_at_once // warps,
        "shared memory": room.shared_bytes // _rounded(a_block, SHARED_UNIT),
    }
    least = min(by, key=lambda name: by[name])
    return least if held >= by[least] else "clusters"


def _rounded(amount: int, unit: int) -> int:
    return max(1, -(-amount // unit)) * unit


def launches_text(fuse: str) -> str:
    """Return how many launches a run takes."""
    return LAUNCHES[fuse].format(pairs=ALTERNATIONS)


def sides_of(sweeps: list[Sweep], options: Options) -> list[str]:
    """Return the sides by which the sweeps of a program go."""
    used = set()
    for sweep in sweeps:
        if sweep.kind == "edge":
            ways = ("push",) if options.ordered else options.directions
            used |= {side_of(sweep, way) for way in ways if not refused(sweep, way)}
        elif "gather" in sweep.facts.ops:
            used.add("gather")
    return [side for side in SIDES if side in used]


def run_facts(
    limits: Limits, module: Any, how: Launching, options: Options, sweeps: list[Sweep],
    launches: int,
) -> dict[str, object]:  # fmt: skip
    """Return the heading of a profile: where and how a run was carried out."""
    facts: dict[str, object] = {
        "device": limits.name, "grid": how.grid, "block": how.block, "cluster": how.cluster,
        "shared_bytes": how.shared_bytes,
    }  # fmt: skip
    if how.knobs["hubs"]:
        facts["hubs"] = how.knobs["hubs"]
    kernels = {name: module.kernel(name) for name in KERNELS[how.fuse]}
    taken = [kernel.resources() for kernel in kernels.values()]
    if all(resources is not None for resources in taken):
        facts["registers"] = max(resources.registers for resources in taken)
        facts["spilled_bytes"] = max(resources.spilled_bytes for resources in taken)
        # Of the first kernel: on some devices nothing is known about multiprocessors.
        first = next(iter(kernels))
        cluster = 1 if first == "run_one" else how.grid_of(first)[1]
        held, occupancy, limit = _held(kernels[first], how, cluster, limits)
        if held is not None and occupancy is not None:
            facts["blocks_per_multiprocessor"] = round(held, 3)
            facts |= {"occupancy": round(occupancy, 3), "limited_by": limit}
    else:
        facts |= {"registers": "not known", "clock": "counts of the emulation"}
    sides = sides_of(sweeps, options)
    for name in sides:
        facts[name] = _side_text(options.side(name))
    if options.narrow is not None and "push" in sides:
        facts["narrow"] = _side_text(options.narrow)
    facts |= {"compaction": options.compaction, "dedup": options.dedup, "fuse": how.fuse}
    return {**facts, "launches": launches}


def _side_text(side: Side) -> str:
    return f"{side.schedule.name}/{side.format.name} {side.frontier_in}->{side.frontier_out}"
