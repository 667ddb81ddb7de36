// A group takes one row.
#ifndef WEFT_SCHEDULE_VERTEX_CUH
#define WEFT_SCHEDULE_VERTEX_CUH

#include "sweep.cuh"

namespace weft {

template <class Format, u32 lanes>
struct VertexSchedule {
    struct Memory {};

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs&, const Memory&,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        const i64 stride = num_groups<lanes>(place);
        for (i64 i = first_group<lanes>(place); i < rows.size(); i += stride) {
            walk_row(format, rows.row(i), visitor);
        }
    }
};

}  // namespace weft

#endif
