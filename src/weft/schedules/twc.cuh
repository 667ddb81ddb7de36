// Rows are queued by degree in global memory; then a group, a warp, a block or all blocks take one.
//
// Phase 0 fills two arrays from both ends: `small` with rows for a group (from the front) and for a
// warp (from the back), `large` with rows for a block and for all blocks. Phase 1 takes the rows,
// the largest first. Rows for all blocks are closed in parts, by each warp that took some. A few rows
// for a block are shared by all where there is nothing to close. Rows that come by class are taken
// as they are, by phase 1 alone.
// (D. Merrill, M. Garland, A. Grimshaw, Scalable GPU graph traversal, PPoPP 2012.)
#ifndef WEFT_SCHEDULE_TWC_CUH
#define WEFT_SCHEDULE_TWC_CUH

#include "sharing.cuh"

namespace weft {

template <class Format, u32 lanes>
struct TwcSchedule {
    struct Memory {
        i64* small;
        i64* large;
        u8* stops;  // by number of a row for all blocks: no more of it is wanted
    };
    enum Class : u32 { FOR_GROUP, FOR_WARP, FOR_BLOCK, FOR_GRID, CLASSES };

    template <u32 phase, class Rows, class Visitor>
    static WEFT_DEVICE void run(const Place& place, const Knobs& knobs, const Memory& memory,
                                const Format& format, const Rows& rows, Visitor& visitor) {
        if constexpr (phase == 0) {
            static_assert(!has_classes<Rows>, "they need no sorting");
            sort(place, knobs, memory, format, rows, visitor);
        } else if constexpr (has_classes<Rows>) {
            static_assert(!Visitor::exits, "nobody has cleared the stops");
            take(place, memory, format, rows, visitor);
        } else {
            take(place, memory, format, Sorted{memory, place.before, rows.size()}, visitor);
        }
    }

 private:
    // Rows as phase 0 left them.
    struct Sorted {
        const Memory& memory;
        const u64* counts;
        i64 size;
        WEFT_DEVICE i64 count(u32 of_class) const { return static_cast<i64>(counts[of_class]); }
        WEFT_DEVICE i64 row(u32 of_class, i64 i) const {
            const i64* const queue = of_class <= FOR_WARP ? memory.small : memory.large;
            return queue[of_class % 2 == 0 ? i : size - 1 - i];
        }
    };

    static constexpr u32 unit_lanes = lanes == 0 ? 0 : warp_size;

    // Rows that nothing is gathered of cost no more in pieces. As long as there are so few for each
    // block, all blocks share those for a block too: one that has a long row would have the others
    // wait for it. More rows take each warp longer to look through than the waiting.
    static constexpr i64 few_rows = 4;
    template <class Visitor>
    static constexpr bool spreads =
        lanes > 0 && !Visitor::collects && !Visitor::exits && !Visitor::marks;

    // Units (warps, or blocks where they are the groups) that share rows: every `stride`-th one from
    // the `first` on. This one is the `unit`-th of them.
    struct Team {
        i64 first;
        i64 stride;
        u32 units;
        u32 unit;
    };
    static WEFT_DEVICE Team everybody(const Place& place) {
        return {0, 1, static_cast<u32>(num_groups<unit_lanes>(place)),
                static_cast<u32>(first_group<unit_lanes>(place))};
    }

    template <class Classes, class Visitor>
    static WEFT_DEVICE void take(const Place& place, const Memory& memory, const Format& format,
                                 const Classes& rows, Visitor& visitor) {
        if constexpr (spreads<Visitor>) {
            // One loop for all that are shared: a visitor that is inlined again and again takes
            // seconds to compile.
            WEFT_UNROLL(1)
            for (u32 c = FOR_GRID; c > FOR_GROUP; --c) {
                const Team all = everybody(place);
                const Team block = {place.block, place.blocks, block_size() / warp_size, warp_id()};
                const bool few = c == FOR_BLOCK && rows.count(c) <= few_rows * place.blocks;
                take_shared(memory, format, rows, c,
                            c == FOR_GRID || few ? all
                            : c == FOR_BLOCK     ? block
                                                 : Team{all.unit, all.units, 1, 0},
                            visitor);
            }
        } else {
            take_shared(memory, format, rows, FOR_GRID, everybody(place), visitor);
            take_whole(place, format, rows, visitor);
        }
        const i64 for_group = rows.count(FOR_GROUP), groups = num_groups<lanes>(place);
        for (i64 i = first_group<lanes>(place); i < for_group; i += groups) {
            const i64 row = rows.row(FOR_GROUP, i);
            walk_alone(format, row, format.begin(row), format.end(row), visitor);
        }
    }

