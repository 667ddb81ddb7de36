// Rows reduced in the order of their slots, by as many threads as their length asks for.
//
// A team (a thread, a warp, a block) cuts a row into as many stretches as it has threads. A thread
// takes the slots of one stretch one after another; then neighbouring stretches meet, the earlier one
// first, in an order that depends on the size of the team alone. So the result has the same bits
// whichever threads are faster and however many blocks there are, and the earliest message wins.
#ifndef WEFT_SEGMENTS_CUH
#define WEFT_SEGMENTS_CUH

#include "compact.cuh"
#include "sweep.cuh"

namespace weft {

// What a thread of a team finds in its stretch of a row.
template <class Format, class Visitor>
WEFT_DEVICE typename Visitor::Partial take_stretch(const Format& format, Visitor& visitor,
                                                   const typename Visitor::Row& held, i64 row,
                                                   u32 member, u32 team) {
    typename Visitor::Partial partial = visitor.empty(held);
    const i64 begin = format.begin(row), end = format.end(row);
    const i64 length = (end - begin + team - 1) / team;
    const i64 from = begin + length * member;
    const i64 to = from + length < end ? from + length : end;
    for (i64 slot = from; slot < to; ++slot) {
        if (!format.valid(slot, row)) continue;
        if (visitor.take(partial, held, row, slot) && Visitor::exits) break;
    }
    return partial;
}

// The partials of a warp, in its first lane.
template <class Visitor>
WEFT_DEVICE void meet_in_order(Visitor& visitor, typename Visitor::Partial& partial) {
    for (u32 stride = 1; stride < warp_size; stride *= 2) {
        const u32 from = lane_id() + stride < warp_size ? lane_id() + stride : lane_id();
        const typename Visitor::Partial later = shuffle_any(full_mask, partial, from);
        if (lane_id() % (2 * stride) == 0) visitor.merge(partial, later);
    }
}

// A whole row by a block. `parts` has a place for each warp; another call must use another one.
template <class Format, class Visitor>
WEFT_DEVICE void reduce_by_block(const Format& format, i64 row, Visitor& visitor,
                                 typename Visitor::Partial* parts) {
    const typename Visitor::Row held = visitor.load(row);
    typename Visitor::Partial partial =
        take_stretch(format, visitor, held, row, thread_id(), block_size());
    meet_in_order(visitor, partial);
    if (lane_id() == 0) parts[warp_id()] = partial;
    sync_block();
    if (thread_id() != 0) return;
    for (u32 warp = 1; warp < block_size() / warp_size; ++warp) visitor.merge(partial, parts[warp]);
    visitor.close(held, row, partial, true);
}

// All rows of a format, each by the team that suits its length: `long_rows` lists those for blocks,
// then, from `for_block` on, those for warps. Ends with a block barrier.
template <class Format, class Vertex, class Visitor>
WEFT_DEVICE void reduce_rows(const Place& place, const Format& format, i64 rows, i64 warp_degree,
                             const Vertex* long_rows, i64 for_block, i64 listed,
                             Visitor& visitor) {
    using Partial = typename Visitor::Partial;
    Partial* const parts = reinterpret_cast<Partial*>(place.shared);
    const u32 warps = block_size() / warp_size;
    u32 turn = 0;
    for (i64 i = place.block; i < for_block; i += place.blocks) {
        reduce_by_block(format, static_cast<i64>(long_rows[i]), visitor, parts + turn * warps);
        turn = 1 - turn;  // the last one may still be read
    }
    const i64 all_warps = static_cast<i64>(place.blocks) * warps;
    for (i64 i = for_block + static_cast<i64>(place.block) * warps + warp_id(); i < listed;
         i += all_warps) {
        const i64 row = static_cast<i64>(long_rows[i]);
        const typename Visitor::Row held = visitor.load(row);
        Partial partial = take_stretch(format, visitor, held, row, lane_id(), warp_size);
        meet_in_order(visitor, partial);
        if (lane_id() == 0) visitor.close(held, row, partial, true);
    }
    for_all(place, rows, [&](i64 row) {
        if (format.end(row) - format.begin(row) < warp_degree) walk_row(format, row, visitor);
    });
    sync_block();
}

}  // namespace weft

#endif
