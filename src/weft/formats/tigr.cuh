// Virtual rows of at most `degree` slots over compressed rows that stay as they are.
//
// The slots of a vertex are cut into stretches of `degree`; the last one may be shorter. Full
// stretches are interleaved: the k-th arcs of all full rows of a vertex lie side by side, so that
// threads that take neighbouring rows read neighbouring words.
#ifndef WEFT_FORMAT_TIGR_CUH
#define WEFT_FORMAT_TIGR_CUH

#include "sweep.cuh"

namespace weft {

template <class Vertex>
struct Tigr {
    static constexpr bool packed = true;
    static constexpr bool full_rows = true;
    static constexpr bool splits = true;
    static constexpr bool direct_owner = false;

    const i64* offsets;      // of the vertices
    const Vertex* targets;
    const Vertex* vertices;  // by row
    const i64* firsts;       // the first row of each vertex, and the end after the last
    i64 rows;
    i64 slots;
    i64 degree;
    i64 few;

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE i64 vertex(i64 row) const {
        return static_cast<i64>(load_constant(vertices + row));
    }
    WEFT_DEVICE i64 begin(i64 row) const {
        const i64 v = vertex(row);
        return load_constant(offsets + v) + (row - load_constant(firsts + v)) * degree;
    }
    WEFT_DEVICE i64 end(i64 row) const {
        const i64 v = vertex(row);
        const i64 last = load_constant(offsets + v + 1);
        const i64 full =
            load_constant(offsets + v) + (row - load_constant(firsts + v) + 1) * degree;
        return full < last ? full : last;
    }
    WEFT_DEVICE i64 place(i64 slot, i64 row) const {
        const i64 v = vertex(row);
        const i64 base = load_constant(offsets + v), last = load_constant(offsets + v + 1);
        const i64 first = load_constant(firsts + v), beyond = load_constant(firsts + v + 1);
        const i64 at = row - first;
        const i64 full = beyond - first - ((beyond - first) * degree > last - base);
        return at < full ? base + (slot - base - at * degree) * full + at : slot;
    }
    WEFT_DEVICE i64 target(i64 slot, i64 row) const {
        return static_cast<i64>(load_constant(targets + place(slot, row)));
    }
    WEFT_DEVICE bool valid(i64, i64) const { return true; }
    WEFT_DEVICE bool whole(i64 v) const {
        return load_constant(firsts + v + 1) - load_constant(firsts + v) == 1;
    }

    // The last row that begins at or before the slot, by bisection.
    WEFT_DEVICE i64 owner(i64 slot) const {
        i64 low = 0, high = rows;
        while (high - low > 1) {
            const i64 middle = (low + high) / 2;
            if (begin(middle) <= slot) low = middle;
            else high = middle;
        }
        return low;
    }

    // The rows of a vertex are consecutive.
    struct Ranges {
        i64 first, last;
        bool left;
        WEFT_DEVICE bool next(i64& begin, i64& end) {
            if (!left) return false;
            begin = first;
            end = last;
            left = false;
            return true;
        }
        WEFT_DEVICE i64 count() const { return left ? last - first : 0; }
    };
    WEFT_DEVICE Ranges ranges(i64 v) const {
        return {load_constant(firsts + v), load_constant(firsts + v + 1), true};
    }
    WEFT_DEVICE i64 row_of(i64 v, i64 k) const {
        const i64 row = load_constant(firsts + v) + k;
        return row < load_constant(firsts + v + 1) ? row : -1;
    }
};

}  // namespace weft

#endif
