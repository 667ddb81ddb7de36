"""Run-time of generated loops: shares of work, queues, bitmaps, checked indices, pairs."""

from __future__ import annotations

import numpy as np
from numba import carray

from weft.backends.cpu.host.lean_numba import inner
from weft.backends.cpu.runtime.atomics import (
    atomic_add,
    atomic_cas,
    atomic_load,
    atomic_or,
    atomic_store,
)
from weft.backends.cpu.runtime.bits import clz
from weft.backends.cpu.runtime.control import (
    FAULT,
    FAULT_COUNT,
    FAULT_FUNCTION,
    FAULT_INDEX,
    FAULT_VERTEX,
    FIRST_FREE,
    STOP,
    STRIDE,
)

# Causes of faults (the host turns them into messages).
INDEX_RANGE = 1
LOOP_BOUND = 2
SINGULAR = 3
NOT_POSITIVE = 4

# Counters of a phase; three groups take turns, so that one barrier per phase is enough: the group
# of the next phase is cleared while that of the last one may still be read. What threads add to
# when they end a phase lies side by side: each fetches one cell from the other threads, and one
# more to read all sums, where a phase may be over in a few microseconds.
TAIL = 0  # length of the queue being filled
EDGES = 1  # out-edges of the vertices put into the queue
LOOKED = 2  # edges looked at
CHANGED = 3  # vertices that changed
STOPPED = 4  # the stop flag as one thread saw it
TOUCHED = 5  # length of the list of vertices that got a message
FAR = 6  # length of the list of vertices that wait
SUMS = 7
CURSOR = STRIDE  # next item to hand out
GROUP = 2 * STRIDE
COUNTERS = FIRST_FREE
SAVED = COUNTERS + 3 * GROUP  # what a paused loop goes on with (one word each)
SAVED_WORDS = 32
CELLS = (SAVED + SAVED_WORDS - FIRST_FREE) // STRIDE + 1

LOCAL = 1024
"""Entries of a thread's own queue before it is copied to the shared one."""

LENGTH_BITS = 48
LENGTH = (1 << LENGTH_BITS) - 1
"""The part of a tail that is a length; above it threads are counted."""

ONE = np.uint64(1)
CHUNK = np.uint64(256)
"""Slots of a row that are summed in their own dtype; the sums of chunks are added in float64."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Spreads keys over a hash table: 2**64 divided by the golden ratio, made odd."""
# How far ahead of the row being walked memory is fetched: offsets first, then arcs, then targets.
AHEAD_OFFSETS = np.uint64(16)
AHEAD_ARCS = np.uint64(10)
AHEAD_TARGETS = np.uint64(5)
FEW_ARCS = np.uint64(4)  # arcs of a later row whose targets are fetched
LATER = np.uint64(12)  # arcs ahead within a long row
FEW_KEYS = 32  # that are sorted by insertion


@inner()
def counters(ctl, phase, tid):
    """Return the counters of a phase; one thread clears those of the next."""
    if tid == 0:
        following = COUNTERS + ((phase + 1) % 3) * GROUP
        for word in range(SUMS):
            ctl[following + word] = 0
        ctl[following + CURSOR] = 0
    return COUNTERS + (phase % 3) * GROUP


@inner(forceinline=True)
def share_of(size, grain, nt):
    """Return how many items a thread takes at a time: all of its part if there are few."""
    if size <= grain * nt * 4:
        return (size + nt - 1) // nt
    return grain


@inner(forceinline=True)
def first_item(ctl, base, share, size, nt, tid):
    """Return the first item of a thread's first share."""
    if share * nt >= size:
        return tid * share
    return atomic_add(ctl, base + CURSOR, share)


@inner(forceinline=True)
def next_item(ctl, base, share, size, nt):
    """Return the first item of the next share, or the end: also when the run is to stop."""
    if share * nt >= size or atomic_load(ctl, STOP) != 0:
        return size
    return atomic_add(ctl, base + CURSOR, share)


