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

// The rows of a queue by degree class: a piece of the queue for each.
template <class Vertex>
struct ClassRows {
    static constexpr u32 classes = 4;
    const Vertex* items;
    i64 firsts[classes];
    i64 counts[classes];
    WEFT_DEVICE i64 first(u32 of_class) const { return firsts[of_class]; }
    WEFT_DEVICE i64 count(u32 of_class) const { return counts[of_class]; }
    WEFT_DEVICE i64 row(u32 of_class, i64 i) const {
        return static_cast<i64>(items[firsts[of_class] + i]);
    }
};
template <class Vertex>
constexpr bool has_classes<ClassRows<Vertex>> = true;

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

// Those that hold a value in a field that others write meanwhile, never to or from that value.
template <class T>
struct StateRows {
    const T* field;
    T value;
    WEFT_DEVICE bool holds(i64 row) const { return load_relaxed(field + row) == value; }
    WEFT_DEVICE bool operator()(i64 row) const { return holds(row); }  // as a member (compact.cuh)
};

// The arcs into each vertex in the order of their slots: a format whose targets are arcs.
template <class Arc>
struct ArcsInto {
    const i64* offsets;
    const Arc* arcs;
    WEFT_DEVICE i64 begin(i64 row) const { return load_constant(offsets + row); }
    WEFT_DEVICE i64 end(i64 row) const { return load_constant(offsets + row + 1); }
    WEFT_DEVICE i64 target(i64 slot, i64) const {
        return static_cast<i64>(load_constant(arcs + slot));
    }
    WEFT_DEVICE bool valid(i64) const { return true; }
};

// By one thread, one after another: where the order can be seen.
template <class Each>
WEFT_DEVICE void each_in_order(const Place& place, i64 size, const Each& each) {
    if (place.block != 0 || thread_id() != 0) return;
    for (i64 i = 0; i < size; ++i) each(i);
}
template <class Format, class Rows, class Visitor>
WEFT_DEVICE void walk_in_order(const Place& place, const Format& format, const Rows& rows,
                               Visitor& visitor) {
    each_in_order(place, rows.size(), [&](i64 i) { walk_row(format, rows.row(i), visitor); });
}

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
