"""Who takes which rows and slots: the schedules of the CPU.

vertex  shares of rows, handed out as threads become free
edge    equal shares of slots; a pushed row may be cut, a pulled row stays with one thread
merge   the same over rows and slots together, so that many empty rows count too
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.backends.cpu.codegen.kernel import Kernel
from weft.backends.cpu.runtime.prefetch import fetch_rows_ahead
from weft.topology.topology import Direction

SCHEDULES = ("vertex", "edge", "merge")
ROWS = 64  # rows of a share of the schedule `vertex`
SHORT = 8  # arcs on the average
SHORT_ROWS = 1024  # of a share where rows are short
WORK = 4096  # slots (and rows) of a share of the others


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
    if kernel.options.schedule == "vertex":
        with _whole_rows(kernel, way, places):
            yield
    else:
        with _cut_rows(kernel, way):
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
def _cut_rows(kernel: Kernel, way: Direction) -> Iterator[None]:
    """Lay the frontier's slots out by a scan of its degrees, then cut them into equal shares."""
    out, args = kernel.out, kernel.args
    offsets = args.use("offsets", way)
    ends, sums = args.use("row_ends"), args.use("row_sums")
    rows = 1 if kernel.options.schedule == "merge" else 0
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
def whole_rows(kernel: Kernel, count: str, grain: int, way: str, unit: int = 1) -> Iterator[None]:
    """Open a loop over `count` units of `unit` rows that stay with one thread: gives i.

    Under `edge` and `merge` the bounds of the shares come from the offsets of a direction, which
    balances sweeps over all rows; a sweep over a queue is shared by number.
    """
    schedule = kernel.options.schedule
    if schedule == "vertex":
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