@inner()
def flush(local, start, count, queue, ctl, tail):
    """Append a thread's own queue to a shared one."""
    if count > 0:
        place = atomic_add(ctl, tail, count) & LENGTH
        for i in range(count):
            queue[place + i] = local[start + i]


@inner()
def flush_last(local, start, count, queue, ctl, tail):
    """Append the rest of a thread's own queue; return how many threads have done so before.

    Their number is counted in the upper bits of the tail. Threads that take their shares of the
    queue in that order get what they put there, which is in their caches.
    """
    tail_before = atomic_add(ctl, tail, count + (1 << LENGTH_BITS))
    place = tail_before & LENGTH
    for i in range(count):
        queue[place + i] = local[start + i]
    return tail_before >> LENGTH_BITS


@inner(forceinline=True)
def push(local, start, count, item, queue, ctl, tail):
    """Append an item to a thread's own queue; return its new length."""
    local[start + count] = item
    count += 1
    if count == LOCAL:
        flush(local, start, count, queue, ctl, tail)
        count = 0
    return count


@inner()
def flush_far(local, start, count, queue, first, ctl, tail):
    """Append a thread's own list to a shared one that holds `first` entries already."""
    if count > 0:
        place = first + atomic_add(ctl, tail, count)
        for i in range(count):
            queue[place + i] = local[start + i]


@inner(forceinline=True)
def push_far(local, start, count, item, queue, first, ctl, tail):
    """Append an item to a thread's own list; return its new length."""
    local[start + count] = item
    count += 1
    if count == LOCAL:
        flush_far(local, start, count, queue, first, ctl, tail)
        count = 0
    return count


