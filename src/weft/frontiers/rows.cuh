// Frontiers as the rows of a sweep.
#ifndef WEFT_ROWS_CUH
#define WEFT_ROWS_CUH

#include "sweep.cuh"

namespace weft {

struct AllRows {
    i64 count;
    WEFT_DEVICE i64 size() const { return count; }
    WEFT_DEVICE i64 row(i64 i) const { return i; }
    WEFT_DEVICE bool holds(i64) const { return true; }
};

template <class Vertex>
struct QueueRows {
    const Vertex* items;
    i64 count;
    WEFT_DEVICE i64 size() const { return count; }
    WEFT_DEVICE i64 row(i64 i) const { return static_cast<i64>(items[i]); }
};

struct BitmapRows {
    const u32* words;
    i64 count;
    WEFT_DEVICE i64 size() const { return count; }
    WEFT_DEVICE bool holds(i64 row) const { return words[row >> 5] >> (row & 31) & 1; }
    WEFT_DEVICE i64 row(i64 i) const { return holds(i) ? i : -1; }
};

struct BytemapRows {
    const u8* bytes;
    i64 count;
    WEFT_DEVICE i64 size() const { return count; }
    WEFT_DEVICE bool holds(i64 row) const { return bytes[row] != 0; }
    WEFT_DEVICE i64 row(i64 i) const { return holds(i) ? i : -1; }
};

}  // namespace weft

#endif
