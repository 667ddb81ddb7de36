"""What a run is made of: schedules, formats and frontiers by configuration, or by the graph."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from weft.backends.cuda.codegen.adjacent import CHUNK
from weft.backends.cuda.codegen.directions import INBOX_COST
from weft.backends.cuda.codegen.edges import CLASSES
from weft.backends.cuda.codegen.frontier_forms import class_starts
from weft.backends.cuda.codegen.horizon import wants_horizon
from weft.backends.cuda.codegen.machine import Options, Side
from weft.backends.cuda.codegen.program import Rendered
from weft.backends.cuda.codegen.program_text import KERNELS
from weft.backends.cuda.drivers import driver_of
from weft.backends.cuda.host.defaults import (
    VAST,
    WARP,
    Shape,
    common_lanes,
    default_schedule,
    is_deep,
    joining_schedule,
    shape_of,
    usual_compaction,
)
from weft.config import NARROW, SIDES, each_choice, entries_of, of_side
from weft.errors import ConfigError
from weft.formats import DEFAULT_FORMAT
from weft.formats import format as format_named
from weft.ir.request import Request
from weft.plan.counting import IN_PLACE, counts_in_place
from weft.plan.directions import COST, rule_of
from weft.plan.first_looks import looks_first
from weft.plan.hub_table import Gathered, gathered_by_place, keeps_table, reads_places
from weft.plan.outputs import COUNTER, counts_outputs
from weft.plan.prepare import directions_of, wants_row_bits, wants_state
from weft.schedules import schedule as schedule_named
from weft.topology.topology import Topology

BLOCK = 256
HUB_BLOCK = 1024  # one table for as many threads as a multiprocessor may have for one block
BIN, HUB_BIN = 64, 16  # entries of a bin for 16 threads
BESIDE_HUBS = 1 << 14  # bytes of shared memory that a block takes beside its tables, about
HUB_DEGREE = 4096  # rows from here on are worth such a block
MOST_HUBS = 1 << 20  # of a table; shared memory holds fewer
EMULATED_BLOCK = 64
ALIGN = 16
LOOK_BYTES = 2 * 8 * WARP  # of a warp: rows that a first look did not end, as in vertex.cuh
REUSES = False  # the bits of a frontier are in a nearer cache than the fields of vertices
LANE_BYTES = 32  # of a vector: two accesses of 16, a sector of the memory
MARKED_DEGREE = 32  # rows from here on are worth a block that holds them in shared memory
DIGITS = 256  # of a sort, as in radix.cuh: a warp has a counter of 8 bytes for each
WIDE = ("run_wide", "run_anew")  # kernels that take all vertices
TO_THE_END = ("all", "width")  # ways to fuse by which a cluster may go on alone
NARROW_ARCS = 16  # for a thread of a frontier that one cluster works on
# Phases that go over a frontier only, and those that a start from a short queue never comes to.
OF_FRONTIER = (
    "begin", "push_", "commit_push_", "vertex_", "gather_", "gathered_",
    "pull_", "commit_pull_", "set_map", "clear_map", "clear_next", "queue_write", "queue_count",
)  # fmt: skip
LEAST_MARKER_BITS = 8  # as in marker.cuh
MOST_MARKER_BYTES = 1 << 15
CLAIM_BYTES = 16  # of the row that a block works on, as in by_key.cuh
TABLE_BYTES = 4096 + 32  # and of a warp's table
WINDOW_BYTES = 1 << 13  # of a marker's bits (window_blocks in marker.cuh)
STATIC_BYTES = 2560  # of shared memory that a kernel has for the loop and the scalars, at most


@dataclass
class Launching:
    """How the kernels of a run are launched."""

    grid: int
    block: int
    shared_bytes: int
    cluster: int
    fuse: str
    knobs: dict[str, Any] = field(default_factory=dict)
    wide_grid: int = 0  # of kernels that take all vertices, which have no use for clusters
    share: int = 1024  # of the arcs within reach that a first pull looks at, in 1024ths
    few: int = 0  # vertices of a first frontier up to which one cluster does all that a run does
    few_cluster: int = 1  # its blocks

    def grid_of(self, kernel: str) -> tuple[int, int]:
        """Return how many blocks a kernel has, and each of its clusters."""
        return (
            (self.wide_grid, 1) if kernel in WIDE and self.wide_grid else (self.grid, self.cluster)
        )

    @property
    def most_blocks(self) -> int:
        """The most blocks that a kernel has."""
        return max(self.grid, self.wide_grid)


_chosen: weakref.WeakKeyDictionary[Topology, dict[Any, Options]] = weakref.WeakKeyDictionary()


def choose_options(request: Request, kept: frozenset[str]) -> Options:
    """Return what of a configuration shapes the code, with defaults for the graph."""
    known = _chosen.setdefault(request.topology, {})
    gathered = gathered_by_place(request.program, request.options.config)
    key = (
        request.options, kept, request.start.arcs, _ordered(request), _may_search(request),
        bool(request.program.refill), gathered,
    )  # fmt: skip
    if key not in known:
        known[key] = _choose_options(request, kept, gathered)
    return known[key]


def _hub_room(request: Request) -> int:
    """Return about how many bytes of tables a block has room for."""
    device = request.topology.device
    limits = driver_of(device.kind, device.index).limits
    return max(0, int(limits.shared_bytes) - BESIDE_HUBS)


def _ordered(request: Request) -> bool:
    """Whether the program asks to be carried out in the order of priorities, and may be."""
    asked = request.program.steps[0].priority is not None
    return asked and bool(request.options.config.ordering)


def _choose_options(request: Request, kept: frozenset[str], gathered: Gathered) -> Options:
    config = request.options.config
    deterministic = config.deterministic
    shape = shape_of(request.topology)
    sides, narrow = _sides(request, shape)
    by_place = gathered.nbytes > 0 and reads_places(request.topology, config)
    return Options(
        directions=directions_of(request),
        narrow=narrow,
        push=sides["push"],
        pull=sides["pull"],
        gather=sides["gather"],
        rule=rule_of(config),
        compaction="ballot"
        if deterministic
        else config.compaction or usual_compaction(shape, rounds=bool(request.program.refill)),
        # The list of the rows of a frontier has room for each row once.
        dedup="exact" if deterministic or sides["push"].format.virtual else config.dedup or "exact",
        combine="atomic" if config.combine in (None, IN_PLACE) else config.combine,
        counts=counts_in_place(config, on_gpu=True),
        deterministic=deterministic,
        ordered=bool(config.ordering),
        buckets=config.ordering == "buckets",
        kept_old=kept,
        arcs=request.start.arcs,
        fuse=config.fuse or "all",
        lanes=1 if deterministic else common_lanes(shape),
        lane_bytes=LANE_BYTES if config.lanes is None else 1,
        feature_lanes=WARP if config.lanes in (None, "block") else int(config.lanes or WARP),
        large_blocks=(config.block_size or 0) > BLOCK,
        long_rows=shape.largest > CHUNK,
        deep=not deterministic and _may_search(request) and is_deep(request.topology),
        vast=shape.vertices >= VAST,
        reuses=wants_state(request, REUSES),
        chosen_output=of_side(config.frontier_out, "pull") not in (None, COUNTER),
        horizon=_ordered(request) and wants_horizon(request),
        best_neighbor=looks_first(request.topology, config, on_gpu=True),
        by_place=by_place,
        hub_table=by_place and keeps_table(request.topology, config, gathered, _hub_room(request)),
        group_block=0 if deterministic else _group_block(request),
        counts_output=counts_outputs(request.program, config),
        row_bits=not deterministic and wants_row_bits(request),
        counted=request.options.recorded or _may_narrow(config.width, config.fuse),
    )


def _sides(request: Request, shape: Shape) -> tuple[dict[str, Side], Side | None]:
    """Return the schedule, the format and the frontiers of every side; then of narrow pushes."""
    config, schedules = request.options.config, request.options.schedule
    deterministic = config.deterministic
    sides = {}
    for name in SIDES:
        chosen = "vertex" if deterministic else of_side(schedules, name)
        format_ = format_named(of_side(config.format, name) or DEFAULT_FORMAT)
        if deterministic and format_.splits:  # what the parts of a vertex gather meets in any order
            format_ = format_named(DEFAULT_FORMAT)
        usual = default_schedule(
            shape, name, ordered=_ordered(request), rounds=bool(request.program.refill)
        )
        joining = joining_schedule(shape, name) if format_.joins else ""
        joined = bool(joining) and chosen in (None, joining)
        suited = joining if joined else of_side(format_.schedule, name) or usual
        schedule = schedule_named(chosen or suited)
        wanted = of_side(config.frontier_in, name)
        left = _output(of_side(config.frontier_out, name), name)
        kind = _input(schedule, format_, wanted, name)
        sides[name] = Side(schedule, format_, kind, left, joined)
    narrow = None if deterministic else _narrow(schedules, sides["push"])
    if narrow is not None:  # both have one visitor
        sides["push"] = replace(sides["push"], joined=False)
    kinds = (*each_choice(config.frontier_in), *each_choice(config.frontier_out))
    if "bytemap" in kinds:  # the maps of a run are of one kind
        sides = {name: _by_bytes(side) for name, side in sides.items()}
    return sides, narrow


def _group_block(request: Request) -> int:
    """Return the threads of a block that takes an item of many features, where that was asked for.

    As many as the longest vector has features, up to a usual block.
    """
    config = request.options.config
    shapes = [shape for _, _, shape in request.program.signature.fields]
    most = max((shape[-1] for shape in shapes if shape), default=1)
    if config.lanes != "block" or most <= WARP:
        return 0
    if config.block_size is not None:
        if config.block_size <= WARP or config.block_size & (config.block_size - 1):
            raise ConfigError(
                f"block_size={config.block_size} with lanes='block' is not possible: fields have "
                f"{most} features, which the threads of a block share. Expected 64, 128, 256, 512 "
                "or 1024."
            )
        return config.block_size
    usual = EMULATED_BLOCK if request.topology.device.kind == "emulated" else BLOCK
    return min(usual, 1 << (most - 1).bit_length())


def _may_narrow(width: str | None, fuse: str | None) -> bool:
    """Whether one cluster may go on alone with a small frontier, as the configuration has it."""
    return width != "grid" and (fuse or "all") in TO_THE_END


def _may_search(request: Request) -> bool:
    """Whether a program may take a superstep for each step of a path."""
    program = request.program
    searches = program.mode == "iterate" and any(step.kind == "edge" for step in program.steps)
    return searches or program.mode == "replay"


def _narrow(chosen: Any, push: Side) -> Side | None:
    """Return how narrow frontiers are pushed, if not as wide ones are."""
    name = of_side(chosen, NARROW)
    if name in (None, push.schedule.name):
        return None
    schedule = schedule_named(name)
    kind = _input(schedule, push.format, push.frontier_in, "push")
    return replace(push, schedule=schedule, frontier_in=kind, joined=False)


def _by_bytes(side: Side) -> Side:
    kinds = ["bytemap" if k == "bitmap" else k for k in (side.frontier_in, side.frontier_out)]
    return replace(side, frontier_in=kinds[0], frontier_out=kinds[1])


def _output(wanted: str | None, side: str) -> str:
    """Return the kind of frontier that a side writes where it writes members."""
    return ("queue" if side == "push" else "bitmap") if wanted in (None, COUNTER) else wanted


def _input(schedule: Any, format_: Any, wanted: str | None, side: str) -> str:
    """Return the kind of frontier that a side starts from."""
    listed = all(kind.expands for kind in format_.kinds if kind.virtual)
    if side == "push":
        chosen = wanted if wanted not in (None, "reverse_queue", "state") else "queue"
        return chosen if chosen in schedule.inputs and (listed or chosen != "queue") else "bitmap"
    if format_.virtual and wanted == "reverse_queue":  # it holds vertices
        return "bitmap"
    return wanted if wanted in ("bitmap", "bytemap", "reverse_queue") else "bitmap"


@dataclass
class _Areas:
    """What a block of some size keeps in shared memory, one area after the other."""

    block: int
    bin_size: int  # entries
    schedule_bytes: int
    output_bytes: int
    far_bytes: int
    marker_bits: int
    window_bytes: int
    index_bytes: int

    @property
    def marker_at(self) -> int:
        return self.schedule_bytes + self.output_bytes + self.far_bytes

    @property
    def nbytes(self) -> int:
        marker_bytes = self.index_bytes << self.marker_bits if self.marker_bits else 0
        return self.marker_at + marker_bytes + self.window_bytes


def _areas(request: Request, rendered: Rendered, options: Options, block: int) -> _Areas:
    # Where hubs are kept, they are worth more than entries of a queue.
    entries = request.options.config.bin_size or (HUB_BIN if rendered.needs.hub_bytes else BIN)
    bin_size = entries * block // 16
    index_bytes = request.topology.index_dtype.itemsize
    needs = [
        side.schedule.shared_bytes(block, *held)
        for side in options.sides
        for held in rendered.needs.held
    ]
    if options.combine == "radix":
        needs.append(block // WARP * DIGITS * 8)
    if options.combine != "atomic":
        parts = 2 * (block // 32)  # of the warps, twice (reduce_rows in segments.cuh)
        needs += [parts * held[1] for held in rendered.needs.held]
    if rendered.needs.guesses:
        needs.append(block // WARP * LOOK_BYTES)
    if rendered.needs.table_bytes:
        needs.append(CLAIM_BYTES + block // 32 * (rendered.needs.table_bytes + TABLE_BYTES))
    return _Areas(
        block=block,
        bin_size=bin_size,
        schedule_bytes=max(_aligned(max(needs, default=0)), block // 32 * 8),
        output_bytes=_aligned(_output_bytes(options, bin_size, block, index_bytes)),
        far_bytes=_aligned(16 + bin_size * index_bytes),
        marker_bits=_marker_bits(request, index_bytes) if rendered.needs.marks else 0,
        window_bytes=WINDOW_BYTES if rendered.needs.marks and options.row_bits else 0,
        index_bytes=index_bytes,
    )


def launching(
    request: Request, rendered: Rendered, options: Options, driver: Any, module: Any
) -> Launching:
    """Return how the kernels of a run are launched, from what they take."""
    config = request.options.config
    emulated = request.topology.device.kind == "emulated"
    fuse = options.fuse
    width = config.width
    kernels = {name: module.kernel(name) for name in KERNELS[fuse]}
    usual = EMULATED_BLOCK if emulated else HUB_BLOCK if rendered.needs.hub_bytes else BLOCK
    first = config.block_size or options.group_block or usual
    # Large partials may leave no room for a usual block: what was not asked for gives way.
    fixed = config.block_size or options.group_block
    blocks = [first] if fixed else [first >> k for k in range(first.bit_length() - 5)]
    areas = [_areas(request, rendered, options, block) for block in blocks]
    room = driver.limits.shared_bytes - STATIC_BYTES
    area = next((area for area in areas if area.nbytes <= room), areas[-1])
    block, shared = area.block, area.nbytes
    if shared > room:
        raise _too_little_shared(area, config.bin_size or BIN, driver.limits)
    hubs_at, hubs = shared, 0
    if rendered.needs.hub_bytes:
        left = driver.limits.shared_bytes - _static_bytes(kernels.values()) - shared
        hubs = _hubs(request.topology, rendered.needs.hub_bytes, left)
        shared += hubs * rendered.needs.hub_bytes
    fused = fuse in TO_THE_END
    small = width == "auto" and fused and _is_small(request.topology, block, driver.limits)
    clusters = [driver.limits.clusters] if small else _clusters(width, rendered, driver.limits)
    wide_grid = 0
    if fuse == "width" and not small:
        wide_grid = min(kernels.pop(name).blocks_at_once(block, shared, 1) for name in WIDE)
    for cluster in clusters:
        grid = min(kernel.blocks_at_once(block, shared, cluster) for kernel in kernels.values())
        if grid:
            break
    grid = min(grid, cluster) if small else grid
    alone = rendered.needs.narrows and _may_narrow(width, fuse)
    narrow = block * cluster if alone else 0
    knobs = _knobs(request, rendered, area, (hubs_at, hubs), narrow)
    knobs["sorters"] = max(grid, wide_grid) * (block // WARP)
    classes = (knobs["warp_degree"], knobs["block_degree"], knobs["grid_degree"])
    knobs |= class_starts(request.topology.num_vertices, request.topology.num_arcs, classes)
    share = shape_of(request.topology).head_share
    few = 0
    if not small and width == "auto":
        few = _few(request, rendered, options, block * driver.limits.clusters, driver.limits)
        held = all(
            k.blocks_at_once(block, shared, driver.limits.clusters) for k in kernels.values()
        )
        few *= held
    return Launching(
        grid, block, shared, cluster, fuse, knobs, wide_grid, share, few, driver.limits.clusters
    )


def _knobs(
    request: Request, rendered: Rendered, area: _Areas, hubs: tuple[int, int], narrow: int
) -> dict[str, int]:
    """Return the numbers that kernels take as arguments, from what was chosen and measured."""
    config, degrees = request.options.config, request.options.degrees
    return {
        "row_lanes": 0 if config.lanes == "block" else int(config.lanes or 8),
        "items": config.items_per_thread or 8,
        "entries": min(area.block, entries_of(config) or area.block),
        "warp_degree": degrees.warp or 32,
        "block_degree": degrees.block or _block_degree(rendered),
        "grid_degree": degrees.grid or _grid_degree(rendered),
        "bin_size": area.bin_size,
        "output_at": area.schedule_bytes,
        "touched_at": area.schedule_bytes + area.output_bytes,
        "marker_at": area.marker_at,
        "marker_bits": area.marker_bits,
        "hubs_at": hubs[0],
        "hubs": hubs[1],
        "narrow_size": narrow,
        "narrow_edges": narrow * NARROW_ARCS,
        "most_degree": shape_of(request.topology).largest,
        "few": 1 << 20,
        "many": 1 << 23,
    }


def _few(
    request: Request, rendered: Rendered, options: Options, threads: int, limits: Any
) -> int:  # fmt: skip
    """Return how many vertices a superstep may start from for one cluster to be enough; 0 for none.

    The host knows how many there are, and the degrees bound the arcs: blocks that have nothing to
    do would only be waited for. It must be sure that no phase goes over all vertices.
    """
    shape = shape_of(request.topology)
    step = request.program.steps[0]
    by_frontier = all(name.startswith(OF_FRONTIER) for name, _ in rendered.phases)
    alone = options.fuse == "all" and request.options.config.width == "auto"
    if not (by_frontier and alone and options.combine == "atomic"):
        return 0
    if request.program.mode != "run" or step.everywhere or options.arcs or options.deterministic:
        return 0
    kinds = [each.kind for each in request.program.steps]
    if "edge" in kinds[:-1]:  # which may put out more vertices than it gets
        return 0
    few = min(threads, threads * NARROW_ARCS // max(1, shape.largest))
    if "edge" in kinds:
        if options.rule != COST or "push" not in options.directions:
            return 0
        if shape.vertices > threads * NARROW_ARCS or not limits.small_grids:
            few = min(few, shape.vertices // (32 * INBOX_COST * (shape.largest + 1)))
    return few


def _static_bytes(kernels: Iterable[Any]) -> int:
    """Return the most bytes of shared memory that kernels declare themselves."""
    taken = [kernel.resources() for kernel in kernels]
    return max(STATIC_BYTES if r is None else int(r.static_shared_bytes) for r in taken)


def _hubs(topology: Topology, nbytes: int, room: int) -> int:
    """Return how many vertices tables hold in which each takes some bytes."""
    return max(0, min(topology.num_vertices, MOST_HUBS, room // nbytes))


def _is_small(topology: Topology, block: int, limits: Any) -> bool:
    """Whether every frontier of a graph is narrow, so that a cluster is all it ever needs."""
    threads = block * limits.clusters
    few = topology.num_vertices <= threads and topology.num_arcs <= threads * NARROW_ARCS
    return few and bool(limits.small_grids)


def _clusters(width: str, rendered: Rendered, limits: Any) -> list[int]:
    """Return how many blocks a cluster may have, the best first."""
    if width == "block" or width == "grid" or not rendered.needs.narrows:
        return [1]  # some multiprocessors would have no room for a cluster
    if rendered.needs.deep and limits.large_cluster:
        return [limits.large_cluster, limits.clusters]
    return [limits.clusters]


def _block_degree(rendered: Rendered) -> int:
    """Return the degree from which on a row is a block's: wide groups are few in a warp."""
    if rendered.needs.marks:
        return MARKED_DEGREE
    most = HUB_DEGREE if rendered.needs.hub_bytes else 1024
    return max(256, min(most, 4096 // rendered.needs.widest))


def _grid_degree(rendered: Rendered) -> int:
    """Return the degree from which on all blocks share a row (docs/design/lanes.md)."""
    if rendered.needs.widest == 1 and rendered.needs.gathers_features:
        return 4096
    if rendered.needs.widest == 1:
        return 1 << 16
    return 8192 if rendered.needs.widest <= 4 else 4096


def _marker_bits(request: Request, index_bytes: int) -> int:
    """Return how large a table holds the longest row and is mostly empty, if memory allows it."""
    needed = max(LEAST_MARKER_BITS, (4 * shape_of(request.topology).largest - 1).bit_length())
    return min(needed, (MOST_MARKER_BYTES // index_bytes).bit_length() - 1)


def _too_little_shared(area: _Areas, bin_size: int, limits: Any) -> ConfigError:
    return ConfigError(
        f"block_size={area.block} with bin_size={bin_size} needs {area.nbytes + STATIC_BYTES} "
        f"bytes of shared memory a block, but {limits.name} has {limits.shared_bytes}. Make one of "
        f"them smaller."
    )


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGN) * ALIGN


def _output_bytes(options: Options, bin_size: int, block: int, index_bytes: int) -> int:
    """Return an upper bound for all outputs of a program (see output.cuh)."""
    tables = max(1024, block // 32 * 64) if options.dedup in ("history", "warp") else 0
    classes = CLASSES if options.classes else 1
    bins = 16 * classes + _aligned((bin_size + classes) * index_bytes)
    return bins + tables * index_bytes + block // 32 * 16
