// Merge path: rows and slots count alike, and every warp takes an equal stretch of both together,
// knobs.items for each of its groups. (D. Merrill and M. Garland, Merge-based parallel sparse
// matrix-vector multiplication, SC 2016.)
//
// A stretch begins at (row, position) on a diagonal of the rectangle rows x slots, found by
// bisection. Rows that lie in one stretch are closed as whole, the others in parts. Phases 0 and 1
// lay the rows out; where all rows of a packed format are visited, its offsets are the layout, and
// these phases have nothing to do but to clear flags.
#ifndef WEFT_SCHEDULE_MERGE_CUH
#define WEFT_SCHEDULE_MERGE_CUH

#include "evenly.cuh"
#include "layout.cuh"
#include "rows.cuh"

namespace weft {

// The rows that were laid out. They are open.
template <class Format>
struct LaidRows {
    static constexpr bool asks = false;
    const Format& format;
    const LayoutMemory& memory;
    i64 count;
    i64 total;
    WEFT_DEVICE i64 start(i64 rank) const { return memory.starts[rank]; }
    WEFT_DEVICE i64 row(i64 rank) const { return memory.rows[rank]; }
    WEFT_DEVICE i64 begin(i64 row) const { return format.begin(row); }
};

// All rows of a packed format: a position is a slot.
template <class Format>
struct PackedRows {
    static constexpr bool asks = true;
    const Format& format;
    i64 count;
    i64 total;
    WEFT_DEVICE i64 start(i64 rank) const {
        return rank < count ? format.begin(rank) : total;
    }
    WEFT_DEVICE i64 row(i64 rank) const { return rank; }
    WEFT_DEVICE i64 begin(i64 row) const { return format.begin(row); }
};

template <class Rows>
struct IsAll {
    static constexpr bool value = false;
};
template <>
struct IsAll<AllRows> {
    static constexpr bool value = true;
};

template <class Format, u32 lanes>
struct MergeSchedule {
    using Memory = LayoutMemory;

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs& knobs, const Memory& memory,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        constexpr bool ready = IsAll<Rows>::value && Format::packed;
        if constexpr (phase == 0) {
            if constexpr (!ready) measure<lanes, false>(place, memory, format, rows, visitor);
        } else if constexpr (phase == 1) {
            if constexpr (!ready) {
                lay_out<Visitor::exits>(place, memory, rows);
            } else if constexpr (Visitor::exits) {
                const i64 stride = num_groups<1>(place);
                for (i64 i = first_group<1>(place); i < rows.size(); i += stride) {
                    memory.stops[i] = 0;
                }
            }
        } else if constexpr (ready) {
            const PackedRows<Format> table = {format, rows.size(), format.num_slots()};
            take(place, knobs, memory, table, format, visitor);
        } else {
            const LaidRows<Format> table = {format, memory,
                                            static_cast<i64>(place.before[LAID_ROWS]),
                                            static_cast<i64>(place.before[LAID_SLOTS])};
            take(place, knobs, memory, table, format, visitor);
        }
    }

 private:
    template <class Table, class Visitor>
    static WEFT_DEVICE void take(const Place& place, const Knobs& knobs, const Memory& memory,
                                 const Table& table, const Format& format, Visitor& visitor) {
        constexpr u32 unit_lanes = lanes == 0 ? 0 : warp_size;
        constexpr u32 groups = lanes == 0 ? 1 : warp_size / (lanes + (lanes == 0));
        const i64 length = table.count + table.total;
        const i64 units = num_groups<unit_lanes>(place);
        const u32 items = knobs.items > 0 ? knobs.items : 1;
        const i64 each = rows_at_a_time(length, units, items * groups);
        const CloseParts keeper = {memory.stops};
        for (i64 from = first_group<unit_lanes>(place) * each; from < length;
             from += units * each) {
            const i64 to = from + each < length ? from + each : length;
            take_stretch(place, table, format, visitor, keeper, from, to);
        }
    }

    // How many rows end before the diagonal.
    template <class Table>
    static WEFT_DEVICE i64 rows_before(const Table& table, i64 diagonal) {
        count_search();
        i64 low = diagonal > table.total ? diagonal - table.total : 0;
        i64 high = diagonal < table.count ? diagonal : table.count;
        while (low < high) {
            const i64 middle = (low + high) / 2;
            if (table.start(middle + 1) <= diagonal - middle - 1) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    template <class Table, class Visitor>
    static WEFT_DEVICE void take_stretch(const Place& place, const Table& table,
                                         const Format& format, Visitor& visitor,
                                         const CloseParts& keeper, i64 from, i64 to) {
        const i64 first = rows_before(table, from), last = rows_before(table, to);
        const i64 begin = from - first, end = to - last;
        if constexpr (lanes == 0) {
            for (i64 rank = first; rank <= last && rank < table.count; ++rank) {
                const Share share = clipped(table, rank, first, last, begin, end, visitor);
                if (share.degree > 0) take_share<0>(format, visitor, keeper, share);
            }
        } else {
            unsigned char* board = place.shared + warp_id() * Board::bytes;
            for (i64 batch = first; batch <= last && batch < table.count; batch += warp_size) {
                // Lanes of a group ask for the row of each of them together.
                Share share = {-1, 0, 0, 0};
                const i64 mine = batch + lane_id();
                for (u32 i = 0; i < lanes; ++i) {
                    const i64 rank = mine - Group<lanes>::lane() + i;
                    if (rank > last || rank >= table.count) break;
                    const Share one = clipped(table, rank, first, last, begin, end, visitor);
                    if (rank == mine) share = one;
                }
                share_out<lanes>(format, visitor, keeper, board, share);
            }
        }
    }

    // What of a row lies in the stretch. A row without slots is closed where its end lies.
    template <class Table, class Visitor>
    static WEFT_DEVICE Share clipped(const Table& table, i64 rank, i64 first, i64 last, i64 begin,
                                     i64 end, Visitor& visitor) {
        const i64 start = table.start(rank), stop = table.start(rank + 1);
        const i64 row = table.row(rank);
        const i64 low = start > begin ? start : begin;
        const i64 high = stop < end ? stop : end;
        const bool empty = start == stop;
        Share share = {-1, 0, 0, 0};
        if (empty ? !Visitor::collects || rank == last : high <= low) return share;
        if constexpr (Table::asks) {
            if (!visitor.open(row)) return share;
        }
        if (empty) {
            if constexpr (Visitor::collects) {
                const typename Visitor::Row held = visitor.load(row);
                visitor.close(held, row, visitor.empty(held), true);
            }
            return share;
        }
        share.row = row;
        share.begin = table.begin(row) + (low - start);
        share.degree = high - low;
        share.mark = start < begin || stop > end ? 1 : 0;
        return share;
    }
};

}  // namespace weft

#endif
