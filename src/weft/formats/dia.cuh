// Diagonals: the arc of row r on diagonal d leads to r + diagonals[d], if its bit is set.
//
// What lies on other diagonals, and parallel arcs but the first, is in another part; a last stretch
// of bits says of which rows.
#ifndef WEFT_FORMAT_DIA_CUH
#define WEFT_FORMAT_DIA_CUH

#include "listed.cuh"

namespace weft {

template <class Vertex>
struct Dia {
    static constexpr bool packed = true;
    static constexpr bool full_rows = false;
    static constexpr bool splits = true;
    static constexpr bool direct_owner = true;

    const i64* diagonals;
    const u32* bits;  // by diagonal, then for the rest: a bit per row
    i64 rows;
    i64 slots;
    i64 width;  // number of diagonals
    i64 words;  // of the bits of one

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE i64 begin(i64 row) const { return row * width; }
    WEFT_DEVICE i64 end(i64 row) const { return (row + 1) * width; }
    WEFT_DEVICE i64 place(i64 slot, i64 row) const { return (slot - row * width) * rows + row; }
    WEFT_DEVICE i64 target(i64 slot, i64 row) const {
        return row + load_constant(diagonals + (slot - row * width));
    }
    WEFT_DEVICE bool valid(i64 slot, i64 row) const {
        return bit(slot - row * width, row);
    }
    WEFT_DEVICE bool whole(i64 v) const { return !bit(width, v); }
    WEFT_DEVICE bool bit(i64 diagonal, i64 row) const {
        const u32 word = load_constant(bits + diagonal * words + (row >> 5));
        return (word >> (row & 31) & 1) != 0;
    }
    WEFT_DEVICE i64 vertex(i64 row) const { return row; }
    WEFT_DEVICE i64 owner(i64 slot) const {
        // Divisions of 32 bits are several times faster.
        if (slots <= 0xffffffffll) return static_cast<u32>(slot) / static_cast<u32>(width);
        return slot / width;
    }
};

}  // namespace weft

#endif
