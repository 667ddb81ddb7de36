// A group takes one row.
#ifndef WEFT_SCHEDULE_VERTEX_CUH
#define WEFT_SCHEDULE_VERTEX_CUH

#include "sharing.cuh"

namespace weft {

template <class Format, u32 lanes>
struct VertexSchedule {
    struct Memory {};

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs&, const Memory&,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        const i64 first = first_group<lanes>(place), stride = num_groups<lanes>(place);
        if constexpr (Visitor::always_open) {
            walk_ahead(
                format, first, rows.size(), stride, [&](i64 i) { return rows.row(i); },
                [&](i64 row, i64 begin, i64 end) { walk_alone(format, row, begin, end, visitor); });
        } else {
            for (i64 i = first; i < rows.size(); i += stride) {
                const i64 row = rows.row(i);
                if (row < 0 || !visitor.open(row)) continue;
                walk_alone(format, row, format.begin(row), format.end(row), visitor);
            }
        }
    }
};

}  // namespace weft

#endif
