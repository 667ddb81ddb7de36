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

// The rows of the vertices of a queue, of a format whose vertices may have several: from a list, or
// asked of the format one by one if these are few; without a queue, all rows.
template <class Format, class Vertex>
struct QueuedRows {
    const Format format;  // a reference would keep it in memory
    const Vertex* queue;
    const i64* list;
    i64 count;  // of rows, of the list or of the queue
    WEFT_DEVICE i64 size() const { return asks() ? count * format.few : count; }
    WEFT_DEVICE i64 row(i64 i) const {
        if (queue == nullptr) return i;
        if (!asks()) return list[i];
        const u32 shift = static_cast<u32>(format.few / 2);  // of 1, 2 or 4
        return format.row_of(static_cast<i64>(queue[i >> shift]), i & (format.few - 1));
    }
    WEFT_DEVICE bool holds(i64) const { return true; }

 private:
    WEFT_DEVICE bool asks() const { return queue != nullptr && format.few != 0; }
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

// The rows of a part whose vertices are in a set.
template <class Format, class Members>
struct VirtualRows {
    const Format& format;
    Members members;
    WEFT_DEVICE i64 size() const { return format.num_rows(); }
    WEFT_DEVICE bool holds(i64 row) const { return members.holds(format.vertex(row)); }
    WEFT_DEVICE i64 row(i64 i) const { return holds(i) ? i : -1; }
};

// List the rows of the vertices of a queue, which are different ones; `count` counts the rows.
// A warp takes room for those of 32 vertices at once. Short stretches of rows are written by a
// thread, long ones by the warp. All threads of all blocks call together.
template <class Format, class Vertex>
WEFT_DEVICE void list_rows(const Place& place, const Format& format, const Vertex* queue, i64 size,
                           i64* list, u64* count) {
    constexpr i64 few = 8;
    const i64 stride = num_groups<1>(place);
    const i64 first = first_group<1>(place) - lane_id();  // of the warp
    for (i64 i = first; i < size; i += stride) {
        const bool here = i + lane_id() < size;
        const i64 v = here ? static_cast<i64>(queue[i + lane_id()]) : 0;
        const i64 mine = here ? format.ranges(v).count() : 0;
        i64 upto = mine;  // and the lanes before
        for (u32 delta = 1; delta < warp_size; delta *= 2) {
            const i64 below = shuffle_up(full_mask, upto, delta);
            if (lane_id() >= delta) upto += below;
        }
        u64 first_place = 0;
        const bool is_last = lane_id() == warp_size - 1;
        if (is_last && upto != 0) first_place = atomic_add(count, static_cast<u64>(upto));
        first_place = shuffle(full_mask, first_place, warp_size - 1);
        i64 at = static_cast<i64>(first_place) + upto - mine;
        auto ranges = format.ranges(v);
        for (;;) {
            i64 begin = 0, end = 0;
            const bool more = here && ranges.next(begin, end);
            if (ballot(full_mask, more) == 0) break;
            const bool wide = end - begin > few;
            for (i64 row = begin; !wide && row < end; ++row) list[at + row - begin] = row;
            for (u32 left = ballot(full_mask, wide); left != 0; left &= left - 1) {
                const u32 source = ffs(left) - 1;
                const i64 from = shuffle(full_mask, begin, source);
                const i64 to = shuffle(full_mask, end, source);
                const i64 there = shuffle(full_mask, at, source) - from;
                for (i64 row = from + lane_id(); row < to; row += warp_size) list[there + row] = row;
            }
            at += end - begin;
        }
    }
}

// The part of this number, of parts of one kind.
template <class Part>
WEFT_DEVICE Part numbered(i64, const Part& part) {
    return part;
}
template <class Part, class... Others>
WEFT_DEVICE Part numbered(i64 number, const Part& part, const Others&... others) {
    return number == 0 ? part : numbered(number - 1, others...);
}

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
    WEFT_DEVICE bool valid(i64, i64) const { return true; }
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
    static constexpr bool counts = true;
    const i64* offsets;
    WEFT_DEVICE i64 operator()(i64 v) const {
        return load_constant(offsets + v + 1) - load_constant(offsets + v);
    }
    WEFT_DEVICE void expect(i64) const {}
};
struct NoDegree {
    static constexpr bool counts = true;
    WEFT_DEVICE i64 operator()(i64) const { return 0; }
    WEFT_DEVICE void expect(i64) const {}
};
// The degree is found when the vertex is pushed; only the place of its row is fetched ahead.
struct LaterDegree {
    const i64* offsets;
    static constexpr bool counts = false;
    WEFT_DEVICE i64 operator()(i64) const { return 0; }
    WEFT_DEVICE void expect(i64 v) const { prefetch(offsets + v); }
};

}  // namespace weft

#endif
