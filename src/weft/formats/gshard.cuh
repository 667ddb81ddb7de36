// Shards: the arcs into each window of destinations, sorted by source; every arc is a row.
//
// What the sources send can be computed ahead into a buffer by slot, where it lies in the order in
// which it is taken.
#ifndef WEFT_FORMAT_GSHARD_CUH
#define WEFT_FORMAT_GSHARD_CUH

#include "sweep.cuh"

namespace weft {

template <class Vertex>
struct Shards {
    static constexpr bool packed = true;
    static constexpr bool full_rows = true;
    static constexpr bool splits = true;
    static constexpr bool direct_owner = true;

    const Vertex* vertices;
    const Vertex* targets;
    i64 rows;
    i64 slots;

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE i64 begin(i64 row) const { return row; }
    WEFT_DEVICE i64 end(i64 row) const { return row + 1; }
    WEFT_DEVICE i64 target(i64 slot, i64) const {
        return static_cast<i64>(load_constant(targets + slot));
    }
    WEFT_DEVICE bool valid(i64, i64) const { return true; }
    WEFT_DEVICE i64 vertex(i64 row) const {
        return static_cast<i64>(load_constant(vertices + row));
    }
    WEFT_DEVICE i64 place(i64 slot, i64) const { return slot; }
    WEFT_DEVICE i64 owner(i64 slot) const { return slot; }
};

}  // namespace weft

#endif
