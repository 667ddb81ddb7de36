// Rows of one width per slice: the k-th arcs of the rows of a slice lie side by side.
//
// Slots are numbered row by row within a slice, places column by column. A row knows how many of its
// slots are used, and whether all arcs of its vertex fit; what does not is in another part.
#ifndef WEFT_FORMAT_SLICED_ELL_CUH
#define WEFT_FORMAT_SLICED_ELL_CUH

#include "listed.cuh"

namespace weft {

template <class Vertex>
struct SlicedEll {
    static constexpr bool packed = false;
    static constexpr bool full_rows = true;
    static constexpr bool splits = true;
    static constexpr bool direct_owner = true;

    const Vertex* targets;  // by place
    const u8* lengths;      // by row; the width + 1 where there is a rest
    const i64* offsets;     // by slice: its first slot and place, and the end after the last
    const Vertex* slices;   // by column of a slice: which slice that is
    i64 rows;
    i64 slots;
    i64 bits;  // of the number of a row within its slice

    struct Slice {
        i64 first;
        i64 width;
    };

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE Slice slice_of(i64 row) const {
        const i64 first = load_constant(offsets + (row >> bits));
        return {first, (load_constant(offsets + (row >> bits) + 1) - first) >> bits};
    }
    WEFT_DEVICE i64 inside(i64 row) const { return row & ((i64(1) << bits) - 1); }
    WEFT_DEVICE i64 begin(i64 row) const {
        const Slice slice = slice_of(row);
        return slice.first + inside(row) * slice.width;
    }
    WEFT_DEVICE i64 end(i64 row) const {
        const Slice slice = slice_of(row);
        const i64 length = load_constant(lengths + row);
        return slice.first + inside(row) * slice.width + (length < slice.width ? length : slice.width);
    }
    WEFT_DEVICE bool whole(i64 v) const { return load_constant(lengths + v) <= slice_of(v).width; }
    WEFT_DEVICE i64 place(i64 slot, i64 row) const {
        const Slice slice = slice_of(row);
        const i64 column = slot - slice.first - inside(row) * slice.width;
        return slice.first + (column << bits) + inside(row);
    }
    WEFT_DEVICE i64 target(i64 slot, i64 row) const {
        return static_cast<i64>(load_constant(targets + place(slot, row)));
    }
    WEFT_DEVICE bool valid(i64 slot, i64 row) const { return slot < end(row); }
    WEFT_DEVICE i64 vertex(i64 row) const { return row; }

    WEFT_DEVICE i64 owner(i64 slot) const {
        const i64 first = static_cast<i64>(load_constant(slices + (slot >> bits))) << bits;
        const Slice slice = slice_of(first);
        return first + static_cast<u32>(slot - slice.first) / static_cast<u32>(slice.width);
    }
};

}  // namespace weft

#endif
