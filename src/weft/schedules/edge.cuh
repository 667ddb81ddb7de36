// A group takes one slot; its row is the slot's owner.
//
// A warp takes pieces of consecutive slots, a window of one slot per group after another, so that
// neighbouring lanes read neighbouring slots and the owner of a slot need only be searched from the
// owner of the one before. Neighbouring groups with the same row meet before they close their part.
#ifndef WEFT_SCHEDULE_EDGE_CUH
#define WEFT_SCHEDULE_EDGE_CUH

#include "sharing.cuh"

namespace weft {

template <class Format, u32 lanes>
struct EdgeSchedule {
    struct Memory {};

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs&, const Memory&,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        constexpr u32 unit_lanes = lanes == 0 ? 0 : warp_size;
        constexpr u32 windows = 8;
        constexpr u32 width = lanes == 0 ? 1 : warp_size / (lanes + (lanes == 0));
        constexpr u32 piece = windows * width;
        const i64 slots = format.num_slots();
        const i64 stride = num_groups<unit_lanes>(place) * piece;
        for (i64 first = first_group<unit_lanes>(place) * piece; first < slots; first += stride) {
            const i64 end = first + piece < slots ? first + piece : slots;
            take_piece<width>(format, rows, visitor, first, end);
        }
    }

 private:
    // The owner of a slot that lies at or after `near`: by doubling steps, then by bisection.
    static WEFT_DEVICE i64 owner(const Format& format, i64 slot, i64 near) {
        if (Format::direct_owner || near < 0) return format.owner(slot);
        if (slot < format.end(near)) return near;
        const i64 rows = format.num_rows();
        i64 low = near + 1, step = 1;
        while (low + step < rows && format.begin(low + step) <= slot) {
            low += step;
            step *= 2;
        }
        i64 high = low + step < rows ? low + step : rows;
        while (high - low > 1) {
            const i64 middle = (low + high) / 2;
            if (format.begin(middle) <= slot) low = middle;
            else high = middle;
        }
        return low;
    }

    template <u32 width, class Rows, class Visitor>
    static WEFT_DEVICE void take_piece(const Format& format, const Rows& rows, Visitor& visitor,
                                       i64 first, i64 end) {
        using Row = typename Visitor::Row;
        using Partial = typename Visitor::Partial;
        const u32 group = width == 1 ? 0 : lane_id() / (warp_size / width);
        const i64 mine = first + group < end ? first + group : end - 1;
        i64 row = owner(format, mine, -1);
        bool wanted = rows.holds(row) && visitor.open(row);
        i64 done = -1;  // the last row of which no more is wanted
        // What is loaded for an unwanted row is ignored.
        Row held = load_if(visitor, row, wanted);
        Partial partial = visitor.empty(held);
        bool some = false;
        for (i64 window = first; window < end; window += width) {
            const i64 slot = window + group;
            const bool here = slot < end;
            const i64 next = owner(format, here ? slot : end - 1, row);
            if constexpr (Visitor::collects) {
                if (changed<width>(next != row)) {
                    close_parts<width>(visitor, held, row, partial, wanted, some);
                    partial = visitor.empty(held);
                    some = false;
                }
            }
            if (next != row) {
                row = next;
                wanted = rows.holds(row) && visitor.open(row);
                held = load_if(visitor, row, wanted);
                partial = visitor.empty(held);
            }
            bool hit = false;
            if (here && wanted && !(Visitor::exits && row == done) && format.valid(slot, row)) {
                hit = visitor.take(partial, held, row, slot);
                some = true;
            }
            if constexpr (Visitor::exits) {
                if constexpr (width == 1) {
                    if (hit) done = row;
                } else {
                    // Rows come in order: only the last that was hit can come again.
                    const u32 hits = ballot(full_mask, hit);
                    const i64 last = shuffle(full_mask, row, 31 - clz(hits | 1));
                    if (hits != 0) done = last;
                }
            }
        }
        if constexpr (Visitor::collects) {
            close_parts<width>(visitor, held, row, partial, wanted, some);
        }
    }

    template <class Visitor>
    static WEFT_DEVICE typename Visitor::Row load_if(Visitor& visitor, i64 row, bool wanted) {
        if (wanted) return visitor.load(row);
        return typename Visitor::Row();
    }

    template <u32 width>
    static WEFT_DEVICE bool changed(bool mine) {
        if constexpr (width == 1) return mine;
        else return any(full_mask, mine);
    }

    // Whether no group before this one is among the lanes.
    static WEFT_DEVICE bool first_of(u32 peers) {
        return (ffs(peers) - 1) / lanes == lane_id() / lanes;
    }

    // The groups of a warp with the same row meet; rows are in the order of the groups. Their part
    // is closed if one of them took a slot.
    template <u32 width, class Visitor>
    static WEFT_DEVICE void close_parts(Visitor& visitor, const typename Visitor::Row& held,
                                        i64 row, typename Visitor::Partial& partial, bool wanted,
                                        bool some) {
        if constexpr (width == 1) {
            if (some) visitor.close(held, row, partial, false);
        } else {
            const u32 lane = lane_id();
            const i64 key = wanted ? row : -1 - static_cast<i64>(lane / lanes);
            meet_keyed<lanes>(visitor, partial, key);
            const u32 took = ballot(full_mask, some);
            const u32 peers = match_any(full_mask, key);
            if ((took & peers) != 0 && first_of(peers)) {
                visitor.close(held, row, partial, false);
            }
        }
    }
};

}  // namespace weft

#endif
