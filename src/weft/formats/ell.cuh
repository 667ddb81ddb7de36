// Rows of a fixed width, column by column: the k-th arcs of all vertices lie side by side.
//
// A row knows how many of its slots are used (ELLPACK-R), and whether all arcs of its vertex fit.
// What does not is in another part.
#ifndef WEFT_FORMAT_ELL_CUH
#define WEFT_FORMAT_ELL_CUH

#include "listed.cuh"

namespace weft {

template <class Vertex>
struct Ell {
    static constexpr bool packed = false;
    static constexpr bool full_rows = true;
    static constexpr bool splits = true;
    static constexpr bool direct_owner = true;

    const Vertex* targets;  // by column
    const u8* lengths;      // by row; width + 1 where there is a rest
    i64 rows;
    i64 slots;
    i64 width;

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE i64 begin(i64 row) const { return row * width; }
    WEFT_DEVICE i64 end(i64 row) const {
        const i64 length = load_constant(lengths + row);
        return row * width + (length < width ? length : width);
    }
    WEFT_DEVICE bool whole(i64 v) const { return load_constant(lengths + v) <= width; }
    WEFT_DEVICE i64 place(i64 slot, i64 row) const { return (slot - row * width) * rows + row; }
    WEFT_DEVICE i64 target(i64 slot, i64 row) const {
        return static_cast<i64>(load_constant(targets + place(slot, row)));
    }
    WEFT_DEVICE bool valid(i64 slot, i64 row) const { return slot < end(row); }
    WEFT_DEVICE i64 vertex(i64 row) const { return row; }
    WEFT_DEVICE i64 owner(i64 slot) const {
        // Divisions of 32 bits are several times faster.
        if (slots <= 0xffffffffll) return static_cast<u32>(slot) / static_cast<u32>(width);
        return slot / width;
    }
};

}  // namespace weft

#endif
