// A warp loads up to 32 rows, and its groups take their slots evenly.
//
// Each warp has a board of its own in shared memory; no barrier but sync_warp.
#ifndef WEFT_SCHEDULE_WARP_CUH
#define WEFT_SCHEDULE_WARP_CUH

#include "evenly.cuh"
#include "vertex.cuh"

namespace weft {

template <class Format, u32 lanes>
struct WarpSchedule {
    struct Memory {};

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs&, const Memory&,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        const i64 size = rows.size();
        if constexpr (is_joined<Format> && lanes != 1) {
            VertexSchedule<Format, lanes>::template run<0>(place, {}, {}, format, rows, visitor);
        } else if constexpr (lanes == 0 || lanes == warp_size) {
            // A unit of one group has nothing to share.
            const i64 stride = num_groups<lanes>(place);
            for (i64 i = first_group<lanes>(place); i < size; i += stride) {
                walk_row(format, rows.row(i), visitor);
            }
        } else {
            const i64 warps = num_groups<warp_size>(place);
            const u32 tile = rows_at_a_time(size, warps, warp_size);
            unsigned char* memory = place.shared + warp_id() * Board::bytes;
            for (i64 first = first_group<warp_size>(place) * tile; first < size;
                 first += warps * tile) {
                const i64 limit = first + tile < size ? first + tile : size;
                if constexpr (is_joined<Format>) {
                    share_out_joined(format, rows, first, limit, visitor, memory);
                } else {
                    take_tile(format, rows, visitor, memory, first, limit);
                }
            }
        }
    }

 private:
    template <class Rows, class Visitor>
    static WEFT_DEVICE void take_tile(const Format& format, const Rows& rows, Visitor& visitor,
                                      unsigned char* memory, i64 first, i64 limit) {
        const Share share =
            ask_for_row<lanes, true>(format, rows, first + lane_id(), limit, visitor);
        if constexpr (lanes == 1 && Visitor::settles && Visitor::windows == 1 &&
                      Format::full_rows) {
            // A lane has the loads of a short row under way at once: nothing to share.
            if (all(full_mask, share.degree <= batch)) {
                if (share.degree > 0) {
                    walk_alone(format, share.row, share.begin, share.begin + share.degree, visitor);
                }
                return;
            }
        }
        share_out<lanes>(format, visitor, CloseWhole(), memory, share);
    }
};

}  // namespace weft

#endif
