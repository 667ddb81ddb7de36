// A block loads as many rows as it has threads, and its groups take their slots evenly.
//
// The slots of all rows of the block are one line of positions, and every warp takes an equal
// stretch of it, 32 rows at a time. A row that lies in several stretches is finished by the warp in
// which it begins: after a barrier that warp merges what the others left.
#ifndef WEFT_SCHEDULE_BLOCK_CUH
#define WEFT_SCHEDULE_BLOCK_CUH

#include "evenly.cuh"

namespace weft {

// Marks of rows that cross stretches: 1, whether it began before, and its rank in the block.
// The partial goes to shared memory: one place of each warp for a row that began before its
// stretch, one for a row that goes on after it.
template <u32 lanes, class Partial>
struct CarryOut {
    u32* stops;  // a bit per rank
    Partial* carried;

    static WEFT_DEVICE u32 mark(i64 rank, bool began_before) {
        return static_cast<u32>(rank) << 2 | (began_before ? 2u : 0u) | 1u;
    }
    WEFT_DEVICE Partial& at(u32 warp, bool began_before) const {
        return carried[(2 * warp + (began_before ? 0 : 1)) * lanes + lane_id() % lanes];
    }
    template <class Visitor>
    WEFT_DEVICE void finish(Visitor& visitor, const typename Visitor::Row& held, i64 row,
                            const Partial& partial, u32 mark) const {
        if (mark == 0) visitor.close(held, row, partial, true);
        else at(warp_id(), (mark & 2) != 0) = partial;
    }
    WEFT_DEVICE bool raised(i64, u32 mark) const {
        return mark != 0 && (load_volatile(stops + (mark >> 7)) >> (mark >> 2 & 31) & 1);
    }
    WEFT_DEVICE void raise(i64, u32 mark) const {
        if (mark != 0) atomic_or(stops + (mark >> 7), 1u << (mark >> 2 & 31));
    }
};

template <class Format, u32 lanes>
struct BlockSchedule {
    struct Memory {};

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs&, const Memory&,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        const i64 size = rows.size();
        if constexpr (lanes == 0) {
            for (i64 i = place.block; i < size; i += place.blocks) {
                walk_row(format, rows.row(i), visitor);
            }
        } else {
            const u32 tile = rows_at_a_time(size, place.blocks, block_size());
            const i64 stride = static_cast<i64>(place.blocks) * tile;
            for (i64 first = static_cast<i64>(place.block) * tile; first < size; first += stride) {
                const i64 limit = first + tile < size ? first + tile : size;
                const Share share = ask_for_row<lanes, true>(format, rows, first + thread_id(),
                                                             limit, visitor);
                take_tile(place, format, visitor, share);
            }
        }
    }

 private:
    template <class Visitor>
    static WEFT_DEVICE void take_tile(const Place& place, const Format& format, Visitor& visitor,
                                      const Share& mine) {
        using Partial = typename Visitor::Partial;
        const u32 threads = block_size(), warps = threads / warp_size;
        i64* totals = reinterpret_cast<i64*>(place.shared);
        u32* stops = reinterpret_cast<u32*>(totals + warp_size);
        i64* listed = reinterpret_cast<i64*>(stops + warp_size);
        i64* begins = listed + threads;
        i64* starts = begins + threads;
        unsigned char* boards = reinterpret_cast<unsigned char*>(starts + threads + 2);
        unsigned char* board = boards + warp_id() * Board::bytes;
        Partial* carried = reinterpret_cast<Partial*>(
            boards + (lanes < warp_size ? warps * Board::bytes : 0));

        // The barriers of the scans also end all reads of the previous tile.
        i64 count, total;
        const i64 rank = scan_block(mine.degree > 0, totals, count);
        const i64 start = scan_block(mine.degree, totals, total);
        if (mine.degree > 0) {
            listed[rank] = mine.row;
            begins[rank] = mine.begin;
            starts[rank] = start;
        }
        if (thread_id() == 0) starts[count] = total;
        if (Visitor::exits && thread_id() < warp_size) stops[thread_id()] = 0;
        sync_block();

        constexpr u32 window = warp_size / lanes;
        const i64 each = (total + warps * window - 1) / (warps * window) * window;
        const i64 from = warp_id() * each;
        const i64 to = from + each < total ? from + each : total;
        const CarryOut<lanes, Partial> keeper = {stops, carried};
        i64 crossing = -1;  // the rank of the row that begins in this stretch and goes on after it
        if (from < to) {
            const i64 first = row_of_position(starts, count, from);
            for (i64 batch = first; batch < count && starts[batch] < to; batch += warp_size) {
                const i64 at = batch + lane_id();
                Share share = {-1, 0, 0, 0};
                bool crosses = false;
                if (at < count && starts[at] < to) {
                    const i64 begin = starts[at], end = starts[at + 1];
                    const i64 low = begin > from ? begin : from;
                    const i64 high = end < to ? end : to;
                    crosses = begin >= from && end > to;
                    const u32 mark =
                        begin < from || end > to ? keeper.mark(at, begin < from) : 0;
                    share = {listed[at], begins[at] + (low - begin), high - low, mark};
                }
                const u32 found = ballot(full_mask, crosses);
                if (found != 0) crossing = batch + (ffs(found) - 1);
                share_out<lanes>(format, visitor, keeper, board, share);
            }
        }
        if constexpr (Visitor::collects) {
            sync_block();
            if (crossing >= 0 && lane_id() < lanes) {
                const i64 row = listed[crossing];
                const i64 end = starts[crossing + 1];
                const typename Visitor::Row held = visitor.load(row);
                Partial partial = keeper.at(warp_id(), false);
                for (u32 warp = warp_id() + 1; warp * each < end; ++warp) {
                    visitor.merge(partial, keeper.at(warp, true));
                }
                visitor.close(held, row, partial, true);
            }
        }
    }
};

}  // namespace weft

#endif
