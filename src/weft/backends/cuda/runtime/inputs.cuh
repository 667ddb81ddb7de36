// Frontiers that are a set or everything, as the loop decides, and what a sweep asks of them.
#ifndef WEFT_INPUTS_CUH
#define WEFT_INPUTS_CUH

#include "sweep.cuh"

namespace weft {

// The rows of a queue; without one, all rows.
template <class Vertex>
struct SomeRows {
    const Vertex* items;
    i64 count;
    WEFT_DEVICE i64 size() const { return count; }
    WEFT_DEVICE i64 row(i64 i) const { return items == nullptr ? i : static_cast<i64>(items[i]); }
    WEFT_DEVICE bool holds(i64) const { return true; }
};

// The rows whose bits are set; without bits, all rows.
struct BitRows {
    const u32* words;
    i64 count;
    WEFT_DEVICE i64 size() const { return count; }
    WEFT_DEVICE bool holds(i64 row) const {
        return words == nullptr || (words[row >> 5] >> (row & 31) & 1) != 0;
    }
    WEFT_DEVICE i64 row(i64 i) const { return holds(i) ? i : -1; }
};

struct ByteRows {
    const u8* bytes;
    i64 count;
    WEFT_DEVICE i64 size() const { return count; }
    WEFT_DEVICE bool holds(i64 row) const { return bytes == nullptr || bytes[row] != 0; }
    WEFT_DEVICE i64 row(i64 i) const { return holds(i) ? i : -1; }
};

struct OutDegree {
    const i64* offsets;
    WEFT_DEVICE i64 operator()(i64 v) const {
        return load_constant(offsets + v + 1) - load_constant(offsets + v);
    }
};
struct NoDegree {
    WEFT_DEVICE i64 operator()(i64) const { return 0; }
};

}  // namespace weft

#endif
