// A group takes one row. Where the visitor has a first look, threads offer it to their rows; those that
// it does not end wait until a warp has one for every lane, so that lanes are not idle for the few.
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
        if constexpr (Visitor::guesses && lanes == 1 && !is_joined<Format>) {
            look_first(place, format, rows, visitor);
            return;
        }
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
            }
            if constexpr (is_joined<Format>) {
                walk_joined(format, row, visitor);
            } else {
                const i64 begin = format.begin(row), end = format.end(row);
                if constexpr (expects) format.expect_slot(begin + apart);
                walk_alone(format, row, begin, end, visitor);
            }
        }
    }

 private:
    template <class Rows, class Visitor>
    static WEFT_DEVICE void look_first(const Place& place, const Format& format, const Rows& rows,
                                       Visitor& visitor) {
        i64* const waiting = reinterpret_cast<i64*>(place.shared) + warp_id() * 2 * warp_size;
        u32 count = 0;
        const i64 stride = num_groups<1>(place), size = rows.size();
        WEFT_UNROLL(1)
        for (i64 first = first_group<1>(place) - lane_id(); first < size; first += stride) {
            const i64 row = first + lane_id() < size ? rows.row(first + lane_id()) : -1;
            bool left = false;
            if (row >= 0) {
                const i64 far = visitor.first_look(row);  // under way with what open asks for
                if (visitor.open(row)) {
                    const typename Visitor::Row held = visitor.load(row);
                    typename Visitor::Partial partial = visitor.empty(held);
                    left = far >= 0 && !visitor.look(partial, held, row, far);
                    if (!left) visitor.close(held, row, partial, true);
                }
            }
            const u32 members = ballot(full_mask, left);
            if (left) waiting[count + popcount(members & lanes_below())] = row;
            count += popcount(members);
            sync_warp(full_mask);
            const u32 enough = first + stride < size ? warp_size : 1;  // the last ones never are
            WEFT_UNROLL(1)
            while (count >= enough) {
                const u32 taken = count < warp_size ? count : warp_size;
                count -= taken;
                if (lane_id() < taken) {
                    const i64 open = waiting[count + lane_id()];
                    walk_alone(format, open, format.begin(open), format.end(open), visitor);
                }
                sync_warp(full_mask);  // what was taken is overwritten next
            }
        }
    }
};

}  // namespace weft

#endif
