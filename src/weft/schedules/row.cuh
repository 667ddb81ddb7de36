// A virtual warp of knobs.row_lanes threads, at least a group, takes one row; or a block does (0).
#ifndef WEFT_SCHEDULE_ROW_CUH
#define WEFT_SCHEDULE_ROW_CUH

#include "sharing.cuh"

namespace weft {

template <class Format, u32 lanes>
struct RowSchedule {
    struct Memory {};

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs& knobs, const Memory&,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        const i64 size = rows.size();
        if (lanes == 0 || knobs.row_lanes == 0) {
            u32 turn = 0;
            clear_flag<lanes>(place.shared);
            for (i64 i = place.block; i < size; i += place.blocks) {
                const i64 row = rows.row(i);
                if (!open_together<Format>(visitor, row, 0)) continue;
                walk_by_block<lanes>(format, row, format.begin(row), format.end(row), visitor,
                                     place.shared, ++turn);
            }
        } else if constexpr (lanes > 0) {
            const u32 wanted = knobs.row_lanes < warp_size ? knobs.row_lanes : warp_size;
            const u32 width = wanted > lanes ? wanted : lanes;
            const u32 teams = block_size() / width;
            const i64 stride = static_cast<i64>(place.blocks) * teams;
            for (i64 i = static_cast<i64>(place.block) * teams + thread_id() / width; i < size;
                 i += stride) {
                const i64 row = rows.row(i);
                if (!open_together<Format>(visitor, row, width)) continue;
                walk_by_team<lanes>(format, row, format.begin(row), format.end(row), visitor,
                                    width);
            }
        }
    }
};

}  // namespace weft

#endif
