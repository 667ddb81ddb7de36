// The classes of `twc` within a block: it loads as many rows as it has threads, walks the largest
// as a whole, its warps those of middle size, and each warp shares its other rows out evenly.
//
// Rows for the block and for warps lie in shared memory, from both ends of one table.
#ifndef WEFT_SCHEDULE_TWCE_CUH
#define WEFT_SCHEDULE_TWCE_CUH

#include "evenly.cuh"

namespace weft {

template <class Format, u32 lanes>
struct TwceSchedule {
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
            // The partials of a visitor are of no known size: they come last.
            const u32 threads = block_size();
            u32* counts = reinterpret_cast<u32*>(place.shared);  // for blocks, for warps, taken
            i64* listed = reinterpret_cast<i64*>(place.shared + 16);
            i64* begins = listed + threads;
            i64* degrees = begins + threads;
            unsigned char* boards = reinterpret_cast<unsigned char*>(degrees + threads);
            unsigned char* board = boards + warp_id() * Board::bytes;
            unsigned char* meeting =
                boards + (lanes < warp_size ? threads / warp_size * Board::bytes : 0);
            u32 turn = 0;
            clear_flag<lanes>(meeting);
            const u32 tile = rows_at_a_time(size, place.blocks, threads);
            const i64 stride = static_cast<i64>(place.blocks) * tile;
            for (i64 first = static_cast<i64>(place.block) * tile; first < size; first += stride) {
                if (thread_id() < 3) counts[thread_id()] = 0;
                sync_block();
                const i64 limit = first + tile < size ? first + tile : size;
                Share share = ask_for_row<lanes, true>(format, rows, first + thread_id(), limit,
                                                       visitor);
                const bool for_block = share.degree >= knobs.block_degree && share.degree > 0;
                const bool for_warp =
                    !for_block && share.degree >= knobs.warp_degree && share.degree > 0;
                if (for_block || for_warp) {
                    const u32 rank = atomic_add(counts + (for_block ? 0 : 1), 1u);
                    const u32 at = for_block ? rank : threads - 1 - rank;
                    listed[at] = share.row;
                    begins[at] = share.begin;
                    degrees[at] = share.degree;
                    share.degree = 0;
                }
                sync_block();
                const u32 blocks = counts[0], warps = counts[1];
                for (u32 i = 0; i < blocks; ++i) {
                    walk_by_block<lanes>(format, listed[i], begins[i], begins[i] + degrees[i],
                                         visitor, meeting, ++turn);
                }
                while (warps > 0) {
                    u32 next = 0;
                    if (lane_id() == 0) next = atomic_add(counts + 2, 1u);
                    next = shuffle(full_mask, next, 0);
                    if (next >= warps) break;
                    const u32 at = threads - 1 - next;
                    walk_by_team<lanes>(format, listed[at], begins[at], begins[at] + degrees[at],
                                        visitor, warp_size);
                }
                share_out<lanes>(format, visitor, CloseWhole(), board, share);
                sync_block();  // The table is no longer read.
            }
        }
    }
};

}  // namespace weft

#endif