@inner()
def clear_bits(bits, words, tid, nt):
    """Clear a thread's part of a bitmap."""
    for w in range(words * tid // nt, words * (tid + 1) // nt):
        bits[w] = 0


@inner()
def set_bits(bits, queue, size, tid, nt):
    """Set the bits of a thread's part of a queue."""
    for i in range(size * tid // nt, size * (tid + 1) // nt):
        v = np.uint64(queue[i])
        atomic_or(bits, v >> np.uint64(6), ONE << (v & np.uint64(63)))


@inner()
def mark_row(marker, base, offsets, targets, old, row, n):
    """Set the bits of a row's far ends in a thread's own bitmap, in place of those of `old`.

    A row of n stands for none.
    """
    if old < n:
        for s in range(offsets[old], offsets[old + ONE]):
            marker[base + (np.uint64(targets[s]) >> np.uint64(6))] = 0
    if row < n:
        for s in range(offsets[row], offsets[row + ONE]):
            w = np.uint64(targets[s])
            marker[base + (w >> np.uint64(6))] |= ONE << (w & np.uint64(63))


@inner()
def first_from(targets, low, high, w):
    """Return the first slot from `low` up to `high` whose target is not below w; `high` for none.

    Steps that double find the stretch to search, so that a walk along a row costs little.
    """
    step = ONE
    while low + step < high and np.uint64(targets[low + step]) < w:
        low += step
        step += step
    end = min(low + step, high)
    while low < end:
        middle = (low + end) >> ONE
        if np.uint64(targets[middle]) < w:
            low = middle + ONE
        else:
            end = middle
    return low


@inner()
def place_row(slots, base, offsets, targets, row):
    """Store the slot of each far end of a row, the first of parallel arcs, in a thread's array."""
    last = np.int64(-1)
    for s in range(offsets[row], offsets[row + ONE]):
        w = np.int64(targets[s])
        if w != last:
            slots[base + np.uint64(w)] = s
        last = w


@inner()
def is_marked(marker, base, w):
    """Return whether the bit of a vertex is set in a thread's own bitmap."""
    return (marker[base + (w >> np.uint64(6))] >> (w & np.uint64(63))) & ONE != 0


@inner()
def index_fault(ctl, function, vertex, index, count):
    """Record an index out of range, unless there is a fault already."""
    if atomic_load(ctl, FAULT) == 0 and atomic_cas(ctl, FAULT, 0, INDEX_RANGE) == 0:
        atomic_store(ctl, FAULT_FUNCTION, function)
        atomic_store(ctl, FAULT_VERTEX, vertex)
        atomic_store(ctl, FAULT_INDEX, index)
        atomic_store(ctl, FAULT_COUNT, count)


@inner(forceinline=True)
def checked(ctl, place, n, function, vertex):
    """Return an index, or 0 after a fault if it is out of range."""
    if np.uint64(place) >= np.uint64(n):
        index_fault(ctl, function, vertex, np.int64(place), np.int64(n))
        return np.uint64(0)
    return np.uint64(place)


@inner(forceinline=True)
def neighbor_slot(ctl, offsets, x, i, function, vertex):
    """Return the slot of the i-th arc of a row, or -1 after a fault if there is none."""
    begin = np.int64(offsets[x])
    length = np.int64(offsets[x + ONE]) - begin
    if i < 0 or i >= length:
        index_fault(ctl, function, vertex, np.int64(i), length)
        return np.int64(-1)
    return begin + i


@inner()
def edge_slot(offsets, targets, row, target):
    """Return the first slot of a row that leads to a target, or -1."""
    low, high = offsets[row], offsets[row + ONE]
    end = high
    while low < high:
        middle = (low + high) >> ONE
        if np.uint64(targets[middle]) < target:
            low = middle + ONE
        else:
            high = middle
    if low < end and np.uint64(targets[low]) == target:
        return np.int64(low)
    return np.int64(-1)


# The order of a row's sum is free (it is fixed per build), which lets the compiler keep several
# running sums; a single chain of additions would wait for each one to end. Where rows are `short`
# one is summed without a loop: the processor would guess its length wrong, which costs more than
# four loads.
@inner(forceinline=True, fastmath={"reassoc", "nsz"})
def row_sum(values, targets, first, end, arcs, short, zero):
    """Return the sum of the values of a row's far ends, of the type of `zero`."""
    count = end - first
    if short and count <= np.uint64(4) and end + np.uint64(4) < np.uint64(arcs):
        total = zero
        for k in range(np.uint64(4)):  # unrolled, since its length is known
            value = values[np.uint64(targets[first + k])]
            total += value if count > k else zero
        return total
    whole = zero
    while first < end:
        stop = min(first + CHUNK, end)
        total = zero
        for s in range(first, stop):
            total += values[np.uint64(targets[s])]
        whole += total
        first = stop
    return whole


@inner(forceinline=True, fastmath={"reassoc", "nsz"})
def row_dot(values, weights, targets, first, end, arcs, short, zero):
    """Return the sum of the values of a row's far ends, each times the weight of its slot."""
    count = end - first
    if short and count <= np.uint64(4) and end + np.uint64(4) < np.uint64(arcs):
        total = zero
        for k in range(np.uint64(4)):  # unrolled, since its length is known
            product = values[np.uint64(targets[first + k])] * weights[first + k]
            total += product if count > k else zero
        return total
    whole = zero
    while first < end:
        stop = min(first + CHUNK, end)
        total = zero
        for s in range(first, stop):
            total += values[np.uint64(targets[s])] * weights[s]
        whole += total
        first = stop
    return whole


@inner()
def scan_degrees(offsets, queue, dense, begin, end, rows, ends, sums, tid):
    """Write running sums of the degrees (and rows) of a thread's part of the frontier."""
    total = 0
    for i in range(begin, end):
        u = np.uint64(i) if dense else np.uint64(queue[i])
        total += np.int64(offsets[u + ONE] - offsets[u]) + rows
        ends[i] = total
    sums[tid * STRIDE] = total


@inner()
def shift_degrees(ends, sums, begin, end, tid, nt):
    """Add what the threads before have summed; return the whole sum."""
    before = 0
    total = 0
    for t in range(nt):
        if t == tid:
            before = total
        total += sums[t * STRIDE]
    for i in range(begin, end):
        ends[i] += before
    return total


@inner()
def row_of(ends, size, place):
    """Return the row of the frontier in which a place of the laid-out slots lies."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if ends[middle] > place:
            high = middle
        else:
            low = middle + 1
    return low


@inner()
def balanced_row(offsets, n, part, parts, rows):
    """Return the first row of a part, of parts with equal numbers of slots (and rows)."""
    place = (np.int64(offsets[n]) + rows * n) * part // parts
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if np.int64(offsets[middle]) + rows * middle >= place:
            high = middle
        else:
            low = middle + 1
    return low


@inner()
def most_tallied(keys, begin, count, table, counts, first):
    """Return the most frequent of `count` integer keys from `begin` on, the smallest on ties.

    Long rows are counted in a hash table: a thread's own part of `table` and `counts` from `first`
    on, with room for twice as many keys. The counts are zero before and after.
    """
    if count <= FEW_KEYS:
        sort_few(keys, begin, begin + count)
        return longest_run(keys, begin, begin + count)
    bits = 64 - clz(np.int64(2 * count - 1))
    mask = (ONE << np.uint64(bits)) - ONE
    best = keys[begin]
    most = 0
    for i in range(begin, begin + count):
        key = keys[i]
        place = (np.uint64(key) * MULTIPLIER) >> np.uint64(64 - bits)
        while counts[first + place] != 0 and table[first + place] != key:
            place = (place + ONE) & mask
        table[first + place] = key
        tally = counts[first + place] + 1
        counts[first + place] = tally
        if tally > most or (tally == most and key < best):
            most = tally
            best = key
    for used in range(first, first + mask + ONE):
        counts[used] = 0
    return best


@inner()
def most_frequent(keys, begin, count):
    """Return the most frequent of `count` keys from `begin` on, the smallest on ties.

    The keys are sorted in place. NaNs are one key, greater than all others.
    """
    end = begin + count
    if count <= FEW_KEYS:
        sort_few(keys, begin, end)
    else:
        carray(keys, end)[begin:end].sort()  # takes long to compile
    return longest_run(keys, begin, end)


@inner()
def heaviest(keys, weights, begin, count, table, totals, counts, first):
    """Return the integer key of the greatest total weight, the smallest on ties, and that weight.

    The totals are found in a hash table, as in `most_tallied`; one that is NaN is the least.
    """
    bits = 64 - clz(np.int64(2 * count - 1))
    mask = (ONE << np.uint64(bits)) - ONE
    for i in range(begin, begin + count):
        key = keys[i]
        place = (np.uint64(key) * MULTIPLIER) >> np.uint64(64 - bits)
        while counts[first + place] != 0 and table[first + place] != key:
            place = (place + ONE) & mask
        if counts[first + place] == 0:
            counts[first + place] = 1
            table[first + place] = key
            totals[first + place] = weights[i]
        else:
            totals[first + place] += weights[i]
    best = keys[begin]
    most = weights[begin]
    found = False
    for used in range(first, first + mask + ONE):
        if counts[used] != 0:
            counts[used] = 0
            total = totals[used]
            better = total > most or (most != most and total == total)
            same = total == most or (most != most and total != total)
            if not found or better or (same and table[used] < best):
                found, most, best = True, total, table[used]
    return best, most


@inner()
def sort_few(keys, begin, end):
    """Sort keys in place, NaNs last."""
    for i in range(begin + 1, end):
        key = keys[i]
        j = i
        while j > begin and (keys[j - 1] > key or (keys[j - 1] != keys[j - 1] and key == key)):
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


@inner()
def longest_run(keys, begin, end):
    """Return the key that comes most often in a row, the first on ties; NaNs are one key."""
    best = keys[begin]
    most = 0
    i = begin
    while i < end:
        j = i + 1
        nan = keys[i] != keys[i]
        while j < end and (keys[j] == keys[i] or (nan and keys[j] != keys[j])):
            j += 1
        if j - i > most:
            most = j - i
            best = keys[i]
        i = j
    return best
