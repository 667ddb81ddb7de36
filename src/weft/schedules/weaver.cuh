// A block registers as many rows as it has threads, and its warps take batches of their slots in the
// order in which they ask: SparseWeaver's unit (docs/reference/weaver.md) in software.
//
// Registration: every thread brings a row; those with slots form an ordered table in shared memory,
// with the position of the first slot of each. One barrier. Distribution: an atomic cursor hands out
// batches of consecutive positions, so a warp that is done early takes more of them. Rows that cross
// batches are closed in parts. Of a row that wants no more (`raise`), what is left is passed over.
#ifndef WEFT_SCHEDULE_WEAVER_CUH
#define WEFT_SCHEDULE_WEAVER_CUH

#include "evenly.cuh"

namespace weft {

// Marks of rows that cross batches: 1, and the rank in the table.
struct SkipRows {
    u32* stops;  // a bit per rank

    static WEFT_DEVICE u32 mark(i64 rank) { return static_cast<u32>(rank) << 1 | 1u; }
    template <class Visitor>
    WEFT_DEVICE void finish(Visitor& visitor, const typename Visitor::Row& held, i64 row,
                            const typename Visitor::Partial& partial, u32 mark) const {
        visitor.close(held, row, partial, mark == 0);
    }
    WEFT_DEVICE bool raised(i64, u32 mark) const {
        return mark != 0 && (load_volatile(stops + (mark >> 6)) >> (mark >> 1 & 31) & 1);
    }
    WEFT_DEVICE void raise(i64, u32 mark) const {
        if (mark != 0) atomic_or(stops + (mark >> 6), 1u << (mark >> 1 & 31));
    }
};

template <class Format, u32 lanes>
struct WeaverSchedule {
    struct Memory {};

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs& knobs, const Memory&,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        const i64 size = rows.size();
        if constexpr (lanes == 0) {
            for (i64 i = place.block; i < size; i += place.blocks) {
                walk_row(format, rows.row(i), visitor);
            }
        } else {
            const u32 tile = rows_at_a_time(size, place.blocks, knobs.entries);
            const i64 stride = static_cast<i64>(place.blocks) * tile;
            for (i64 first = static_cast<i64>(place.block) * tile; first < size; first += stride) {
                const i64 limit = first + tile < size ? first + tile : size;
                const Share share = ask_for_row<lanes, true>(format, rows, first + thread_id(),
                                                             limit, visitor);
                take_round(place, format, visitor, share);
            }
        }
    }

 private:
    static constexpr u32 window = warp_size / (lanes + (lanes == 0));
    static constexpr i64 most_windows = 16;   // of a batch
    static constexpr i64 batches_of_warp = 4;  // on the average, where there is enough work

    template <class Visitor>
    static WEFT_DEVICE void take_round(const Place& place, const Format& format, Visitor& visitor,
                                       const Share& mine) {
        const u32 threads = block_size(), warps = threads / warp_size;
        i64* totals = reinterpret_cast<i64*>(place.shared);
        u32* stops = reinterpret_cast<u32*>(totals + warp_size);
        u32* cursor = stops + warp_size;
        i64* listed = reinterpret_cast<i64*>(cursor + 4);
        i64* begins = listed + threads;
        i64* starts = begins + threads;
        unsigned char* boards = reinterpret_cast<unsigned char*>(starts + threads + 2);
        unsigned char* board = boards + warp_id() * Board::bytes;

        // The barriers of the scans also end all reads of the previous round's table.
        i64 count, total;
        const i64 rank = scan_block(mine.degree > 0, totals, count);
        const i64 start = scan_block(mine.degree, totals, total);
        if (mine.degree > 0) {
            listed[rank] = mine.row;
            begins[rank] = mine.begin;
            starts[rank] = start;
        }
        if (thread_id() == 0) {
            starts[count] = total;
            *cursor = 0;
        }
        if (Visitor::exits && thread_id() < warp_size) stops[thread_id()] = 0;
        sync_block();

        i64 windows = (total + warps * batches_of_warp * window - 1) /
                      (warps * batches_of_warp * window);
        windows = windows < most_windows ? windows : most_windows;
        const i64 each = windows * window;
        const SkipRows keeper = {stops};
        while (total > 0) {
            u32 next = 0;
            if (lane_id() == 0) next = atomic_add(cursor, 1u);
            const i64 from = shuffle(full_mask, next, 0) * each;
            if (from >= total) break;
            const i64 to = from + each < total ? from + each : total;
            take_batch(format, visitor, keeper, board, listed, begins, starts, count, from, to);
        }
    }

    // The rows of positions `from` to `to`, 32 at a time.
    template <class Visitor>
    static WEFT_DEVICE void take_batch(const Format& format, Visitor& visitor,
                                       const SkipRows& keeper, unsigned char* board,
                                       const i64* listed, const i64* begins, const i64* starts,
                                       i64 count, i64 from, i64 to) {
        const i64 first = row_of_position(starts, count, from);
        for (i64 batch = first; batch < count && starts[batch] < to; batch += warp_size) {
            const i64 at = batch + lane_id();
            Share share = {-1, 0, 0, 0};
            if (at < count && starts[at] < to) {
                const i64 begin = starts[at], end = starts[at + 1];
                const i64 low = begin > from ? begin : from;
                const i64 high = end < to ? end : to;
                const u32 mark = begin < from || end > to ? keeper.mark(at) : 0;
                share = {listed[at], begins[at] + (low - begin), high - low, mark};
            }
            share_out<lanes>(format, visitor, keeper, board, share);
        }
    }
};

}  // namespace weft

#endif
