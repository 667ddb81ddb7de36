"""The schedules of the CPU, which assign rows and slots to threads.

vertex  shares of rows, handed out as threads become free
edge    equal shares of slots; a pushed row may be cut, a pulled row stays with one thread
merge   the same over rows and slots together, so that many empty rows count too
weaver  in rounds: every thread registers some rows in a table, then all take batches of its slots
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.backends.cpu.codegen.kernel import Kernel
from weft.backends.cpu.runtime.prefetch import fetch_rows_ahead
from weft.topology.topology import Direction

SCHEDULES = ("vertex", "edge", "merge", "weaver")
ROWS = 64  # rows of a share of the schedule `vertex`
SHORT = 8  # arcs on the average
SHORT_ROWS = 1024  # of a share where rows are short
WORK = 4096  # slots (and rows) of a share of the others
BATCH = 1024  # slots of a batch of the schedule `weaver`


def refusal(name: str) -> str:
    """Return why a schedule is not possible on a CPU, or nothing."""
    if name in SCHEDULES:
        return ""
    return "its groups are lanes of a GPU's warps and blocks, which a CPU's threads do not have"


@contextmanager
def pushed_rows(kernel: Kernel, way: Direction, places: list[str]) -> Iterator[None]:
    """Open a loop over the rows of the frontier in a direction: gives u, first and end.

    `places` are what an arc touches, to be fetched early.
    """
    schedule = kernel.options.schedule
    if schedule == "vertex":
        with _whole_rows(kernel, way, places):
            yield
    elif schedule == "weaver":
        with _registered_rows(kernel, way):
            yield
    else:
        with cut_rows(kernel, way, 1 if schedule == "merge" else 0):
            yield


@contextmanager
def _whole_rows(kernel: Kernel, way: Direction, places: list[str]) -> Iterator[None]:
    out, args = kernel.out, kernel.args
    offsets = args.use("offsets", way)
    out.line("last_item = np.uint64(size - 1)")
    # Shares of short rows are alike, so they may be large: a thread then gets all that it found
    # itself, which is in its cache.
    grain = f"{SHORT_ROWS} if edges <= {SHORT} * size else {ROWS}" if kernel.counts_edges else ""
    with kernel.shares("size", ROWS, grain):
        out.line("u = i if dense else np.uint64(queue_a[i])")
        with out.block("if not dense:"):
            fetch_rows_ahead(kernel, "np.uint64(queue_a[min(i + {}, last_item)])", way, places)
        out.line(f"first = {offsets}[u]")
        out.line(f"end = {offsets}[u + ONE]")
        yield


@contextmanager
def cut_rows(kernel: Kernel, way: Direction, rows: int) -> Iterator[None]:
    """Lay the frontier's slots out by a scan of its degrees, then cut them into equal shares.

    With `rows` of 1 a row counts as a slot. Without, slot s lies at place s - first + low.
    """
    out, args = kernel.out, kernel.args
    offsets = args.use("offsets", way)
    ends, sums = args.use("row_ends"), args.use("row_sums")
    out.line("begin_row, end_row = size * tid // nt, size * (tid + 1) // nt")
    scanned = f"{offsets}, queue_a, dense, begin_row, end_row, {rows}, {ends}, {sums}, tid"
    out.line(f"scan_degrees({scanned})")
    kernel.barrier()
    out.line(f"work_all = shift_degrees({ends}, {sums}, begin_row, end_row, tid, nt)")
    kernel.barrier()
    out.line(f"portion = share_of(work_all, {WORK}, nt)")
    out.line("low = first_item(ctl, base, portion, work_all, nt, tid)")
    with out.block("while low < work_all:"):
        out.line("high = min(low + portion, work_all)")
        out.line(f"row = row_of({ends}, size, low)")
        with out.block("while low < high:"):
            out.line("u = np.uint64(row) if dense else np.uint64(queue_a[row])")
            out.line(f"begun = {ends}[row - 1] if row > 0 else 0")
            out.line(f"until = min(high, {ends}[row])")
            if rows:
                out.line(f"first = {offsets}[u] + np.uint64(max(low - begun - 1, 0))")
                out.line(f"end = {offsets}[u] + np.uint64(max(until - begun - 1, 0))")
            else:
                out.line(f"first = {offsets}[u] + np.uint64(low - begun)")
                out.line(f"end = {offsets}[u] + np.uint64(until - begun)")
            yield
            out.line("low = until")
            out.line("row += 1")
        out.line("low = next_item(ctl, base, portion, work_all, nt)")


@contextmanager
def _registered_rows(kernel: Kernel, way: Direction) -> Iterator[None]:
    """Register rows of the frontier round by round, then take batches of their slots.

    A thread registers rows that follow each other, as many as its part of the table has entries.
    After one barrier the cursor hands out batches in the order of requests, over the parts of all
    threads. Table, sums and cursor of two rounds lie side by side: a thread may register rows of
    the next round while others finish this one.
    """
    out, args = kernel.out, kernel.args
    offsets = args.use("offsets", way)
    table, sums = args.use("weaver_table"), args.use("weaver_sums")
    most = kernel.options.entries
    out.line("turn = registered = 0")
    with out.block("while registered < size:"):
        out.line(f"begin_row = min(registered + tid * {most}, size)")
        out.line(f"end_row = min(begin_row + {most}, size)")
        rows = f"{offsets}, queue_a, dense, begin_row, end_row"
        out.line(f"register_rows({rows}, {table}, {most}, {sums}, turn, tid, nt)")
        kernel.barrier()
        out.line("clear_batches(ctl, base, turn, tid)")
        out.line(f"work_all = registered_slots({sums}, turn, nt)")
        out.line("who = behind = 0")
        out.line(f"ahead = {sums}[turn * nt * STRIDE]")
        out.line(f"low = next_batch(ctl, base, turn, {BATCH}, work_all)")
        with out.block("while low < work_all:"):
            out.line(f"high = min(low + {BATCH}, work_all)")
            out.line("row = -1")
            with out.block("while low < high:"):
                with out.block("while low >= ahead:"):
                    out.line("who += 1")
                    out.line("behind = ahead")
                    out.line(f"ahead += {sums}[(turn * nt + who) * STRIDE]")
                    out.line("row = -1")
                out.line(f"entries = (turn * nt + who) * {most}")
                out.line(f"begin_row = registered + who * {most}")
                found = f"{table}, entries, {most}, size - begin_row, row, low - behind"
                out.line(f"row = next_entry({found})")
                out.line("u = np.uint64(begin_row + row)")
                with out.block("if not dense:"):
                    out.line("u = np.uint64(queue_a[u])")
                out.line(f"begun = behind + ({table}[entries + row - 1] if row > 0 else 0)")
                out.line(f"until = min(high, behind + {table}[entries + row])")
                out.line(f"first = {offsets}[u] + np.uint64(low - begun)")
                out.line(f"end = {offsets}[u] + np.uint64(until - begun)")
                yield
                out.line("low = until")
            out.line(f"low = next_batch(ctl, base, turn, {BATCH}, work_all)")
        out.line(f"registered += nt * {most}")
        out.line("turn = 1 - turn")


@contextmanager
def whole_rows(kernel: Kernel, count: str, grain: int, way: str, unit: int = 1) -> Iterator[None]:
    """Open a loop over `count` units of `unit` rows that stay with one thread: gives i.

    Under all schedules but `vertex` the bounds of the shares come from the offsets of a direction,
    which balances sweeps over all rows; a queue or the rows of a block are shared by number.
    """
    schedule = kernel.options.schedule
    if schedule == "vertex" or (kernel.bounded and unit > 1):
        with kernel.shares(count, grain):
            yield
        return
    out = kernel.out
    offsets = kernel.args.use("offsets", way)
    rows = 1 if schedule == "merge" else 0
    out.line("parts = nt * 16")
    out.line("part = first_item(ctl, base, 1, parts, nt, tid)")
    with out.block("while part < parts:"):
        balanced = f"balanced_row({offsets}, n, {{}}, parts, {rows}) // {unit}"
        spread = f"{count} * {{}} // parts"
        whole = "dense" if unit == 1 else "True"
        for name, which in (("low", "part"), ("high", "(part + 1)")):
            out.line(f"{name} = {balanced.format(which)} if {whole} else {spread.format(which)}")
        with out.block("if part == parts - 1:"):
            out.line(f"high = {count}")
        with out.block("for i in range(np.uint64(low), np.uint64(high)):"):
            yield
        out.line("part = next_item(ctl, base, 1, parts, nt)")