    // A block or a warp takes a row as a whole, and closes it.
    template <class Classes, class Visitor>
    static WEFT_DEVICE void take_whole(const Place& place, const Format& format,
                                       const Classes& rows, Visitor& visitor) {
        const i64 for_block = rows.count(FOR_BLOCK), for_warp = rows.count(FOR_WARP);
        if (for_block > 0) {
            u32 turn = 0;
            clear_flag<lanes>(place.shared);
            for (i64 i = place.block; i < for_block; i += place.blocks) {
                const i64 row = rows.row(FOR_BLOCK, i);
                walk_by_block<lanes>(format, row, format.begin(row), format.end(row), visitor,
                                     place.shared, ++turn);
            }
        }
        const i64 units = num_groups<unit_lanes>(place);
        const i64 unit = first_group<unit_lanes>(place);
        if constexpr (fetches<Visitor>) {
            const i64 at_once = rows_at_a_time(for_warp, units * shares, most_at_once);
            WEFT_UNROLL(1)
            for (i64 first = unit * at_once; first < for_warp;) {
                u64 fetched = 0;  // under way with the rows before
                if (lane_id() == 0) {
                    fetched = atomic_add(place.cells + FOR_WARP, static_cast<u64>(at_once));
                }
                const i64 last = first + at_once < for_warp ? first + at_once : for_warp;
                WEFT_UNROLL(1)
                for (i64 i = first; i < last; ++i) walk_by_unit(format, rows, i, visitor);
                first = units * at_once + static_cast<i64>(shuffle(full_mask, fetched, 0));
            }
        } else {
            for (i64 i = unit; i < for_warp; i += units) walk_by_unit(format, rows, i, visitor);
        }
    }

    // Rows for a warp differ in length by the quotient of two degrees. Where whole rows are gathered,
    // warps therefore fetch the next few when they are done with theirs: a share of what an even
    // division would give each, but at most so many.
    static constexpr i64 shares = 8;
    static constexpr u32 most_at_once = 16;
    template <class Visitor>
    static constexpr bool fetches = lanes > 0 && Visitor::collects && !Visitor::exits;

    // A warp, or a block where it is the group, takes one of the rows for a warp.
    template <class Classes, class Visitor>
    static WEFT_DEVICE void walk_by_unit(const Format& format, const Classes& rows, i64 i,
                                         Visitor& visitor) {
        const i64 row = rows.row(FOR_WARP, i);
        const i64 begin = format.begin(row), end = format.end(row);
        if constexpr (lanes == 0) walk_alone(format, row, begin, end, visitor);
        else walk_by_team<lanes>(format, row, begin, end, visitor, warp_size);
    }

    static WEFT_DEVICE u32 class_of(const Knobs& knobs, i64 degree) {
        return degree < knobs.warp_degree    ? FOR_GROUP
               : degree < knobs.block_degree ? FOR_WARP
               : degree < knobs.grid_degree  ? FOR_BLOCK
                                             : FOR_GRID;
    }

    // A block takes as many places as it has threads, and room for all of their rows at once.
    template <class Rows, class Visitor>
    static WEFT_DEVICE void sort(const Place& place, const Knobs& knobs, const Memory& memory,
                                 const Format& format, const Rows& rows, Visitor& visitor) {
        i64* room = reinterpret_cast<i64*>(place.shared);       // of each class
        u32* counts = reinterpret_cast<u32*>(room + CLASSES);   // of each class in each warp
        const i64 size = rows.size();
        const u32 warps = block_size() / warp_size;
        const i64 stride = static_cast<i64>(place.blocks) * block_size();
        for (i64 first = static_cast<i64>(place.block) * block_size(); first < size;
             first += stride) {
            const Share share =
                ask_for_row<lanes, false>(format, rows, first + thread_id(), size, visitor);
            const u32 mine = share.row < 0 ? CLASSES : class_of(knobs, share.degree);
            u32 rank = 0;
            for (u32 c = 0; c < CLASSES; ++c) {
                const u32 members = ballot(full_mask, mine == c);
                if (mine == c) rank = popcount(members & lanes_below());
                if (lane_id() == 0) counts[c * warp_size + warp_id()] = popcount(members);
            }
            sync_block();
            if (thread_id() < CLASSES) {
                u32 before = 0;
                for (u32 warp = 0; warp < warps; ++warp) {
                    const u32 members = counts[thread_id() * warp_size + warp];
                    counts[thread_id() * warp_size + warp] = before;
                    before += members;
                }
                room[thread_id()] =
                    before == 0 ? 0
                                : static_cast<i64>(atomic_add(place.cells + thread_id(),
                                                              static_cast<u64>(before)));
            }
            sync_block();
            if (mine < CLASSES) {
                const i64 at = room[mine] + counts[mine * warp_size + warp_id()] + rank;
                i64* queue = mine <= FOR_WARP ? memory.small : memory.large;
                queue[mine % 2 == 0 ? at : size - 1 - at] = share.row;
                if (Visitor::exits && mine == FOR_GRID) memory.stops[at] = 0;
            }
            sync_block();  // The counts are no longer read.
        }
    }

