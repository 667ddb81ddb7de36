// The active rows one after another, with the positions of their slots in one line: a scan over
// the device in two phases (`measure`, `lay_out`) that each begin and end with a barrier over all
// blocks.
//
// The places are cut into segments, at most as many as there are blocks. Phase 0 counts the rows
// and slots of each segment; in phase 1 every block adds up the segments before its own.
#ifndef WEFT_LAYOUT_CUH
#define WEFT_LAYOUT_CUH

#include "sharing.cuh"

namespace weft {

constexpr u32 max_segments = 1024;

struct LayoutMemory {
    i64* degrees;  // by place; -1: not laid out
    i64* starts;   // by rank: the first position of the row, and the end after the last one
    i64* rows;     // by rank
    i64* sums;     // by segment: rows, slots
    u8* stops;     // by row: no more of it is wanted (for those that several warps share)
};

// Cells of phase 1.
enum LayoutCell : u32 { LAID_ROWS, LAID_SLOTS };

struct Segments {
    u32 count;
    i64 each;  // places, a multiple of the block
    WEFT_DEVICE Segments(const Place& place, i64 size) {
        count = place.blocks < max_segments ? place.blocks : max_segments;
        const i64 tile = static_cast<i64>(block_size()) * count;
        each = (size + tile - 1) / tile * block_size();
    }
};

// Ask for every row; rows without slots are laid out, or closed at once.
template <u32 lanes, bool closes, class Format, class Rows, class Visitor>
WEFT_DEVICE void measure(const Place& place, const LayoutMemory& memory, const Format& format,
                         const Rows& rows, Visitor& visitor) {
    i64* totals = reinterpret_cast<i64*>(place.shared);
    const i64 size = rows.size();
    const Segments segments(place, size);
    for (u32 segment = place.block; segment < segments.count; segment += place.blocks) {
        const i64 begin = segment * segments.each;
        const i64 end = begin + segments.each < size ? begin + segments.each : size;
        i64 laid = 0, slots = 0;
        for (i64 first = begin; first < end; first += block_size()) {
            const i64 i = first + thread_id();
            const Share share = ask_for_row<lanes, closes>(format, rows, i, end, visitor);
            const bool kept = share.row >= 0 && (!closes || share.degree > 0);
            laid += kept;
            slots += share.degree;
            if (i < end) memory.degrees[i] = kept ? share.degree : -1;
        }
        i64 all_laid, all_slots;
        scan_block(laid, totals, all_laid);
        scan_block(slots, totals, all_slots);
        if (thread_id() == 0) {
            memory.sums[2 * segment] = all_laid;
            memory.sums[2 * segment + 1] = all_slots;
        }
    }
}

// Give each row its rank and its position.
template <bool exits, class Rows>
WEFT_DEVICE void lay_out(const Place& place, const LayoutMemory& memory, const Rows& rows) {
    i64* totals = reinterpret_cast<i64*>(place.shared);
    const i64 size = rows.size();
    const Segments segments(place, size);
    for (u32 segment = place.block; segment < segments.count; segment += place.blocks) {
        i64 ranks = 0, positions = 0;
        for (u32 before = thread_id(); before < segment; before += block_size()) {
            ranks += memory.sums[2 * before];
            positions += memory.sums[2 * before + 1];
        }
        i64 rank, position;
        scan_block(ranks, totals, rank);
        scan_block(positions, totals, position);
        const i64 begin = segment * segments.each;
        const i64 end = begin + segments.each < size ? begin + segments.each : size;
        for (i64 first = begin; first < end; first += block_size()) {
            const i64 i = first + thread_id();
            const i64 degree = i < end ? memory.degrees[i] : -1;
            i64 all_laid, all_slots;
            const i64 rank_here = scan_block(degree >= 0, totals, all_laid);
            const i64 position_here = scan_block(degree >= 0 ? degree : 0, totals, all_slots);
            if (degree >= 0) {
                const i64 row = rows.row(i);
                memory.rows[rank + rank_here] = row;
                memory.starts[rank + rank_here] = position + position_here;
                if constexpr (exits) memory.stops[row] = 0;
            }
            rank += all_laid;
            position += all_slots;
        }
        if (segment == segments.count - 1 && thread_id() == 0) {
            memory.starts[rank] = position;
            atomic_add(place.cells + LAID_ROWS, static_cast<u64>(rank));
            atomic_add(place.cells + LAID_SLOTS, static_cast<u64>(position));
        }
    }
}

}  // namespace weft

#endif
