// Coordinates sorted by row, with the offsets of the rows: a slot knows its row without a search.
#ifndef WEFT_FORMAT_COO_CUH
#define WEFT_FORMAT_COO_CUH

#include "sweep.cuh"

namespace weft {

template <class Vertex>
struct Coo {
    static constexpr bool packed = true;
    static constexpr bool full_rows = true;
    static constexpr bool splits = false;
    static constexpr bool direct_owner = true;

    const i64* offsets;
    const Vertex* targets;
    const Vertex* owners;
    i64 rows;
    i64 slots;

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE i64 begin(i64 row) const { return load_constant(offsets + row); }
    WEFT_DEVICE i64 end(i64 row) const { return load_constant(offsets + row + 1); }
    WEFT_DEVICE i64 target(i64 slot, i64) const {
        return static_cast<i64>(load_constant(targets + slot));
    }
    WEFT_DEVICE i64 owner(i64 slot) const {
        return static_cast<i64>(load_constant(owners + slot));
    }
    WEFT_DEVICE bool valid(i64, i64) const { return true; }
    WEFT_DEVICE i64 vertex(i64 row) const { return row; }
    WEFT_DEVICE i64 place(i64 slot, i64) const { return slot; }
};

}  // namespace weft

#endif
