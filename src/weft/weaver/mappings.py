"""The schedules of the model, which assign rows and slots by writing streams.

``vertex`` a thread takes a row · ``edge`` a thread takes a slot · ``warp`` 32 rows are shared by
their warp · ``block`` the rows of a core by all its warps · ``weaver`` rows are registered, and the
unit hands out ids · ``eghw`` rows are registered, and hardware fetches their edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft.errors import ConfigError, unknown
from weft.weaver.machine import Machine
from weft.weaver.rows import Reader
from weft.weaver.stream import Assembler, Kernel, Phase
from weft.weaver.sweep import Around, Sweep

SCHEDULES = ("vertex", "edge", "warp", "block", "weaver", "eghw")


def kernels(sweep: Sweep, schedule: str, machine: Machine) -> list[Kernel]:
    """Return the streams of a sweep, one for each part of the format.

    Raises
    ------
    ConfigError
        If the schedule is unknown, or cannot serve the format.
    """
    if schedule not in SCHEDULES:
        raise ConfigError(unknown("schedule", schedule, SCHEDULES))
    writers: dict[str, Callable[[Assembler, Sweep, Reader, Machine], None]] = {
        "vertex": _vertex, "edge": _edge, "warp": _warp, "block": _block, "weaver": _weaver,
        "eghw": _eghw,
    }  # fmt: skip
    found = []
    for number, reader in enumerate(sweep.readers):
        if reader.part.slots == 0:
            continue
        asm = Assembler(f"{sweep.name}.{schedule}.{number}")
        writers[schedule](asm, sweep, reader, machine)
        found.append(asm.finish())
    return found


def thread(asm: Assembler) -> tuple[int, int]:
    """Return the number of a thread among all, and how many there are.

    Threads of a core follow each other, so rows are dealt to the cores in chunks of warps x lanes.
    """
    warps, lanes = asm.special("warps"), asm.special("lanes")
    warp = asm.op("add", asm.op("mul", asm.special("core"), warps), asm.special("warp"))
    tid = asm.op("add", asm.op("mul", warp, lanes), asm.special("lane"))
    step = asm.op("mul", asm.op("mul", asm.special("cores"), warps), lanes)
    return tid, step


@contextmanager
def strided(
    asm: Assembler, first: int, step: int, limit: int, edges: bool = False
) -> Iterator[int]:
    """Open a loop over first, first + step, ... below a limit.

    The branch of a loop over `edges` belongs to their phase, where its rounds are counted.
    """
    i = asm.copy(first)
    with asm.loop() as exits, asm.scope():
        below = asm.op("lt", i, limit)
        with asm.within(Phase.EDGE if edges else asm.phase):
            asm.go_on_while(exits, below)
        yield i
        asm.emit("add", i, i, step)


@contextmanager
def wanted(asm: Assembler, sweep: Sweep, vertex: int) -> Iterator[None]:
    """Open a branch for the rows that pass the filter of base vertices."""
    if sweep.base_filter is None:
        yield
        return
    with asm.when(sweep.base_filter(asm, vertex)), asm.scope():
        yield


@contextmanager
def valid_edge(
    asm: Assembler, reader: Reader, row: int, vertex: int, slot: int
) -> Iterator[tuple[int, int]]:
    """Read an edge: gives its far end and its place; slots without an arc are passed over."""
    names = {"r": row, "v": vertex, "s": slot}
    with asm.within(Phase.EDGE), asm.scope():
        if "valid" in reader.answers:
            with asm.when(reader.ask(asm, "valid", **names)), asm.scope():
                names["p"] = reader.ask(asm, "place", **names)
                yield reader.ask(asm, "target", **names), names["p"]
            return
        names["p"] = reader.ask(asm, "place", **names)
        yield reader.ask(asm, "target", **names), names["p"]


def _vertex(asm: Assembler, sweep: Sweep, reader: Reader, machine: Machine) -> None:
    """VM: a thread walks a row; what a row gathers stays in its registers."""
    tid, step = thread(asm)
    asm.phase = Phase.SCHEDULE
    with strided(asm, tid, step, asm.const(reader.part.rows)) as row:
        vertex = reader.vertex(asm, row)
        with wanted(asm, sweep, vertex):
            slot = asm.copy(reader.ask(asm, "begin", r=row, v=vertex))
            end = asm.copy(reader.ask(asm, "end", r=row, v=vertex))
            with asm.within(Phase.GATHER):
                known = sweep.open_row(asm, vertex)
                gathered = sweep.start(asm) if sweep.may_accumulate() else None
            with asm.loop() as exits, asm.scope():
                more = asm.op("lt", slot, end)
                with asm.within(Phase.EDGE):
                    asm.go_on_while(exits, more)
                following = asm.op("add", slot, asm.const(1))

                def stop(following: int = following, end: int = end) -> None:
                    asm.move(following, end)

                with valid_edge(asm, reader, row, vertex, slot) as (far, place):
                    hit = stop if sweep.exits else None
                    sweep.edge(asm, (vertex, far), place, Around(known, gathered, hit=hit))
                asm.move(slot, following)
            if gathered is not None:
                owned = reader.whole and len(sweep.readers) == 1
                with asm.within(Phase.GATHER):
                    sweep.close_row(asm, vertex, gathered, owned)


def _edge(asm: Assembler, sweep: Sweep, reader: Reader, machine: Machine) -> None:
    """EM: a thread takes a slot, and asks the format for its row."""
    tid, step = thread(asm)
    asm.phase = Phase.SCHEDULE
    with strided(asm, tid, step, asm.const(reader.part.slots), edges=True) as slot:
        with asm.within(Phase.EDGE):
            row = reader.owner(asm, slot)
            vertex = reader.vertex(asm, row)
        with wanted(asm, sweep, vertex), valid_edge(asm, reader, row, vertex, slot) as (far, place):
            sweep.edge(asm, (vertex, far), place)


def _row_of_lane(
    asm: Assembler, sweep: Sweep, reader: Reader, row: int, limit: int
) -> tuple[int, int]:
    """Return the beginning and the degree of a row; 0 where it takes no part."""
    begin, degree = asm.copy(asm.const(0)), asm.copy(asm.const(0))
    with asm.when(asm.op("lt", row, limit)), asm.scope():
        vertex = reader.vertex(asm, row)
        with wanted(asm, sweep, vertex):
            asm.move(begin, reader.ask(asm, "begin", r=row, v=vertex))
            end = reader.ask(asm, "end", r=row, v=vertex)
            asm.emit("sub", degree, end, begin)
    return begin, degree


def _scan(asm: Assembler, value: int, machine: Machine) -> int:
    """Return the inclusive sum over the lanes below: a shuffle for each power of two."""
    lane = asm.special("lane")
    total = asm.copy(value)
    distance = 1
    while distance < machine.threads:
        with asm.scope():
            other = asm.op("shfl_up", total, imm=distance)
            reaches = asm.op("ge", lane, asm.const(distance))
            added = asm.op("add", total, other)
            asm.move(total, asm.op("select", reaches, added, total))
        distance *= 2
    return total


def _search(asm: Assembler, position: int, first: int, count: int, offset: int) -> int:
    """Return the last of `count` rows whose sum of degrees before it is at most a position."""
    low = asm.copy(asm.const(0))
    half = count // 2
    while half:
        with asm.scope():
            probe = asm.op("add", low, asm.const(half))
            start = asm.op("lds", asm.op("add", first, probe), imm=offset)
            asm.move(low, asm.op("select", asm.op("le", start, position), probe, low))
        half //= 2
    return low


def _shared_edge(
    asm: Assembler, sweep: Sweep, reader: Reader, position: int, first: int, count: int
) -> None:
    """Find the row of a position among shared rows, and do the work on its edge.

    Three words of each row lie in shared memory, one kind after another: the sums of the degrees
    before it, its number and its beginning.
    """
    number = _search(asm, position, first, count, 0)
    at = asm.op("add", first, number)
    start = asm.op("lds", at, imm=0)
    row = asm.op("lds", at, imm=count)
    begin = asm.op("lds", at, imm=2 * count)
    slot = asm.op("add", begin, asm.op("sub", position, start))
    vertex = reader.vertex(asm, row)
    with valid_edge(asm, reader, row, vertex, slot) as (far, place):
        sweep.edge(asm, (vertex, far), place)


def _share(asm: Assembler, at: int, count: int, start: int, row: int, begin: int) -> None:
    for k, word in enumerate((start, row, begin)):
        asm.emit("sts", -1, at, word, imm=k * count)


def _power_of_two(count: int, what: str) -> int:
    if count & (count - 1):
        raise ConfigError(f"{what} shares rows by powers of two, but there are {count} of them.")
    return count


def _warp(asm: Assembler, sweep: Sweep, reader: Reader, machine: Machine) -> None:
    """WM: a warp loads a row per lane, sums their degrees, and its lanes take the slots evenly."""
    lanes = _power_of_two(machine.threads, "schedule='warp'")
    asm.shared_words = 3 * lanes * machine.warps
    tid, step = thread(asm)
    lane = asm.special("lane")
    first = asm.op("mul", asm.special("warp"), asm.const(3 * lanes))
    limit = asm.const(reader.part.rows)
    tile = asm.op("sub", tid, lane)
    with strided(asm, tile, step, limit) as tile:
        with asm.within(Phase.REGISTRATION):
            row = asm.op("add", tile, lane)
            begin, degree = _row_of_lane(asm, sweep, reader, row, limit)
            total = _scan(asm, degree, machine)
            start = asm.op("sub", total, degree)
            _share(asm, asm.op("add", first, lane), lanes, start, row, begin)
            every = asm.op("shfl", total, asm.const(lanes - 1))
        with (
            asm.within(Phase.SCHEDULE),
            strided(asm, lane, asm.const(lanes), every, edges=True) as position,
        ):
            _shared_edge(asm, sweep, reader, position, first, lanes)


def _block(asm: Assembler, sweep: Sweep, reader: Reader, machine: Machine) -> None:
    """CM: the same over all warps of a core, with barriers around the sums of the warps."""
    lanes, warps = machine.threads, machine.warps
    count = _power_of_two(lanes * warps, "schedule='block'")
    if warps > lanes:
        raise ConfigError(
            f"schedule='block' sums up to {lanes} warps, but a core has {warps}. Use fewer warps."
        )
    sums = 3 * count
    asm.shared_words = sums + lanes
    tid, step = thread(asm)
    lane, warp = asm.special("lane"), asm.special("warp")
    local = asm.op("add", asm.op("mul", warp, asm.special("lanes")), lane)
    zero, limit = asm.copy(asm.const(0)), asm.const(reader.part.rows)
    tile = asm.op("sub", tid, local)
    with strided(asm, tile, step, limit) as tile:
        with asm.within(Phase.REGISTRATION):
            row = asm.op("add", tile, local)
            begin, degree = _row_of_lane(asm, sweep, reader, row, limit)
            total = _scan(asm, degree, machine)
            with asm.when(asm.op("eq", lane, asm.const(lanes - 1))):
                asm.emit("sts", -1, warp, total, imm=sums)
            asm.emit("bar")
            part = asm.op("lds", lane, imm=sums)
            present = asm.op("lt", lane, asm.const(warps))
            before = _scan(asm, asm.op("select", present, part, zero), machine)
            every = asm.op("shfl", before, asm.const(lanes - 1))
            earlier = asm.op("shfl", asm.op("sub", before, part), warp)
            start = asm.op("add", earlier, asm.op("sub", total, degree))
            _share(asm, local, count, start, row, begin)
            asm.emit("bar")
        with (
            asm.within(Phase.SCHEDULE),
            strided(asm, local, asm.const(count), every, edges=True) as position,
        ):
            _shared_edge(asm, sweep, reader, position, zero, count)
        with asm.within(Phase.REGISTRATION):
            asm.emit("bar")  # no thread reads the table any more


@contextmanager
def _rounds(asm: Assembler, reader: Reader, machine: Machine) -> Iterator[tuple[int, int]]:
    """Open the loop over a core's rounds; return the thread's row and the registering threads.

    A round takes as many rows as the table has entries, or as there are threads. All warps of a
    core go through all its rounds, whether they register or not.
    """
    size = min(machine.entries, machine.warps * machine.threads)
    lane = asm.special("lane")
    local = asm.op("add", asm.op("mul", asm.special("warp"), asm.special("lanes")), lane)
    first = asm.op("mul", asm.special("core"), asm.const(size))
    step = asm.op("mul", asm.special("cores"), asm.const(size))
    limit = asm.const(reader.part.rows)
    with strided(asm, first, step, limit) as base:
        row = asm.op("add", base, local)
        has_entry = asm.op("lt", local, asm.const(size))
        yield row, asm.op("bit_and", has_entry, asm.op("lt", row, limit))


def _weaver(asm: Assembler, sweep: Sweep, reader: Reader, machine: Machine) -> None:
    """Registration, one barrier, then ids from the unit until it has none.

    Before the loop the thread mask is kept and all lanes are switched on; inside, the lanes that
    got an id stay on; after it, the kept mask is back.
    """
    by_row = reader.rows_matter
    with _rounds(asm, reader, machine) as (row, registers):
        with asm.within(Phase.REGISTRATION):
            with asm.when(registers), asm.scope():
                vertex = reader.vertex(asm, row)
                with wanted(asm, sweep, vertex):
                    begin = reader.ask(asm, "begin", r=row, v=vertex)
                    end = reader.ask(asm, "end", r=row, v=vertex)
                    degree = asm.op("sub", end, begin)
                    asm.emit("weaver_reg", -1, row if by_row else vertex, begin, degree)
            asm.emit("bar")
        with asm.within(Phase.SCHEDULE), asm.loop() as exits, asm.scope():
            asm.emit("all_lanes")
            vid = asm.op("weaver_dec_id")
            some = asm.op("ge", vid, asm.const(0))
            with asm.within(Phase.EDGE):
                asm.go_on_while(exits, some)
            slot = asm.op("weaver_dec_loc")
            vertex = reader.vertex(asm, vid) if by_row else vid
            with valid_edge(asm, reader, vid, vertex, slot) as (far, place):

                def skip(vid: int = vid) -> None:
                    asm.emit("weaver_skip", -1, vid)

                hit = skip if sweep.exits else None
                sweep.edge(asm, (vertex, far), place, Around(hit=hit))


def eghw_columns(sweep: Sweep) -> list[str]:
    """Return the edge columns that the hardware reads for the message."""
    loads = [v for v in sweep.message.walk() if v.op == "load" and v.attr[0] == "column"]
    return sorted({v.attr[2] for v in loads if v.size == 1})


def _eghw(asm: Assembler, sweep: Sweep, reader: Reader, machine: Machine) -> None:
    """Edge-gathering hardware: it reads offsets, edges and their data; the warps wait for it."""
    if not reader.whole or "offsets" not in reader.part.arrays:
        raise ConfigError(
            "schedule='eghw' reads compressed rows of vertices. Expected format='csr' or 'coo'."
        )
    columns = eghw_columns(sweep)
    with _rounds(asm, reader, machine) as (row, registers):
        with asm.within(Phase.REGISTRATION):
            with asm.when(registers), asm.scope(), wanted(asm, sweep, row):
                asm.emit("eghw_reg", -1, row, row, asm.const(1))
            asm.emit("bar")
        with asm.within(Phase.SCHEDULE), asm.loop() as exits, asm.scope():
            asm.emit("all_lanes")
            vertex = asm.op("eghw_wait")
            some = asm.op("ge", vertex, asm.const(0))
            with asm.within(Phase.EDGE):
                asm.go_on_while(exits, some)
            with asm.within(Phase.EDGE):
                slot = asm.op("eghw_read", imm=0)
                far = asm.op("eghw_read", imm=1)
                loaded = {name: asm.op("eghw_read", imm=2 + k) for k, name in enumerate(columns)}
            sweep.edge(asm, (vertex, far), slot, Around(columns=loaded))


def eghw_buffers(sweep: Sweep, reader: Reader) -> dict[int, str]:
    """Return the buffers that the hardware reads, in the order of ``eghw_read``."""
    names = [f"{reader.prefix}.offsets", f"{reader.prefix}.targets"]
    names += [f"column.{name}" for name in eghw_columns(sweep)]
    return dict(enumerate(names))
