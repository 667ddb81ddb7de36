// The slots of all active rows lie in one line, and every warp takes an equal stretch of it: so
// does every block.
//
// Phases 0 and 1 lay the rows out; rows without slots are closed there. Phase 2 takes the slots.
// Rows that lie in one stretch are closed as whole, the others in parts.
#ifndef WEFT_SCHEDULE_STRICT_CUH
#define WEFT_SCHEDULE_STRICT_CUH

#include "evenly.cuh"
#include "layout.cuh"

namespace weft {

template <class Format, u32 lanes>
struct StrictSchedule {
    using Memory = LayoutMemory;

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs&, const Memory& memory,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        if constexpr (phase == 0) {
            measure<lanes, true>(place, memory, format, rows, visitor);
        } else if constexpr (phase == 1) {
            lay_out<Visitor::exits>(place, memory, rows);
        } else {
            take(place, memory, format, visitor);
        }
    }

 private:
    template <class Visitor>
    static WEFT_DEVICE void take(const Place& place, const Memory& memory, const Format& format,
                                 Visitor& visitor) {
        constexpr u32 unit_lanes = lanes == 0 ? 0 : warp_size;
        constexpr u32 window = lanes == 0 ? 1 : warp_size / (lanes + (lanes == 0));
        const i64 count = static_cast<i64>(place.before[LAID_ROWS]);
        const i64 total = static_cast<i64>(place.before[LAID_SLOTS]);
        const i64 tile = num_groups<unit_lanes>(place) * window;
        const i64 each = (total + tile - 1) / tile * window;
        const i64 from = first_group<unit_lanes>(place) * each;
        const i64 to = from + each < total ? from + each : total;
        if (from >= to) return;
        const CloseParts keeper = {memory.stops};
        const i64 first = row_of_position(memory.starts, count, from);
        if constexpr (lanes == 0) {
            for (i64 rank = first; rank < count && memory.starts[rank] < to; ++rank) {
                take_share<0>(format, visitor, keeper, clipped(memory, format, rank, from, to));
            }
        } else {
            unsigned char* board = place.shared + warp_id() * Board::bytes;
            for (i64 batch = first; batch < count && memory.starts[batch] < to;
                 batch += warp_size) {
                const i64 rank = batch + lane_id();
                Share share = {-1, 0, 0, 0};
                if (rank < count) share = clipped(memory, format, rank, from, to);
                share_out<lanes>(format, visitor, keeper, board, share);
            }
        }
    }

    // What of a row lies in a stretch of positions.
    static WEFT_DEVICE Share clipped(const Memory& memory, const Format& format, i64 rank,
                                     i64 from, i64 to) {
        const i64 start = memory.starts[rank], end = memory.starts[rank + 1];
        if (start >= to) return {-1, 0, 0, 0};
        const i64 first = start > from ? start : from;
        const i64 last = end < to ? end : to;
        const i64 row = memory.rows[rank];
        return {row, format.begin(row) + (first - start), last - first,
                start < from || end > to ? 1u : 0u};
    }
};

}  // namespace weft

#endif