    // All units of a team share each of its rows, piece by piece in turn. The lanes of a warp look at
    // one row each, so that it waits for memory once to find its pieces of as many rows.
    template <class Classes, class Visitor>
    static WEFT_DEVICE void take_shared(const Memory& memory, const Format& format,
                                        const Classes& rows, u32 of_class, const Team& team,
                                        Visitor& visitor) {
        const i64 count = rows.count(of_class);
        constexpr u32 at_once = lanes == 0 ? 1 : warp_size;
        u32 used = 0;  // where the pieces of the next row begin, among the units
        for (i64 window = team.first; window < count; window += at_once * team.stride) {
            const i64 i = window + (lanes == 0 ? 0 : lane_id() * team.stride);
            const i64 row = i < count ? rows.row(of_class, i) : -1;
            const i64 degree = row < 0 ? 0 : format.end(row) - format.begin(row);
            const u32 pieces = static_cast<u32>((degree + piece<Visitor> - 1) / piece<Visitor>);
            if constexpr (lanes == 0) {
                const u32 first = team.unit >= used ? team.unit - used
                                                    : team.unit + team.units - used;
                used = (used + pieces) % team.units;
                if (first < pieces) take_pieces(memory, format, row, first, i, team, visitor);
            } else {
                const u32 upto = static_cast<u32>(scan_warp(pieces));
                const u32 begins = (used + upto - pieces) % team.units;
                const u32 first = team.unit >= begins ? team.unit - begins
                                                      : team.unit + team.units - begins;
                used = (used + shuffle(full_mask, upto, warp_size - 1)) % team.units;
                for (u32 own = ballot(full_mask, first < pieces); own != 0; own &= own - 1) {
                    const u32 source = ffs(own) - 1;
                    take_pieces(memory, format, shuffle(full_mask, row, source),
                                shuffle(full_mask, first, source), shuffle(full_mask, i, source),
                                team, visitor);
                }
            }
        }
    }

    // Slots that a unit takes at a time. What a warp has gathered meets that of others in memory,
    // which is worth it for many.
    template <class Visitor>
    static constexpr u32 piece = (Visitor::collects ? 16 : 8) *
                                 (lanes == 0 ? 1 : warp_size / (lanes + (lanes == 0)));

    // A unit takes its pieces of a row, of which it has the `first`-th and others after it.
    template <class Visitor>
    static WEFT_DEVICE void take_pieces(const Memory& memory, const Format& format, i64 row,
                                        u32 first, i64 number, const Team& team,
                                        Visitor& visitor) {
        const i64 begin = format.begin(row), end = format.end(row);
        const typename Visitor::Row held = visitor.load(row);
        typename Visitor::Partial partial = visitor.empty(held);
        const ByteFlag flag = {Visitor::exits ? memory.stops + number : nullptr};
        const i64 stride = static_cast<i64>(team.units) * piece<Visitor>;
        for (i64 from = begin + static_cast<i64>(first) * piece<Visitor>; from < end;
             from += stride) {
            const i64 to = from + piece<Visitor> < end ? from + piece<Visitor> : end;
            if constexpr (Visitor::exits) {
                if (agree<unit_lanes>(flag.raised())) break;
            }
            if constexpr (lanes == 0) {
                take_every<0>(format, visitor, partial, held, row, from, to, 1, flag);
            } else if (take_by_team<lanes>(format, visitor, partial, held, row, from, to, full_mask,
                                           warp_size)) {
                flag.raise();
            }
        }
        if constexpr (Visitor::collects) {
            meet<lanes>(visitor, partial, full_mask, warp_size);
            if (lanes == 0 || lane_id() < lanes) visitor.close(held, row, partial, false);
        }
    }
};

}  // namespace weft

#endif
