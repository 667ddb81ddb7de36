// A group takes one row.
#ifndef WEFT_SCHEDULE_VERTEX_CUH
#define WEFT_SCHEDULE_VERTEX_CUH

#include "joined.cuh"

namespace weft {

template <class Format, u32 lanes>
struct VertexSchedule {
    struct Memory {};

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs&, const Memory&,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        constexpr bool expects = Visitor::expects && foresees<Format>;
        const i64 stride = num_groups<lanes>(place);
        i64 apart = 0;  // slots from those of a row to those of the next one that is taken, about
        if constexpr (expects) apart = stride * format.num_slots() / (format.num_rows() + 1);
        for (i64 i = first_group<lanes>(place); i < rows.size(); i += stride) {
            const i64 row = rows.row(i);
            if (row < 0 || !visitor.open(row)) continue;
            if constexpr (expects) {
                const i64 next = row + stride;  // where all rows are taken
                if (next < format.num_rows()) {
                    format.expect(next);
                    visitor.expect(next);
                }
                format.expect_slot(format.begin(row) + apart);
            }
            if constexpr (is_joined<Format>) {
                walk_joined(format, row, visitor);
            } else {
                walk_alone(format, row, format.begin(row), format.end(row), visitor);
            }
        }
    }
};

}  // namespace weft

#endif
