// Rows that say which vertex they are of: compressed rows of some vertices, or of parts of them.
//
// The rows lie in sections; within one they rise by vertex, and a vertex has one row at most. Slots
// of `Listed` are searched for their rows, those of `ListedOwners` know them.
#ifndef WEFT_FORMAT_LISTED_CUH
#define WEFT_FORMAT_LISTED_CUH

#include "sweep.cuh"

namespace weft {

template <class Vertex>
struct Listed {
    static constexpr bool packed = true;
    static constexpr bool full_rows = true;
    static constexpr bool splits = true;
    static constexpr bool direct_owner = false;

    const i64* offsets;
    const Vertex* targets;
    const Vertex* vertices;  // by row
    const i64* sections;     // the first row of each, and the end after the last
    i64 rows;
    i64 slots;
    i64 first_place;
    i64 num_sections;
    i64 few;  // 1 if there is one section

    WEFT_DEVICE i64 num_rows() const { return rows; }
    WEFT_DEVICE i64 num_slots() const { return slots; }
    WEFT_DEVICE i64 begin(i64 row) const { return load_constant(offsets + row); }
    WEFT_DEVICE i64 end(i64 row) const { return load_constant(offsets + row + 1); }
    WEFT_DEVICE i64 target(i64 slot, i64) const {
        return static_cast<i64>(load_constant(targets + slot));
    }
    WEFT_DEVICE bool valid(i64, i64) const { return true; }
    WEFT_DEVICE i64 vertex(i64 row) const {
        return static_cast<i64>(load_constant(vertices + row));
    }
    WEFT_DEVICE i64 place(i64 slot, i64) const { return first_place + slot; }
    WEFT_DEVICE bool whole(i64) const { return false; }

    // The last row that begins at or before the slot, by bisection.
    WEFT_DEVICE i64 owner(i64 slot) const {
        i64 low = 0, high = rows;
        while (high - low > 1) {
            const i64 middle = (low + high) / 2;
            if (load_constant(offsets + middle) <= slot) low = middle;
            else high = middle;
        }
        return low;
    }

    // Of each section the row of the vertex, if it has one there. Where tiles are cut by the vertices
    // of the rows, all others are passed over by a look at their ends.
    struct Ranges {
        const Listed& rows;
        i64 vertex;
        i64 section;
        WEFT_DEVICE bool next(i64& begin, i64& end) {
            while (section < rows.num_sections) {
                const i64 first = load_constant(rows.sections + section);
                const i64 last = load_constant(rows.sections + section + 1);
                ++section;
                const i64 row = rows.row_within(vertex, first, last);
                if (row >= 0) {
                    begin = row;
                    end = row + 1;
                    return true;
                }
            }
            return false;
        }
        WEFT_DEVICE i64 count() const {
            Ranges left = *this;
            i64 found = 0;
            for (i64 begin = 0, end = 0; left.next(begin, end);) found += end - begin;
            return found;
        }
    };
    WEFT_DEVICE Ranges ranges(i64 v) const { return {*this, v, 0}; }

    WEFT_DEVICE i64 row_of(i64 v, i64) const { return row_within(v, 0, rows); }

    // The row of v among some that rise by vertex, -1 if it has none there.
    WEFT_DEVICE i64 row_within(i64 v, i64 low, i64 high) const {
        if (low == high || v < vertex(low) || v > vertex(high - 1)) return -1;
        while (low < high) {
            const i64 middle = (low + high) / 2;
            if (vertex(middle) < v) low = middle + 1;
            else high = middle;
        }
        return vertex(low) == v ? low : -1;
    }
};

template <class Vertex>
struct ListedOwners : Listed<Vertex> {
    static constexpr bool direct_owner = true;

    const Vertex* owners;  // by slot

    WEFT_DEVICE ListedOwners(const i64* offsets, const Vertex* targets, const Vertex* vertices,
                             const i64* sections, const Vertex* owners, i64 rows, i64 slots,
                             i64 first_place, i64 num_sections, i64 few)
        : Listed<Vertex>{offsets, targets, vertices, sections, rows, slots, first_place,
                         num_sections, few},
          owners(owners) {}

    WEFT_DEVICE i64 owner(i64 slot) const {
        return static_cast<i64>(load_constant(owners + slot));
    }
};

}  // namespace weft

#endif
