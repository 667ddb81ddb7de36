// Messages sorted by their targets: the arcs of a frontier laid out, a radix sort, runs of one target.
//
// Who works on what is the same in all phases of a sort, and a barrier over all blocks stands between
// them: a warp has a contiguous stretch of the items. Nothing depends on which warp is faster.
#ifndef WEFT_RADIX_CUH
#define WEFT_RADIX_CUH

#include "loop.cuh"
#include "segments.cuh"

namespace weft {

constexpr u32 digit_bits = 8;
constexpr u32 digits = 1 << digit_bits;
constexpr i64 least_items = 256;  // of a warp: fewer have more counters than items
constexpr i64 laid_tile = 256;    // arcs whose rows a warp looks for together

// The sum of the values of the threads before one's own, and over the block in `total`. Ends with a
// block barrier.
WEFT_DEVICE i64 scan_threads(i64 value, i64& total) {
    WEFT_SHARED(i64, parts, most_warps);
    i64 upto = value;
    for (u32 delta = 1; delta < warp_size; delta *= 2) {
        const i64 below = shuffle_up(full_mask, upto, delta);
        if (lane_id() >= delta) upto += below;
    }
    if (lane_id() == warp_size - 1) parts[warp_id()] = upto;
    sync_block();
    i64 before = 0;
    total = 0;
    for (u32 warp = 0; warp < block_size() / warp_size; ++warp) {
        if (warp < warp_id()) before += parts[warp];
        total += parts[warp];
    }
    sync_block();
    return before + upto - value;
}

// -- the layout

// The contiguous stretch of a frontier that a block lays out.
struct Places {
    i64 begin, end;
    WEFT_DEVICE Places(const Place& place, i64 size) {
        const i64 each = (size + place.blocks - 1) / place.blocks;
        begin = each * place.block < size ? each * place.block : size;
        end = begin + each < size ? begin + each : size;
    }
};

// counts[place.block] = slots of the block's rows.
template <class Args, class Format>
WEFT_DEVICE void measure_rows(const Place& place, const Args& a, const Loop& loop,
                              const Format& format, u64* counts) {
    const Places mine(place, loop.size);
    u64 slots = 0;
    for (i64 i = mine.begin + thread_id(); i < mine.end; i += block_size()) {
        const i64 u = entered_vertex(a, loop, i);
        slots += static_cast<u64>(format.end(u) - format.begin(u));
    }
    slots = reduce_block(slots, Add());
    if (thread_id() == 0) counts[place.block] = slots;
}

// starts[i] = the place of the first slot of the i-th row; the first block adds all of them to `sum`.
template <class Args, class Format>
WEFT_DEVICE void lay_rows(const Place& place, const Args& a, const Loop& loop,
                          const Format& format, const u64* counts, i64* starts, u64* sum) {
    u64 ahead = 0, all = 0;
    for (u32 block = thread_id(); block < place.blocks; block += block_size()) {
        if (block < place.block) ahead += counts[block];
        all += counts[block];
    }
    i64 start = static_cast<i64>(reduce_block(ahead, Add()));
    all = reduce_block(all, Add());
    const Places mine(place, loop.size);
    for (i64 first = mine.begin; first < mine.end; first += block_size()) {
        const i64 i = first + thread_id();
        i64 length = 0, total;
        if (i < mine.end) {
            const i64 u = entered_vertex(a, loop, i);
            length = format.end(u) - format.begin(u);
        }
        const i64 here = start + scan_threads(length, total);
        if (i < mine.end) starts[i] = here;
        start += total;
    }
    if (place.block == 0 && thread_id() == 0) atomic_add(sum, all);
}

// The last of the rows from `low` to `high` that starts at a place or before it. It has slots: of
// rows that start together the last one has some.
WEFT_DEVICE i64 laid_row(const i64* starts, i64 low, i64 high, i64 place) {
    while (low < high) {
        const i64 middle = low + (high - low + 1) / 2;
        if (starts[middle] <= place) low = middle;
        else high = middle - 1;
    }
    return low;
}

// Take every slot of the rows that were laid out; the visitor gets its place.
template <class Args, class Format, class Visitor>
WEFT_DEVICE void take_laid(const Place& place, const Args& a, const Loop& loop,
                           const Format& format, const i64* starts, Visitor& visitor) {
    const i64 stride = num_groups<warp_size>(place) * laid_tile;
    for (i64 first = first_group<warp_size>(place) * laid_tile; first < loop.laid;
         first += stride) {
        const i64 end = first + laid_tile < loop.laid ? first + laid_tile : loop.laid;
        const i64 low = laid_row(starts, 0, loop.size - 1, first);
        const i64 high = laid_row(starts, low, loop.size - 1, end - 1);
        for (i64 at = first + lane_id(); at < end; at += warp_size) {
            const i64 rank = laid_row(starts, low, high, at);
            const i64 u = entered_vertex(a, loop, rank);
            const i64 slot = format.begin(u) + (at - starts[rank]);
            visitor.laid = at;
            if (!format.valid(slot, u)) {
                visitor.drop();
                continue;
            }
            const typename Visitor::Row held = visitor.load(u);
            typename Visitor::Partial partial = visitor.empty(held);
            visitor.take(partial, held, u, slot);
        }
    }
}

// -- the sort

// The warps that sort, and the stretch of one of them.
struct Sorters {
    i64 count, own, begin, end;
    WEFT_DEVICE Sorters(const Place& place, i64 items) {
        const i64 warps = num_groups<warp_size>(place);
        const i64 wanted = (items + least_items - 1) / least_items;
        count = wanted < warps ? wanted : warps;
        own = first_group<warp_size>(place);
        const i64 each = count > 0 ? (items + count - 1) / count : 0;
        begin = own < count && each * own < items ? each * own : items;
        end = begin + each < items ? begin + each : items;
    }
};

template <class Key>
WEFT_DEVICE u32 digit_of(Key key, u32 shift) {
    return static_cast<u32>(static_cast<u64>(key) >> shift) & (digits - 1);
}

// Of the lanes of a warp that have the same digit: which they are. Lanes without one give `digits`.
template <class Key>
WEFT_DEVICE u32 digit_at(const Key* keys, i64 at, i64 end, u32 shift) {
    return at < end ? digit_of(keys[at], shift) : digits;
}

// table[digit * count + warp] = keys of the warp's stretch with the digit. Shared memory: counters of
// 8 bytes for each warp and digit.
template <class Key>
WEFT_DEVICE void count_digits(const Place& place, const Key* keys, i64 items, u32 shift,
                              i64* table) {
    const Sorters sorters(place, items);
    i64* mine = reinterpret_cast<i64*>(place.shared) + warp_id() * digits;
    for (u32 d = lane_id(); d < digits; d += warp_size) mine[d] = 0;
    sync_warp(full_mask);
    for (i64 first = sorters.begin; first < sorters.end; first += warp_size) {
        const u32 digit = digit_at(keys, first + lane_id(), sorters.end, shift);
        const u32 peers = match_any(full_mask, digit);
        if (digit < digits && (peers & lanes_below()) == 0) mine[digit] += popcount(peers);
        sync_warp(full_mask);
    }
    if (sorters.own >= sorters.count) return;
    for (u32 d = lane_id(); d < digits; d += warp_size) {
        table[d * sorters.count + sorters.own] = mine[d];
    }
}

// The counters of each digit become sums over the warps before; totals[digit] = all of them.
WEFT_DEVICE void scan_digits(const Place& place, i64 items, i64* table, i64* totals) {
    const i64 count = Sorters(place, items).count;
    for (u32 d = place.block; d < digits; d += place.blocks) {
        i64 before = 0;
        for (i64 first = 0; first < count; first += block_size()) {
            const i64 at = first + thread_id();
            i64 total;
            const i64 own = at < count ? table[d * count + at] : 0;
            const i64 ahead = scan_threads(own, total);
            if (at < count) table[d * count + at] = before + ahead;
            before += total;
        }
        if (thread_id() == 0) totals[d] = before;
    }
}

// Write each key behind those of smaller digits, of warps before, and of its own warp before it.
template <class Key>
WEFT_DEVICE void scatter_digits(const Place& place, const Key* keys, Key* sorted, i64 items,
                                u32 shift, const i64* table, const i64* totals) {
    const Sorters sorters(place, items);
    if (sorters.own >= sorters.count) return;
    i64* mine = reinterpret_cast<i64*>(place.shared) + warp_id() * digits;
    i64 smaller = 0;
    for (u32 first = 0; first < digits; first += warp_size) {
        const u32 d = first + lane_id();
        i64 upto = totals[d];
        const i64 own = upto;
        for (u32 delta = 1; delta < warp_size; delta *= 2) {
            const i64 below = shuffle_up(full_mask, upto, delta);
            if (lane_id() >= delta) upto += below;
        }
        mine[d] = smaller + upto - own + table[d * sorters.count + sorters.own];
        smaller += shuffle(full_mask, upto, warp_size - 1);
    }
    sync_warp(full_mask);
    for (i64 first = sorters.begin; first < sorters.end; first += warp_size) {
        const i64 at = first + lane_id();
        const u32 digit = digit_at(keys, at, sorters.end, shift);
        const u32 peers = match_any(full_mask, digit);
        const u32 before = popcount(peers & lanes_below());
        i64 to = 0;
        if (digit < digits) to = mine[digit] + before;
        sync_warp(full_mask);
        if (digit < digits) {
            sorted[to] = keys[at];
            if (before == 0) mine[digit] += popcount(peers);
        }
        sync_warp(full_mask);
    }
}

// -- the runs

// The runs of one target in sorted keys as a format. A row is the place of its first key; the
// messages lie where the lower bits say.
template <class Key>
struct Runs {
    const Key* keys;
    i64 count;
    u32 shift;
    WEFT_DEVICE i64 vertex(i64 row) const {
        return static_cast<i64>(static_cast<u64>(keys[row]) >> shift);
    }
    WEFT_DEVICE i64 begin(i64 row) const { return row; }
    // By steps that double, then halves.
    WEFT_DEVICE i64 end(i64 row) const {
        const i64 v = vertex(row);
        i64 low = row, step = 1;
        while (low + step < count && vertex(low + step) == v) {
            low += step;
            step *= 2;
        }
        i64 high = low + step < count ? low + step : count;
        while (high - low > 1) {
            const i64 middle = low + (high - low) / 2;
            if (vertex(middle) == v) low = middle;
            else high = middle;
        }
        return high;
    }
    WEFT_DEVICE i64 target(i64 slot, i64) const {
        return static_cast<i64>(static_cast<u64>(keys[slot]) & ((1ull << shift) - 1));
    }
    WEFT_DEVICE i64 place(i64, i64) const { return 0; }
    WEFT_DEVICE bool valid(i64, i64) const { return true; }
    WEFT_DEVICE bool whole(i64) const { return true; }
};

// All runs, short ones by a thread, others by a warp; those that are long enough for a block are put
// into a list, in any order. What lies beyond the last vertex was not sent.
template <class Format, class Visitor>
WEFT_DEVICE void reduce_runs(const Place& place, const Format& format, i64 n, i64 warp_degree,
                             i64 block_degree, i64* hubs, u64* listed, Visitor& visitor) {
    const i64 stride = num_groups<1>(place);
    for (i64 first = first_group<1>(place) - lane_id(); first < format.count; first += stride) {
        const i64 row = first + lane_id();
        i64 length = 0;
        if (row < format.count) {
            const i64 v = format.vertex(row);
            if (v < n && (row == 0 || format.vertex(row - 1) != v)) length = format.end(row) - row;
        }
        if (length >= block_degree && length >= warp_degree) {
            hubs[atomic_add(listed, 1ull)] = row;
            length = 0;
        }
        if (length > 0 && length < warp_degree) walk_row(format, row, visitor);
        for (u32 left = ballot(full_mask, length >= warp_degree); left != 0; left &= left - 1) {
            const i64 own = first + ffs(left) - 1;
            const typename Visitor::Row held = visitor.load(own);
            typename Visitor::Partial partial =
                take_stretch(format, visitor, held, own, lane_id(), warp_size);
            meet_in_order(visitor, partial);
            if (lane_id() == 0) visitor.close(held, own, partial, true);
            sync_warp(full_mask);
        }
    }
}

// The runs of a list, a block each. Ends with a block barrier.
template <class Format, class Visitor>
WEFT_DEVICE void reduce_hubs(const Place& place, const Format& format, const i64* hubs, i64 count,
                             Visitor& visitor) {
    using Partial = typename Visitor::Partial;
    Partial* const parts = reinterpret_cast<Partial*>(place.shared);
    u32 turn = 0;
    for (i64 i = place.block; i < count; i += place.blocks) {
        reduce_by_block(format, hubs[i], visitor, parts + turn * (block_size() / warp_size));
        turn = 1 - turn;  // the last one may still be read
    }
    sync_block();
}

}  // namespace weft

#endif
